package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/google/uuid"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// chat is a conversation in front of a person, or of a script.
type chat struct {
	app    *app
	driver *driver
	runner *runner.Runner
	key    events.ThreadKey
	// job is what every message is sent with.
	job    runner.Job
	view   chatView
	thread *thread.Thread
	// desk is set where a person answers in an agent's place.
	desk bool
	// shown is the newest message that was shown.
	shown events.Seq
	// stops counts the ^C since something was last typed.
	stops int
	// leaving is set once nothing more is to be said.
	leaving, interrupted bool
}

// chatView shows a conversation, and brings what is typed into it.
type chatView interface {
	// event is told of each event, and said of each message behind the event that it is from,
	// with the fold that has it applied: the run is nil before the first.
	event(run *thread.Run, env events.Envelope) error
	said(m thread.Message) error
	// recall shows a message of earlier.
	recall(m thread.Message) error
	// heartbeat is told of an agent that has been silent for long.
	heartbeat(s runner.Signal) error
	// notice shows lines that nobody says.
	notice(lines ...string) error
	// tick draws what is under way.
	tick(c *chat, now time.Time) error
	// document shows what the team wrote.
	document(text string) error
	// typed brings what is typed; patient tells that lines are to wait until the thread is at
	// rest. press makes of a key what was typed with it.
	typed() <-chan typed
	patient() bool
	press(c *chat, said typed) (typed, error)
	close() error
}

// typed is a line that was typed, or what else came of the keyboard.
type typed struct {
	text string
	// end is set where nothing more comes, interrupt where ^C came as a key.
	end, interrupt bool
	// key is a key that was pressed.
	key uv.Event
	err error
}

// run talks until the person leaves, and gives the exit code of the last answer.
func (c *chat) run(ctx context.Context) error {
	th, err := thread.Load(ctx, c.driver.log, c.key, 0)
	if err != nil {
		return err
	}
	c.thread = th
	interrupts := c.app.interrupts()
	outlivePipes()
	if c.view, err = c.newView(ctx); err != nil {
		return err
	}
	c.app.notices = func(line string) { _ = c.view.notice(line) }
	err = c.welcome()
	if err == nil {
		err = c.takeUp(ctx)
	}
	if err == nil {
		err = c.loop(ctx, interrupts)
	}
	err = errors.Join(err, c.part(interrupts), c.view.close())
	c.app.notices = nil
	if err != nil {
		return err
	}
	return c.farewell()
}

// takeUp has what a killed or parked process left go on. At the desk what was parked stays so.
func (c *chat) takeUp(ctx context.Context) error {
	current := c.thread.Current()
	var err error
	switch {
	case current == nil, c.desk && current.Status == events.StatusSuspended:
	case current.Status == events.StatusAwaitingInput && !current.Answered():
	case !current.Status.Over():
		_, err = c.runner.Resume(ctx, c.key.Tenant, current.ID, runner.Terms{By: c.job.Message.Actor})
	case len(c.thread.Queue()) > 0:
		err = c.takeNext(ctx, c.thread.Queue()[0])
	}
	if errors.Is(err, events.ErrHeld) || errors.Is(err, events.ErrRunOver) {
		return nil // whoever holds it goes on, or did, and is watched
	}
	return beforeStart(err)
}

// takeNext begins the run of a message that waits: the thread has it.
func (c *chat) takeNext(ctx context.Context, waiting *thread.Sent) error {
	job := c.job
	message := *job.Message
	message.ID, message.Delivery = waiting.MessageID, ""
	job.Tenant, job.Thread, job.Request, job.Message = c.key.Tenant, c.key.Thread, waiting.Content, &message
	receipt, err := c.runner.Send(ctx, job)
	return errors.Join(err, receipt.Stalled)
}

func (c *chat) loop(ctx context.Context, interrupts <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(ctx)
	steps := make(chan step)
	go c.follow(ctx, steps, c.thread.Seq)
	defer func() {
		cancel()
		for range steps { // until the reader has ended
		}
	}()
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	input := c.view.typed()
	if c.view.patient() {
		input = nil
	}
	for !c.leaving {
		var err error
		select {
		case s, ok := <-steps:
			if !ok {
				return nil
			}
			err = c.step(s)
		case now := <-ticker.C:
			err = errors.Join(c.listen(), c.view.tick(c, now))
			if err == nil && c.view.patient() {
				input, err = c.rested(ctx)
			}
		case said := <-input:
			err = c.take(ctx, said)
			if c.view.patient() {
				input = nil
			}
		case signal := <-interrupts:
			err = c.interrupt(ctx, signal)
		}
		if err != nil && !errors.Is(err, syscall.EIO) {
			return err // but for a terminal that has gone: the signal of that comes
		}
	}
	return nil
}

