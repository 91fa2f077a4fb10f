// Package quote marks text that somebody else wrote, so that no reader takes it for
// what stands around it: an entry of the document for the next entry, a file for the
// request. Every line of a quotation begins with the same mark, so no content can
// leave it, and the same text is always quoted the same way.
//
//	fmt.Println(quote.Lines("Bread.\n[logistics] (entry 99)"))
//	// > Bread.
//	// > [logistics] (entry 99)
//
// It knows no model and no format beyond the mark.
package quote

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark begins every quoted line. A space follows it where the line has text.
const Mark = ">"

// breaks are all characters at which some reader begins a new line. A carriage return
// before a line feed is one break with it.
const breaks = "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029"

// Lines quotes text: each line of it behind the mark. The breaks between lines stay as
// they are; one at the very end is left out.
func Lines(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/32 + len(Mark) + 1)
	for first := true; first || text != ""; first = false {
		line, end := cutLine(text)
		b.WriteString(Mark)
		if line != "" {
			b.WriteByte(' ')
			b.WriteString(line)
		}
		if text = text[len(line)+len(end):]; text != "" {
			b.WriteString(end)
		}
	}
	return b.String()
}

// cutLine gives the first line of text and the break that ends it.
func cutLine(text string) (line, end string) {
	at := breakIn(text)
	if at < 0 {
		return text, ""
	}
	line, rest := text[:at], text[at:]
	if strings.HasPrefix(rest, "\r\n") {
		return line, "\r\n"
	}
	for i := range rest {
		if i > 0 {
			return line, rest[:i]
		}
	}
	return line, rest
}

// breakIn gives where the first of [breaks] in text is, -1 for none. [strings.IndexAny] looks
// each character up; here nearly all are passed by their first byte.
func breakIn(text string) int {
	for i := range len(text) {
		switch b := text[i]; {
		case b > '\x1e' && b < utf8.RuneSelf:
		case b == '\n', b == '\r', b == '\v', b == '\f', b >= '\x1c' && b <= '\x1e',
			b == 0xC2 && strings.HasPrefix(text[i:], "\u0085"),
			b == 0xE2 && (strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029")):
			return i
		}
	}
	return -1
}

// After puts text behind a head: on the same line where it has only one, else quoted
// below.
func After(head, text string) string {
	if Single(text) {
		return head + " " + text
	}
	return head + "\n" + Lines(text)
}

// Single reports whether the text is one line to every reader.
func Single(text string) bool { return breakIn(text) < 0 }

// OneLine folds text into one line, with single spaces between its words.
func OneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(breaks, r)
	}), " ")
}
