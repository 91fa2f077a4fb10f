package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// Config is what a [Runner] works with. Log and Models are required.
type Config struct {
	Log events.Log
	// Models finds the endpoints of models by name.
	Models Models
	// Caller makes the model calls. Defaults to an [llm.Caller] with Prices.
	Caller agent.Caller
	// Prices tells what calls will cost. Defaults to the built-in table.
	Prices *llm.Prices
	// Functions are Go functions that work in place of the specialists with these ids,
	// in every team that has them.
	Functions map[events.AgentID]specialists.Function
	// Tools are offered to every specialist beside its own. A run that is resumed
	// without one of them tells the model so.
	Tools []agent.Tool
	// Owner names this process to those who find a thread held by it. Defaults to a
	// random name.
	Owner events.Owner
	// Version is written into the runs that are started or resumed here.
	Version string
	// OnSignal is told of silent agents. It must not block.
	OnSignal func(Signal)
}

// Models resolves model names to endpoints, the first choice first. The empty name
// is the default model.
type Models interface {
	Resolve(specs ...string) (llm.Route, error)
}

// Runner starts, resumes and cancels runs. It is safe for concurrent use.
type Runner struct {
	config Config

	mu    sync.Mutex // guards what follows
	plans map[planKey]*plan
	// runs are those that are driven here; a thread has one at a time.
	runs map[events.ThreadKey]*Run
	// threads are those that are claimed here, and since when.
	threads map[events.ThreadKey]time.Time
}

// New gives a runner on a log. The caller closes the log after the last run.
func New(config Config) (*Runner, error) {
	if config.Log == nil || config.Models == nil {
		return nil, errors.New("new runner: Log and Models are required")
	}
	if config.Prices == nil {
		config.Prices = llm.DefaultPrices()
	}
	if config.Caller == nil {
		config.Caller = &llm.Caller{Prices: config.Prices}
	}
	if config.Owner == "" {
		config.Owner = events.Owner(uuid.NewString())
	}
	return &Runner{config: config, plans: map[planKey]*plan{}, runs: map[events.ThreadKey]*Run{}, threads: map[events.ThreadKey]time.Time{}}, nil
}

// Job is one request to a team.
type Job struct {
	// Tenant defaults to [events.LocalTenant].
	Tenant events.TenantID
	// Thread is a UUID version 4. Defaults to a new one.
	Thread events.ThreadID
	// Run is a UUID version 7 that the log does not have yet. Defaults to a new one.
	// Who derives it from the job can find out later whether the job was started.
	Run events.RunID
	// Request is the user's text, at most [MaxRequestBytes] of valid UTF-8.
	Request string
	// Vars fill the placeholders of the team's request template.
	Vars map[string]string
	// Team must not change once it was given to a runner.
	Team *team.Team
	// Model, if set, is asked instead of every model of the team.
	Model string
	// Solo has a single agent answer, without specialists.
	Solo     bool
	Priority llm.Priority
	// Budget, if set, is shared with other runs and holds beside the team's limits.
	Budget *Budget
	// Batch is set on the job of a batch's row. The log then knows whose row it is.
	Batch *events.BatchRow
}

// Terms are what a run is driven under. They are of the process, not of the run:
// the log does not have them.
type Terms struct {
	Priority llm.Priority
	// Budget, if set, is shared with other runs and holds beside the team's limits.
	Budget *Budget
}

// MaxRequestBytes bounds a request.
const MaxRequestBytes = 1 << 20

// InputError is a job that cannot be started as it is. Nothing was done.
type InputError struct{ Message string }

func (e *InputError) Error() string { return e.Message }

// ErrOver is for a run that has finished.
var ErrOver = errors.New("the run has finished")

// Check says whether the job can be started as it is, and fills in its defaults.
// [Runner.Start] does so too; who has things to prepare asks first. The error is an
// [*InputError].
func (job *Job) Check() error {
	switch {
	case job.Team == nil:
		return &InputError{"no team"}
	case strings.TrimSpace(job.Request) == "":
		return &InputError{"the request is empty. Say what the team shall do"}
	}
	if err := checkText("the request", job.Request); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(job.Vars)) {
		if err := checkText("the value of "+name, job.Vars[name]); err != nil {
			return err
		}
	}
	if job.Tenant == "" {
		job.Tenant = events.LocalTenant
	}
	if job.Thread == "" {
		job.Thread = events.ThreadID(uuid.NewString())
	}
	if !isUUID(string(job.Thread), 4) {
		return &InputError{fmt.Sprintf("thread %q is not a UUID version 4 in lower case, such as %s", job.Thread, uuid.NewString())}
	}
	if job.Run == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		job.Run = events.RunID(id.String())
	}
	if !isUUID(string(job.Run), 7) {
		return &InputError{fmt.Sprintf("run %q is not a UUID version 7 in lower case", job.Run)}
	}
	return nil
}

