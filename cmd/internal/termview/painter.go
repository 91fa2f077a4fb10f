package termview

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Painter draws pictures over each other at the end of a terminal's output and
// leaves nothing behind but what [Painter.Print] put above them. It needs no raw mode and
// reads no input, so ^C stays the shell's. It is not safe for concurrent use.
type Painter struct {
	out   io.Writer
	lines []string
	// above is how many of the lines are above the cursor, column the cell that it is at:
	// all of them and the first, unless somebody types into the picture.
	above, column int
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
	if slices.Equal(lines, p.lines) && p.above == len(lines) {
		return nil
	}
	var out strings.Builder
	out.WriteString(beginUpdate + hideCursor + p.back(width))
	for _, line := range lines {
		out.WriteString(line + eraseRight + "\n")
	}
	out.WriteString(eraseBelow + endUpdate)
	p.lines, p.above, p.column = slices.Clone(lines), len(lines), 0
	_, err := io.WriteString(p.out, out.String())
	return err
}

// PaintPrompt is Paint for a picture that somebody types into: the cursor shows in the
// line row, at the cell column.
func (p *Painter) PaintPrompt(lines []string, width, row, column int) error {
	if slices.Equal(lines, p.lines) && p.above == row && p.column == column {
		return nil
	}
	var out strings.Builder
	out.WriteString(beginUpdate + hideCursor + p.back(width))
	out.WriteString(strings.Join(lines, eraseRight+"\n") + eraseRight + eraseBelow + "\r")
	if up := len(lines) - 1 - row; up > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", up)
	}
	if column > 0 {
		fmt.Fprintf(&out, "\x1b[%dC", column)
	}
	out.WriteString(showCursor + endUpdate)
	p.lines, p.above, p.column = slices.Clone(lines), row, column
	_, err := io.WriteString(p.out, out.String())
	return err
}

// Print writes lines to out, which shows on the same terminal, above the picture: they
// stay. The picture is gone until it is painted again.
func (p *Painter) Print(out io.Writer, lines []string, width int) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := io.WriteString(p.out, hideCursor+p.back(width)+eraseBelow)
	p.lines, p.above, p.column = nil, 0, 0
	if err == nil {
		_, err = io.WriteString(out, strings.Join(lines, "\n")+"\n")
	}
	return err
}

// Clear takes the picture away and gives the cursor back.
func (p *Painter) Clear(width int) error {
	_, err := io.WriteString(p.out, p.back(width)+eraseBelow+showCursor)
	p.lines, p.above, p.column = nil, 0, 0
	return err
}

// back moves to where the last picture begins. A terminal that became narrower
// has broken its lines into more rows.
func (p *Painter) back(width int) string {
	rows := 0
	for _, line := range p.lines[:p.above] {
		rows += max(1, (cells(line)+width-1)/max(width, 1))
	}
	rows += p.column / max(width, 1)
	if rows == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", rows)
}
