package termview

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// Text makes text of others fit for a terminal: escape sequences and control
// characters are gone, lines and tabs stay.
func Text(s string) string {
	if !needsCleaning(s) {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, sequence.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), ""))
}

// sequence is an escape sequence with all that belongs to it, or a lone escape with
// what follows: a sequence without an end must not swallow the text behind it.
var sequence = lazyregexp.New("\x1b(?:" +
	"\\[[0-?]*[ -/]*[@-~]" + // CSI
	"|[\\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\\\)" + // OSC, DCS, SOS, PM, APC
	"|.)?")

func needsCleaning(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029')
	})
}

// Line makes text of others fit for one line: [Text], with every run of white
// space as one space. Marks that turn the direction of what follows are dropped,
// because a clipped line would never turn it back.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return -1
		}
		return r
	}, Text(s))
	return strings.Join(strings.Fields(s), " ")
}

// Clip makes text of others one line of at most width cells.
func Clip(s string, width int) string {
	return cut(Line(s), width)
}

// cut shortens a clean line, styled perhaps, to width cells.
func cut(s string, width int) string {
	return ansi.Truncate(s, max(width, 0), "…")
}

// pad fills a clean line up to width cells, or cuts it.
func pad(s string, width int) string {
	if missing := width - ansi.StringWidth(s); missing >= 0 {
		return s + strings.Repeat(" ", missing)
	}
	return cut(s, width)
}

// tail gives the end of text of others as one line of at most width cells.
func tail(s string, width int) string {
	s = Line(s)
	over := ansi.StringWidth(s) - width
	if over <= 0 {
		return s
	}
	return ansi.TruncateLeft(s, over+1, "…")
}

// JSONLine makes a line of JSON fit for a terminal: the control characters that
// JSON may carry unescaped are escaped, and it stays the same JSON.
func JSONLine(body []byte) []byte {
	var out []byte
	for at, r := range string(body) {
		if r >= 0x7f && r <= 0x9f {
			if out == nil {
				out = append(out, body[:at]...)
			}
			out = append(out, `\u00`+string("0123456789abcdef"[r>>4])+string("0123456789abcdef"[r&15])...)
		} else if out != nil {
			out = utf8.AppendRune(out, r)
		}
	}
	if out == nil {
		return body
	}
	return out
}
