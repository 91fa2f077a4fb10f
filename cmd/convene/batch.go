package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// batchFlags are those of `convene batch`.
type batchFlags struct {
	files       batch.Files
	format      string
	team        string
	model       string
	baseURL     string
	solo        bool
	json        bool
	maxFailures string
	concurrency int
	costUSD     float64
	tokens      int64
	rowTime     time.Duration
	time        time.Duration
	traffic     trafficFlags
	watch       watchFlags
}

func newBatchCommand(a *app) *cobra.Command {
	var f batchFlags
	c := &cobra.Command{
		Use:   "batch IN -o OUT",
		Short: "Have a team work on many requests, one output row for each",
		Long: `Have a team work on many requests. IN has one row for each: JSON objects, one a line,
with "request" and, as wanted, "id", "team", "vars" and "thread_id"; CSV with a header,
whose other columns are vars; or plain lines. - is standard input. OUT gets one JSON
line for every row, in the order of the rows.

The same command again goes on where the last one stopped, be it by ^C, a kill or a
bound: rows that are done are skipped, runs under way continue from their log, and no
finished model call is made again.

Exit codes: 0 all rows completed, 1 the batch could not go on, 2 wrong usage, input or
configuration, found before the first call, 3 done, with failed or degraded rows, 4 a
bound of tokens, cost or time stopped it, 130 interrupted. ^C lets the calls in flight
end and parks their runs; ^C again leaves at once.`,
		Example: `  convene batch requests.jsonl -o answers.jsonl --team trip --concurrency 64 --max-cost 20
  convene batch requests.jsonl -o answers.jsonl --team trip --retry-failed
  convene batch requests.jsonl -o answers.jsonl --team trip --open
  head -3 requests.csv | convene batch - --format csv -o -`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f.files.Input = args[0]
			return a.batch(c, &f)
		},
	}
	f.traffic.register(c)
	f.watch.register(c, "batch")
	flags := c.Flags()
	flags.StringVarP(&f.files.Output, "output", "o", "", "file for the output rows, or - for standard output")
	flags.StringVar(&f.format, "format", "", "format of IN: jsonl, csv or lines (default by its name)")
	flags.StringVar(&f.team, "team", "", "team of rows that name none: a file, or a built-in team: "+names(team.BuiltinNames())+" (default "+team.DefaultName+")")
	flags.StringVar(&f.model, "model", "", "model for every agent, as provider/name (default the team's, or CONVENE_MODEL)")
	flags.StringVar(&f.baseURL, "base-url", "", "OpenAI-compatible endpoint, such as http://localhost:8080/v1 (or OPENAI_BASE_URL)")
	flags.BoolVar(&f.solo, "solo", false, "have a single agent answer each row, to compare with")
	flags.IntVar(&f.concurrency, "concurrency", batch.DefaultConcurrency, "rows under way at once, at most")
	flags.StringVar(&f.maxFailures, "max-failures", "", "stop when more rows failed: a number, or a share such as 3%")
	flags.Float64Var(&f.costUSD, "max-cost", 0, "stop at this cost of the whole batch, in US dollars")
	flags.Int64Var(&f.tokens, "max-tokens", 0, "stop at this many input and output tokens of the whole batch")
	flags.DurationVar(&f.rowTime, "timeout", 0, "time at most for each row, such as 10m (default the team's)")
	flags.DurationVar(&f.time, "batch-timeout", 0, "stop after this time; the same command goes on")
	flags.BoolVar(&f.files.Unordered, "unordered", false, "write output rows as they come, not in the order of IN")
	flags.IntVar(&f.files.Limit, "limit", 0, "take the first rows alone")
	flags.IntVar(&f.files.Sample, "sample", 0, "take as many rows, spread over all; the same ones every time")
	flags.BoolVar(&f.files.Strict, "strict", false, "refuse IN, before the first call, if any row is bad")
	flags.BoolVar(&f.files.RetryFailed, "retry-failed", false, "run the rows again that failed")
	flags.BoolVar(&f.files.Fresh, "fresh", false, "start over: remove what this batch has written to OUT")
	flags.BoolVar(&f.json, "json", false, "write progress and the report as JSON lines to stderr")
	_ = c.RegisterFlagCompletionFunc("team", cobra.FixedCompletions(team.BuiltinNames(), cobra.ShellCompDirectiveDefault)) // fails only for a flag that is not there
	return c
}

