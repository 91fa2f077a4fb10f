package runner

import (
	"cmp"
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
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/artifact"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/prices"
	"github.com/convene-run/convene/sanitize"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// Config is what a [Runner] works with. Log and Models are required.
type Config struct {
	Log events.Log
	// Models finds the endpoints of models by name.
	Models Models
	// Caller makes the model calls. Defaults to an [llm.Caller] with Prices.
	Caller loop.Caller
	// Prices tells what calls will cost. Defaults to the built-in table.
	Prices *prices.Table
	// Tools are what the program offers to specialists beside their own tools: to each of
	// them, or to those that name them in [team.Specialist]. A run that is resumed without
	// one of them tells the model so.
	Tools []agent.Tool
	// Toolbox opens the tools that teams switch on themselves. Defaults to none: a team that
	// switches tools on is then refused.
	Toolbox Toolbox
	// Owner names this process to those who find a thread held by it. Defaults to a
	// random name.
	Owner events.Owner
	// Version is written into the runs that are started or resumed here.
	Version string
	// MaxWait is how long a run waits for an endpoint that cannot be used, before it is
	// parked: below 0 without end, see [Forever]. Such waits count towards no other bound.
	// Defaults to [DefaultMaxWait].
	MaxWait time.Duration
	// Available says why an agent of a team cannot take over a conversation now, nil where it
	// can. It must not wait. Defaults to what is known of the agent's models and endpoints,
	// which is looked at in any case.
	Available func(team string, agent events.AgentID) error
	// Sanitizer finds what agents do not pass on to each other with a handoff or a question:
	// placeholders go along in its place. Defaults to what package sanitize finds, and the
	// team's patterns.
	Sanitizer sanitize.Finder
	// Tenants says what each tenant may use. Runs beyond that are refused with an [ErrQuota],
	// calls beyond it park theirs until the next day. Defaults to no bounds.
	Tenants Tenants
	// OnSignal is told of silent agents. It must not block.
	OnSignal func(Signal)
	// Hooks are told of what happened in the threads whose runs are driven here.
	Hooks Hooks
	// Predicates are the conditions of the program that routing rules of teams name: see
	// [team.Rule]. They must be fast, and give the same result for the same arguments. A team
	// with a rule that names another is refused.
	Predicates team.Predicates
}

// Models resolves model names to endpoints, the first choice first. The empty name
// is the default model.
type Models interface {
	Resolve(specs ...string) (llm.Route, error)
}

// LoggedModels are [Models] that find the targets of a run again where its log says that
// they were asked. For others a resumed run is resolved by its names alone.
type LoggedModels interface {
	Models
	ResolveAt(logged []llm.LoggedTarget, specs ...string) (llm.Route, error)
}

// Toolbox has the tools that teams switch on, see [team.Tools].
type Toolbox interface {
	// Open gives the tools that the team switches on, for a run that is about to start or to
	// be resumed: the team is then what the log says. Each is an [agent.External] and is used
	// by several runs at once. An error means that no run of the team can be driven here. ctx
	// ends with the runner, the tools do not.
	Open(ctx context.Context, t *team.Team) ([]agent.Tool, error)
}

// Runner starts, resumes and cancels runs. It is safe for concurrent use.
type Runner struct {
	config   Config
	kept     *thread.Kept
	registry registry
	hooks    *hooking
	quotas   *quotas

	mu sync.Mutex // guards what follows
	// transitions counts those of runs driven here.
	transitions conversation.Transitions
	// loads are what was used here, by tenant.
	loads map[events.TenantID]Load
	plans map[planKey]*plan
	// recalled are plans of configurations that a log had.
	recalled map[recallKey]*plan
	// teams are the teams of the plans as they were given.
	teams map[*team.Team]*givenTeam
}

// Transitions counts the ends of phases in the runs that were driven here.
func (r *Runner) Transitions() conversation.Transitions {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.transitions
}

// committed takes what is durable to the hooks and the counts.
func (r *Runner) committed(facts []events.Envelope) {
	r.hooks.committed(facts)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, env := range facts {
		r.loaded(env)
		switch env.Data.(type) {
		case events.PhaseChanged, events.TransitionRolledBack:
			r.transitions = r.transitions.With(env.Data)
		}
	}
}

// New gives a runner on a log. The caller closes the log after [Runner.Shutdown].
func New(config Config) (*Runner, error) {
	if config.Log == nil || config.Models == nil {
		return nil, errors.New("new runner: Log and Models are required")
	}
	if _, err := loop.NewToolset(config.Tools); err != nil {
		return nil, fmt.Errorf("new runner: %w", err)
	}
	if config.Prices == nil {
		config.Prices = prices.Builtin()
	}
	if config.Caller == nil {
		config.Caller = &llm.Caller{Prices: config.Prices}
	}
	if config.MaxWait == 0 {
		config.MaxWait = DefaultMaxWait
	}
	if config.Owner == "" {
		config.Owner = events.Owner(uuid.NewString())
	}
	r := &Runner{config: config, kept: thread.NewKept(config.Log), plans: map[planKey]*plan{}, recalled: map[recallKey]*plan{}, teams: map[*team.Team]*givenTeam{}, loads: map[events.TenantID]Load{}}
	r.registry.tenures, r.registry.attending = map[events.ThreadKey]*tenure{}, map[events.ThreadKey]bool{}
	r.registry.closing, r.registry.close = context.WithCancel(context.Background())
	r.hooks = newHooking(config.Log, config.Hooks)
	r.quotas = newQuotas(config.Tenants, config.Log)
	return r, nil
}

// Job is one request to a team.
type Job struct {
	// Tenant defaults to [events.LocalTenant].
	Tenant events.TenantID
	// Thread is a UUID version 4. Defaults to a new one. In one that has runs already the
	// facilitator sees what was asked and answered in them, unless Continues is set.
	Thread events.ThreadID
	// Run is a UUID version 7; one that the log has already is refused. Defaults to a new
	// one. Who derives it from the job can find out later whether the job was started.
	Run events.RunID
	// Fresh says that Thread and Run were made for this job and stand for nothing else, as the
	// defaults do: the log is not asked whether it knows the run. A thread that somebody began
	// after all is found out.
	Fresh bool
	// Request is the user's text, at most [MaxRequestChars] of valid UTF-8.
	Request string
	// Files come with the request and are kept beside the log. What a model is to read of them
	// without a tool stands in Request. They are for [Runner.Start].
	Files []agent.File
	// Message is set where Request is a user's message in a conversation. Where the team can
	// hand the conversation over every request is one. It goes to the specialist that has
	// the conversation, if there is one.
	Message *Message
	// By is on whose behalf the run is, where Message does not say: the thread is this user's if
	// it is new, and nobody in the run has more permissions. The zero Caller is the local user,
	// who may do everything.
	By conversation.Caller
	// Vars fill the placeholders of the team's request template.
	Vars map[string]string
	// Team must not change once it was given to a runner, which refuses it then.
	Team *team.Team
	// Functions are specialists of the team that are Go functions. Whoever resumes the
	// run gives them again, in its [Terms].
	Functions Functions
	// Model, if set, is asked instead of every model of the team.
	Model string
	// Solo has a single agent answer, without specialists.
	Solo bool
	// Priority orders the runs that wait at a limiter. Defaults to [llm.PriorityInteractive], of
	// a run that somebody watches.
	Priority llm.Priority
	// Budget, if set, is shared with other runs and applies in addition to the team's limits.
	Budget Budget
	// Continues names a run of Thread that is over. The new run begins with its plan, its
	// document and the facilitator's conversation, and finishes what it left open; what it
	// used counts towards no bound of the new run. A team with the same document layout is
	// needed. Defaults to starting from scratch.
	Continues events.RunID
	// Batch is set on the job of a batch's row. The log then knows whose row it is.
	Batch *events.BatchRow
	// Traceparent is the span of others that the run is part of, as W3C Trace Context writes
	// it. One that is not valid is left out.
	Traceparent string
	// MaxWait is that of [Config], which it defaults to.
	MaxWait time.Duration
	// OnInput says what becomes of the run where it asks a person for something. Defaults to
	// [ParkOnInput].
	OnInput OnInput
	// Approve says who decides on calls that wait for a person's approval. Defaults to
	// [ParkForApproval].
	Approve Approve
	// FilesRoot is the folder below which Batch.Folder lies: absolute, and without links.
	// Defaults to none, so that a row with a folder reads no files.
	FilesRoot string
}

// Terms are what a run is driven under. They are of the process, not of the run:
// the log does not have them.
type Terms struct {
	Priority llm.Priority
	// Functions are the specialists that are Go functions: those that the run was
	// started with at least.
	Functions Functions
	// Budget, if set, is shared with other runs and applies in addition to the team's limits.
	Budget Budget
	// MaxWait is that of [Config], which it defaults to.
	MaxWait time.Duration
	// OnInput says what becomes of the run where it asks a person for something. Defaults to
	// [ParkOnInput].
	OnInput OnInput
	// Approve says who decides on calls that wait for a person's approval. Defaults to
	// [ParkForApproval].
	Approve Approve
	// FilesRoot is that of [Job].
	FilesRoot string
	// By is who has the run driven, and from where, for the log. Defaults to nobody.
	By *events.Actor
}

// terms are those of a run that the job starts.
func (job *Job) terms() Terms {
	return Terms{Priority: job.Priority, Functions: maps.Clone(job.Functions), Budget: job.Budget, MaxWait: job.MaxWait, OnInput: job.OnInput, Approve: job.Approve, FilesRoot: job.FilesRoot}
}

// MaxRequestChars bounds a request.
const MaxRequestChars = 1 << 20

// RefusedError is why nothing was done for a job: an [*InputError], or what the resolver or a
// tenant's limits say of its team and model.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// InputError is a job that cannot be started as it is. Nothing was done.
type InputError struct{ Message string }

func (e *InputError) Error() string { return e.Message }

// Check says whether the job can be started as it is, and fills in its defaults.
// [Runner.Start] does so too; who has things to prepare asks first. The error is an
// [*InputError].
func (job *Job) Check() error {
	if job.Team == nil {
		return &InputError{"no team"}
	}
	return job.check()
}

// check is [Job.Check] of a job that need not name a team.
func (job *Job) check() error {
	if err := job.identify(); err != nil {
		return err
	}
	switch {
	case slices.ContainsFunc(job.Files, func(f agent.File) bool { return len(f.Data) > events.MaxArtifactBytes }):
		return &InputError{events.ErrArtifactSize.Error()}
	case strings.TrimSpace(job.Request) == "":
		return &InputError{"the request is empty. Describe what you want the team to do"}
	}
	if err := checkText("the request", job.Request); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(job.Vars)) {
		if err := checkText("the value of "+name, job.Vars[name]); err != nil {
			return err
		}
	}
	if job.Message != nil {
		if err := job.Message.check(); err != nil {
			return err
		}
	}
	return errors.Join(job.OnInput.Check(), job.Approve.Check())
}

