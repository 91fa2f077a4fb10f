package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

const (
	// drainTime bounds the wait for calls in flight after the first ^C: nearly every
	// model call ends within it.
	drainTime = 30 * time.Second
	// tickInterval is how often a live view is redrawn: smooth to the eye, and
	// nothing to the processor.
	tickInterval = 100 * time.Millisecond
)

// view shows a run as it goes.
type view interface {
	// event is told of each event of the run, with the fold that has it applied.
	event(run *thread.Run, env events.Envelope) error
	// tick is told that time passed, and of what to say to the person who watches.
	tick(run *thread.Run, now time.Time, notice string) error
	// close ends the view, before the result is shown.
	close() error
}

// follower drives a run in front of a person: its views, and what ^C does.
type follower struct {
	app   *app
	run   *runner.Run
	views []view
	// resume is the command that continues the run.
	resume string

	thread      *thread.Thread
	interrupted int
	notice      string
	drained     <-chan time.Time
}

// step is an event on its way to the views, or the error of reading it.
type step struct {
	env events.Envelope
	err error
}

// follow shows the run until it is over or parked.
func (f *follower) follow() (runner.Result, error) {
	f.thread = thread.New()
	ctx, cancel := context.WithCancel(context.Background())
	steps := make(chan step)
	go func() {
		defer close(steps)
		for env, err := range f.run.Events(ctx) {
			select {
			case steps <- step{env, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	shown := f.loop(steps)
	cancel()
	if shown != nil {
		f.run.Halt() // nobody sees it any more; it can be resumed
	}
	for range steps { // until the reader has ended
	}
	result, err := f.run.Wait()
	for _, v := range f.views {
		shown = errors.Join(shown, v.close())
	}
	if err != nil {
		// The reader met the same trouble; the run's own words are better.
		return result, fmt.Errorf("run %s: %w. `%s` continues it", f.run.ID(), err, f.resume)
	}
	if shown != nil && !result.Status.Over() {
		return result, fmt.Errorf("run %s was stopped, because it could not be shown: %w. `%s` continues it", f.run.ID(), shown, f.resume)
	}
	return result, shown
}

func (f *follower) loop(steps <-chan step) error {
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	interrupts := f.app.interrupts()
	for {
		select {
		case s, ok := <-steps:
			if !ok {
				return nil
			}
			if err := f.unshown(f.step(s)); err != nil {
				return err
			}
		case now := <-ticker.C:
			if err := f.unshown(f.tick(now)); err != nil {
				return err
			}
		case <-interrupts:
			if err := f.unshown(f.interrupt()); err != nil {
				return err
			}
		case <-f.drained:
			f.run.Halt()
		}
	}
}

// unshown passes the error of showing the run, unless it is that the terminal has gone:
// the signal of that lets the calls in flight end, whoever sees it.
func (f *follower) unshown(err error) error {
	if errors.Is(err, syscall.EIO) {
		return nil
	}
	return err
}

func (f *follower) step(s step) error {
	if s.err != nil {
		return s.err
	}
	if err := f.thread.Apply(s.env); err != nil {
		return err
	}
	if s.env.Run != f.run.ID() {
		return nil // an earlier run of the thread
	}
	for _, v := range f.views {
		if err := v.event(f.thread.Current(), s.env); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) tick(now time.Time) error {
	current := f.thread.Current()
	if current == nil || current.ID != f.run.ID() {
		return nil
	}
	for _, v := range f.views {
		if err := v.tick(current, now, f.notice); err != nil {
			return err
		}
	}
	return nil
}

// interrupt lets calls in flight end first; asked again, it stops at once.
func (f *follower) interrupt() error {
	f.interrupted++
	if f.interrupted > 1 {
		f.notice = "stopping"
	} else {
		f.notice = fmt.Sprintf("finishing calls in flight (up to %d s) – ^C again stops at once", drainTime/time.Second)
		f.drained = time.After(drainTime)
	}
	err := f.tick(time.Now())
	if f.interrupted > 1 {
		f.run.Halt()
	} else {
		f.run.Suspend()
	}
	return err
}
