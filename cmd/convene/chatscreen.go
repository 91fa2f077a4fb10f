package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/convene-run/convene/cmd/internal/lineedit"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// screenView talks with a person at a terminal: what was said scrolls by, what is under way
// and the line that is being typed stay below it.
type screenView struct {
	app     *app
	theme   termview.Theme
	picture *picture
	editor  *lineedit.Editor
	speech  speech
	// begun is set once a part of what is being said stands on the screen for good.
	begun bool
	// slow are the agents that have been silent for longer than expected, and when that was
	// said.
	slow map[events.DispatchID]time.Time
	// takingLonger is what the team tells the user meanwhile.
	takingLonger string
	keys         *keyboard
	input        chan typed
}

// pasteOn and pasteOff have the terminal mark what is pasted, so that its line ends do not
// send it.
const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// keyboard reads the keys of a terminal.
type keyboard struct {
	reader interface {
		io.Reader
		Cancel() bool
		Close() error
	}
	events chan uv.Event
	stop   context.CancelFunc
	ended  chan struct{}
}

func newKeyboard(ctx context.Context, in *os.File, termType string) (*keyboard, error) {
	reader, err := uv.NewCancelReader(in)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	k := &keyboard{reader: reader, events: make(chan uv.Event), stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(k.ended)
		defer close(k.events)
		_ = uv.NewTerminalReader(reader, termType).StreamEvents(ctx, k.events) // its end says all
	}()
	return k, nil
}

func (k *keyboard) close() error {
	k.stop()
	k.reader.Cancel()
	for range k.events { // until the reader has ended
	}
	<-k.ended
	return k.reader.Close()
}

// keyByKey has the terminal in give each key as it is pressed, and mark on out what is pasted.
func keyByKey(in *os.File, out io.Writer) func() (giveBack func() error, err error) {
	return func() (func() error, error) {
		restore, err := readKeys(in.Fd())
		if err != nil {
			return nil, err
		}
		giveBack := func() error {
			_, err := io.WriteString(out, pasteOff)
			return errors.Join(err, restore())
		}
		_, err = io.WriteString(out, pasteOn)
		return giveBack, err
	}
}

func (c *chat) newScreen(ctx context.Context, in *os.File) (*screenView, error) {
	keys, err := newKeyboard(ctx, in, c.app.env("TERM"))
	if err != nil {
		return nil, err
	}
	theme := c.app.theme(c.app.out)
	v := &screenView{
		app: c.app, theme: theme, picture: newPicture(c.app.out, keyByKey(in, c.app.out)), keys: keys, speech: speech{theme: theme},
		editor: lineedit.New(c.spoken(), c.commandNames()), input: make(chan typed), slow: map[events.DispatchID]time.Time{},
	}
	go v.forward(ctx)
	return v, nil
}

// spoken are the user's own messages, for the line's history.
func (c *chat) spoken() (texts []string) {
	for _, m := range c.thread.Messages(0, 0) {
		if m.Role == events.RoleUser {
			texts = append(texts, m.Content)
		}
	}
	return texts
}

// forward brings the keys to the loop, and that there are no more.
func (v *screenView) forward(ctx context.Context) {
	for {
		said := typed{end: true}
		select {
		case event, ok := <-v.keys.events:
			if ok {
				said = typed{key: event}
			}
		case <-ctx.Done():
			return
		}
		select {
		case v.input <- said:
		case <-ctx.Done():
			return
		}
		if said.end {
			return
		}
	}
}

func (v *screenView) typed() <-chan typed { return v.input }
func (v *screenView) patient() bool       { return false }

// press takes a key, and gives what came of it.
func (v *screenView) press(c *chat, said typed) (typed, error) {
	var out typed
	switch key := said.key.(type) {
	case uv.KeyPressEvent:
		out = v.key(uv.Key(key))
	case uv.PasteEvent:
		v.editor.Paste(key.Content)
	default:
		return typed{}, nil
	}
	return out, v.draw(c, time.Now())
}

func (v *screenView) key(key uv.Key) typed {
	switch v.editor.Key(key) {
	case lineedit.Submit:
		return typed{text: v.editor.Take()}
	case lineedit.Interrupt:
		return typed{interrupt: true}
	case lineedit.End:
		return typed{end: true}
	}
	return typed{}
}

func (v *screenView) event(run *thread.Run, env events.Envelope) error {
	v.speech.settle(env)
	return v.notice(termview.ChatNotices(run, env)...)
}

// said shows a message: of one that was shown while it was written, the rest.
func (v *screenView) said(m thread.Message) error {
	width := width(v.app.out)
	if m.Role != events.RoleAssistant || m.Seq == 0 {
		return v.print(termview.Said(m, v.theme, width))
	}
	rest, goesOn := v.speech.finish(m.Content, width)
	if goesOn && v.begun {
		v.begun = false
		return v.print(append(rest, append(termview.Choices(m.Choices, width), "")...))
	}
	if err := v.broken(); err != nil {
		return err
	}
	return v.print(termview.Said(m, v.theme, width))
}

