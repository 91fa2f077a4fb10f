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
)

// runsFlags are those of `convene runs`.
type runsFlags struct {
	status []string
	search string
	limit  int
	json   bool
}

func newRunsCommand(a *app) *cobra.Command {
	var f runsFlags
	c := &cobra.Command{
		Use:   "runs",
		Short: "List runs, newest first",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.runs(c.Context(), f) },
	}
	c.AddCommand(newRunsRemoveCommand(a), newRunsPruneCommand(a))
	flags := c.Flags()
	flags.StringSliceVar(&f.status, "status", nil, "only runs with this status: "+names(statuses))
	flags.StringVar(&f.search, "search", "", "only runs whose request or answer contains this")
	flags.IntVar(&f.limit, "limit", events.DefaultRunsLimit, "maximum number of runs")
	flags.BoolVar(&f.json, "json", false, "write one JSON object per line")
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statuses, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that is not there
	return c
}

// statuses are what a run can be listed by.
var statuses = []string{
	string(events.StatusRunning), string(events.StatusSuspended), string(events.StatusAwaitingInput),
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
	query := events.RunQuery{Tenant: events.LocalTenant, Search: f.search, Limit: f.limit}
	if f.limit < 1 {
		return query, fmt.Errorf("--limit %d: give a number from 1", f.limit)
	}
	for _, status := range f.status {
		if !slices.Contains(statuses, status) {
			return query, fmt.Errorf("--status %q is none of %s", status, names(statuses))
		}
		query.Status = append(query.Status, events.Status(status))
	}
	return query, nil
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
	runs, err := log.Runs(ctx, query)
	if err != nil {
		return err
	}
	if f.json {
		return a.printJSONLines(runs)
	}
	if len(runs) == 0 {
		fmt.Fprintln(a.err, "no runs match")
		return nil
	}
	if err := markInterrupted(ctx, log, runs); err != nil {
		return err
	}
	for _, line := range termview.RunTable(runs, time.Now(), a.theme(a.out), width(a.out)) {
		if _, err := fmt.Fprintln(a.out, line); err != nil {
			return err
		}
	}
	return nil
}

// statusInterrupted is shown of a run that nobody drives and that nobody parked: its
// process was killed. The log still has it running.
const statusInterrupted events.Status = "interrupted"

func markInterrupted(ctx context.Context, log events.Index, runs []events.RunSummary) error {
	for i := range runs {
		if runs[i].Status != events.StatusRunning {
			continue
		}
		owner, _, err := log.Holder(ctx, events.ThreadKey{Tenant: runs[i].Tenant, Thread: runs[i].Thread})
		if err != nil {
			return err
		}
		if owner == "" {
			runs[i].Status = statusInterrupted
		}
	}
	return nil
}

func (a *app) printJSONLines(runs []events.RunSummary) error {
	for _, run := range runs {
		body, err := json.Marshal(run)
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
