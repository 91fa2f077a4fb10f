package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/cmd/internal/headroom"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/sanitize"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/web"
)

// defaultDashboard is where the dashboard is served: for this machine alone.
const defaultDashboard = "127.0.0.1:8484"

// serveFlags are those of `convene serve` alone.
type serveFlags struct {
	address   string
	hosts     []string
	tokenFile string
	baseURL   string
	model     string
	teams     []string
	maxRuns   int
	tenants   string
	open      bool
	maxWait   maxWait
}

func newServeCommand(a *app) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the dashboard and the API",
		Long: `Serve the dashboard and the API: watch runs, start them, stop, resume and fork them.
Messages that wait in a conversation which no process drives any more are answered.

By default only this machine can connect. Any other address needs tokens: convene token
add makes one for a person or a program. API clients send it as "Authorization: Bearer …",
people sign in with it, or with the printed link, which works once and signs in the operator.
^C parks the runs in progress; convene resume, or the dashboard,
continues them.`,
		Example: `  convene serve --open
  convene token add --user ann && convene serve --addr 0.0.0.0:8484 --host convene.example.org`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.address, "addr", defaultDashboard, "address to listen on, as host:port")
	flags.StringArrayVar(&f.hosts, "host", nil, "additional host name to accept, as in the Host header; may be repeated")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with a single token; whoever sends it administers the tenant local. See convene token for tokens of people")
	flags.StringVar(&f.baseURL, "base-url", "", "OpenAI-compatible endpoint for runs started here")
	flags.StringVar(&f.model, "model", "", "model for runs started here that name none (or CONVENE_MODEL, or model in the configuration)")
	flags.StringArrayVar(&f.teams, "team", nil, "team file to offer in addition to the built-in teams; the first is the default; may be repeated")
	a.flags.limits.register(flags)
	f.maxWait.register(flags, runner.DefaultMaxWait.String())
	flags.IntVar(&f.maxRuns, "max-runs", steer.DefaultMaxRuns, "maximum number of runs in progress at once; further ones are refused with HTTP 429")
	flags.StringVar(&f.tenants, "tenants", "", "file (YAML) with what each tenant may use and how long its data is kept; it is read again when it changes")
	flags.BoolVar(&f.open, "open", false, "open the dashboard in a browser")
	return c
}

func (a *app) serve(ctx context.Context, f serveFlags) (err error) {
	if f.maxRuns < 1 {
		return usage(fmt.Errorf("--max-runs %d is not above 0", f.maxRuns))
	}
	keeper, err := a.keeper(f.tokenFile)
	if err != nil {
		return usage(err)
	}
	bounds, err := tenantsFile(f.tenants)
	if err != nil {
		return usage(err)
	}
	d := &driver{app: a, flags: driveFlags{baseURL: f.baseURL, maxWait: f.maxWait}, models: a.watchedModels(f.baseURL), tenants: bounds}
	if err := d.open(ctx, a.storeToServe); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	lines := a.auditLines(d.level)
	d.audited = lines.events(ctx, d.log)
	recorder := audit.NewRecorder(d.log, lines.entry)
	defer recorder.Close()
	r, err := d.runner()
	if err != nil {
		return err
	}
	hooks, err := a.webhooks(ctx, d)
	if err != nil {
		return usage(err)
	}
	steered := steer.Config{Runner: r, Model: f.model, MaxRuns: f.maxRuns}
	if err := addTeams(&steered, f.teams); err != nil {
		return usage(err)
	}
	if err := a.sayUngranted(steered.Teams); err != nil {
		return usage(err)
	}
	served := web.Config{
		Log: d.log, Kept: r.Kept(), Runs: steer.New(steered), Batches: &steer.Batches{Runner: r}, Users: &steer.Users{Log: d.log, Wipe: d.wipe}, Address: f.address, Hosts: f.hosts, Keeper: keeper, Issuers: a.issuers(), Audit: recorder, Logger: a.requestLog(d.level),
		Metrics: hooks.Metrics(), Transitions: r.Transitions, Loads: loads(r),
	}
	if bounds != nil {
		served.TenantNames = bounds.Names
	}
	dash, err := a.dashboard(served, "--addr")
	if err != nil {
		return usage(err)
	}
	if err := hooks.Start(ctx); err != nil {
		a.say("webhooks are sent nothing: " + err.Error()) // as in a store that is only shown
	}
	defer hooks.Stop()
	defer a.sweep(ctx, d.log, bounds)()
	defer a.followTenants(ctx, r, bounds)()
	answered := a.takeUp(ctx, r, f.maxRuns)
	interrupts := a.interrupts() // before anybody knows where to look
	headroom.GiveBack()
	if err := dash.announce(f.open, ""); err != nil {
		return errors.Join(err, r.Shutdown(ctx), dash.stop())
	}
	err = a.untilStopped(ctx, r, dash, interrupts)
	<-answered
	return err
}

