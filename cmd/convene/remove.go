package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
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
			err := log.Remove(ctx, events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread})
			if err != nil {
				return notRemoved(err, run)
			}
			removed[run.Thread] = true
		}
		if _, err := fmt.Fprintf(a.out, "run %s: removed\n", run.Run); err != nil {
			return err
		}
	}
	return nil
}

// checkShared refuses to remove a run without the others of its thread.
func (a *app) checkShared(ctx context.Context, log events.Index, runs []events.RunSummary) error {
	for _, run := range runs {
		all, err := log.Runs(ctx, events.RunQuery{Tenant: run.Tenant, Thread: run.Thread, Limit: prunePage})
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

const (
	// prunePage is how many runs are listed at once.
	prunePage = 1000
	// pruneAtOnce is how many threads are removed at once, so that they share commits.
	pruneAtOnce = 16
)

// pruning is what a prune would remove.
type pruning struct {
	before  time.Time
	batches map[events.BatchID]events.BatchSummary
	threads map[events.ThreadID]*pruned
}

// pruned is a thread with runs.
type pruned struct {
	runs int
	keep bool
}

func (a *app) prune(ctx context.Context, before time.Time, dry bool) (err error) {
	log, err := a.existingStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	p := &pruning{before: before, batches: map[events.BatchID]events.BatchSummary{}, threads: map[events.ThreadID]*pruned{}}
	if err := p.listBatches(ctx, log); err != nil {
		return err
	}
	if err := p.listRuns(ctx, log); err != nil {
		return err
	}
	runs, rows, gone := 0, []events.ThreadID(nil), []events.ThreadID(nil)
	for id, thread := range p.threads {
		if !thread.keep {
			rows = append(rows, id)
			runs += thread.runs
		}
	}
	for id, batch := range p.batches {
		if p.old(batch) {
			gone = append(gone, events.ThreadID(id))
		}
	}
	verb := "would be removed"
	if !dry {
		verb = "removed"
		// A batch after its rows: they are found through it.
		for _, threads := range [][]events.ThreadID{rows, gone} {
			if err := removeThreads(ctx, log, threads); err != nil {
				return err
			}
		}
	}
	_, err = fmt.Fprintf(a.out, "%s and %s %s\n", termview.Plural(runs, "run"), batches(len(gone)), verb)
	return err
}

// old reports whether a batch goes.
func (p *pruning) old(batch events.BatchSummary) bool {
	return batch.Finished() && batch.Updated.Before(p.before)
}

func (p *pruning) listBatches(ctx context.Context, log events.Index) error {
	for last := events.BatchID(""); ; {
		page, err := log.Batches(ctx, events.BatchQuery{Tenant: events.LocalTenant, Before: last, Limit: prunePage})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, batch := range page {
			p.batches[batch.Batch] = batch
			last = batch.Batch
		}
	}
}

func (p *pruning) listRuns(ctx context.Context, log events.Index) error {
	for last := events.RunID(""); ; {
		page, err := log.Runs(ctx, events.RunQuery{Tenant: events.LocalTenant, OldestFirst: true, After: last, Limit: prunePage})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, run := range page {
			p.add(run)
			last = run.Run
		}
	}
}

func (p *pruning) add(run events.RunSummary) {
	thread := p.threads[run.Thread]
	if thread == nil {
		thread = &pruned{}
		p.threads[run.Thread] = thread
	}
	thread.runs++
	thread.keep = thread.keep || !run.Status.Over() || !run.Updated.Before(p.before)
	if run.Batch != nil {
		if batch, known := p.batches[run.Batch.Batch]; known && !p.old(batch) {
			thread.keep = true
		}
	}
}

// removeThreads removes threads. One that somebody has taken up meanwhile is kept.
func removeThreads(ctx context.Context, log events.Writer, threads []events.ThreadID) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(pruneAtOnce)
	for _, thread := range threads {
		group.Go(func() error {
			err := log.Remove(ctx, events.ThreadKey{Tenant: events.LocalTenant, Thread: thread})
			for _, kept := range []error{events.ErrHeld, events.ErrNotOver, events.ErrBatchOpen, events.ErrNotFound} {
				if errors.Is(err, kept) {
					return nil
				}
			}
			return err
		})
	}
	return group.Wait()
}
