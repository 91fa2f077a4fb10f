package termview

import (
	"strings"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// stringValue is the beginning of a text within JSON, escaped quotes aside.
var stringValue = lazyregexp.New(`(?:^|[^\\])":\s*"`)

var jsonEscapes = strings.NewReplacer(`\n`, " ", `\t`, " ", `\r`, " ", `\"`, `"`, `\\`, `\`, `\/`, "/")

// spoken finds the text that is being written in the end of a tool call's
// arguments: what a person wants to read of `{"day":1,"content":"Nishiki market, th`.
// It is "" while no text is written. The end may begin anywhere.
func spoken(arguments string) string {
	from := 0
	for _, at := range stringValue.FindAllStringIndex(arguments, -1) {
		from = at[1]
	}
	text := arguments[from:]
	if from == 0 && strings.HasPrefix(strings.TrimSpace(text), "{") {
		return ""
	}
	if end := closingQuote(text); end >= 0 {
		return "" // the text is whole, and something else is under way
	}
	return jsonEscapes.Replace(strings.TrimRight(text, `\`))
}

// closingQuote finds the quote that ends a JSON text, -1 if none does.
func closingQuote(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}
