package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/cmd/internal/headroom"
	"github.com/convene-run/convene/mcpserver"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/web"
)

// mcpFlags are those of `convene mcp` alone.
type mcpFlags struct {
	driveFlags
	address   string
	hosts     []string
	tokenFile string
	model     string
	maxRuns   int
	tenants   string
	limits    limitFlags
}

func newMCPCommand(a *app) *cobra.Command {
	var f mcpFlags
	c := &cobra.Command{
		Use:   "mcp [TEAM...]",
		Short: "Serve teams as tools of the Model Context Protocol",
		Long: `Serve teams as tools of the Model Context Protocol (MCP), for programs such as editors,
assistants and agents: run_team, start_run, get_run, list_events and cancel_run. TEAM is a
team file or the name of a built-in team; callers choose among those given, the first is
the default, and callers see the runs of these teams and no others.

By default one client is served on standard input and output, which the client starts
and ends. With --addr many are served over streamable HTTP at /mcp; an address that
others can reach needs tokens, and clients send "Authorization: Bearer …". Tokens are those
of convene serve: each caller sees and cancels what its user may, in its own tenant.

Runs are like any others: convene runs lists them. When a client cancels run_team, its
run is cancelled; when this command ends, by ^C, the end of its input or with its client,
the runs in progress are parked, and convene resume continues them.`,
		Example: `  convene mcp trip review.yaml
  convene mcp --addr 127.0.0.1:8585 --max-cost 2 --approve deny review.yaml`,
		ValidArgsFunction: completeTeams,
		RunE:              func(c *cobra.Command, args []string) error { return a.mcp(c, args, &f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.address, "addr", "", "serve over HTTP at this address, as host:port, instead of standard input and output")
	flags.StringArrayVar(&f.hosts, "host", nil, "additional host name to accept, as in the Host header; may be repeated")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with a single token; whoever sends it administers the tenant local. See convene token for tokens of people")
	flags.StringVar(&f.baseURL, "base-url", "", "OpenAI-compatible endpoint, such as http://localhost:8080/v1 (or OPENAI_BASE_URL)")
	flags.StringVar(&f.model, "model", "", "model for every agent instead of the teams' models (default: the teams', CONVENE_MODEL, or the configuration's)")
	flags.IntVar(&f.maxRuns, "max-runs", steer.DefaultMaxRuns, "maximum number of runs in progress at once; further ones are refused")
	flags.StringVar(&f.tenants, "tenants", "", "file (YAML) with what each tenant may use; it is read again when it changes")
	f.limits.register(flags)
	a.flags.limits.register(flags)
	f.maxWait.register(flags, runner.DefaultMaxWait.String())
	f.onInput.register(c, "ask the client's user where the client can, park otherwise")
	f.approve.register(c, "park")
	return c
}

func (a *app) mcp(c *cobra.Command, args []string, f *mcpFlags) (err error) {
	ctx := c.Context()
	d := &driver{app: a, flags: f.driveFlags, models: a.models(f.baseURL)}
	keeper, steered, err := f.read(c, d, args)
	if err != nil {
		return usage(err)
	}
	if d.tenants, err = tenantsFile(f.tenants); err != nil {
		return usage(err)
	}
	if err := d.open(ctx, a.openStore); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if steered.Runner, err = d.runner(); err != nil {
		return err
	}
	recorder := audit.NewRecorder(d.log, a.auditLines(d.level).entry)
	defer recorder.Close()
	server, err := mcpserver.New(mcpserver.Config{
		Audit: recorder,
		Log:   d.log, Kept: steered.Runner.Kept(), Runs: steer.New(steered), Teams: offered(steered), Version: version(), Logger: a.protocolLog(d.level),
	})
	if err != nil {
		return errors.Join(err, steered.Runner.Shutdown(ctx))
	}
	defer a.followTenants(ctx, steered.Runner, d.tenants)()
	outlivePipes() // a client that went away ends the connection, and runs are parked
	serve := func(ctx context.Context) error { return server.ServeStdio(ctx, a.in, a.out) }
	if _, _, typed := terminal(a.in); typed && f.address == "" {
		a.say("this waits for the messages of an MCP client, which starts the command itself as a rule; --addr serves over HTTP, ^C ends")
	}
	if f.address != "" {
		if serve, err = a.mcpOverHTTP(f, keeper, recorder, server, d.level); err != nil {
			return errors.Join(usage(err), steered.Runner.Shutdown(ctx))
		}
	}
	return a.untilInterrupted(ctx, steered.Runner, serve)
}

// read checks the command line, and with it all teams: a client shows nobody what is wrong
// with them later.
func (f *mcpFlags) read(c *cobra.Command, d *driver, args []string) (keeper access.Keeper, steered steer.Config, err error) {
	if f.maxRuns < 1 {
		return nil, steered, fmt.Errorf("--max-runs %d is not above 0", f.maxRuns)
	}
	if f.address == "" && (f.tokenFile != "" || len(f.hosts) > 0) {
		return nil, steered, errors.New("--token-file and --host are for HTTP: give --addr")
	}
	if f.address != "" { // on standard input the client is whoever started this
		if keeper, err = d.app.keeper(f.tokenFile); err != nil {
			return nil, steered, err
		}
	}
	if len(args) == 0 {
		args = []string{team.DefaultName}
	}
	steered = steer.Config{Model: f.model, MaxRuns: f.maxRuns, OnInput: runner.OnInput(f.onInput), Approve: runner.Approve(f.approve)}
	if err := addTeams(&steered, args); err != nil {
		return nil, steered, err
	}
	for _, t := range steered.Teams {
		if err := f.limits.apply(c, t); err != nil {
			return nil, steered, err
		}
		vars := map[string]string{}
		for _, name := range t.Vars() {
			vars[name] = "x"
		}
		if err := d.check(runner.Job{Request: "x", Team: t, Vars: vars, Model: f.model}); err != nil {
			return nil, steered, fmt.Errorf("team %s: %w", t.Name, err)
		}
	}
	return keeper, steered, nil
}

// offered are the teams as callers choose among them, the default first.
func offered(steered steer.Config) []mcpserver.Team {
	describe := func(t *team.Team) mcpserver.Team {
		return mcpserver.Team{Name: t.Name, Description: t.Description, Vars: t.Vars()}
	}
	teams := []mcpserver.Team{describe(steered.Teams[steered.DefaultTeam])}
	for _, name := range slices.Sorted(maps.Keys(steered.Teams)) {
		if name != steered.DefaultTeam {
			teams = append(teams, describe(steered.Teams[name]))
		}
	}
	return teams
}

// mcpOverHTTP listens, and gives what serves there.
func (a *app) mcpOverHTTP(f *mcpFlags, keeper access.Keeper, recorder *audit.Recorder, server *mcpserver.Server, level zerolog.Level) (func(context.Context) error, error) {
	listener, address, err := listen("--addr", f.address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.Handler())
	guarded, address, err := web.Guard(web.Config{Address: address, Hosts: f.hosts, Keeper: keeper, Audit: recorder, Logger: a.requestLog(level)}, mux)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return func(ctx context.Context) error {
		a.say("MCP endpoint: http://" + address + "/mcp")
		return web.Serve(ctx, listener, guarded, server.Close)
	}, nil
}

// untilInterrupted serves until that ends by itself or somebody interrupts it, and parks the
// runs under way. Those who wait for them are told before the serving ends.
func (a *app) untilInterrupted(ctx context.Context, r *runner.Runner, serve func(context.Context) error) error {
	interrupts := a.interrupts()
	headroom.GiveBack()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- serve(ctx) }()
	var err error
	ended := false
	select {
	case <-interrupts:
	case err = <-served:
		ended = true
	}
	a.say("parking the runs under way …")
	draining, hurry := context.WithTimeout(ctx, drainTime)
	defer hurry()
	go func() {
		select {
		case <-interrupts:
			hurry()
		case <-draining.Done():
		}
	}()
	err = errors.Join(err, r.Shutdown(draining))
	stop()
	if !ended {
		err = errors.Join(err, <-served)
	}
	return err
}

// protocolLog takes what the protocol's sessions report.
func (a *app) protocolLog(level zerolog.Level) *slog.Logger {
	return slog.New(zerolog.NewSlogHandler(*a.requestLog(level)))
}
