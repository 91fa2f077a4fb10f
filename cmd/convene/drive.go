package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/doctor"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/tenants"
	"github.com/convene-run/convene/thread"
)

// driveFlags are those of the commands that drive a run.
type driveFlags struct {
	baseURL string
	json    bool
	output  string
	quiet   bool
	part    partFlags
	maxWait maxWait
	onInput onInput
	// approve says who decides on calls that wait for approval.
	approve approve
	watch   watchFlags
}

func (f *driveFlags) register(c *cobra.Command) {
	f.watch.register(c, "run")
	flags := c.Flags()
	flags.StringVar(&f.baseURL, "base-url", "", "OpenAI-compatible endpoint, such as http://localhost:8080/v1 (or OPENAI_BASE_URL)")
	f.maxWait.register(flags, runner.DefaultMaxWait.String())
	flags.BoolVar(&f.json, "json", false, "write the run's log as JSON lines to stdout, as it happens, instead of the result")
	flags.StringVarP(&f.output, "output", "o", "", "also write the answer and the document to this file, as Markdown")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress: stderr says only what went wrong")
	f.part.register(c)
}

// driver starts or resumes a run and shows it to its end.
type driver struct {
	app   *app
	flags driveFlags
	// models finds the endpoints of models, and caller makes the calls; nil is the
	// ordinary way.
	models runner.Models
	caller loop.Caller
	log    events.Log
	// wipe takes what was erased out of the store's files.
	wipe  func(context.Context) error
	level zerolog.Level
	beats chan runner.Signal
	// answer shows the answer while it is written; nil where stdout is no terminal.
	answer *answerView
	// companion is the dashboard beside the run, nil without one.
	companion *companion
	// goOn continues a batch that this process was given the files of; nil where there is
	// none.
	goOn func(batch events.BatchID, retry bool) bool
	// audited is told of every event that is committed here; nil for nobody.
	audited func(events.Envelope)
	// tenants bounds what each tenant may use, nil where nobody does.
	tenants *tenants.File
	// traces exports what is driven, nil where nobody asked for it.
	traces *traces
}

// heartbeatQueue bounds the heartbeats that wait to be shown: an agent gives one
// in ten seconds, and one that finds no room is dropped.
const heartbeatQueue = 64

// open checks what can be checked before anything is started. The caller closes log.
func (d *driver) open(ctx context.Context, open func(context.Context) (*sqlite.Log, error)) (err error) {
	if d.level, err = d.app.logLevel(); err != nil {
		return usage(err)
	}
	if err := d.flags.watch.check(); err != nil {
		return usage(err)
	}
	if d.flags.output != "" {
		if err := checkOutput(d.flags.output); err != nil {
			return usage(err)
		}
	}
	if d.flags.quiet {
		d.app.notices = func(string) {} // nobody watches
	}
	log, err := open(ctx)
	if err != nil {
		return err
	}
	d.log = log
	d.wipe = func(ctx context.Context) error {
		_, _, err := log.Compact(ctx)
		return err
	}
	return nil
}

func (d *driver) runner() (*runner.Runner, error) {
	table, err := d.app.prices()
	if err != nil {
		return nil, usage(err)
	}
	if d.traces, err = d.app.traces(d.log); err != nil {
		return nil, usage(err)
	}
	host, _ := os.Hostname() // only a name for people
	d.beats = make(chan runner.Signal, heartbeatQueue)
	r, err := runner.New(runner.Config{
		Log: d.log, Models: d.models, Caller: d.caller, Prices: table, Version: version(), MaxWait: time.Duration(d.flags.maxWait),
		Toolbox: d.app.toolbox, Tenants: d.bounds(),
		Owner: events.Owner(fmt.Sprintf("convene pid %d on %s", os.Getpid(), host)),
		OnSignal: func(s runner.Signal) {
			select {
			case d.beats <- s:
			default:
			}
		},
		Hooks: d.hooks(),
	})
	d.traces.of(r)
	if err == nil && d.flags.watch.wanted() {
		d.companion, err = d.watch(r)
	}
	return r, err
}

// hooks are those of the exporter and of who is told of all events.
func (d *driver) hooks() runner.Hooks {
	hooks := d.traces.hooks()
	if d.audited == nil {
		return hooks
	}
	exported := hooks.OnEvent
	hooks.OnEvent = func(env events.Envelope) {
		d.audited(env)
		if exported != nil {
			exported(env)
		}
	}
	return hooks
}

