package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/llm"
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
	filesRoot   string
	tune        tuneFlags
	time        time.Duration
	traffic     trafficFlags
	maxWait     maxWait
	onInput     onInput
	approve     approve
	watch       watchFlags
	// store is the one that is used, as a whole path.
	store string
}

func newBatchCommand(a *app) *cobra.Command {
	var f batchFlags
	c := &cobra.Command{
		Use:         "batch IN -o OUT",
		Annotations: map[string]string{ownNotices: "true"}, // --json makes them JSON
		Short:       "Have a team work on many requests, one output row for each",
		Long: `Have a team work on many requests. IN has one row per request: JSON objects, one per
line, with "request" and optionally "id", "team", "vars", "thread_id", "files" and
"folder"; CSV with a header, whose other columns become vars; or plain lines. - reads standard input. OUT
gets one JSON line per row, in the order of the rows. Rows with the same "thread_id"
form a conversation: they run one after another, and each sees the requests and answers
of those before it. "files", such as ["a.pdf"] (in CSV a.pdf;b.csv), come with the
request like those of run --file; the tools of a team that read files read "folder" in
place of the team's own folders. Both are paths below --files-root.

Run the same command again to continue after ^C, a crash or a limit: finished rows are
skipped, runs in progress continue from their log, and no finished model call is
repeated.

Exit codes: 0 all rows completed, 1 the batch could not continue, 2 wrong usage, input
or configuration, found before the first call, 3 done, with failed or degraded rows,
4 stopped by a limit on tokens, cost or time, 5 rows ask a person for something and wait,
6 rows were parked because an endpoint was unavailable, 130 interrupted.

When an endpoint is unavailable, its rows wait for it, indefinitely unless --max-wait is
set, while rows of other endpoints continue. ^C lets calls in flight finish and parks
their runs; a second ^C exits at once. Either way the same command continues the batch.`,
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
	f.tune.register(c)
	f.watch.register(c, "batch")
	flags := c.Flags()
	flags.StringVarP(&f.files.Output, "output", "o", "", "file for the output rows, or - for standard output")
	flags.StringVar(&f.format, "format", "", "format of IN: jsonl, csv or lines (default: by file extension)")
	flags.StringVar(&f.team, "team", "", "team for rows that name none: a file, or a built-in team: "+names(team.BuiltinNames())+" (default "+team.DefaultName+")")
	flags.StringVar(&f.model, "model", "", "model for every agent, as provider/name, instead of the team's models and fallbacks; a comma-separated list is tried in order (default: the team's, CONVENE_MODEL, or the configuration's)")
	flags.StringVar(&f.baseURL, "base-url", "", "OpenAI-compatible endpoint, such as http://localhost:8080/v1 (or OPENAI_BASE_URL)")
	flags.BoolVar(&f.solo, "solo", false, "have a single agent answer each row, for comparison")
	flags.StringVar(&f.filesRoot, "files-root", "", "folder that the files and folders of rows are in; nothing outside it is read")
	_ = c.MarkFlagDirname("files-root") // fails only for a flag that is not there
	flags.IntVar(&f.concurrency, "concurrency", batch.DefaultConcurrency, "maximum number of rows in progress at once")
	flags.StringVar(&f.maxFailures, "max-failures", "", "stop when more rows than this have failed: a number, or a percentage such as 3%")
	flags.Float64Var(&f.costUSD, "max-cost", 0, "stop when the whole batch has cost this much, in US dollars")
	flags.Int64Var(&f.tokens, "max-tokens", 0, "stop when the whole batch has used this many input and output tokens")
	flags.DurationVar(&f.rowTime, "timeout", 0, "time limit for each row, such as 10m (default: the team's)")
	flags.DurationVar(&f.time, "batch-timeout", 0, "stop after this time; the same command continues")
	a.flags.limits.register(flags)
	f.maxWait.register(flags, noMaxWait)
	f.onInput.register(c, "park")
	f.approve.register(c, "deny")
	flags.BoolVar(&f.files.Unordered, "unordered", false, "write output rows as they finish, not in the order of IN")
	flags.IntVar(&f.files.Limit, "limit", 0, "process only the first N rows")
	flags.IntVar(&f.files.Sample, "sample", 0, "process only N rows, spread evenly over IN; the same ones every time")
	flags.BoolVar(&f.files.Strict, "strict", false, "reject IN before the first call if any row is invalid")
	flags.BoolVar(&f.files.RetryFailed, "retry-failed", false, "retry failed rows, each from where it ended")
	flags.BoolVar(&f.files.RetryDegraded, "retry-degraded", false, "retry degraded rows, each from where it ended")
	flags.BoolVar(&f.files.Fresh, "fresh", false, "start over: discard what this batch has written to OUT")
	flags.BoolVar(&f.json, "json", false, "write progress and the report as JSON lines to stderr")
	return c
}

func (a *app) batch(c *cobra.Command, f *batchFlags) (err error) {
	if err := f.check(c); err != nil {
		return usage(err)
	}
	teams, err := f.tune.teams(c)
	if err != nil {
		return usage(err)
	}
	t, err := teams(f.team)
	if err != nil {
		return usage(err)
	}
	view := a.batchView(f.json)
	if lines, ok := view.(*batchJSON); ok {
		a.notices = lines.say
	}
	a.sayNotices(a.config)
	traffic, err := f.traffic.open(a, a.models(f.baseURL))
	if err != nil {
		return usage(err)
	}
	defer func() { err = errors.Join(err, traffic.close(a)) }()
	work := &batchDriver{app: a, view: view, rests: make(chan struct{}, 1), wanted: make(chan bool, 1)}
	d := &driver{app: a, flags: driveFlags{watch: f.watch}, models: traffic.models, caller: traffic.caller, goOn: work.goOn}
	job := runner.Job{Team: t, Model: f.model}
	if err := d.checkModels(job); err != nil {
		return usage(err)
	}
	if err := d.sayTiers(job); err != nil {
		return usage(err)
	}
	if err := d.open(c.Context(), func(ctx context.Context) (*sqlite.Log, error) { return a.openBatchStore(ctx, f) }); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	r, err := d.runner()
	if err != nil {
		return err
	}
	f.files.Stdin, f.files.Stdout = a.in, unaltered(a.out)
	config, err := f.config(r, t, a.limiters, a.extractor().File)
	if err != nil {
		return usage(err)
	}
	config.Store, config.Teams = f.store, teams
	config.Command = func() string { return f.recorded(work) }
	work.log, work.companion = d.log, d.companion
	if work.batch, err = batch.Open(c.Context(), f.files, config); err != nil {
		return beforeStart(err)
	}
	work.again = again(c, f, work.batch)
	work.open = f.reopen(config, work.batch.InputFile())
	defer a.frugal(f.concurrency)()
	return work.run(c.Context())
}

// recorded is the command that the log tells continues the batch: none where none does, or
// where it would tell a secret.
func (f *batchFlags) recorded(d *batchDriver) string {
	if address, err := url.Parse(f.baseURL); d.batch.ToStdout() || err != nil || address.User != nil || address.RawQuery != "" {
		return ""
	}
	return d.again()
}

// reopen gives what makes the batch ready once more, from the same input.
func (f *batchFlags) reopen(config batch.Config, input string) func(context.Context, bool) (*batch.FileBatch, error) {
	return func(ctx context.Context, retry bool) (*batch.FileBatch, error) {
		files := f.files
		files.Input, files.Fresh, files.RetryFailed, files.RetryDegraded = input, false, retry, retry
		return batch.Open(ctx, files, config)
	}
}

// openBatchStore opens the store that an earlier call of the batch used, whatever folder
// this call is made from, unless another one was named.
func (a *app) openBatchStore(ctx context.Context, f *batchFlags) (*sqlite.Log, error) {
	if a.namedStore() == "" && !f.files.Fresh {
		begun, err := batch.StoreOf(f.files.Output)
		if err == nil && begun != "" { // a manifest that cannot be read is refused when the batch is opened
			_, err = os.Stat(begun)
		}
		if err == nil && begun != "" {
			f.store = begun
			return a.openStoreAt(ctx, begun)
		}
	}
	f.store = absolute(a.storePath())
	return a.openStore(ctx)
}

func (f *batchFlags) check(c *cobra.Command) (err error) {
	if f.files.Output == "" {
		return errors.New("set a file for the output rows with -o, or - for standard output")
	}
	if err := aboveZero(c, "concurrency", "limit", "sample", "max-tokens", "max-cost", "timeout", "batch-timeout"); err != nil {
		return err
	}
	if f.format != "" {
		f.files.Format, err = batch.ParseFormat(f.format)
	}
	return err
}

func (f *batchFlags) config(r *runner.Runner, t *team.Team, limiters func() []llm.LimiterState, extract func(context.Context, string, []byte) agent.File) (batch.Config, error) {
	failures, err := batch.ParseMaxFailures(f.maxFailures)
	return batch.Config{
		Runner: r, Team: t, By: onCommandLine, Model: f.model, Solo: f.solo, Concurrency: f.concurrency, MaxFailures: failures,
		MaxCostUSD: f.costUSD, MaxTokens: f.tokens, RowTimeout: f.rowTime, Timeout: f.time, MaxWait: time.Duration(f.maxWait), OnInput: runner.OnInput(f.onInput), Approve: runner.Approve(f.approve),
		Limiters: limiters, FilesRoot: f.filesRoot, Extract: extract,
	}, err
}

// again gives the command that continues the batch, with the flags in words; a flag
// among the words that are added takes the place of the one that was given.
func again(c *cobra.Command, f *batchFlags, opened *batch.FileBatch) func(more ...string) string {
	return func(more ...string) string {
		return strings.Join(append(againWords(c, f, opened, more), more...), " ")
	}
}

func againWords(c *cobra.Command, f *batchFlags, opened *batch.FileBatch, more []string) []string {
	words := []string{"convene batch", quoted(f.files.Input), "-o", quoted(f.files.Output)}
	if f.files.Input == "-" {
		words[1] = quoted(opened.InputFile())
		words = append(words, "--format", string(f.files.Format))
	}
	once := map[string]bool{"output": true, "fresh": true, "retry-failed": true, "retry-degraded": true, "format": f.files.Input == "-"}
	c.Flags().Visit(func(flag *pflag.Flag) {
		switch {
		case once[flag.Name], slices.Contains(more, "--"+flag.Name):
		case flag.Value.Type() == "bool":
			words = append(words, "--"+flag.Name)
		default:
			words = append(words, "--"+flag.Name, quoted(flag.Value.String()))
		}
	})
	return words
}

// quoted makes a word safe to copy into a shell.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:%@+=,"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
