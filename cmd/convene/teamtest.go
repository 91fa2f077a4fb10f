package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/batch/cases"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/runner"
)

// teamTestFlags are those of `convene team test`.
type teamTestFlags struct {
	model, baseURL string
	concurrency    int
	filesRoot      string
	tune           tuneFlags
	traffic        trafficFlags
}

func newTeamTestCommand(a *app) *cobra.Command {
	var f teamTestFlags
	c := &cobra.Command{
		Use:   "test FILE CASES.jsonl",
		Short: "Run cases through a team and compare the results with what is expected",
		Long: `Run cases through a team and compare the results with what is expected. CASES has one
JSON object per line, with "request", optionally "name", "vars", and "files" and "folder"
as a row of a batch has them, and "expect":

  status        completed, unless said otherwise
  contains      texts that answer or document have; lacks: texts that neither has
  matches       regular expressions that answer or document match
  schema        JSON Schema of an answer that is JSON
  min_tasks, max_tasks, specialists (each has finished a task), max_cost_usd

--record saves the models' replies; with --replay the cases then run without a model.
Exit codes: 0 all cases passed, 1 some failed, 2 wrong usage, 6 an endpoint was
unavailable for ten minutes or refused the key, 130 interrupted.`,
		Example: `  convene team test team.yaml cases.jsonl --model openai/gpt-5-mini --record cases.traffic
  convene team test team.yaml cases.jsonl --replay cases.traffic`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return a.teamTest(c, args[0], args[1], &f) },
	}
	f.traffic.register(c)
	f.tune.register(c)
	flags := c.Flags()
	a.flags.limits.register(flags)
	flags.StringVar(&f.model, "model", "", "model for every agent, as provider/name, instead of the team's models and fallbacks; a comma-separated list is tried in order (default: the team's, CONVENE_MODEL, or the configuration's)")
	flags.StringVar(&f.baseURL, "base-url", "", "OpenAI-compatible endpoint, such as http://localhost:8080/v1 (or OPENAI_BASE_URL)")
	flags.StringVar(&f.filesRoot, "files-root", "", "folder that the files and folders of cases are in; nothing outside it is read")
	_ = c.MarkFlagDirname("files-root") // fails only for a flag that is not there
	flags.IntVar(&f.concurrency, "concurrency", 4, "maximum number of cases in progress at once")
	return c
}

func (a *app) teamTest(c *cobra.Command, teamFile, casesFile string, f *teamTestFlags) (err error) {
	ctx := c.Context()
	teams, err := f.tune.teams(c)
	if err != nil {
		return usage(err)
	}
	t, err := teams(teamFile)
	if err != nil {
		return usage(err)
	}
	cases, err := readCases(casesFile)
	if err != nil {
		return usage(err)
	}
	traffic, err := f.traffic.open(a, a.models(f.baseURL))
	if err != nil {
		return usage(err)
	}
	defer func() { err = errors.Join(err, traffic.close(a)) }()
	d := &driver{app: a, models: traffic.models, caller: traffic.caller}
	if err := d.checkModels(runner.Job{Team: t, Model: f.model}); err != nil {
		return usage(err)
	}
	if err := d.open(ctx, a.openStore); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	r, err := d.runner()
	if err != nil {
		return err
	}
	b, err := batch.New(batch.Config{
		Runner: r, Team: t, Model: f.model, Concurrency: f.concurrency, Total: len(cases), Input: casesFile,
		FilesRoot: f.filesRoot, Extract: a.extractor().File,
		MaxWait: runner.DefaultMaxWait, // somebody waits for the verdict
		OnInput: runner.FailOnInput,    // and nobody answers for a case
		Approve: runner.DenyAll,
	})
	if err != nil {
		return usage(err)
	}
	return a.runCases(ctx, b, cases)
}

func readCases(path string) ([]*cases.Case, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer func() { _ = file.Close() }()
	cases, err := cases.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cases, nil
}

// runCases runs the cases and reports each as it ends.
func (a *app) runCases(ctx context.Context, b *batch.Batch, cases []*cases.Case) error {
	ended, interrupts := make(chan struct{}), a.interrupts()
	var watching sync.WaitGroup
	interrupted := false
	watching.Go(func() {
		select {
		case <-interrupts:
			interrupted = true
			b.Halt()
		case <-ended:
		}
	})
	failed := 0
	report, err := b.Run(ctx, func(yield func(batch.Row, error) bool) {
		for i, c := range cases {
			if !yield(c.Row(i), nil) {
				return
			}
		}
	}, batch.SinkFunc(func(out batch.Output) error {
		wrong := cases[out.Index].Check(&out)
		if len(wrong) > 0 {
			failed++
		}
		return a.printCase(&out, wrong)
	}))
	close(ended)
	watching.Wait()
	if err != nil {
		return err
	}
	fmt.Fprintf(a.err, "%d cases: %d passed, %d failed · %s\n", report.Rows, report.Rows-failed, failed, termview.Money(report.CostUSD))
	switch stop := report.Stop; {
	case interrupted:
		return &exitError{code: exitInterrupted}
	case stop != nil && stop.Kind == batch.StopEndpoint:
		return &exitError{exitAway, fmt.Errorf("%s: %d cases could not be run", stop.Message, report.Left)}
	case failed > 0 || report.Left > 0:
		return &exitError{code: exitFailed}
	}
	return nil
}

func (a *app) printCase(out *batch.Output, wrong []string) error {
	verdict := "ok  "
	if len(wrong) > 0 {
		verdict = "FAIL"
	}
	_, err := fmt.Fprintf(a.out, "%s %s (%.1fs, %s, run %s)\n", verdict, termview.Line(out.ID),
		float64(out.DurationMS)/1000, termview.Money(out.CostUSD), termview.ShortID(out.RunID))
	for _, what := range wrong {
		if err == nil {
			_, err = fmt.Fprintf(a.out, "     %s\n", termview.Line(what))
		}
	}
	return err
}
