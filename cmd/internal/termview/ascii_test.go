package termview_test

import (
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/cmd/internal/termview"
)

// Proves R70: a terminal that shows ASCII alone gets what can be read there.
func TestASCII(t *testing.T) {
	for text, want := range map[string]string{
		"✓ completed · 8/8 tasks … “so”": `+ completed - 8/8 tasks ~ "so"`,
		"◐ ○ ✗ ‖ –":                      "* o x = -",
		"██░ 66% │ ─┼─":                  "##. 66% | -+-",
		"Café, Übung, a\u00a0b":          "Cafe, Ubung, a b",
		"Cafe\u0301":                     "Cafe",
		"京都 → 👩‍👧":                       "???? > ??",
		"\x1b[1;32m✓\x1b[0m plain":       "\x1b[1;32m+\x1b[0m plain",
		"nothing to do\n":                "nothing to do\n",
		"":                               "",
	} {
		require.Equal(t, want, termview.ASCII(text))
	}
}

// Whatever comes, what goes out is ASCII, in as many cells.
func TestASCIIKeepsCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := termview.Text(rapid.String().Draw(t, "text"))
		out := termview.ASCII(text)
		for i := range len(out) {
			if out[i] >= utf8.RuneSelf {
				t.Fatalf("%q has more than ASCII", out)
			}
		}
		if got, want := ansi.StringWidth(out), ansi.StringWidth(text); got != want {
			t.Fatalf("%q has %d cells, %q %d", out, got, text, want)
		}
	})
}
