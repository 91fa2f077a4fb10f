package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
)

func newForkCommand(a *app) *cobra.Command {
	var f driveFlags
	var at int64
	var change runner.Change
	c := &cobra.Command{
		Use:   "fork [RUN] --at SEQ",
		Short: "Start a new run from a point in an existing one",
		Long: `Start a new run from a point in an existing one: it takes over the events up to that
point and continues from there, optionally with another model or an added instruction.
No model call among those events is repeated. An instruction cannot come between a
turn's calls and their results: in the middle of a facilitator turn, while specialists
are working, the new run keeps only the events before that turn. The existing run is
unchanged. convene show --events and the dashboard give the event numbers. By default it
is the newest run that is no row of a batch.`,
		Example: `  convene fork 0198c0de --at 42 --instruction "Keep it under 100 euros a day"
  convene fork 0198c0de --at 42 --model openai/gpt-5-mini`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if at < 1 {
				return usage(errors.New("name the event to fork at: --at SEQ. `convene show --events` gives the numbers"))
			}
			change.At, change.By.Actor = events.Seq(at), onCommandLine
			return a.fork(c.Context(), args, f, change)
		},
	}
	f.register(c)
	a.flags.limits.register(c.Flags())
	flags := c.Flags()
	flags.Int64Var(&at, "at", 0, "number (seq) of the last event that the new run keeps")
	flags.StringVar(&change.Model, "model", "", "model for every agent of the new run, as provider/name (default: unchanged)")
	flags.StringVar(&change.Instruction, "instruction", "", "what to tell the facilitator at that point")
	return c
}

func (a *app) fork(ctx context.Context, args []string, f driveFlags, change runner.Change) (err error) {
	d := &driver{app: a, flags: f, models: a.watchedModels(f.baseURL)}
	if err := d.open(ctx, a.existingStore); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	summary, err := a.namedRun(ctx, d.log, args)
	if err != nil {
		return err
	}
	r, err := d.runner()
	if err != nil {
		return err
	}
	run, err := r.Fork(ctx, summary.Tenant, summary.Run, change)
	if err != nil {
		return beforeStart(err)
	}
	fmt.Fprintf(a.err, "run %s, forked from %s at event %d\n", run.ID(), summary.Run, change.At)
	return d.show(ctx, r, run, 0)
}
