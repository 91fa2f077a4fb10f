package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

func newShowCommand(a *app) *cobra.Command {
	var asJSON, sources bool
	c := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run: its status, plan, document and answer",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.show(c.Context(), args[0], asJSON, sources)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write one JSON object: summary, tasks, document, answer")
	c.Flags().BoolVar(&sources, "sources", false, "show where each entry of the document comes from: entry ← agent ← task ← model call")
	c.MarkFlagsMutuallyExclusive("json", "sources")
	return c
}

func (a *app) show(ctx context.Context, id string, asJSON, sources bool) (err error) {
	log, err := a.storeToRead(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	run, err := a.loadRun(ctx, log, id)
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		body, err := json.Marshal(describe(run))
		if err != nil {
			return err
		}
		return a.printJSON(body)
	case sources:
		return a.printLines(termview.Sources(run, a.theme(a.out), width(a.out)))
	}
	return a.printRun(run)
}

// loadRun folds a run of the store, as far as it has come.
func (a *app) loadRun(ctx context.Context, log events.Log, id string) (*thread.Run, error) {
	summary, err := a.findRun(ctx, log, id)
	if err != nil {
		return nil, err
	}
	th, err := thread.Load(ctx, log, events.ThreadKey{Tenant: summary.Tenant, Thread: summary.Thread}, summary.LastSeq)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", summary.Run, err)
	}
	return th.Current(), nil
}

// eachEvent goes over the run's thread, up to the run's last event.
func eachEvent(ctx context.Context, log events.Reader, run events.RunSummary, do func(events.Envelope) error) error {
	key := events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}
	for after := events.Seq(0); after < run.LastSeq; {
		envs, err := log.Read(ctx, key, after, min(eventPage, int(run.LastSeq-after)))
		if err != nil {
			return err
		}
		if len(envs) == 0 {
			return &events.DamagedError{Key: key, Seq: after + 1, Problem: "the store has the run, and not this event of it"}
		}
		for _, env := range envs {
			if err := do(env); err != nil {
				return err
			}
			after = env.Seq
		}
	}
	return nil
}

// eventPage bounds what is held of a run while going over it.
const eventPage = 512

// description is `show --json`.
type description struct {
	events.RunSummary
	// UncachedShare is the part of the input that came from no cache, 0 to 1.
	UncachedShare float64 `json:"uncached_input_share"`

	Answer   string `json:"answer"`
	Fallback bool   `json:"fallback,omitempty"`
	DrivenMS int64  `json:"driven_ms"`
	// Continues is the run whose plan and document this one began with.
	Continues events.RunID `json:"continues,omitempty"`
	// ForkedFrom is set where the run began as a copy of another one's facts.
	ForkedFrom *events.ForkOrigin `json:"forked_from,omitempty"`
	Tasks      []events.Task      `json:"plan"`
	Document   string             `json:"document"`
	Entries    []document.Entry   `json:"entries"`
}

func describe(run *thread.Run) description {
	d := description{
		RunSummary: run.RunSummary, UncachedShare: run.Usage.UncachedShare(), DrivenMS: run.Driven.Milliseconds(), Continues: run.Started.Continues, ForkedFrom: run.Started.ForkedFrom,
		Tasks: run.Board.Tasks(), Document: run.Document.RenderClean(),
	}
	d.Request = run.Started.Message
	if run.FinalAnswer != nil {
		d.Answer, d.Fallback = run.FinalAnswer.Content, run.FinalAnswer.Fallback
	}
	for _, place := range run.Document.Places() {
		d.Entries = append(d.Entries, run.Document.Entries(place)...)
	}
	return d
}

// printRun writes a run for people: what it is about, how it stands, what it made.
func (a *app) printRun(run *thread.Run) error {
	theme, w := a.theme(a.out), width(a.out)
	lines := []string{termview.Clip(run.Request, w-1)}
	lines = append(lines, termview.Summary(run, theme, w)...)
	lines = append(lines, "")
	if plan := termview.Plan(run, theme, w); len(plan) > 0 {
		lines = append(append(lines, plan...), "")
	}
	if err := a.printLines(lines); err != nil {
		return err
	}
	text := termview.Rendered(run, termview.Both, theme, w)
	if strings.TrimSpace(text) == "" {
		return nil
	}
	_, err := fmt.Fprintln(a.out, strings.TrimRight(text, "\n"))
	return err
}

func (a *app) printLines(lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(a.out, strings.Join(lines, "\n"))
	return err
}
