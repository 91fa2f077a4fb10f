package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

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
		Use:   "run [REQUEST | -]",
		Short: "Have a team work on one request",
		Long: `Have a team work on one request. The answer and the document go to stdout, progress
goes to stderr. The request is the arguments, or standard input for - and where
there is no argument.

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 degraded: parts are
missing, 4 a bound of tokens, cost or time was met, 5 waiting for input,
130 interrupted. ^C lets the calls in flight end and parks the run; ^C again stops
at once. Either way convene resume continues it.`,
		Example: `  convene run --model sim "Plan three days in Kyoto for two"
  convene run --team review --file main.go "Review this change" -o review.md
  convene run --json "…" | jq .type`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.run(c, args, &f)
		},
	}
	f.register(c)
	f.traffic.register(c)
	flags := c.Flags()
	flags.StringVar(&f.team, "team", "", "team file, or name of a built-in team: "+names(team.BuiltinNames())+" (default "+team.DefaultName+")")
	flags.StringVar(&f.model, "model", "", "model for every agent, as provider/name (default the team's, or CONVENE_MODEL)")
	flags.StringVar(&f.thread, "thread", "", "thread to run in, a UUID version 4 (default a new one)")
	flags.StringArrayVar(&f.files, "file", nil, "add the text of this file to the request; may be repeated")
	flags.BoolVar(&f.solo, "solo", false, "have a single agent answer, to compare with")
	flags.IntVar(&f.limits.tasks, "max-tasks", 0, "tasks at most (default the team's)")
	flags.Int64Var(&f.limits.tokens, "max-tokens", 0, "input and output tokens at most (default the team's)")
	flags.Float64Var(&f.limits.costUSD, "max-cost", 0, "cost at most, in US dollars (default the team's)")
	flags.DurationVar(&f.limits.time, "timeout", 0, "time at most, such as 10m (default the team's)")
	_ = c.RegisterFlagCompletionFunc("team", cobra.FixedCompletions(team.BuiltinNames(), cobra.ShellCompDirectiveDefault)) // fails only for a flag that is not there
	return c
}

func (a *app) run(c *cobra.Command, args []string, f *runFlags) (err error) {
	ctx := c.Context()
	job, err := a.job(c, args, f)
	if err != nil {
		return usage(err)
	}
	traffic, err := f.traffic.open(a.models(f.baseURL))
	if err != nil {
		return usage(err)
	}
	defer func() { err = errors.Join(err, traffic.close(a)) }()
	d := &driver{app: a, flags: f.driveFlags, models: traffic.models, caller: traffic.caller}
	if err := d.checkModels(job); err != nil {
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
	return d.show(run, 0)
}

// job reads the command line.
func (a *app) job(c *cobra.Command, args []string, f *runFlags) (runner.Job, error) {
	request, err := a.readRequest(args, f.files)
	if err != nil {
		return runner.Job{}, err
	}
	t, err := team.Resolve(f.team)
	if err != nil {
		return runner.Job{}, err
	}
	if err := f.limits.apply(c, t); err != nil {
		return runner.Job{}, err
	}
	job := runner.Job{
		Thread: events.ThreadID(f.thread), Request: request, Team: t, Model: f.model, Solo: f.solo,
	}
	return job, job.Check()
}

// apply sets the limits that were given and checks them as those of a team file.
func (l limitFlags) apply(c *cobra.Command, t *team.Team) error {
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
		return fmt.Errorf("limits: %w", err)
	}
	return nil
}
