package termview_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/cmd/internal/termview"
)

// screen is a terminal of endless height that knows what the painter uses.
type screen struct {
	rows []string
	row  int
	// within is set while the cursor is behind the beginning of its row.
	within bool
}

var control = regexp.MustCompile("\x1b\\[(\\??[0-9]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")

func (s *screen) Write(p []byte) (int, error) {
	for _, m := range control.FindAllStringSubmatch(string(p), -1) {
		for len(s.rows) <= s.row {
			s.rows = append(s.rows, "")
		}
		switch {
		case m[0] == "\n":
			s.row++
			s.within = false
		case m[2] == "A":
			n, _ := strconv.Atoi(m[1])
			s.row = max(0, s.row-n)
		case m[2] == "J" && s.within:
			s.rows = s.rows[:s.row+1]
		case m[2] == "J":
			s.rows = append(s.rows[:s.row], "")
		case m[0] == "\r":
			s.within = false
		case m[2] != "":
		default:
			s.rows[s.row], s.within = m[0], true
		}
	}
	return len(p), nil
}

func (s *screen) text() string { return strings.TrimRight(strings.Join(s.rows, "\n"), "\n") }

// Pictures replace each other, and nothing of them is left behind.
func TestPainterLeavesNothingBehind(t *testing.T) {
	s := &screen{}
	_, _ = s.Write([]byte("$ convene run\n"))
	p := termview.NewPainter(s)
	require.NoError(t, p.Paint([]string{"one", "two", "three"}, 80))
	require.Equal(t, "$ convene run\none\ntwo\nthree", s.text())
	require.NoError(t, p.Paint([]string{"four"}, 80))
	require.Equal(t, "$ convene run\nfour", s.text())
	require.NoError(t, p.Paint([]string{"five", "six"}, 80))
	require.NoError(t, p.Clear(80))
	require.Equal(t, "$ convene run", s.text())
	require.NoError(t, p.Clear(80), "twice is fine")
	_, _ = s.Write([]byte("done\n"))
	require.Equal(t, "$ convene run\ndone", s.text())
}

// A terminal that became narrower has broken the lines of the last picture.
func TestPainterAfterResize(t *testing.T) {
	s := &screen{}
	p := termview.NewPainter(s)
	require.NoError(t, p.Paint([]string{strings.Repeat("x", 30), "short"}, 40))
	s.rows, s.row = []string{strings.Repeat("x", 20), strings.Repeat("x", 10), "short", ""}, 3
	require.NoError(t, p.Paint([]string{"new"}, 20))
	require.Equal(t, "new", s.text())
}

func TestPainterIsSilentWhereNothingChanged(t *testing.T) {
	var out strings.Builder
	p := termview.NewPainter(&out)
	require.NoError(t, p.Paint([]string{"same"}, 80))
	written := out.Len()
	require.NoError(t, p.Paint([]string{"same"}, 80))
	require.Equal(t, written, out.Len())
}

// What is printed stays above the picture that somebody types into.
func TestPainterPrintsAboveThePrompt(t *testing.T) {
	s := &screen{}
	p := termview.NewPainter(s)
	require.NoError(t, p.PaintPrompt([]string{"working", "> he", "  llo"}, 80, 1, 4))
	require.Equal(t, "working\n> he\n  llo", s.text())
	require.Equal(t, 1, s.row)
	require.NoError(t, p.Print(s, []string{"an answer", "in two lines"}, 80))
	require.Equal(t, "an answer\nin two lines", s.text())
	require.NoError(t, p.PaintPrompt([]string{"> "}, 80, 0, 2))
	require.Equal(t, "an answer\nin two lines\n> ", s.text())
	require.NoError(t, p.Clear(80))
	require.Equal(t, "an answer\nin two lines", s.text())
	require.NoError(t, p.Print(s, nil, 80))
	require.Equal(t, "an answer\nin two lines", s.text())
}
