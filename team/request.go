package team

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-run/convene/internal/lazyregexp"
	"github.com/convene-run/convene/internal/quote"
)

// requestVar is the placeholder that every request template has.
const requestVar = "request"

// plainRequest is the template that passes the user's text on as it is.
const plainRequest = "{{" + requestVar + "}}"

var (
	placeholder = lazyregexp.New(`\{\{([^{}]*)\}\}`)
	varName     = lazyregexp.New(`^[a-z][a-z0-9_]{0,39}$`)
)

// Vars lists the placeholders of the request template beside {{request}}, each
// once, in order.
func (t *Team) Vars() []string {
	var names []string
	for _, match := range placeholder.FindAllStringSubmatch(t.Request, -1) {
		name := strings.TrimSpace(match[1])
		if name != requestVar && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Message fills the request template with the user's text and the values of
// [Team.Vars]. Values are put in as they are: a placeholder within them stays
// text. A value of several lines is quoted below the place where it belongs, so
// that it cannot pass for the template or the request. A value that is missing is
// an error.
func (t *Team) Message(request string, vars map[string]string) (string, error) {
	var missing []string
	var message strings.Builder
	done := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(t.Request, -1) {
		message.WriteString(t.Request[done:at[0]])
		done = at[1]
		name := strings.TrimSpace(t.Request[at[2]:at[3]])
		value, ok := vars[name]
		switch {
		case name == requestVar:
			message.WriteString(request)
		case !ok && !slices.Contains(missing, name):
			missing = append(missing, name)
		case quote.Single(value):
			message.WriteString(value)
		default:
			message.WriteString(onLinesOfItsOwn(message.String(), quote.Lines(value), t.Request[done:]))
		}
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("the request template of team %s needs a value for %s; give it in the row's vars",
			t.Name, strings.Join(missing, ", "))
	}
	message.WriteString(t.Request[done:])
	return message.String(), nil
}

// onLinesOfItsOwn parts a block from what stands before and behind it.
func onLinesOfItsOwn(before, block, behind string) string {
	if before != "" && !strings.HasSuffix(before, "\n") {
		block = "\n" + block
	}
	if behind != "" && !strings.HasPrefix(behind, "\n") {
		block += "\n"
	}
	return block
}

// checkRequest looks at the placeholders of a request template.
func checkRequest(template string, found *problems) {
	hasRequest := false
	for _, match := range placeholder.FindAllStringSubmatch(template, -1) {
		name := strings.TrimSpace(match[1])
		hasRequest = hasRequest || name == requestVar
		if !varName.MatchString(name) {
			found.add("request", "%q is no placeholder; write a name such as {{city}}: a lower-case letter, then up to 39 lower-case letters, digits or _", match[0])
		}
	}
	if !hasRequest {
		found.add("request", "the template lacks {{request}}, so the user's text would be lost; add it where that text belongs")
	}
}
