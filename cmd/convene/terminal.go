package main

import (
	"io"

	"github.com/charmbracelet/x/term"

	"github.com/convene-run/convene/cmd/internal/termview"
)

// terminal tells whether w is one, and how large.
func terminal(w any) (width, height int, ok bool) {
	file, isFile := w.(interface{ Fd() uintptr })
	if !isFile || !term.IsTerminal(file.Fd()) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(file.Fd())
	if err != nil || width <= 0 || height <= 0 {
		return defaultWidth, defaultHeight, true
	}
	return width, height, true
}

// defaultWidth and defaultHeight are those of a terminal that does not say.
const defaultWidth, defaultHeight = 80, 24

// canDraw tells whether a live picture can be drawn on w.
func (a *app) canDraw(w io.Writer) bool {
	file, isFile := w.(interface{ Fd() uintptr })
	_, _, ok := terminal(w)
	return ok && isFile && a.env("TERM") != "dumb" && foreground(file.Fd())
}

// newLiveView draws on the standard error, which can be drawn on.
func (a *app) newLiveView() *liveView {
	view := &liveView{out: a.err, painter: termview.NewPainter(a.err), theme: a.theme(a.err)}
	if file, ok := a.err.(interface{ Fd() uintptr }); ok {
		view.restore = muteKeys(file.Fd())
	}
	return view
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
