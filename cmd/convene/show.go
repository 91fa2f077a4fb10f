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
	"github.com/convene-run/convene/evidence"
	"github.com/convene-run/convene/thread"
	"github.com/convene-run/convene/web"
)

// showFlags are those of `convene show`.
type showFlags struct {
	json, sources, events, artifacts, text, restore bool

	call, artifact, output string

	part partFlags
}

func newShowCommand(a *app) *cobra.Command {
	var f showFlags
	c := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show a run: its status, plan, document and answer",
		Long: `Show a run: its status, plan, answer and document. RUN is a run id, or the beginning of
one; by default the newest run that is no row of a batch.

--events lists what happened, with the event numbers that convene fork --at takes.
--call shows one model call, by the id that --sources and --events give: the tools
offered, what was sent, the reply, tokens, cost and attempts.
--artifacts lists the files that came with the request or that tools made; --artifact
writes one of them out, by its name or id: its bytes, or with --text what was read of it.`,
		Example: `  convene show --answer-only
  convene show --artifact prices.csv -o prices.csv
  convene show 0198c0de --call f.5`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.show(c.Context(), args, f) },
	}
	flags := c.Flags()
	flags.BoolVar(&f.json, "json", false, "write one JSON object: summary, tasks, document, answer; with --call the model call")
	flags.BoolVar(&f.sources, "sources", false, "show where each entry of the document comes from: entry ← agent ← task ← model call, and the passages that it rests on")
	flags.BoolVar(&f.events, "events", false, "list what happened, with event numbers")
	flags.StringVar(&f.call, "call", "", "show the model call with this id, such as f.5 or d2.1")
	flags.BoolVar(&f.artifacts, "artifacts", false, "list the run's files: those that came with the request, and those of tools")
	flags.StringVar(&f.artifact, "artifact", "", "write out the file with this name or id")
	flags.BoolVar(&f.text, "text", false, "with --artifact: the text that was read of the file, such as of a PDF, not its bytes")
	flags.StringVarP(&f.output, "output", "o", "", "with --artifact: write to this file instead of stdout")
	flags.BoolVar(&f.restore, "restore", false, "with the values in place of placeholders such as [EMAIL_1]")
	f.part.register(c)
	for _, view := range []string{"call", "answer-only", "document-only"} {
		c.MarkFlagsMutuallyExclusive("sources", "events", "artifacts", "artifact", view)
	}
	c.MarkFlagsMutuallyExclusive("json", "sources", "events", "artifacts", "artifact")
	c.MarkFlagsMutuallyExclusive("call", "answer-only", "document-only")
	return c
}

func (a *app) show(ctx context.Context, args []string, f showFlags) (err error) {
	if err := f.check(); err != nil {
		return usage(err)
	}
	store, err := a.storeToRead(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	summary, err := a.namedRun(ctx, store, args)
	if err != nil {
		return err
	}
	var log events.Log = store
	if f.restore {
		if log, err = restoredLog(ctx, log, summary); err != nil {
			return err
		}
	}
	switch {
	case f.call != "":
		return a.showCall(ctx, log, summary, events.ModelCallID(f.call), f.json)
	case f.events:
		return a.showEvents(ctx, log, summary)
	case f.artifacts:
		return a.showArtifacts(ctx, log, summary)
	case f.artifact != "":
		return a.writeArtifact(ctx, log, summary, f.artifact, f.text, f.output)
	}
	run, err := loadRun(ctx, log, summary)
	if err != nil {
		return err
	}
	view, err := web.ViewRun(ctx, log, run.RunSummary)
	if err != nil {
		return err
	}
	switch part := f.part.part(); {
	case f.json:
		d := describe(run, view)
		if d.Artifacts, err = runArtifacts(ctx, log, summary); err != nil {
			return err
		}
		return a.printObject(d)
	case f.sources:
		return a.printLines(termview.Sources(run, a.theme(a.out), width(a.out)))
	case part != termview.Both:
		return a.showPart(run, part, f.part.missing())
	}
	run.RunSummary.Status = shownStatus(run.RunSummary.Status, view.Interrupted)
	return a.printRun(run)
}

// check refuses flags that only --artifact has a use for.
func (f *showFlags) check() error {
	switch {
	case f.artifact != "" && f.output != "":
		return checkOutput(f.output)
	case f.artifact == "" && (f.text || f.output != ""):
		return errors.New("--text and --output are for --artifact NAME")
	}
	return nil
}

// showPart writes the answer or the document, which may be of a run under way.
func (a *app) showPart(run *thread.Run, part termview.Part, missing string) error {
	text := termview.Text(termview.Markdown(run, part))
	if width, _, ok := terminal(a.out); ok {
		text = termview.Rendered(run, part, a.theme(a.out), width)
	}
	if text == "" {
		return fmt.Errorf("run %s has %s", run.ID, missing)
	}
	_, err := fmt.Fprintln(a.out, strings.TrimRight(text, "\n"))
	return err
}

// showEvents lists the events of a run that people read, with their numbers.
func (a *app) showEvents(ctx context.Context, log events.Reader, summary events.RunSummary) error {
	th, w := thread.New(), width(a.out)
	return eachEvent(ctx, log, summary, func(env events.Envelope) error {
		if err := th.Apply(env); err != nil || env.Run != summary.Run {
			return err
		}
		return a.printLines(termview.EventLines(th.Current(), env, w))
	})
}

// loadRun folds a run of the store, as far as it has come.
func loadRun(ctx context.Context, log events.Log, summary events.RunSummary) (*thread.Run, error) {
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
	web.RunView
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
	// Basis are the passages that answer and document rest on.
	Basis   []evidence.Basis `json:"basis,omitempty"`
	Entries []document.Entry `json:"entries"`
	// Artifacts are the run's files.
	Artifacts []web.ArtifactView `json:"artifacts,omitempty"`
}

func describe(run *thread.Run, view web.RunView) description {
	view.RunSummary = run.RunSummary
	d := description{
		RunView: view, UncachedShare: run.Usage.UncachedShare(), DrivenMS: run.Driven.Milliseconds(), Continues: run.Started.Continues, ForkedFrom: run.Started.ForkedFrom,
		Tasks: run.Board.Tasks(), Document: run.Document.RenderClean(),
	}
	d.Request = run.Started.Message
	if run.FinalAnswer != nil {
		d.Answer, d.Fallback = run.FinalAnswer.Content, run.FinalAnswer.Fallback
	}
	d.Basis = evidence.Of(run.Document, d.Answer, run.FinalAnswer != nil && run.FinalAnswer.Structured)
	for _, place := range run.Document.Places() {
		d.Entries = append(d.Entries, run.Document.Entries(place)...)
	}
	return d
}

// printRun writes a run for people: what it is about, how it stands, what it made.
func (a *app) printRun(run *thread.Run) error {
	theme, w := a.theme(a.out), width(a.out)
	lines := termview.Request(run, w)
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

func (a *app) printObject(object any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return a.printJSON(body)
}

func (a *app) printLines(lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(a.out, strings.Join(lines, "\n"))
	return err
}