// listen takes in the heartbeats that came.
func (c *chat) listen() error {
	for {
		select {
		case s := <-c.driver.beats:
			if err := c.view.heartbeat(s); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// follow brings the events of the thread behind after.
func (c *chat) follow(ctx context.Context, steps chan<- step, after events.Seq) {
	defer close(steps)
	for env, err := range events.Follow(ctx, c.driver.log, c.key, after) {
		select {
		case steps <- step{env, err}:
		case <-ctx.Done():
			return
		}
	}
}

func (c *chat) step(s step) error {
	if s.err != nil {
		return s.err
	}
	if err := c.thread.Apply(s.env); err != nil {
		return err
	}
	if err := c.view.event(c.thread.Current(), s.env); err != nil {
		return err
	}
	return c.say(s.env)
}

// say shows the messages that an event adds. One that is queued is shown when its turn
// comes, so that it does not stand in the middle of somebody's words.
func (c *chat) say(env events.Envelope) error {
	if started, ok := env.Data.(events.WorkflowStarted); ok {
		if m := c.thread.Sent(started.MessageID); m != nil && m.Delivery == events.DeliveryQueue {
			if err := c.view.said(thread.Message{Role: events.RoleUser, UserID: m.UserID, Content: m.Content, ID: m.MessageID, Run: env.Run}); err != nil {
				return err
			}
		}
	}
	for _, m := range c.thread.Messages(c.shown, 0) {
		c.shown = m.Seq
		if m.Delivery == events.DeliveryQueue {
			continue
		}
		if err := c.view.said(m); err != nil {
			return err
		}
	}
	return nil
}

// busy reports whether an answer is under way.
func (c *chat) busy() bool {
	current := c.thread.Current()
	return current != nil && current.Status == events.StatusRunning
}

// rested gives the input to read from once nothing is under way any more, nothing waits for
// its turn and all of it was shown. An endpoint that is away ends the conversation of a script.
func (c *chat) rested(ctx context.Context) (<-chan typed, error) {
	if c.runner.Driven(c.key) != nil {
		return nil, nil
	}
	holder, _, err := c.driver.log.Holder(ctx, c.key)
	if err != nil || holder != "" {
		return nil, err
	}
	tip, err := c.driver.log.Last(ctx, c.key)
	if err != nil || tip.Seq > c.thread.Seq {
		return nil, err
	}
	if c.due() {
		return nil, c.takeUp(ctx) // between two runs, unless whoever drove them is gone
	}
	if current := c.thread.Current(); current != nil && current.Status == events.StatusSuspended && !c.desk {
		c.leaving = true
	}
	return c.view.typed(), nil
}

// due reports whether the thread has something to go on with: a run that is under way or was
// given what it waited for, or a message behind one that is over.
func (c *chat) due() bool {
	current := c.thread.Current()
	switch {
	case current == nil:
		return false
	case current.Status == events.StatusAwaitingInput:
		return current.Answered()
	case current.Status.Over():
		return len(c.thread.Queue()) > 0
	}
	return current.Status != events.StatusSuspended
}

// take does what was typed.
func (c *chat) take(ctx context.Context, said typed) (err error) {
	if said.key != nil {
		if said, err = c.view.press(c, said); err != nil {
			return err
		}
	}
	switch {
	case said.err != nil:
		return usage(said.err)
	case said.interrupt:
		return c.interrupt(ctx, os.Interrupt)
	case said.end:
		c.leaving = true
		return nil
	case strings.TrimSpace(said.text) == "":
		return nil
	}
	c.stops = 0
	if name, rest, ok := command(said.text); ok {
		return c.do(ctx, name, rest)
	}
	return c.send(ctx, said.text, c.job.Message.Delivery)
}

// send gives a message to the team, or the answer to what was asked.
func (c *chat) send(ctx context.Context, text string, delivery events.Delivery) error {
	message := *c.job.Message
	message.ID, message.Delivery = events.MessageID(uuid.NewString()), delivery
	if input := c.asked(); input != nil && delivery != events.DeliverySteer {
		var err error
		if text, err = answerTo(input, text, &message); err != nil {
			return c.refuse(err)
		}
	} else if c.desk {
		return c.refuse(errors.New("nobody waits for a person in this conversation now"))
	} else if delivery == "" && len(c.thread.Inputs()) > 0 {
		message.Delivery = events.DeliveryQueue // it is for the agents: a person is to answer what was asked
	}
	job := c.job
	job.Tenant, job.Thread, job.Request, job.Message = c.key.Tenant, c.key.Thread, text, &message
	if c.thread.Current() != nil && job.Team != nil && c.busy() {
		job.Team = nil
	}
	receipt, err := c.runner.Send(ctx, job)
	if err != nil {
		return c.refuse(err)
	}
	if receipt.Stalled != nil {
		return c.refuse(receipt.Stalled)
	}
	if receipt.Place > 0 {
		return c.view.notice(fmt.Sprintf("queued, place %d: it is answered next in line", receipt.Place))
	}
	return nil
}

// asked is what the person here is to answer, nil where nothing is asked: the first open
// question, or at the desk the first that waits for a person.
func (c *chat) asked() *thread.Input {
	for _, input := range c.thread.Inputs() {
		if (input.For == events.InputHuman) == c.desk {
			return input
		}
	}
	return nil
}

// chosen is the choice that a number stands for, or the text itself.
func chosen(choices []string, text string) string {
	for i, choice := range choices {
		if strings.TrimSpace(text) == fmt.Sprint(i+1) {
			return choice
		}
	}
	return text
}

// refuse says why something was not done. A script does not go on behind it.
func (c *chat) refuse(err error) error {
	if c.view.patient() {
		return beforeStart(err)
	}
	return c.view.notice("! " + termview.Line(err.Error()))
}

// interrupt cancels the answer under way; asked again, or with nothing under way, it leaves.
func (c *chat) interrupt(ctx context.Context, signal os.Signal) error {
	c.stops++
	switch {
	case signal != os.Interrupt || c.stops > 1 || c.view.patient():
		c.leaving, c.interrupted = true, true
		return nil
	case !c.busy():
		return c.view.notice("^C again, ^D or /exit leaves")
	}
	if err := c.view.notice("cancelling the answer – ^C again leaves"); err != nil {
		return err
	}
	err := c.runner.CancelBy(ctx, c.key.Tenant, c.thread.Current().ID, c.job.Message.Actor, "The user stopped it.")
	if err != nil && !errors.Is(err, events.ErrRunOver) {
		return c.refuse(err)
	}
	return nil
}

// part parks what is under way: model calls in flight end first, unless ^C comes.
func (c *chat) part(interrupts <-chan os.Signal) error {
	draining, hurry := context.WithTimeout(context.Background(), drainTime)
	defer hurry()
	if c.runner.Driven(c.key) != nil {
		_ = c.view.notice(fmt.Sprintf("parking the answer under way (up to %d s) – ^C stops at once", drainTime/time.Second))
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-interrupts:
			hurry()
		case <-done:
		}
	}()
	return c.runner.Shutdown(draining)
}

// farewell says how to go on, and gives the exit code.
func (c *chat) farewell() error {
	th, err := thread.Load(context.Background(), c.driver.log, c.key, 0)
	if err != nil {
		return err
	}
	current := th.Current()
	if current == nil {
		if c.interrupted {
			return &exitError{code: exitInterrupted}
		}
		return nil
	}
	if !c.desk {
		c.driver.advise(current)
		fmt.Fprintf(c.app.err, "continue this conversation with: %s\n", c.command())
	}
	result, err := c.runner.Outcome(context.Background(), c.key.Tenant, current.ID)
	if err != nil {
		return err
	}
	code := exitDone
	switch {
	case c.interrupted:
		code = exitInterrupted
	case c.view.patient() && !c.desk:
		code = codeOf(result, false)
	}
	if code != exitDone {
		return &exitError{code: code}
	}
	return nil
}

// command continues the conversation.
func (c *chat) command() string {
	command := "convene chat --thread " + string(c.key.Thread)
	if c.driver.flags.baseURL != "" {
		command += fmt.Sprintf(" --base-url %q", c.driver.flags.baseURL)
	}
	if c.app.flags.store != "" {
		command += fmt.Sprintf(" --store %q", c.app.flags.store)
	}
	return command
}
