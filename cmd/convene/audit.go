package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// onCommandLine is who sits at the command line.
var onCommandLine = &events.Actor{Door: events.DoorCLI}

// inChat is who talks at the terminal.
func inChat(user string) *events.Actor { return &events.Actor{UserID: user, Door: events.DoorChat} }

// audited keeps what was done at the command line and belongs to no run, where the store takes
// anything.
func audited(ctx context.Context, log events.Writer, tenant events.TenantID, fact events.Audited) error {
	err := audit.Append(ctx, log, tenant, onCommandLine, fact)
	if errors.Is(err, sqlite.ErrReadOnly) {
		return nil
	}
	return err
}

// auditFlags are those of `convene audit`.
type auditFlags struct {
	tenant, thread, user, since string
	limit                       int
	json                        bool
}

func newAuditCommand(a *app) *cobra.Command {
	var f auditFlags
	c := &cobra.Command{
		Use:   "audit",
		Short: "List who did what, newest first",
		Long: `List who did what, newest first, from the log alone: when, who, from where, what and why.
Runs that were started, parked, resumed, forked, cancelled or ended, delegations and
handoffs, approvals and answers, refusals, sign-ins, tokens, exports and removals. What
users and agents said is not in it.`,
		Example: `  convene audit --since 7d --user ann
  convene audit --tenant acme --since 2026-11-01 --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.audit(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.tenant, "tenant", string(events.LocalTenant), "tenant whose audit it is")
	flags.StringVar(&f.thread, "thread", "", "only what was done in this thread, or in the batch of this id")
	flags.StringVar(&f.user, "user", "", "only what this user did, and what was done on the user's behalf")
	flags.StringVar(&f.since, "since", "", "only what was done since: an age such as 7d or 12h, a day such as 2026-11-01, or a time in RFC 3339")
	flags.IntVar(&f.limit, "limit", audit.DefaultLimit, "maximum number of entries")
	flags.BoolVar(&f.json, "json", false, "write one JSON object per line")
	return c
}

// parseSince reads a point in time: an age before now, a day, or a time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return at, nil
	}
	if age, err := parseAge(text); err == nil {
		return now.Add(-age), nil
	}
	return time.Time{}, fmt.Errorf("--since %q: give an age such as 7d or 12h, a day such as 2026-11-01, or a time such as 2026-11-01T12:00:00Z", text)
}

func (a *app) audit(ctx context.Context, f auditFlags) (err error) {
	since, err := parseSince(f.since, time.Now())
	if err != nil {
		return usage(err)
	}
	if f.limit < 1 {
		return usage(fmt.Errorf("--limit %d: give a number from 1", f.limit))
	}
	log, err := a.storeToRead(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	page, err := audit.Read(ctx, log, audit.Query{
		Tenant: events.TenantID(f.tenant), Thread: events.ThreadID(f.thread), User: f.user, Since: since, Limit: f.limit,
	})
	for _, e := range page.Entries {
		if e.Action == audit.ActionLost {
			key := events.ThreadKey{Tenant: e.Tenant, Thread: cmp.Or(e.Thread, events.AuditThread)}
			a.noteDamage(&events.Damage{Seq: e.Seq, Problem: e.Why}, key)
		}
	}
	switch {
	case err != nil:
		return err
	case f.json:
		out := json.NewEncoder(a.out)
		for _, e := range page.Entries {
			if err := out.Encode(e); err != nil {
				return err
			}
		}
		return nil
	case len(page.Entries) == 0:
		fmt.Fprintln(a.err, "nothing matches")
		return nil
	}
	return a.printAudit(page)
}

func (a *app) printAudit(page audit.Page) error {
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TIME\tWHO\tFROM\tWHAT\tWHY")
	for _, e := range page.Entries {
		cells := []string{e.Time.Local().Format(time.DateTime), e.Who(), e.From(), auditWords(e), e.Why}
		for i := range cells {
			cells[i] = termview.Line(cells[i])
		}
		fmt.Fprintln(table, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if page.Next != "" {
		fmt.Fprintf(a.err, "there are older ones: --limit shows more\n")
	}
	return nil
}

// auditWords says what was done: the action, what it was about, and in which run.
func auditWords(e audit.Entry) string {
	words := strings.ReplaceAll(e.Action, "_", " ")
	if e.What != "" {
		words += ": " + e.What
	}
	if e.More > 0 {
		words += fmt.Sprintf(", and %d more within a minute", e.More)
	}
	if e.Run != "" {
		words += " (run " + termview.ShortID(e.Run) + ")"
	}
	return words
}
