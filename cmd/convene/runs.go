package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// runsFlags are those of `convene runs`.
type runsFlags struct {
	status      []string
	search      string
	team, model string
	batch       string
	all         bool
	limit       int
	json        bool
}

func newRunsCommand(a *app) *cobra.Command {
	var f runsFlags
	c := &cobra.Command{
		Use:   "runs",
		Short: "List runs, newest first",
		Long: `List runs, newest first. The rows of batches are left out: --batch lists those of one,
in the order of its input, and --all those of all. convene batches lists the batches.`,
		Example: `  convene runs --team trip --status degraded,failed
  convene runs --batch 0198c0de --status failed`,
		Args: unknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return a.runs(c.Context(), f) },
	}
	c.AddCommand(newRunsRemoveCommand(a), newRunsPruneCommand(a))
	flags := c.Flags()
	flags.StringSliceVar(&f.status, "status", nil, "only runs with this status: "+names(statuses))
	flags.StringVar(&f.search, "search", "", "only runs whose request or answer contains this")
	flags.StringVar(&f.team, "team", "", "only runs of the team with this name")
	flags.StringVar(&f.model, "model", "", "only runs that ask a model whose name contains this")
	flags.StringVar(&f.batch, "batch", "", "only the rows of this batch: its id, or the beginning of one")
	flags.BoolVar(&f.all, "all", false, "include the rows of batches")
	flags.IntVar(&f.limit, "limit", events.DefaultRunsLimit, "maximum number of runs")
	flags.BoolVar(&f.json, "json", false, "write one JSON object per line")
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statuses, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that is not there
	return c
}

// statuses are what a run can be listed by.
var statuses = []string{
	string(events.StatusRunning), string(termview.StatusInterrupted), string(events.StatusSuspended), string(events.StatusAwaitingInput),
	string(events.StatusCompleted), string(events.StatusDegraded), string(events.StatusFailed), string(events.StatusCancelled),
}

func names[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, name := range list {
		words[i] = string(name)
	}
	return strings.Join(words, ", ")
}

func (f runsFlags) query() (events.RunQuery, error) {
	query := events.RunQuery{
		Tenant: events.LocalTenant, Search: f.search, Team: f.team, Model: f.model, Limit: f.limit,
		Own: !f.all && f.batch == "", OldestFirst: f.batch != "",
	}
	var err error
	query.Status, err = listedBy(f.status, f.limit, statuses)
	return query, err
}

// listedBy checks the flags that listings have in common, and gives the statuses in the log:
// what was interrupted is running there.
func listedBy(wanted []string, limit int, known []string) (listed []events.Status, err error) {
	if limit < 1 {
		return nil, fmt.Errorf("--limit %d: give a number from 1", limit)
	}
	for _, status := range wanted {
		if !slices.Contains(known, status) {
			return nil, fmt.Errorf("--status %q is none of %s", status, names(known))
		}
		if status == string(termview.StatusInterrupted) {
			status = string(events.StatusRunning)
		}
		listed = append(listed, events.Status(status))
	}
	return listed, nil
}

func (a *app) runs(ctx context.Context, f runsFlags) (err error) {
	query, err := f.query()
	if err != nil {
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
	if f.batch != "" {
		batch, err := a.findBatch(ctx, log, f.batch)
		if err != nil {
			return err
		}
		query.Batch = batch.Batch
	}
	runs, err := listRuns(ctx, log, query, f.status)
	for i := range runs {
		a.noteDamage(runs[i].Damaged, events.ThreadKey{Tenant: runs[i].Tenant, Thread: runs[i].Thread})
	}
	switch {
	case err != nil:
		return err
	case f.json:
		return printJSONLines(a, runs)
	case len(runs) == 0 && query.Own:
		fmt.Fprintln(a.err, "no runs match; --all looks among the rows of batches, too")
		return nil
	case len(runs) == 0:
		fmt.Fprintln(a.err, "no runs match")
		return nil
	}
	lines := make([]events.RunSummary, len(runs))
	for i := range runs {
		lines[i] = runs[i].RunSummary
		lines[i].Status = shownStatus(runs[i].Status, runs[i].Interrupted)
		if lines[i].Damaged != nil {
			lines[i].Status = termview.StatusDamaged
		}
	}
	return a.printLines(termview.RunTable(lines, time.Now(), a.theme(a.out), width(a.out)))
}

// listRuns reads pages until it has as many runs as wanted: among those that are running in
// the log, only their holders tell which are.
func listRuns(ctx context.Context, log events.Index, query events.RunQuery, wanted []string) (found []web.RunView, err error) {
	for {
		page, err := log.Runs(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, run := range page {
			view, err := web.ViewRun(ctx, log, run)
			if err != nil {
				return nil, err
			}
			if isWanted(wanted, shownStatus(view.Status, view.Interrupted)) && len(found) < query.Limit {
				found = append(found, view)
			}
			if query.OldestFirst {
				query.After = run.Run
			} else {
				query.Before = run.Run
			}
		}
		if len(found) == query.Limit || len(page) < query.Limit {
			return found, nil
		}
	}
}

func isWanted(wanted []string, status events.Status) bool {
	return len(wanted) == 0 || slices.Contains(wanted, string(status))
}

// noteDamage has the exit code tell of what a listing shows as damaged.
func (a *app) noteDamage(damage *events.Damage, key events.ThreadKey) {
	if damage != nil && a.damaged == nil {
		a.damaged = fmt.Errorf("%w. Everything else can be read; `convene store check` lists what is damaged", damage.In(key))
	}
}

// shownStatus is the status as people read it.
func shownStatus(status events.Status, interrupted bool) events.Status {
	if interrupted {
		return termview.StatusInterrupted
	}
	return status
}

func printJSONLines[T any](a *app, list []T) error {
	for i := range list {
		body, err := json.Marshal(list[i])
		if err != nil {
			return err
		}
		if err := a.printJSON(body); err != nil {
			return err
		}
	}
	return nil
}

// printJSON writes a line of JSON, fit for a terminal where stdout is one.
func (a *app) printJSON(body []byte) error {
	_, _, ok := terminal(a.out)
	return writeJSONLine(a.out, body, ok)
}