// checkText refuses what no model can be sent.
func checkText(what, text string) error {
	switch {
	case len(text) > MaxRequestBytes:
		return &InputError{fmt.Sprintf("%s has %d bytes; at most %d are taken", what, len(text), MaxRequestBytes)}
	case !utf8.ValidString(text):
		return &InputError{what + " is not valid UTF-8"}
	case strings.ContainsRune(text, 0):
		return &InputError{what + " contains a NUL character"}
	}
	return nil
}

func isUUID(text string, version uuid.Version) bool {
	id, err := uuid.Parse(text)
	return err == nil && id.Version() == version && id.String() == text
}

// Log is the log that the runs are in.
func (r *Runner) Log() events.Log { return r.config.Log }

// Owner is the name under which the runner claims threads.
func (r *Runner) Owner() events.Owner { return r.config.Owner }

// Version is what is written into the runs that are started or resumed here.
func (r *Runner) Version() string { return r.config.Version }

// Crew is who would work on a job.
type Crew struct {
	// Agents are the agents with the models that they would ask.
	Agents []events.AgentCard
	// Simulated is set where any of them asks the simulated model.
	Simulated bool
}

// Check reports what would keep the job from being started: an [*InputError], a team
// that is not sound, or a model that nobody can ask. Otherwise it says who would work
// on it. Nothing is written.
func (r *Runner) Check(job Job) (Crew, error) {
	if err := job.Check(); err != nil {
		return Crew{}, err
	}
	plan, err := r.plan(job)
	if err != nil {
		return Crew{}, err
	}
	if _, err = plan.config.Team.Message(job.Request, job.Vars); err != nil {
		return Crew{}, &InputError{err.Error()}
	}
	return Crew{plan.cards, plan.simulated}, nil
}

// Start begins a run and drives it in the background, until it is over or ctx
// ends: the run is then left as it is, to be resumed. An [*InputError] and the
// resolver's errors mean that nothing was done.
func (r *Runner) Start(ctx context.Context, job Job) (*Run, error) {
	if err := job.Check(); err != nil {
		return nil, err
	}
	plan, err := r.plan(job)
	if err != nil {
		return nil, err
	}
	prompt, err := plan.config.Team.Message(job.Request, job.Vars)
	if err != nil {
		return nil, &InputError{err.Error()}
	}
	started := events.WorkflowStarted{
		Message: job.Request, Team: plan.config.Team.Name, Agents: plan.cards, Layout: plan.layout,
		Config: plan.encoded, Solo: job.Solo, Simulated: plan.simulated, BinaryVersion: r.config.Version,
		Batch: job.Batch,
	}
	if prompt != job.Request {
		started.Prompt = prompt
	}
	return r.begin(ctx, job, plan, started)
}

// Run starts a run and waits for its end: see [Runner.Start] and [Run.Wait]. Where
// ctx ends first, the result is that of a suspended run.
func (r *Runner) Run(ctx context.Context, job Job) (Result, error) {
	run, err := r.Start(ctx, job)
	if err != nil {
		return Result{}, err
	}
	return run.Wait()
}

// begin claims the thread and appends the run's first event.
func (r *Runner) begin(ctx context.Context, job Job, plan *plan, started events.WorkflowStarted) (*Run, error) {
	key := events.ThreadKey{Tenant: job.Tenant, Thread: job.Thread}
	run := &Run{
		runner: r, id: job.Run, plan: plan, done: make(chan struct{}),
		terms: Terms{Priority: job.Priority, Budget: job.Budget},
	}
	if err := run.claim(ctx, key); err != nil {
		return nil, err
	}
	th, err := load(ctx, r.config.Log, key)
	if err == nil {
		if current := th.Current(); current != nil && !current.Status.Over() {
			err = &InputError{fmt.Sprintf("thread %s has a run under way: convene resume %s", key.Thread, current.ID)}
		}
	}
	if err == nil {
		err = run.open(ctx, th, started)
	}
	if err != nil {
		run.release()
		return nil, err
	}
	run.drive(ctx)
	return run, nil
}

// Resume takes a run up from its log and drives it as [Runner.Start] does. The run
// is named by its id or the beginning of it. While another process drives it the
// error is an [*events.HeldError].
func (r *Runner) Resume(ctx context.Context, tenant events.TenantID, idOrPrefix string) (*Run, error) {
	return r.ResumeUnder(ctx, tenant, idOrPrefix, Terms{})
}

