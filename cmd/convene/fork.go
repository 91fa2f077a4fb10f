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
		Use:   "fork RUN --at SEQ",
		Short: "Start over from a point of a run, with the facts up to it",
		Long: `Start over from a point of a run: a new run takes over the facts up to that event,
and goes on from there, with another model or an added instruction if you like. No
model call among those facts is made again. An instruction cannot stand between a
turn's calls and their results: amid a turn of the facilitator, with specialists at
work, the new run keeps the facts before that turn alone. The other run stays as it
is. convene show and the dashboard give the numbers of events.`,
		Example: `  convene fork 0198c0de --at 42 --instruction "Keep it under 100 euros a day"
  convene fork 0198c0de --at 42 --model openai/gpt-5-mini`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if at < 1 {
				return usage(errors.New("say from which event: --at SEQ"))
			}
			change.At = events.Seq(at)
			return a.fork(c.Context(), args[0], f, change)
		},
	}
	f.register(c)
	flags := c.Flags()
	flags.Int64Var(&at, "at", 0, "seq of the last event that the new run keeps")
	flags.StringVar(&change.Model, "model", "", "model for every agent of the new run, as provider/name (default as before)")
	flags.StringVar(&change.Instruction, "instruction", "", "what to tell the facilitator at that point")
	return c
}

func (a *app) fork(ctx context.Context, id string, f driveFlags, change runner.Change) (err error) {
	d := &driver{app: a, flags: f, models: a.models(f.baseURL)}
	if err := d.open(ctx, a.existingStore); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	summary, err := a.findRun(ctx, d.log, id)
	if err != nil {
		return err
	}
	r, err := d.runner()
	if err != nil {
		return err
	}
	run, err := r.Fork(ctx, summary.Tenant, string(summary.Run), change)
	if err != nil {
		return beforeStart(err)
	}
	fmt.Fprintf(a.err, "run %s, forked from %s at event %d\n", run.ID(), summary.Run, change.At)
	return d.show(run, 0)
}
