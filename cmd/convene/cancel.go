package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/events"
)

func newCancelCommand(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run permanently",
		Long: `End a run permanently. If another process is driving it, that process is asked to end it
and does so within moments; otherwise it ends at once. What was written is kept.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.cancel(c.Context(), args[0], reason) },
	}
	c.Flags().StringVar(&reason, "reason", "", "reason, for the log")
	return c
}

func (a *app) cancel(ctx context.Context, id, reason string) (err error) {
	log, err := a.existingStore(ctx)
	if err != nil {
		return err
	}
	d := &driver{app: a, log: log, models: a.models("")}
	defer func() { err = errors.Join(err, d.close()) }()
	run, err := a.findRun(ctx, log, id)
	if err != nil {
		return err
	}
	r, err := d.runner()
	if err != nil {
		return err
	}
	if err := r.CancelBy(ctx, run.Tenant, run.Run, onCommandLine, reason); err != nil {
		if errors.Is(err, events.ErrRunOver) {
			err = usage(err)
		}
		return err
	}
	if run, err = log.FindRun(ctx, run.Tenant, string(run.Run)); err != nil {
		return err
	}
	if run.Status.Over() {
		_, err = fmt.Fprintf(a.out, "run %s: %s\n", run.Run, run.Status)
		return err
	}
	_, err = fmt.Fprintf(a.out, "run %s: cancellation requested; the process that drives it will end it\n", run.Run)
	return err
}