// bounds are those of tenants, nil where nobody set any.
func (d *driver) bounds() runner.Tenants {
	if d.tenants == nil {
		return nil
	}
	return d.tenants
}

// close ends what open and runner began.
func (d *driver) close() error {
	return errors.Join(d.companion.stop(), d.traces.stop(), d.log.Close())
}

// show follows the run and gives its result to stdout and its end to stderr. What it asks
// is asked of the person at the terminal, if there is one.
func (d *driver) show(ctx context.Context, r *runner.Runner, run *runner.Run, after events.Seq) error {
	if err := d.companion.add(run); err != nil {
		return err
	}
	outlivePipes()
	f, result, err := d.follow(run, after)
	for err == nil && f.interrupted == 0 && result.Status == events.StatusAwaitingInput {
		next, asked := d.askPerson(ctx, r, f.thread.Current())
		if err = asked; err != nil || next == nil {
			break
		}
		f, result, err = d.follow(next, f.thread.Seq)
	}
	if err != nil {
		return err
	}
	return d.conclude(f, result)
}

func (d *driver) follow(run *runner.Run, after events.Seq) (*follower, runner.Result, error) {
	f := &follower{app: d.app, run: run, views: d.views(run, after), resume: d.command("resume", run.ID())}
	result, err := f.follow()
	return f, result, err
}

// conclude shows what a run came to, or where it stands, and gives the exit code.
func (d *driver) conclude(f *follower, result runner.Result) error {
	current := f.thread.Current()
	wrote, err := d.write(current) // before stdout, whose reader may have gone
	if !d.flags.json {
		if printed := d.printResult(current); !errors.Is(printed, syscall.EPIPE) {
			err = errors.Join(err, printed)
		}
	}
	code := codeOf(result, f.interrupted > 0)
	if !d.flags.quiet || code != exitDone {
		d.explain(current, wrote)
	}
	if err != nil {
		return err
	}
	d.companion.linger()
	if code != exitDone {
		return &exitError{code: code}
	}
	return nil
}

// explain says how the run ended or where it stands, where its result went, and what comes
// next.
func (d *driver) explain(run *thread.Run, wrote bool) {
	d.app.printSummary(run)
	d.advise(run)
	switch output := d.flags.output; {
	case wrote:
		fmt.Fprintf(d.app.err, "  wrote %s\n", output)
	case output != "" && run.Status.Over():
		fmt.Fprintf(d.app.err, "  %s was left as it is: the run has %s\n", output, d.flags.part.missing())
	case output != "":
		fmt.Fprintf(d.app.err, "  %s was left as it is: the run is not over\n", output)
	}
	fmt.Fprintf(d.app.err, "  %s\n", d.next(run))
}

// write gives the result to the file that is wanted. A run without a result leaves
// the file as it is.
func (d *driver) write(run *thread.Run) (wrote bool, err error) {
	text := termview.Markdown(run, d.flags.part.part())
	if d.flags.output == "" || text == "" || !run.Status.Over() {
		return false, nil
	}
	if err := writeOutput(d.flags.output, []byte(text)); err != nil {
		return false, err
	}
	return true, nil
}

// printResult writes what of the result was not shown while it was written.
func (d *driver) printResult(run *thread.Run) error {
	part := d.flags.part.part()
	switch {
	case d.answer == nil || !d.answer.done:
		return d.app.printResult(run, part)
	case part == termview.AnswerOnly:
		return nil
	}
	if text := termview.RenderedDocument(run, d.app.theme(d.app.out), width(d.app.out)); text != "" {
		_, err := fmt.Fprintln(d.app.out, text)
		return err
	}
	return nil
}

// views chooses how the run is shown.
func (d *driver) views(run *runner.Run, after events.Seq) []view {
	var views []view
	_, _, screen := terminal(d.app.out)
	switch {
	case d.flags.json:
		views = append(views, &jsonView{d.app.out, screen})
	case screen && !d.flags.part.document:
		d.answer = d.newAnswerView(run.Live)
		views = append(views, d.answer)
	}
	switch {
	case d.flags.quiet:
	case d.level != zerolog.Disabled:
		views = append(views, &logView{logger: *d.app.requestLog(d.level)})
	case d.app.canDraw(d.app.err) && !d.sharedScreen():
		live := d.app.newLiveView()
		live.lives, live.signals = run.Live, d.beats
		if d.answer != nil {
			live.answer = d.answer.speech.open
			d.answer.print = func(lines []string) error { return live.above(d.app.out, lines) }
		}
		views = append(views, live)
	default:
		views = append(views, &plainView{out: d.app.err, after: after, lives: run.Live, signals: d.beats})
	}
	return views
}

