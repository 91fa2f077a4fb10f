package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
)

func newResumeCommand(a *app) *cobra.Command {
	var f driveFlags
	var filesRoot string
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Continue a run that was stopped, killed or cut off",
		Long: `Continue a run that was stopped, killed or cut off, from its log alone: it keeps the team
and limits it was started with, and no finished model call is repeated. It uses the same
model endpoints as before unless --base-url or the environment sets another; a key is sent
to an address only if one of these, or the provider's own address, pairs the two.
RUN is a run id, or the beginning of one; by default the newest run that can be continued.
A row of a batch that has a folder of its own reads it below --files-root.

Exit codes are those of convene run; 6 means that it was parked again because an endpoint
was unavailable.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.resume(c.Context(), args, f, filesRoot) },
	}
	f.register(c)
	f.onInput.register(c, "ask on a terminal, park otherwise")
	f.approve.register(c, "ask on a terminal, park otherwise")
	a.flags.limits.register(c.Flags())
	c.Flags().StringVar(&filesRoot, "files-root", "", "folder that the folder of the row is in; nothing outside it is read")
	_ = c.MarkFlagDirname("files-root") // fails only for a flag that is not there
	return c
}

func (a *app) resume(ctx context.Context, args []string, f driveFlags, filesRoot string) (err error) {
	if filesRoot != "" {
		if filesRoot, err = batch.FilesRoot(filesRoot); err != nil {
			return usage(err)
		}
	}
	d := &driver{app: a, flags: f, models: a.watchedModels(f.baseURL)}
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
	run, err := r.Resume(ctx, summary.Tenant, summary.Run, runner.Terms{OnInput: runner.OnInput(f.onInput), Approve: runner.Approve(f.approve), FilesRoot: filesRoot, By: onCommandLine})
	if err != nil {
		return beforeStart(heldBy(err, "run "+id, "`convene cancel "+id+"` asks it to end"))
	}
	return d.show(ctx, r, run, summary.LastSeq)
}

// toResume finds the run that is named, or the newest that nobody drives.
func (a *app) toResume(ctx context.Context, log events.Index, args []string) (events.RunSummary, error) {
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
	return events.RunSummary{}, usage(fmt.Errorf("no run in %s can be continued", a.storePath()))
}
