package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// scriptView talks with a program, or with a person at no terminal that can be drawn on:
// lines in, what is said out.
type scriptView struct {
	app   *app
	lines chan typed
	// json is set where events go to stdout instead of what is said.
	json   *jsonView
	cancel context.CancelFunc
}

func newScriptView(ctx context.Context, a *app, json bool) *scriptView {
	ctx, cancel := context.WithCancel(ctx)
	v := &scriptView{app: a, lines: make(chan typed), cancel: cancel}
	if json {
		_, _, ok := terminal(a.out)
		v.json = &jsonView{a.out, ok}
	}
	go v.read(ctx)
	return v
}

// read brings lines until there are no more. It may outlive the view in a read that nothing
// ends.
func (v *scriptView) read(ctx context.Context) {
	in := bufio.NewReader(v.app.in)
	for number := 1; ; number++ {
		text, err := readLine(in)
		said := typed{text: strings.TrimRight(text, "\r\n")}
		switch {
		case errors.Is(err, io.EOF) && text == "":
			said.end = true
		case err != nil && !errors.Is(err, io.EOF):
			said.err = fmt.Errorf("standard input, line %d: %w", number, err)
		}
		select {
		case v.lines <- said:
		case <-ctx.Done():
			return
		}
		if said.end || said.err != nil {
			return
		}
	}
}

// readLine reads to the end of a line, which may not be longer than a message may be.
func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > utf8.UTFMax*runner.MaxRequestChars {
			return "", fmt.Errorf("the message has more than %d characters, the maximum", runner.MaxRequestChars)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(line), err
		}
	}
}

func (v *scriptView) typed() <-chan typed { return v.lines }
func (v *scriptView) patient() bool       { return true }

func (v *scriptView) press(_ *chat, said typed) (typed, error) { return said, nil }

func (v *scriptView) event(run *thread.Run, env events.Envelope) error {
	if v.json != nil {
		return v.json.event(run, env)
	}
	return v.notice(termview.ChatNotices(run, env)...)
}

// said writes what agents say: the user's words are known.
func (v *scriptView) said(m thread.Message) error {
	switch {
	case v.json != nil || m.Role == events.RoleUser:
		return nil
	case m.Role == thread.RoleNotice:
		_, err := io.WriteString(v.app.err, termview.PlainSaid(m))
		return err
	}
	_, err := io.WriteString(v.app.out, termview.PlainSaid(m))
	return err
}

// recall writes what was said earlier, by the user too.
func (v *scriptView) recall(m thread.Message) error {
	if v.json != nil {
		return nil
	}
	_, err := io.WriteString(v.app.out, termview.PlainSaid(m))
	return err
}

func (v *scriptView) notice(lines ...string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(v.app.err, termview.Text(line)); err != nil {
			return err
		}
	}
	return nil
}

func (v *scriptView) heartbeat(s runner.Signal) error {
	if s.Slow {
		return v.notice(fmt.Sprintf("%s (%s, %s)", s.Notice, s.DisplayName, termview.Duration(s.Silent)))
	}
	return v.notice(termview.Heartbeat(s.DisplayName, s.Silent, false))
}

func (v *scriptView) document(text string) error {
	if v.json != nil {
		return nil
	}
	_, err := fmt.Fprintln(v.app.out, termview.Text(strings.TrimRight(text, "\n"))+"\n")
	return err
}

func (v *scriptView) tick(*chat, time.Time) error { return nil }

func (v *scriptView) close() error {
	v.cancel()
	return nil
}
