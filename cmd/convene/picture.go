package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/convene-run/convene/cmd/internal/termview"
)

// picture is what is drawn at the end of a terminal, whose keys it has meanwhile. It stands
// aside for the shell: ^Z takes it away and gives the keys back before the process stops, and
// in the background nothing is drawn. It is safe for concurrent use.
type picture struct {
	out io.Writer
	// take has the terminal treat keys as the picture needs, and gives what undoes that.
	take func() (giveBack func() error, err error)
	// stops and continues bring ^Z, and that the process goes on.
	stops, continues <-chan os.Signal
	forget           func()
	done, ended      chan struct{}

	mu      sync.Mutex // guards what follows
	painter *termview.Painter
	// aside is set until the picture is drawn, and again while it stands aside.
	aside    bool
	giveBack func() error // nil where nothing was taken
}

// newPicture makes a picture on a terminal. Its caller closes it.
func newPicture(out io.Writer, take func() (giveBack func() error, err error)) *picture {
	p := &picture{
		out: out, take: take, painter: termview.NewPainter(out), aside: true, done: make(chan struct{}), ended: make(chan struct{}),
	}
	p.stops, p.continues, p.forget = jobSignals()
	go p.watch()
	return p
}

// quietly takes nothing but the echo of keys.
func quietly(out io.Writer) func() (giveBack func() error, err error) {
	return func() (func() error, error) {
		fd, _ := descriptor(out)
		return muteKeys(fd), nil
	}
}

func (p *picture) watch() {
	defer close(p.ended)
	for {
		select {
		case <-p.stops:
			p.pause()
		case <-p.continues:
			p.lost()
		case <-p.done:
			return
		}
	}
}

// pause takes the picture away and stops the process, until the shell has it go on.
func (p *picture) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.aside {
		_ = p.clear() // the next picture fails in the same way, where somebody is told
	}
	p.aside = true
	stopProcess(p.continues)
}

// lost notes that the process was stopped by other means: what the picture was drawn over,
// and what became of the keys, nobody knows.
func (p *picture) lost() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.painter, p.aside = termview.NewPainter(p.out), true
}

// clear takes the picture away and gives the keys back. mu is held.
func (p *picture) clear() error {
	err := p.painter.Clear(width(p.out))
	if p.giveBack != nil {
		err = errors.Join(err, p.giveBack())
	}
	p.giveBack = nil
	return err
}

// present reports whether something can be drawn now. mu is held.
func (p *picture) present() (bool, error) {
	if !p.aside {
		return true, nil
	}
	if fd, _ := descriptor(p.out); !foreground(fd) {
		return false, nil
	}
	giveBack, err := p.take()
	if err != nil {
		return false, err
	}
	if p.giveBack == nil {
		p.giveBack = giveBack
	}
	p.aside = false
	return true, nil
}

// paint replaces what is drawn.
func (p *picture) paint(lines []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if here, err := p.present(); !here {
		return err
	}
	return p.painter.Paint(lines, width(p.out))
}

// prompt is paint with a cursor, in the line row at the cell column.
func (p *picture) prompt(lines []string, row, column int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if here, err := p.present(); !here {
		return err
	}
	return p.painter.PaintPrompt(lines, width(p.out), row, column)
}

// above prints lines to out, which shows on the same terminal, where they stay.
func (p *picture) above(out io.Writer, lines []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	here, err := p.present()
	switch {
	case err != nil || len(lines) == 0:
		return err
	case !here:
		_, err = fmt.Fprintln(out, strings.Join(lines, "\n"))
		return err
	}
	return p.painter.Print(out, lines, width(p.out))
}

// close takes the picture away for good. Lines can still be printed.
func (p *picture) close() error {
	p.forget()
	close(p.done)
	<-p.ended
	p.mu.Lock()
	defer p.mu.Unlock()
	if fd, _ := descriptor(p.out); p.giveBack == nil || !foreground(fd) {
		return nil
	}
	return p.clear()
}
