// Package termview shows runs on a terminal: the live view of one run, its plain
// lines where there is no terminal, and its result. Words, order and signs are
// those of the dashboard.
//
// A view is a pure function of a [Frame]: the fold of the run's events, what its
// agents do at this moment, and the size of the terminal. The same function draws
// a live run and a replayed one. The package starts no goroutine and reads no
// clock.
//
//	painter := termview.NewPainter(os.Stderr)
//	for frame := range frames {
//		painter.Paint(termview.Render(frame, theme), frame.Width)
//	}
//	painter.Clear(width)
//	fmt.Println(strings.Join(termview.Summary(run, theme, width), "\n"))
//
// All text of models, tools and users passes [Line] or [Text] first: control
// characters and escape sequences never reach the terminal.
package termview
