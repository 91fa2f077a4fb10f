package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// runFlags are those of `convene run` alone.
type runFlags struct {
	driveFlags
	team    string
	model   string
	thread  string
	files   []string
	solo    bool
	limits  limitFlags
	tune    tuneFlags
	traffic trafficFlags
}

// limitFlags narrow or widen the team's limits; 0 leaves the team's.
type limitFlags struct {
	tasks   int
	tokens  int64
	costUSD float64
	time    time.Duration
}

func newRunCommand(a *app) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [REQUEST] [-]",
		Short: "Have a team work on one request",
		Long: `Have a team work on one request. The answer and the document go to stdout, progress
goes to stderr. The request is read from the arguments, or from standard input with -
or without arguments; beside a request, - attaches standard input to it, as --file does
with files.

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 degraded: parts are
missing, 4 a limit on tokens, cost or time was reached, 5 an agent waits for an answer, 6 parked: an
endpoint was unavailable, 130 interrupted.

If an endpoint is unavailable, the run waits for it for up to --max-wait, which counts
towards no other limit, and is then parked. ^C lets calls in flight finish and parks the
run; a second ^C stops at once. Either way convene resume continues it.`,
		Example: `  convene run --model sim "Plan three days in Kyoto for two"
  convene run --team review --file main.go "Review this change" -o review.md
  git diff | convene run --team review "Review this change" - --answer-only
  convene run --json "…" | jq .type`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.run(c, args, &f)
		},
	}
	f.register(c)
	f.onInput.register(c, "ask on a terminal, park otherwise")
	f.approve.register(c, "ask on a terminal, park otherwise")
	a.flags.limits.register(c.Flags())
	f.traffic.register(c)
	f.tune.register(c)
	flags := c.Flags()
	flags.StringVar(&f.team, "team", "", "team file, or name of a built-in team: "+names(team.BuiltinNames())+" (default "+team.DefaultName+")")
	flags.StringVar(&f.model, "model", "", "model for every agent, as provider/name, instead of the team's models and fallbacks; a comma-separated list is tried in order (default: the team's, CONVENE_MODEL, or the configuration's)")
	flags.StringVar(&f.thread, "thread", "", "thread to run in, a version 4 UUID: the team sees the earlier requests and answers there; refused while the thread is busy (default: a new one)")
	flags.StringArrayVar(&f.files, "file", nil, "attach this file, or standard input with -: text, HTML, PDF, Word, Excel, or an image; its text is appended to the request; may be repeated")
	flags.BoolVar(&f.solo, "solo", false, "have a single agent answer, for comparison")
	f.limits.register(flags)
	return c
}

func (a *app) run(c *cobra.Command, args []string, f *runFlags) (err error) {
	ctx := c.Context()
	job, err := a.job(c, args, f)
	if err != nil {
		return usage(err)
	}
	if inputReads(args, f.files) == 0 && !a.nameUnread() {
		defer a.nameUnread() // who writes into the pipe may be slower to begin than we are
	}
	traffic, err := f.traffic.open(a, a.watchedModels(f.baseURL))
	if err != nil {
		return usage(err)
	}
	defer func() { err = errors.Join(err, traffic.close(a)) }()
	d := &driver{app: a, flags: f.driveFlags, models: traffic.models, caller: traffic.caller}
	if err := d.check(job); err != nil {
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
	run, err := r.Start(ctx, job)
	if err != nil {
		return beforeStart(heldBy(err, "thread "+f.thread, "wait for its run, or leave --thread out"))
	}
	return d.show(ctx, r, run, 0)
}

// job reads the command line.
func (a *app) job(c *cobra.Command, args []string, f *runFlags) (runner.Job, error) {
	request, attached, err := a.readRequest(c.Context(), args, f.files)
	if err != nil {
		return runner.Job{}, err
	}
	teams, err := f.tune.teams(c)
	if err != nil {
		return runner.Job{}, err
	}
	t, err := teams(f.team)
	if err != nil {
		return runner.Job{}, err
	}
	if err := f.limits.apply(c, t); err != nil {
		return runner.Job{}, err
	}
	job := runner.Job{
		Thread: events.ThreadID(f.thread), Request: request, Files: attached, Team: t, Model: f.model, Solo: f.solo, OnInput: runner.OnInput(f.onInput), Approve: runner.Approve(f.approve),
		Traceparent: a.env("TRACEPARENT"), By: conversation.Caller{Actor: onCommandLine},
	}
	return job, job.Check()
}

func (l *limitFlags) register(flags *pflag.FlagSet) {
	flags.IntVar(&l.tasks, "max-tasks", 0, "maximum number of tasks (default: the team's)")
	flags.Int64Var(&l.tokens, "max-tokens", 0, "maximum input and output tokens (default: the team's)")
	flags.Float64Var(&l.costUSD, "max-cost", 0, "maximum cost in US dollars (default: the team's)")
	flags.DurationVar(&l.time, "timeout", 0, "time limit, such as 10m (default: the team's)")
}

// apply sets the limits that were given and checks them as those of a team file.
func (l limitFlags) apply(c *cobra.Command, t *team.Team) error {
	if err := aboveZero(c, "max-tasks", "max-tokens", "max-cost", "timeout"); err != nil {
		return err
	}
	given := c.Flags().Changed
	if given("max-tasks") {
		t.Limits.MaxTasks = l.tasks
	}
	if given("max-tokens") {
		t.Limits.MaxTokens = l.tokens
	}
	if given("max-cost") {
		t.Limits.MaxCostUSD = l.costUSD
	}
	if given("timeout") {
		t.Limits.MaxTime = l.time
	}
	if err := t.Limits.Validate(); err != nil {
		// Named as they were given, not as in a team file.
		text := err.Error()
		for _, limit := range []events.Limit{events.LimitMaxTasks, events.LimitMaxTokens, events.LimitMaxCostUSD, events.LimitMaxTime} {
			if given(strings.TrimPrefix(events.Flag(limit), "--")) {
				text = strings.ReplaceAll(text, string(limit), events.Flag(limit))
			}
		}
		return fmt.Errorf("limits: %s", text)
	}
	return nil
}
