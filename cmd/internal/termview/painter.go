package termview

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Painter draws pictures over each other at the end of a terminal's output and
// leaves nothing behind. It needs no raw mode and reads no input, so ^C stays the
// shell's. It is not safe for concurrent use.
type Painter struct {
	out   io.Writer
	lines []string
}

// NewPainter makes a painter on a terminal.
func NewPainter(out io.Writer) *Painter { return &Painter{out: out} }

const (
	// beginUpdate and endUpdate ask the terminal to show what is between at once;
	// one that does not know them ignores them.
	beginUpdate = "\x1b[?2026h"
	endUpdate   = "\x1b[?2026l"
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	eraseBelow  = "\x1b[J"
	eraseRight  = "\x1b[K"
)

// Paint replaces the last picture. The lines are at most width-1 cells wide, width
// being the terminal's now. Equal pictures are painted once.
func (p *Painter) Paint(lines []string, width int) error {
	if slices.Equal(lines, p.lines) {
		return nil
	}
	var out strings.Builder
	out.WriteString(beginUpdate + hideCursor + p.back(width))
	for _, line := range lines {
		out.WriteString(line + eraseRight + "\n")
	}
	out.WriteString(eraseBelow + endUpdate)
	p.lines = slices.Clone(lines)
	_, err := io.WriteString(p.out, out.String())
	return err
}

// Clear takes the picture away and gives the cursor back.
func (p *Painter) Clear(width int) error {
	_, err := io.WriteString(p.out, p.back(width)+eraseBelow+showCursor)
	p.lines = nil
	return err
}

// back moves to where the last picture begins. A terminal that became narrower
// has broken its lines into more rows.
func (p *Painter) back(width int) string {
	rows := 0
	for _, line := range p.lines {
		rows += max(1, (cells(line)+width-1)/max(width, 1))
	}
	if rows == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", rows)
}