func (a *app) batch(c *cobra.Command, f *batchFlags) (err error) {
	if err := f.check(c); err != nil {
		return usage(err)
	}
	t, err := team.Resolve(f.team)
	if err != nil {
		return usage(err)
	}
	models := a.models(f.baseURL)
	traffic, err := f.traffic.open(models)
	if err != nil {
		return usage(err)
	}
	defer func() { err = errors.Join(err, traffic.close(a)) }()
	d := &driver{app: a, flags: driveFlags{watch: f.watch}, models: traffic.models, caller: traffic.caller}
	if err := d.checkModels(runner.Job{Team: t, Model: f.model}); err != nil {
		return usage(err)
	}
	if err := d.open(c.Context(), a.openStore); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	r, err := d.runner()
	if err != nil {
		return err
	}
	f.files.Stdin, f.files.Stdout = a.in, a.out
	config, err := f.config(r, t, limiters(models))
	if err != nil {
		return usage(err)
	}
	job, err := batch.Open(c.Context(), f.files, config)
	if err != nil {
		return beforeStart(err)
	}
	view := a.batchView(f.json)
	if lines, ok := view.(*batchJSON); ok && d.watched != nil {
		d.watched.dash.say = lines.say
	}
	return (&batchDriver{app: a, log: d.log, job: job, watched: d.watched, view: view, again: a.again(c, f)}).drive(c.Context())
}

func (f *batchFlags) check(c *cobra.Command) (err error) {
	if f.files.Output == "" {
		return errors.New("name a file for the output rows with -o, or - for standard output")
	}
	given := c.Flags().Changed
	for _, name := range []string{"concurrency", "limit", "sample", "max-tokens", "max-cost", "timeout", "batch-timeout"} {
		if value := c.Flags().Lookup(name).Value.String(); given(name) && (strings.HasPrefix(value, "-") || strings.Trim(value, "0s") == "") {
			return fmt.Errorf("--%s %s is not above 0", name, value)
		}
	}
	if f.format != "" {
		f.files.Format, err = batch.ParseFormat(f.format)
	}
	return err
}

func (f *batchFlags) config(r *runner.Runner, t *team.Team, limiters func() []llm.LimiterState) (batch.Config, error) {
	failures, err := batch.ParseMaxFailures(f.maxFailures)
	return batch.Config{
		Runner: r, Team: t, Model: f.model, Solo: f.solo, Concurrency: f.concurrency, MaxFailures: failures,
		MaxCostUSD: f.costUSD, MaxTokens: f.tokens, RowTimeout: f.rowTime, Timeout: f.time, Limiters: limiters,
	}, err
}

// limiters gives the state of every endpoint that has been asked.
func limiters(models *endpoint.Resolver) func() []llm.LimiterState {
	return func() []llm.LimiterState {
		var states []llm.LimiterState
		for _, e := range models.Endpoints() {
			if limiter, ok := e.Limiter.(interface{ State() llm.LimiterState }); ok {
				state := limiter.State()
				state.Endpoint = e.Name
				states = append(states, state)
			}
		}
		return states
	}
}

// again gives the command that goes on with the batch, with the flags in words.
func (a *app) again(c *cobra.Command, f *batchFlags) func(more ...string) string {
	words := []string{"convene batch", quoted(f.files.Input), "-o", quoted(f.files.Output)}
	if f.files.Input == "-" {
		words[1] = quoted(filepath.Join(f.files.Output+".batch", "input"))
		words = append(words, "--format", string(f.files.Format))
	}
	once := map[string]bool{"output": true, "fresh": true, "retry-failed": true, "format": f.files.Input == "-"}
	c.Flags().Visit(func(flag *pflag.Flag) {
		switch {
		case once[flag.Name]:
		case flag.Value.Type() == "bool":
			words = append(words, "--"+flag.Name)
		default:
			words = append(words, "--"+flag.Name, quoted(flag.Value.String()))
		}
	})
	return func(more ...string) string { return strings.Join(append(words, more...), " ") }
}

// quoted makes a word safe to copy into a shell.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:%@+=,"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