// untilStopped serves until somebody interrupts, or the dashboard ends by itself, and parks the
// runs under way: for so long as drainTime, or until a second interrupt.
func (a *app) untilStopped(ctx context.Context, r *runner.Runner, dash *dashboard, interrupts <-chan os.Signal) error {
	select {
	case <-interrupts:
	case <-dash.ended:
	}
	fmt.Fprintln(a.err, "parking the runs under way …")
	draining, hurry := context.WithTimeout(ctx, drainTime)
	defer hurry()
	go func() {
		<-interrupts
		hurry()
	}()
	return errors.Join(r.Shutdown(draining), dash.stop())
}

// takeUp answers what waits in conversations that no process drives, until the runner is shut
// down, and closes the channel then. A store that is only shown is left as it is.
func (a *app) takeUp(ctx context.Context, r *runner.Runner, most int) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := r.TakeUp(ctx, most, func(key events.ThreadKey, err error) {
			a.say(termview.Line(fmt.Sprintf("messages wait in thread %s: %v", key.Thread, err)))
		})
		if err != nil && !errors.Is(err, sqlite.ErrReadOnly) {
			a.say(termview.Line("messages that wait in other conversations are not looked for: " + err.Error()))
		}
	}()
	return ended
}

// addTeams reads the team files that can be chosen; the first is the default.
func addTeams(c *steer.Config, paths []string) error {
	c.Teams = make(map[string]*team.Team, len(paths))
	for i, path := range paths {
		t, err := team.Resolve(path)
		if err != nil {
			return err
		}
		if c.Teams[t.Name] != nil {
			return fmt.Errorf("%s: there is already a team %q: give each file another name", path, t.Name)
		}
		c.Teams[t.Name] = t
		if i == 0 {
			c.DefaultTeam = t.Name
		}
	}
	return nil
}

// requestLog writes log lines, in which personal data and secrets are masked. Failures are
// written at any level: callers are told no more than where to look.
func (a *app) requestLog(level zerolog.Level) *zerolog.Logger {
	if level == zerolog.Disabled {
		level = zerolog.ErrorLevel
	}
	logger := zerolog.New(a.maskedLines()).Level(level).With().Timestamp().Logger()
	return &logger
}

// maskedLines takes lines for stderr, and masks personal data and secrets in them.
func (a *app) maskedLines() io.Writer {
	return sanitize.Lines{To: unaltered(a.err), Finder: new(sanitize.Detector)}
}

// dashboard is a server that listens.
type dashboard struct {
	server *web.Server
	cancel context.CancelFunc
	// say gives a line to the person who watches.
	say func(line string)
	// ended is closed when nothing is served any more; err is then its error.
	ended chan struct{}
	err   error
}

// dashboard begins to serve. A port of 0 takes any that is free. flag is the one that
// chose the address.
func (a *app) dashboard(config web.Config, flag string) (*dashboard, error) {
	listener, address, err := listen(flag, config.Address)
	if err != nil {
		return nil, err
	}
	config.Address = address
	config.Version, config.Limiters = version(), a.shownLimiters
	server, err := web.New(config)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &dashboard{server: server, cancel: cancel, say: a.say, ended: make(chan struct{})}
	go func() {
		defer close(d.ended)
		d.err = server.Serve(ctx, listener)
	}()
	return d, nil
}

// listen takes an address to serve at. A port of 0 takes any that is free, which is in the
// address that is given back. flag is the one that chose it.
func listen(flag, address string) (listener net.Listener, at string, err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", fmt.Errorf("%s %s: want HOST:PORT, such as %s", flag, address, defaultDashboard)
	}
	listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, "", fmt.Errorf("%s %s cannot be listened on: %w. Choose another address or port", flag, address, netCause(err))
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String()) // a TCP address has a port; 0 has become one
	return listener, net.JoinHostPort(host, port), nil
}

// netCause is what went wrong with an address, without the address.
func netCause(err error) error {
	var failed *net.OpError
	if !errors.As(err, &failed) {
		return err
	}
	var call *os.SyscallError
	if errors.As(failed, &call) {
		return call.Err
	}
	return failed.Err
}

// announce says where the dashboard is, and opens it if that is wanted. place
// is the path of what it shows first; "" where people sign in, by a link of its own.
func (d *dashboard) announce(open bool, place string) error {
	url, err := d.server.LoginURL()
	if err != nil {
		return err
	}
	d.say("dashboard: " + url + place)
	if open {
		if err := openBrowser(url + place); err != nil {
			d.say(fmt.Sprintf("no browser could be opened (%v): open the address by hand", err))
		}
	}
	return nil
}

// stop ends the serving.
func (d *dashboard) stop() error {
	d.cancel()
	<-d.ended
	return d.err
}