// identify gives the job the ids that it lacks, and refuses those that are none.
func (job *Job) identify() error {
	job.Tenant = job.Tenant.OrLocal()
	job.Fresh = job.Fresh || job.Thread == "" && job.Run == ""
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
	case chars.Over(text, MaxRequestChars):
		return &InputError{fmt.Sprintf("%s has %d characters; at most %d are allowed", what, chars.Count(text), MaxRequestChars)}
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

// Kept are the folds of its threads, for those who show them.
func (r *Runner) Kept() *thread.Kept { return r.kept }

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
// ends: the run is then left as it is, to be resumed. What [Runner.Check] would have said is
// a [*RefusedError].
func (r *Runner) Start(ctx context.Context, job Job) (*Run, error) {
	if err := job.Check(); err != nil {
		return nil, &RefusedError{err}
	}
	plan, started, err := r.prepareStart(job)
	if err != nil {
		return nil, &RefusedError{err}
	}
	return r.begin(ctx, job, plan, started)
}

// prepareStart gives the plan of a job and the first fact of its run.
func (r *Runner) prepareStart(job Job) (*plan, events.WorkflowStarted, error) {
	plan, err := r.plan(job)
	if err == nil {
		err = job.folderNeeded()
	}
	if err != nil {
		return nil, events.WorkflowStarted{}, err
	}
	prompt, err := plan.config.Team.Message(job.Request, job.Vars)
	if err != nil {
		return nil, events.WorkflowStarted{}, &InputError{err.Error()}
	}
	started := r.started(plan, job.Request)
	started.Batch, started.Traceparent = job.Batch, events.Traceparent(job.Traceparent)
	if prompt != job.Request {
		started.Prompt = prompt
	}
	return plan, started, nil
}

// folderNeeded refuses a job without a folder of its own whose team reads nothing else.
func (job *Job) folderNeeded() error {
	if job.Solo || !job.Team.ReadsOwnFolder() || job.Batch != nil && job.Batch.Folder != "" {
		return nil
	}
	return &InputError{fmt.Sprintf(`team %s reads the folder of a row: run it with convene batch --files-root DIR and rows that name a "folder", or list folders under tools.files.roots`, job.Team.Name)}
}

// started is the first fact of a run of the plan.
func (r *Runner) started(plan *plan, request string) events.WorkflowStarted {
	return events.WorkflowStarted{
		Message: request, Team: plan.config.Team.Name, Agents: plan.cards, Layout: plan.layout,
		Config: plan.encoded, Solo: plan.config.Solo, Simulated: plan.simulated, BinaryVersion: r.config.Version,
	}
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
	key := job.key()
	run := &Run{
		runner: r, id: job.Run, key: key, plan: plan, done: make(chan struct{}),
		terms: job.terms(),
	}
	if err := run.takePlace(ctx); err != nil {
		return nil, err
	}
	if job.Fresh && job.Continues == "" && len(job.Files) == 0 {
		err := run.beginAnew(ctx, job, started)
		if err == nil {
			run.drive(ctx)
			return run, nil
		}
		if !errors.Is(err, events.ErrConflict) && !errors.Is(err, events.ErrHeld) {
			run.givePlace()
			return nil, err
		}
	}
	if err := run.claim(ctx, key); err != nil {
		run.givePlace()
		if errors.Is(err, events.ErrHeld) {
			err = cmp.Or(r.kept.Use(ctx, key, job.answered), err)
		}
		return nil, err
	}
	err := run.fold.Use(ctx, func(th *thread.Thread) error { return run.begins(ctx, th, job, started) })
	if err != nil {
		run.release()
		return nil, err
	}
	run.drive(ctx)
	return run, nil
}

// beginAnew begins a run that is the first of its thread. It is claimed and begun in one commit.
// [events.ErrConflict] and [events.ErrHeld] say that it is not the first.
func (r *Run) beginAnew(ctx context.Context, job Job, started events.WorkflowStarted) error {
	r.key, r.clock = job.key(), newClock()
	if err := r.runner.registry.occupy(r.key, r.runner.config.Owner, r); err != nil {
		return err
	}
	r.fold = r.runner.kept.Pin(r.key)
	err := r.fold.Fresh(ctx, func(th *thread.Thread) error { return r.begins(ctx, th, job, started) })
	switch {
	case err == nil:
	case r.claimed(): // for all that is known
		r.release()
	default:
		r.fold.Unpin()
		r.runner.registry.vacate(r.key)
	}
	return err
}

// begins appends the first events of a run that a job starts, if the thread is ready for it.
func (r *Run) begins(ctx context.Context, th *thread.Thread, job Job, started events.WorkflowStarted) error {
	if err := job.answered(th); err != nil {
		return err
	}
	current := th.Current()
	switch {
	case current != nil && !current.Status.Over():
		return busy(th)
	case job.Message != nil && len(th.Queue()) > 0:
		return busy(th) // the others come first
	case job.Continues != "":
		if err := continueRun(th, job.Continues, &started); err != nil {
			return err
		}
	case current != nil:
		started.Follows = current.ID
	}
	started.UserID, r.by = cmp.Or(job.By.UserID, job.user()), job.actor()
	if r.claimed() {
		if err := r.runner.unknown(ctx, job); err != nil {
			return err
		}
	}
	for _, file := range job.Files {
		brought, err := artifact.Keep(ctx, r.files(), file, events.SourceFile)
		if err != nil {
			return err
		}
		r.brought = append(r.brought, brought)
	}
	message := r.plan.message(job)
	if message != nil {
		r.message = message.ID
	} else {
		started.By, started.Grants = job.By.UserID, job.By.Grants
	}
	return r.open(ctx, th, message, started)
}

// unknown refuses a run id that the log has, in whatever thread.
func (r *Runner) unknown(ctx context.Context, job Job) error {
	summary, err := r.config.Log.FindRun(ctx, job.Tenant, string(job.Run))
	switch {
	case errors.Is(err, events.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("run %s: %w", job.Run, err)
	}
	return &InputError{fmt.Sprintf("the log already has run %s, in thread %s (%s). Start a new one under an id of its own, or resume that one",
		summary.Run, summary.Thread, summary.Status)}
}

// find gives what the log's listing says of a run.
func (r *Runner) find(ctx context.Context, tenant events.TenantID, id events.RunID) (events.RunSummary, error) {
	summary, err := r.config.Log.FindRun(ctx, tenant.OrLocal(), string(id))
	if errors.Is(err, events.ErrAmbiguous) || err == nil && summary.Run != id {
		err = events.ErrNotFound // it is the beginning of an id
	}
	if err != nil {
		return events.RunSummary{}, fmt.Errorf("run %s: %w", id, err)
	}
	return summary, nil
}

// Resume takes a run up from its log and drives it as [Runner.Start] does; the zero
// [Terms] are the ordinary ones. While another process drives the run the error is an
// [*events.HeldError], once it has finished [events.ErrRunOver].
func (r *Runner) Resume(ctx context.Context, tenant events.TenantID, id events.RunID, terms Terms) (*Run, error) {
	if err := errors.Join(terms.OnInput.Check(), terms.Approve.Check()); err != nil {
		return nil, err
	}
	run, err := r.take(ctx, tenant, id, func(run *Run, th *thread.Thread) error {
		run.terms = terms
		if err := run.resume(th); err != nil {
			return err
		}
		return run.takePlace(ctx)
	})
	if err != nil {
		return nil, err
	}
	if err := run.reopen(terms.By); err != nil {
		run.release()
		return nil, err
	}
	run.drive(ctx)
	return run, nil
}

// Outcome tells from its log what a run came to, or where it stands.
func (r *Runner) Outcome(ctx context.Context, tenant events.TenantID, id events.RunID) (result Result, err error) {
	summary, err := r.find(ctx, tenant, id)
	if err != nil {
		return Result{}, err
	}
	err = r.kept.Use(ctx, keyOf(summary), func(th *thread.Thread) error {
		run := th.Run(id)
		if run == nil {
			return fmt.Errorf("run %s: %w", id, events.ErrNotFound)
		}
		result = resultOf(run)
		return nil
	})
	return result, err
}

// keyOf gives the thread that a run is in.
func keyOf(run events.RunSummary) events.ThreadKey {
	return events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}
}

// unfinished finds a run that has not finished.
func (r *Runner) unfinished(ctx context.Context, tenant events.TenantID, id events.RunID) (events.RunSummary, error) {
	summary, err := r.find(ctx, tenant, id)
	if err == nil && summary.Status.Over() {
		err = fmt.Errorf("run %s: %w (%s)", id, events.ErrRunOver, summary.Status)
	}
	return summary, err
}

// take claims a run that has not finished, and has ready prepare it.
func (r *Runner) take(ctx context.Context, tenant events.TenantID, id events.RunID, ready func(*Run, *thread.Thread) error) (*Run, error) {
	summary, err := r.unfinished(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	run := &Run{runner: r, id: id, done: make(chan struct{})}
	if err := run.claim(ctx, keyOf(summary)); err != nil {
		return nil, err
	}
	err = run.fold.Use(ctx, func(th *thread.Thread) error {
		if current := th.Current(); current == nil || current.ID != id || current.Status.Over() {
			return fmt.Errorf("run %s: %w", id, events.ErrRunOver)
		}
		return ready(run, th)
	})
	if err != nil {
		run.release()
		return nil, err
	}
	return run, nil
}

// Cancel ends a run for good. A run that another process drives is asked to end; one
// that nobody drives is ended here.
func (r *Runner) Cancel(ctx context.Context, tenant events.TenantID, id events.RunID, reason string) error {
	return r.CancelBy(ctx, tenant, id, nil, reason)
}

// CancelBy is Cancel with who wants it, and from where, for the log.
func (r *Runner) CancelBy(ctx context.Context, tenant events.TenantID, id events.RunID, by *events.Actor, reason string) error {
	run, err := r.take(ctx, tenant, id, func(run *Run, th *thread.Thread) error {
		run.sequence(th)
		return nil
	})
	if errors.Is(err, events.ErrHeld) {
		return r.postCancel(ctx, tenant, id, by, reason)
	}
	if err != nil {
		return err
	}
	defer run.release()
	return run.journal.Do(func(tx *thread.Tx) {
		tx.By = by
		if tx.Run.Status == events.StatusRunning { // its process died: nobody drove it since
			tx.Emit("", "", events.RunResumed{Owner: r.config.Owner, BinaryVersion: r.config.Version})
		}
		facilitator.Cancel(tx, reason)
	})
}

func (r *Runner) postCancel(ctx context.Context, tenant events.TenantID, id events.RunID, by *events.Actor, reason string) error {
	summary, err := r.unfinished(ctx, tenant, id)
	if err != nil {
		return err
	}
	_, err = r.config.Log.Post(ctx, keyOf(summary), events.Envelope{
		Run: id, By: by, Data: events.CancelRequested{Reason: reason},
	})
	if errors.Is(err, events.ErrRunOver) {
		return fmt.Errorf("run %s: %w", id, events.ErrRunOver)
	}
	return err
}

// price gives what usage costs with a model, nil where that is unknown.
func (r *Runner) price(target llm.Target, usage events.Usage) *float64 {
	return r.config.Prices.Cost(target.Endpoint.Name, target.Model, prices.Call{Usage: usage, At: time.Now()})
}
