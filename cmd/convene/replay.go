package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
	"github.com/convene-run/convene/web"
)

func newReplayCommand(a *app) *cobra.Command {
	var speed float64
	var f watchFlags
	c := &cobra.Command{
		Use:   "replay FILE | RUN | -",
		Short: "Play back a run",
		Long: `Play back a run from a file written by convene export --jsonl or run --json, from
standard input with -, or from the store. No model is called and nothing is written.
--speed 1 plays in real time, --speed 10 ten times as fast; by default there is no
waiting at all.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if speed < 0 {
				return usage(fmt.Errorf("--speed %g: give a number above 0, or 0 for no waiting", speed))
			}
			if f.wanted() {
				return a.replayInBrowser(c.Context(), args[0], f, speed)
			}
			return a.replay(c.Context(), args[0], speed)
		},
	}
	f.registerFile(c)
	c.Flags().Float64Var(&speed, "speed", 0, "playback speed: 1 is real time, 10 ten times as fast, 0 does not wait")
	return c
}

// replayInBrowser shows a file, else a run of the store, on the dashboard.
func (a *app) replayInBrowser(ctx context.Context, name string, f watchFlags, speed float64) error {
	file, err := os.Open(name)
	if err == nil {
		defer func() { _ = file.Close() }()
		log, run, err := web.ReadFile(ctx, file, name)
		if err != nil {
			return usage(err)
		}
		return a.showFile(ctx, web.Config{Log: log, As: access.Operator(run.Tenant)}, string(run.Run), f, speed)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return usage(err)
	}
	return a.withStored(ctx, name, func(log events.Log, run events.RunSummary) error {
		return a.showFile(ctx, web.Config{Log: log}, string(run.Run), f, speed)
	})
}

// withStored opens the store for a run of it that was named where a file could be.
func (a *app) withStored(ctx context.Context, name string, do func(events.Log, events.RunSummary) error) (err error) {
	log, err := a.storeToRead(ctx)
	if errors.Is(err, errNoStore) {
		return usage(fmt.Errorf("there is no file %s, and no store %s to look for a run in", name, a.storePath()))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	run, err := a.findRun(ctx, log, name)
	if err != nil {
		return err
	}
	return do(log, run)
}

func (a *app) replay(ctx context.Context, name string, speed float64) error {
	r := &replayer{interrupts: a.interrupts(), speed: speed, thread: thread.New(), view: a.replayView()}
	err := a.eachRecorded(ctx, name, r.event)
	if closeErr := r.view.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	run := r.thread.Current()
	if run == nil {
		return usage(fmt.Errorf("%s contains no run", name))
	}
	if err := a.printResult(run, termview.Both); err != nil {
		return err
	}
	a.printSummary(run)
	return nil
}

// replayView is that of a live run.
func (a *app) replayView() view {
	if a.canDraw(a.err) {
		return a.newLiveView()
	}
	return &plainView{out: a.err}
}

// eachRecorded goes over the events of a file, of standard input, else of a run in the
// store.
func (a *app) eachRecorded(ctx context.Context, name string, do func(events.Envelope) error) error {
	if name == "-" {
		return eachLine(a.in, "standard input", do)
	}
	file, err := os.Open(name)
	if err == nil {
		defer func() { _ = file.Close() }()
		return eachLine(file, name, do)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return usage(err)
	}
	return a.withStored(ctx, name, func(log events.Log, run events.RunSummary) error {
		return eachEvent(ctx, log, run, do)
	})
}

// maxLineBytes bounds a line of a recorded log: a reply and its arguments at their
// largest, several times over.
const maxLineBytes = 64 << 20

func eachLine(r io.Reader, name string, do func(events.Envelope) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLineBytes)
	for number := 1; lines.Scan(); number++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		env, err := events.Decode(lines.Bytes())
		if err == nil {
			err = do(env)
		}
		if err != nil {
			return usage(fmt.Errorf("%s:%d: %w", name, number, err))
		}
	}
	if err := lines.Err(); err != nil {
		return usage(fmt.Errorf("read %s: %w", name, err))
	}
	return nil
}

// replayer shows recorded events at their pace.
type replayer struct {
	interrupts <-chan os.Signal
	speed      float64
	thread     *thread.Thread
	view       view
}

func (r *replayer) event(env events.Envelope) error {
	if r.thread.Seq == 0 {
		r.thread.Seq = env.Seq - 1 // a log of a later run of its thread
	}
	if err := r.wait(env); err != nil {
		return err
	}
	if err := r.thread.Apply(env); err != nil {
		return err
	}
	return r.view.event(r.thread.Current(), env)
}

// wait lets the time pass that passed before the event. While nobody drove the run
// no time passes.
func (r *replayer) wait(env events.Envelope) error {
	run := r.thread.Current()
	if r.speed == 0 || run == nil || env.Data.Kind() == events.KindRunResumed {
		return r.interrupted()
	}
	from, begun := r.thread.Time, time.Now()
	due := time.Duration(float64(env.Time.Sub(from)) / r.speed)
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	for {
		passed := time.Since(begun)
		now := from.Add(time.Duration(float64(passed) * r.speed))
		if now.After(env.Time) {
			now = env.Time
		}
		if err := r.view.tick(run, now, ""); err != nil || passed >= due {
			return err
		}
		select {
		case <-ticker.C:
		case <-time.After(due - passed):
		case <-r.interrupts:
			return &exitError{code: exitInterrupted}
		}
	}
}

// interrupted ends a replay that does not wait, between two events.
func (r *replayer) interrupted() error {
	select {
	case <-r.interrupts:
		return &exitError{code: exitInterrupted}
	default:
		return nil
	}
}
