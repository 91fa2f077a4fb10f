package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
)

func newResumeCommand(a *app) *cobra.Command {
	var f driveFlags
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Continue a run that was stopped, killed or cut off",
		Long: `Continue a run that was stopped, killed or cut off, from its log alone: its team and
limits are those it was started with, and no finished model call is made again.
RUN is the id, or the beginning of it. Without RUN the newest that can be continued.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.resume(c.Context(), args, f) },
	}
	f.register(c)
	return c
}

func (a *app) resume(ctx context.Context, args []string, f driveFlags) (err error) {
	d := &driver{app: a, flags: f, models: a.models(f.baseURL)}
	if err := d.open(ctx, a.existingStore); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	summary, err := a.toResume(ctx, d.log, args)
	if err != nil {
		return err
	}
	r, err := d.runner()
	if err != nil {
		return err
	}
	id := termview.ShortID(summary.Run)
	run, err := r.Resume(ctx, summary.Tenant, string(summary.Run))
	if err != nil {
		return beforeStart(heldBy(err, "run "+id, "`convene cancel "+id+"` asks it to end"))
	}
	return d.show(run, summary.LastSeq)
}

// toResume finds the run that is named, or the newest that nobody drives.
func (a *app) toResume(ctx context.Context, log events.Log, args []string) (events.RunSummary, error) {
	if len(args) > 0 {
		return a.findRun(ctx, log, args[0])
	}
	runs, err := log.Runs(ctx, events.RunQuery{
		Tenant: events.LocalTenant,
		Status: []events.Status{events.StatusRunning, events.StatusSuspended, events.StatusAwaitingInput},
	})
	if err != nil {
		return events.RunSummary{}, err
	}
	for _, run := range runs {
		holder, _, err := log.Holder(ctx, events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread})
		if err != nil || holder == "" {
			return run, err
		}
	}
	return events.RunSummary{}, usage(fmt.Errorf("no run in %s waits to be continued", a.storePath()))
}
