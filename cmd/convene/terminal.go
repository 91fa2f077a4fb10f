package main

import (
	"io"

	"github.com/charmbracelet/x/term"

	"github.com/convene-run/convene/cmd/internal/termview"
)

// terminal tells whether w is one, and how large.
func terminal(w any) (width, height int, ok bool) {
	fd, isFile := descriptor(w)
	if !isFile || !term.IsTerminal(fd) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(fd)
	if err != nil || width <= 0 || height <= 0 {
		return defaultWidth, defaultHeight, true
	}
	return width, height, true
}

// descriptor is what the system knows a file by.
func descriptor(w any) (fd uintptr, ok bool) {
	file, ok := w.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	return file.Fd(), true
}

// defaultWidth and defaultHeight are those of a terminal that does not say.
const defaultWidth, defaultHeight = 80, 24

// canDraw tells whether a live picture can be drawn on w.
func (a *app) canDraw(w io.Writer) bool {
	fd, _ := descriptor(w)
	_, _, ok := terminal(w)
	return ok && a.env("TERM") != "dumb" && foreground(fd)
}

// newLiveView draws on the standard error, which can be drawn on.
func (a *app) newLiveView() *liveView {
	return &liveView{picture: newPicture(a.err, quietly(a.err)), theme: a.theme(a.err)}
}

// theme allows colours where w is a terminal that wants them: https://no-color.org
func (a *app) theme(w io.Writer) termview.Theme {
	_, _, ok := terminal(w)
	return termview.Theme{Screen: ok, Color: ok && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"}
}

// width is how wide lines for w may be.
func width(w io.Writer) int {
	if width, _, ok := terminal(w); ok {
		return width
	}
	return pipedWidth
}

// pipedWidth keeps lines for files and other programs whole in all but rare cases.
const pipedWidth = 200
