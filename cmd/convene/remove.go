package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/lifetime"
)

func newRunsRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rm RUN...",
		Short: "Remove runs permanently",
		Long: `Remove runs permanently, with everything in their threads. A run must have ended, its
thread must not be in use, and a row of a batch is kept until the batch has finished.
Runs that share a thread are removed together. ` + "`convene store compact`" + ` then reclaims
the space.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.removeRuns(c.Context(), args) },
	}
}

func (a *app) removeRuns(ctx context.Context, ids []string) (err error) {
	log, err := a.existingStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	var runs []events.RunSummary
	for _, id := range ids {
		run, err := a.findRun(ctx, log, id)
		if damaged := (*events.DamagedError)(nil); errors.As(err, &damaged) {
			run, err = damagedOf(ctx, log, damaged.Key, id, err)
		}
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	if err := a.checkShared(ctx, log, runs); err != nil {
		return usage(err)
	}
	removed := map[events.ThreadID]bool{}
	for _, run := range runs {
		if !removed[run.Thread] {
			remove := log.Remove
			if run.Damaged != nil {
				remove = log.Erase // nobody can continue it
			}
			if err := remove(ctx, events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}); err != nil {
				return notRemoved(err, run)
			}
			if err := audited(ctx, log, run.Tenant, events.Audited{Action: events.AuditRemoved, Target: string(run.Thread)}); err != nil {
				return err
			}
			removed[run.Thread] = true
		}
		if _, err := fmt.Fprintf(a.out, "run %s: removed\n", run.Run); err != nil {
			return err
		}
	}
	return nil
}

// damagedOf gives the run of a thread that an id, or its beginning, was found to name, though
// not all of it can be read; otherwise the error of that.
func damagedOf(ctx context.Context, log events.Index, key events.ThreadKey, id string, failure error) (events.RunSummary, error) {
	runs, err := log.Runs(ctx, events.RunQuery{Tenant: key.Tenant, Thread: key.Thread, Limit: sharedPage})
	for _, run := range runs {
		if strings.HasPrefix(string(run.Run), id) && run.Damaged != nil {
			return run, nil
		}
	}
	return events.RunSummary{}, cmp.Or(err, failure)
}

// checkShared refuses to remove a run without the others of its thread.
func (a *app) checkShared(ctx context.Context, log events.Index, runs []events.RunSummary) error {
	for _, run := range runs {
		all, err := log.Runs(ctx, events.RunQuery{Tenant: run.Tenant, Thread: run.Thread, Limit: sharedPage})
		if err != nil {
			return err
		}
		for _, other := range all {
			if !slices.ContainsFunc(runs, func(r events.RunSummary) bool { return r.Run == other.Run }) {
				return fmt.Errorf("run %s shares its thread with run %s, so they are removed together. Name both", termview.ShortID(run.Run), other.Run)
			}
		}
	}
	return nil
}

// notRemoved says what to do about a run that must stay.
func notRemoved(err error, run events.RunSummary) error {
	id := termview.ShortID(run.Run)
	switch {
	case errors.Is(err, events.ErrNotOver):
		return usage(fmt.Errorf("run %s was kept: it is %s. `convene cancel %s` ends it", id, run.Status, id))
	case errors.Is(err, events.ErrBatchOpen):
		return usage(fmt.Errorf("run %s was kept: its batch %s has not finished and would need it", id, run.Batch.Batch))
	}
	return heldBy(err, "run "+id, "Remove it when that has ended.")
}

func newRunsPruneCommand(a *app) *cobra.Command {
	var olderThan string
	var dry bool
	c := &cobra.Command{
		Use:   "prune --older-than AGE",
		Short: "Remove all runs older than a given age",
		Long: `Remove all runs whose last event is older than AGE: 30d, 2w, 12h. A thread is removed
when all of its runs have ended and are that old; a batch is removed with its rows once
it has finished. Runs and batches that can be continued are kept. Failed rows of a
removed batch start from scratch when retried. ` + "`convene store compact`" + ` then reclaims
the space.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			age, err := parseAge(olderThan)
			if err != nil {
				return usage(err)
			}
			return a.prune(c.Context(), time.Now().Add(-age), dry)
		},
	}
	c.Flags().StringVar(&olderThan, "older-than", "", "age, such as 30d, 2w or 12h (required)")
	c.Flags().BoolVar(&dry, "dry-run", false, "only print what would be removed")
	return c
}

// parseAge reads a duration that may count days or weeks.
func parseAge(text string) (time.Duration, error) {
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, found := strings.CutSuffix(text, suffix); found {
			n, err := strconv.ParseFloat(number, 64)
			if err == nil && n >= 0 && n < 1e5 {
				return time.Duration(n * float64(unit)), nil
			}
		}
	}
	age, err := time.ParseDuration(text)
	if err != nil || age < 0 {
		return 0, fmt.Errorf("--older-than %q: give an age such as 30d, 2w or 12h", text)
	}
	return age, nil
}

// sharedPage is how many runs of a thread are looked at.
const sharedPage = 1000

func (a *app) prune(ctx context.Context, before time.Time, dry bool) (err error) {
	log, err := a.existingStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	rules := lifetime.Every(events.LocalTenant, lifetime.Ages{Runs: before, Conversations: before, Batches: before})
	gone, err := lifetime.Prune(ctx, log, rules, dry)
	if err == nil && !dry {
		err = audited(ctx, log, events.LocalTenant, events.Audited{
			Action: events.AuditRemoved, What: whatPruned(lifetime.Sum(gone)) + " older than " + before.UTC().Format(time.RFC3339),
		})
	}
	if err != nil {
		return err
	}
	return a.sayPruned(lifetime.Sum(gone), dry)
}

// sayPruned tells what a prune removed, or would.
func (a *app) sayPruned(gone lifetime.Pruned, dry bool) error {
	verb := "removed"
	if dry {
		verb = "would be removed"
	}
	_, err := fmt.Fprintf(a.out, "%s %s\n", whatPruned(gone), verb)
	return err
}
