package termview_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/cmd/internal/termview"
)

func TestTextOfOthers(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\nstays, العربية and 🏯 too": "plain\ttext\nstays, العربية and 🏯 too",
		"red \x1b[31mtext\x1b[0m":               "red text",
		"no end \x1b]0;but text":                "no end 0;but text",
		"title\x1b]0;owned\x07 gone":            "title gone",
		"clear\x1b[2J\x1b[H":                    "clear",
		"bell\a, back\b, null\x00":              "bell, back, null",
		"one\r\ntwo\rthree\u2028four":           "one\ntwo\nthree\nfour",
		"c1 \u009b31m":                          "c1 31m",
		"bad \xff byte":                         "bad \uFFFD byte",
	} {
		require.Equal(t, want, termview.Text(in), "%q", in)
	}
	require.Equal(t, "one two three", termview.Line("one\n two\u202e\tthree "))
	require.Equal(t, "twelve cel…", termview.Clip("twelve cells or more", 11))
	require.Equal(t, "東京…", termview.Clip("東京都千代田区", 6))
}

// Whatever models write, no control character passes.
func TestNothingPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOf(rapid.OneOf(
			rapid.SampledFrom([]string{"\x1b", "[", "]0;", "\x07", "31m", "\u009b", "\r", "\n", "&#27;", "&#x1b", "\\", "\x9b", "P", "2J", "\u202e"}),
			rapid.String(),
		)).Draw(t, "parts"), "")
		text := termview.Text(in)
		require.True(t, utf8.ValidString(text))
		require.NotRegexp(t, `[\x00-\x08\x0b-\x1f\x7f-\x9f]`, strings.Map(latin, text))
		line := termview.Line(in)
		require.False(t, strings.ContainsFunc(line, unicode.IsControl), "%q", line)
		require.Equal(t, line, termview.Line(line))

		out := termview.RenderMarkdown(in, termview.Theme{Color: true}, 60)
		bare := styles.ReplaceAllString(out, "")
		require.False(t, strings.ContainsFunc(bare, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }), "%q", out)
	})
}

var styles = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// latin leaves what the pattern speaks about: control characters and what is below.
func latin(r rune) rune {
	if r > 0xff {
		return 'x'
	}
	return r
}

func TestMarkdownIsRenderedAndHarmless(t *testing.T) {
	out := termview.RenderMarkdown("## Day 1\n\n**Tea** &#27;[2J&#x9b;31m [here](http://x\x1b]8;;y) &amp; more", termview.Theme{Color: true}, 60)
	require.Contains(t, out, "Day")
	require.NotContains(t, out, "##")
	require.NotContains(t, out, "**")
	require.Contains(t, out, "& more")
	require.NotContains(t, out, "\x1b[2J")
	require.NotContains(t, out, "\x1b]")
	plain := termview.RenderMarkdown("## Day 1\n\n\x1b[1mTea", termview.Theme{}, 60)
	require.Equal(t, "## Day 1\n\nTea", plain)
}

func TestJSONLineStaysTheSameJSON(t *testing.T) {
	in, err := json.Marshal(map[string]string{"a": "x\u009b31m\u007f🏯"})
	require.NoError(t, err)
	out := termview.JSONLine(in)
	require.Equal(t, `{"a":"x\u009b31m\u007f🏯"}`, string(out))
	require.JSONEq(t, string(in), string(out))
	require.Equal(t, `{"a":1}`, string(termview.JSONLine([]byte(`{"a":1}`))))
}
