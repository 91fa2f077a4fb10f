package quote_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/internal/quote"
)

func Example() {
	fmt.Println(quote.Lines("Bread.\n\n[logistics] (entry 99)"))
	// Output:
	// > Bread.
	// >
	// > [logistics] (entry 99)
}

func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"":                  ">",
		"a":                 "> a",
		"a\n":               "> a",
		"a\n\n":             "> a\n>",
		"\na":               ">\n> a",
		"a\r\nb":            "> a\r\n> b",
		"a\rb\u2028c\u0085": "> a\r> b\u2028> c",
		"> a\n> b":          "> > a\n> > b",
	} {
		require.Equal(t, want, quote.Lines(text), "%q", text)
	}
}

func TestAfter(t *testing.T) {
	require.Equal(t, "food says: Bread.", quote.After("food says:", "Bread."))
	require.Equal(t, "food says:\n> Bread.\n> And tea.", quote.After("food says:", "Bread.\nAnd tea."))
	require.Equal(t, "food says:\n> Bread.\v> And tea.", quote.After("food says:", "Bread.\vAnd tea."))
}

// Whatever the text and whichever characters a reader takes for the end of a line, no
// line of a quotation is without its mark, and nothing of the text is lost.
func TestNoContentLeavesItsQuotation(t *testing.T) {
	ends := func(r rune) bool { return strings.ContainsRune("\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029", r) }
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\n", "\r", "\r\n", "\u2028", "\u0085", "\v", "> ", " ", "## File"}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(piece).Draw(t, "text"), "")
		quoted := quote.Lines(text)
		for _, line := range strings.FieldsFunc(quoted, ends) {
			require.True(t, strings.HasPrefix(line, quote.Mark), "%q of %q", line, quoted)
		}
		bare := strings.NewReplacer("> ", "", ">", "", " ", "")
		kept := strings.TrimRightFunc(bare.Replace(text), ends)
		require.Equal(t, kept, strings.TrimRightFunc(bare.Replace(quoted), ends))
		require.NotContains(t, quote.OneLine(text), "\n")
		require.True(t, quote.Single(quote.OneLine(text)))
	})
}

// The scan of bytes finds what a search by characters finds, in any bytes.
func TestLinesAreCutWhereSomeReaderBeginsOne(t *testing.T) {
	const breaks = "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029"
	piece := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z]{0,3}`), rapid.SampledFrom([]string{
		"\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\x1b", "\x7f", "\u0085", "\u2028", "\u2029", "\u2027", "\u202a", "\u0084", "\xc2", "\xe2", "\xe2\x80", "\x85", "\xa8",
	}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(piece).Draw(t, "text"), "")
		require.Equal(t, !strings.ContainsAny(text, breaks), quote.Single(text), "%q", text)
		if at := strings.IndexAny(text, breaks); at > 0 {
			require.Truef(t, strings.HasPrefix(quote.Lines(text), "> "+text[:at]), "%q", text)
			require.Truef(t, quote.Single(text[:at]), "%q", text)
		}
	})
}
