package lineedit_test

import (
	"context"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/cmd/internal/lineedit"
)

// press has a terminal send the bytes, and gives the last action that came of them.
func press(t require.TestingT, e *lineedit.Editor, sent string) lineedit.Action {
	events := make(chan uv.Event, 4096)
	require.NoError(t, uv.NewTerminalReader(strings.NewReader(sent), "xterm").StreamEvents(context.Background(), events))
	close(events)
	action := lineedit.None
	for event := range events {
		switch event := event.(type) {
		case uv.KeyPressEvent:
			action = e.Key(uv.Key(event))
		case uv.PasteEvent:
			e.Paste(event.Content)
		}
	}
	return action
}

const (
	up, down, right, left = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
	home, end, del        = "\x1b[H", "\x1b[F", "\x1b[3~"
	altEnter, ctrlLeft    = "\x1b\r", "\x1b[1;5D"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"hello":                         "hello",
		"helo" + left + "l":             "hello",
		"ello" + home + "h" + end + "!": "hello!",
		"hallo" + left + left + left + left + del + "e": "hello",
		"hello worse\x17there":                          "hello there",
		"a b" + ctrlLeft + "c ":                         "a c b",
		"drop\x15kept":                                  "kept",
		"kept dropped" + ctrlLeft + "\x0b":              "kept ",
		"äö\x7fü":                                       "äü",
		"日本" + left + "x":                               "日x本",
		"👩‍👩‍👧" + "\x7f":                                "",
		"one" + altEnter + "two" + up + "!":             "one!\ntwo",
		"one\ntwo":                                      "one\ntwo",
		"\x1b[200~two\r\nlines\t\x1b[201~ behind":       "two\nlines     behind",
		"/st\t": "/status ", "/h\t": "/h", "/he\t": "/help ", "/x\t": "/x", "st\t": "st",
		"\x1b[15~\x1bx": "", // keys without a meaning
	} {
		e := lineedit.New(nil, []string{"/status", "/history", "/help"})
		press(t, e, sent)
		require.Equal(t, want, e.Text(), "%q", sent)
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	e := lineedit.New(nil, nil)
	require.Equal(t, lineedit.End, press(t, e, "\x04"))
	require.Equal(t, lineedit.Interrupt, press(t, e, "\x03"))
	require.Equal(t, lineedit.None, press(t, e, "ab"+left+"\x04"))
	require.Equal(t, lineedit.Submit, press(t, e, "\r"))
	require.Equal(t, "a", e.Take())
	require.Empty(t, e.Text())
}

func TestHistory(t *testing.T) {
	t.Parallel()
	e := lineedit.New([]string{"first", "second", "second"}, nil)
	press(t, e, "draft"+up)
	require.Equal(t, "second", e.Text())
	press(t, e, up+up)
	require.Equal(t, "first", e.Text())
	press(t, e, down+down+down)
	require.Equal(t, "draft", e.Text())
	e.Take()
	press(t, e, up)
	require.Equal(t, "draft", e.Text())
	e.Clear()
	press(t, e, up)
	require.Equal(t, "draft", e.Text())
}

// However wide the terminal, no line is wider, nothing is lost, and the cursor is on it.
func TestLinesHoldTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := lineedit.New(nil, nil)
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab 日\n")), 0, 60, -1).Draw(t, "text")
		e.Paste(text)
		press(t, e, strings.Repeat(left, rapid.IntRange(0, 60).Draw(t, "left")))
		width := rapid.IntRange(6, 30).Draw(t, "width")
		lines, row, column := e.Lines("› ", width)
		for _, line := range lines {
			require.LessOrEqual(t, ansi.StringWidth(line), width)
		}
		require.Less(t, row, len(lines))
		require.Less(t, column, width)
		shown := strings.TrimPrefix(lines[0], "› ")
		for _, line := range lines[1:] {
			shown += strings.TrimPrefix(line, "  ")
		}
		require.Equal(t, strings.ReplaceAll(text, "\n", ""), shown)
	})
}