// sharedScreen tells that JSON lines go to the screen, where a picture would be torn.
func (d *driver) sharedScreen() bool {
	_, _, ok := terminal(d.app.out)
	return ok && d.flags.json
}

// logLevel reads --log-level; without it nothing is logged.
func (a *app) logLevel() (zerolog.Level, error) {
	switch level := strings.ToLower(a.flags.logLevel); level {
	case "":
		return zerolog.Disabled, nil
	case "debug", "info", "warn", "error":
		return zerolog.ParseLevel(level)
	}
	return zerolog.Disabled, fmt.Errorf("--log-level %q is none of debug, info, warn, error", a.flags.logLevel)
}

// printResult writes the wanted part of a result, on a terminal rendered, elsewhere as
// Markdown.
func (a *app) printResult(run *thread.Run, part termview.Part) error {
	if !run.Status.Over() {
		return nil
	}
	width, _, ok := terminal(a.out)
	if !ok {
		_, err := fmt.Fprint(a.out, termview.Text(termview.Markdown(run, part)))
		return err
	}
	text := termview.Rendered(run, part, a.theme(a.out), width)
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintln(a.out, text)
	return err
}

// printSummary says how the run ended.
func (a *app) printSummary(run *thread.Run) {
	for _, line := range termview.Summary(run, a.theme(a.err), width(a.err)) {
		fmt.Fprintln(a.err, line)
	}
}

// advise says what to do about an endpoint that failed a run, or had it parked.
func (d *driver) advise(run *thread.Run) {
	if d.withheld(run) {
		return // the reason says what to do
	}
	if run.Suspended != nil && run.Suspended.Code != "" {
		fmt.Fprintf(d.app.err, "  %s `convene doctor` tries it.\n", doctor.Advice(llm.ErrorKind(run.Suspended.Code), d.providerAt(run.Suspended.Endpoint)))
		return
	}
	if run.Status != events.StatusFailed || run.Failure == nil || !strings.Contains(run.Reason, run.Failure.Message) {
		return
	}
	switch kind := llm.ErrorKind(run.Failure.Code); kind {
	case llm.ErrUnreachable, llm.ErrTimeout, llm.ErrAuthentication, llm.ErrModelNotFound, llm.ErrNoTools, llm.ErrQuota, llm.ErrServer:
		fmt.Fprintf(d.app.err, "  %s `convene doctor` tries it.\n", doctor.Advice(kind, d.providerAt("")))
	}
}

// providerAt names the provider that was asked at an address, or the only one that was asked
// at all: "" where there is none.
func (d *driver) providerAt(address string) string {
	if d.app.endpoints == nil {
		return ""
	}
	asked := d.app.endpoints()
	for _, e := range asked {
		if e.Address == address {
			return e.Name
		}
	}
	if len(asked) == 1 {
		return asked[0].Name
	}
	return ""
}

// withheld reports whether the run was parked because it was asked without a key at an
// address that only its log names.
func (d *driver) withheld(run *thread.Run) bool {
	parked := run.Suspended
	resolver, ok := d.models.(*endpoint.Resolver)
	return ok && parked != nil && parked.Code == string(llm.ErrAuthentication) && resolver.Withheld(parked.Endpoint)
}

// next says which command comes next.
func (d *driver) next(run *thread.Run) string {
	if run.Status == events.StatusAwaitingInput && len(run.Thread().Inputs()) > 0 {
		return "answer it with: " + d.answerCommand(run)
	}
	if !run.Status.Over() {
		command := d.command("resume", run.ID)
		if d.withheld(run) {
			command += fmt.Sprintf(" --base-url %q", run.Suspended.Endpoint)
		}
		return "continue it with: " + command
	}
	return "show it again with: " + d.command("show", run.ID)
}

// command is one to continue with, with what it needs to find the same store, and to
// drive the run at the same endpoint: without that a resumed run would fail for good
// at another.
func (d *driver) command(verb string, id events.RunID) string {
	command := fmt.Sprintf("convene %s %s", verb, termview.ShortID(id))
	if verb == "resume" {
		command += d.atEndpoint()
	}
	if d.app.flags.store != "" {
		command += fmt.Sprintf(" --store %q", d.app.flags.store)
	}
	return command
}

// atEndpoint has another command drive at the same endpoint.
func (d *driver) atEndpoint() string {
	if d.flags.baseURL == "" {
		return ""
	}
	return fmt.Sprintf(" --base-url %q", d.flags.baseURL)
}