// recall shows what was said earlier.
func (v *screenView) recall(m thread.Message) error {
	return v.print(termview.Said(m, v.theme, width(v.app.out)))
}

// broken says of what stands on the screen that it does not count.
func (v *screenView) broken() error {
	if !v.begun {
		return nil
	}
	v.begun = false
	return v.print(append(termview.BrokenOff(v.theme, width(v.app.out)), ""))
}

func (v *screenView) notice(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	var set []string
	for _, line := range lines {
		set = append(set, termview.Notice(termview.Text(line), v.theme, width(v.app.out))...)
	}
	return v.print(append(set, ""))
}

func (v *screenView) heartbeat(s runner.Signal) error {
	if s.Slow {
		v.slow[s.Dispatch], v.takingLonger = time.Now(), s.Notice
	}
	return nil
}

func (v *screenView) document(text string) error {
	stream := termview.NewStream(v.theme, width(v.app.out))
	stream.Write(text)
	return v.print(append(stream.End(), ""))
}

func (v *screenView) print(lines []string) error {
	return v.picture.above(v.app.out, lines)
}

func (v *screenView) tick(c *chat, now time.Time) error {
	if err := v.hear(c); err != nil {
		return err
	}
	return v.draw(c, now)
}

// hear takes in what whoever has the floor has written since, and prints what is complete.
func (v *screenView) hear(c *chat) error {
	current, driven := c.thread.Current(), c.runner.Driven(c.key)
	if current == nil || driven == nil || driven.ID() != current.ID {
		return nil
	}
	if v.speech.listen(current, driven.Live(), width(v.app.out)) {
		if err := v.broken(); err != nil {
			return err
		}
	}
	lines := v.speech.settled()
	if len(lines) == 0 {
		return nil
	}
	if !v.begun {
		v.begun = true
		lines = append([]string{termview.AgentBadge(termview.DisplayName(current, v.speech.agent), v.theme)}, lines...)
	}
	return v.print(lines)
}

// draw paints what is under way, and the line that is being typed.
func (v *screenView) draw(c *chat, now time.Time) error {
	width, height, _ := terminal(v.app.out)
	frame := termview.ChatFrame{
		Frame: termview.Frame{Now: now, Width: width, Height: height}, Where: c.thread.Context(), Open: v.speech.open(), Prompt: "› ", TakingLonger: v.takingLonger,
	}
	if current := c.thread.Current(); current != nil && c.busy() {
		frame.Run = current
		frame.Active = termview.Activities(current)
		if driven := c.runner.Driven(c.key); driven != nil && driven.ID() == current.ID {
			frame.Active = activities(current, driven.Live(), v.slow)
		}
		if len(frame.Open) > 0 && !v.begun {
			frame.Speaker = termview.DisplayName(current, v.speech.agent)
		}
	}
	if asked := c.asked(); asked != nil {
		frame.Prompt = "answer › "
	}
	for _, m := range c.thread.Queue() {
		frame.Queued = append(frame.Queued, m.Content)
	}
	prompt, row, column := v.editor.Lines(frame.Prompt, max(min(width-1, height*width), 8))
	lines := termview.ChatPicture(frame, v.theme, height-1-len(prompt))
	return v.picture.prompt(append(lines, prompt...), len(lines)+row, column)
}

func (v *screenView) close() error {
	var err error
	if rest := v.speech.open(); v.begun && len(rest) > 0 {
		err = v.print(rest)
	}
	return errors.Join(err, v.picture.close(), v.keys.close())
}

// newView talks with a person where both ends are a terminal that can be drawn on, else
// with a program.
func (c *chat) newView(ctx context.Context) (chatView, error) {
	in, isFile := c.app.in.(*os.File)
	_, _, keys := terminal(c.app.in)
	if isFile && keys && c.app.canDraw(c.app.out) && !c.driver.flags.json {
		return c.newScreen(ctx, in)
	}
	return newScriptView(ctx, c.app, c.driver.flags.json), nil
}

// welcomed is how many of the messages of a thread are shown when it is opened.
const welcomed = 6

// welcome shows where a conversation stands that is gone on with.
func (c *chat) welcome() error {
	c.shown = c.thread.Seq
	if c.view.patient() && !c.desk {
		return nil
	}
	if c.thread.Seq == 0 {
		return c.view.notice("a new conversation – /help lists the commands, /exit leaves")
	}
	messages := c.thread.MessagesBefore(0, welcomed)
	if more := c.thread.MessageCount() - len(messages); more > 0 {
		if err := c.view.notice(termview.Plural(more, "earlier message") + " – /history shows all"); err != nil {
			return err
		}
	}
	for _, m := range messages {
		if strings.TrimSpace(m.Content) == "" || m.Delivery == events.DeliveryQueue && m.Run == "" {
			continue
		}
		if err := c.view.recall(m); err != nil {
			return err
		}
	}
	return nil
}
