package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// batchesFlags are those of `convene batches`.
type batchesFlags struct {
	status []string
	search string
	limit  int
	json   bool
}

func newBatchesCommand(a *app) *cobra.Command {
	var f batchesFlags
	c := &cobra.Command{
		Use:   "batches",
		Short: "List batches, newest first",
		Long: `List batches, newest first, with their rows, cost, input and output. An interrupted batch
is continued by the command that started it. convene runs --batch lists the rows of one.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.batches(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringSliceVar(&f.status, "status", nil, "only batches with this status: "+names(batchStatuses))
	flags.StringVar(&f.search, "search", "", "only batches whose input, output, team or id contains this")
	flags.IntVar(&f.limit, "limit", events.DefaultRunsLimit, "maximum number of batches")
	flags.BoolVar(&f.json, "json", false, "write one JSON object per line")
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(batchStatuses, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that is not there
	return c
}

// batchStatuses are what a batch can be listed by.
var batchStatuses = []string{
	string(events.StatusRunning), string(termview.StatusInterrupted), string(events.StatusSuspended),
	string(events.StatusCompleted), string(events.StatusDegraded), string(events.StatusFailed), string(events.StatusCancelled),
}

func (a *app) batches(ctx context.Context, f batchesFlags) (err error) {
	query := events.BatchQuery{Tenant: events.LocalTenant, Search: f.search, Limit: f.limit}
	if query.Status, err = listedBy(f.status, f.limit, batchStatuses); err != nil {
		return usage(err)
	}
	log, err := a.storeToRead(ctx)
	if errors.Is(err, errNoStore) {
		fmt.Fprintln(a.err, err)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	found, err := listBatches(ctx, log, query, f.status)
	for i := range found {
		a.noteDamage(found[i].Damaged, events.ThreadKey{Tenant: found[i].Tenant, Thread: events.ThreadID(found[i].Batch)})
	}
	switch {
	case err != nil:
		return err
	case f.json:
		return printJSONLines(a, found)
	case len(found) == 0:
		fmt.Fprintln(a.err, "no batches match")
		return nil
	}
	lines := make([]events.BatchSummary, len(found))
	for i := range found {
		lines[i] = found[i].BatchSummary
		lines[i].Status = shownStatus(found[i].Status, found[i].Interrupted)
		if lines[i].Damaged != nil {
			lines[i].Status = termview.StatusDamaged
		}
	}
	return a.printLines(termview.BatchTable(lines, time.Now(), a.theme(a.out), width(a.out)))
}

// listBatches reads pages until it has as many batches as wanted, as [listRuns] does.
func listBatches(ctx context.Context, log events.Index, query events.BatchQuery, wanted []string) (found []web.BatchView, err error) {
	for {
		page, err := log.Batches(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, batch := range page {
			view, err := web.ViewBatch(ctx, log, batch)
			if err != nil {
				return nil, err
			}
			if isWanted(wanted, shownStatus(view.Status, view.Interrupted)) && len(found) < query.Limit {
				found = append(found, view)
			}
			query.Before = batch.Batch
		}
		if len(found) == query.Limit || len(page) < query.Limit {
			return found, nil
		}
	}
}

// findBatch gives the batch with that id, or with the only id that begins so.
func (a *app) findBatch(ctx context.Context, log events.Index, idOrPrefix string) (events.BatchSummary, error) {
	batch, err := log.FindBatch(ctx, events.LocalTenant, idOrPrefix)
	switch {
	case errors.Is(err, events.ErrNotFound):
		return batch, usage(fmt.Errorf("no batch %q in %s. `convene batches` lists them", idOrPrefix, a.storePath()))
	case errors.Is(err, events.ErrAmbiguous):
		return batch, usage(fmt.Errorf("more than one batch begins with %q. Give more characters of its id; `convene batches` lists them", idOrPrefix))
	}
	return batch, err
}