// ResumeUnder is [Runner.Resume] under other terms than the ordinary ones.
func (r *Runner) ResumeUnder(ctx context.Context, tenant events.TenantID, idOrPrefix string, terms Terms) (*Run, error) {
	run, th, err := r.take(ctx, tenant, idOrPrefix)
	if err != nil {
		return nil, err
	}
	run.terms = terms
	if run.plan, err = r.recall(th.Current().Started); err == nil {
		err = r.priced(run.plan, terms.Budget)
	}
	if err == nil {
		err = run.reopen(th, events.RunResumed{Owner: r.config.Owner, BinaryVersion: r.config.Version})
	}
	if err != nil {
		run.release()
		return nil, err
	}
	run.drive(ctx)
	return run, nil
}

// Outcome tells from its log what a run came to, or where it stands.
func (r *Runner) Outcome(ctx context.Context, tenant events.TenantID, idOrPrefix string) (Result, error) {
	if tenant == "" {
		tenant = events.LocalTenant
	}
	summary, err := r.config.Log.FindRun(ctx, tenant, idOrPrefix)
	if err != nil {
		return Result{}, fmt.Errorf("run %s: %w", idOrPrefix, err)
	}
	th, err := load(ctx, r.config.Log, events.ThreadKey{Tenant: tenant, Thread: summary.Thread})
	if err != nil {
		return Result{}, err
	}
	for _, run := range th.Runs {
		if run.ID == summary.Run {
			return resultOf(run), nil
		}
	}
	return Result{}, fmt.Errorf("run %s: %w", idOrPrefix, events.ErrNotFound)
}

// take claims a run that has not finished.
func (r *Runner) take(ctx context.Context, tenant events.TenantID, idOrPrefix string) (*Run, *thread.Thread, error) {
	if tenant == "" {
		tenant = events.LocalTenant
	}
	summary, err := r.config.Log.FindRun(ctx, tenant, idOrPrefix)
	if err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", idOrPrefix, err)
	}
	if summary.Status.Over() {
		return nil, nil, fmt.Errorf("run %s: %w (%s)", summary.Run, ErrOver, summary.Status)
	}
	run := &Run{runner: r, id: summary.Run, done: make(chan struct{})}
	if err := run.claim(ctx, events.ThreadKey{Tenant: tenant, Thread: summary.Thread}); err != nil {
		return nil, nil, err
	}
	th, err := load(ctx, r.config.Log, run.key)
	if err == nil && (th.Current().ID != summary.Run || th.Current().Status.Over()) {
		err = fmt.Errorf("run %s: %w", summary.Run, ErrOver)
	}
	if err != nil {
		run.release()
		return nil, nil, err
	}
	return run, th, nil
}

// Cancel ends a run for good. A run that another process drives is asked to end; one
// that nobody drives is ended here.
func (r *Runner) Cancel(ctx context.Context, tenant events.TenantID, idOrPrefix, reason string) error {
	run, th, err := r.take(ctx, tenant, idOrPrefix)
	if errors.Is(err, events.ErrHeld) {
		return r.postCancel(ctx, tenant, idOrPrefix, reason)
	}
	if err != nil {
		return err
	}
	defer run.release()
	run.sequence(th)
	return run.journal.Do(func(tx *thread.Tx) { facilitator.Cancel(tx, reason) })
}

func (r *Runner) postCancel(ctx context.Context, tenant events.TenantID, idOrPrefix, reason string) error {
	if tenant == "" {
		tenant = events.LocalTenant
	}
	summary, err := r.config.Log.FindRun(ctx, tenant, idOrPrefix)
	if err != nil {
		return fmt.Errorf("run %s: %w", idOrPrefix, err)
	}
	if summary.Status.Over() {
		return fmt.Errorf("run %s: %w (%s)", summary.Run, ErrOver, summary.Status)
	}
	key := events.ThreadKey{Tenant: tenant, Thread: summary.Thread}
	_, err = r.config.Log.Post(ctx, key, events.Envelope{
		Run: summary.Run, Data: events.CancelRequested{Reason: reason},
	})
	if errors.Is(err, events.ErrRunOver) {
		return fmt.Errorf("run %s: %w", summary.Run, ErrOver)
	}
	if own := r.Driven(key); own != nil && own.id == summary.Run && err == nil {
		err = own.journal.sync()
	}
	return err
}

// price gives what usage costs with a model, nil where that is unknown.
func (r *Runner) price(target llm.Target, usage events.Usage) *float64 {
	return r.config.Prices.Cost(target.Endpoint.Name, target.Model, usage)
}
