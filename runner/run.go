package runner

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/evidence"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/thread"
)

// Run is a run that this process drives. Its methods are safe for concurrent use.
type Run struct {
	runner *Runner
	id     events.RunID
	key    events.ThreadKey
	epoch  events.Epoch
	// fold is the state of the thread, pinned while the thread is claimed for the run.
	fold     *thread.Fold
	clock    *clock
	plan     *plan
	terms    Terms
	journal  *sequencer
	governor *governor
	watch    *watcher
	patience *patience
	// told is the event of the thread behind which hooks are told of the run, opening what was
	// committed of it before it is driven.
	told    events.Seq
	opening []events.Envelope
	stop    context.CancelCauseFunc
	// work ends what the facilitator's tools have under way, specialists above all, when
	// the time for ordinary work is up.
	work context.CancelCauseFunc
	// leave ends what a specialist has under way that has the conversation; nil while none
	// is driven.
	leave atomic.Pointer[context.CancelCauseFunc]
	begun time.Time
	// stopper is who wants the run parked, nil for nobody.
	stopper atomic.Pointer[events.Actor]
	// before is how long the run was driven before, spent and costUSD what it used.
	before  time.Duration
	spent   events.Usage
	costUSD *float64
	row     *events.BatchRow // as in the log
	// prompt is what the facilitator is asked.
	prompt string
	// message is the user's message that the run answers, "" for none.
	message events.MessageID
	// by is who caused the run's first events, nil for nobody.
	by *events.Actor
	// brought are the files that came with the request.
	brought []events.ArtifactCreated
	// placed is set while the run has a place among those of its tenant.
	placed bool
	// more is set behind a run whose thread may have more to do.
	more bool

	done chan struct{}
	// behind is what follows the run, nil for nothing yet, &over once it is too late for that.
	behind atomic.Pointer[func()]
	result Result
	err    error
}

// Result is what a run came to, or where it stands if it was suspended.
type Result struct {
	Run    events.RunID
	Thread events.ThreadID
	Status events.Status
	// Reason says in words why the status is not "completed".
	Reason string
	// Limit is the one that was reached, "" if none was.
	Limit events.Limit
	// Failure is the last error that ended a part of the run, nil if there was none.
	Failure *events.Error
	// Code and Endpoint are set on a run that was parked because an endpoint could not be
	// used: the kind of trouble, and the endpoint's address.
	Code, Endpoint string
	// Answer is the final answer to the user, "" while there is none.
	Answer string
	// Fallback is set where Answer is the document with attribution, because no model
	// wrote one.
	Fallback bool
	// Data is the answer as JSON where the team has an answer_schema and it fits.
	Data json.RawMessage
	// Document is the document as Markdown, without authors and ids.
	Document string
	// Basis are the passages that Answer and Document rest on.
	Basis []evidence.Basis
	// Tasks are the plan as it stands; MissingTasks are those that were not finished.
	Tasks        []events.Task
	MissingTasks []events.TaskID
	// Usage and CostUSD are of all model calls of the run, over all resumes, failed attempts
	// included.
	Usage events.Usage
	// CostUSD is nil where a model has no known price.
	CostUSD *float64
	// ModelCalls counts the calls that were answered.
	ModelCalls int
	// Driven is the time that the run was driven, downtime and waits for endpoints apart.
	Driven time.Duration
	// Simulated is set where the simulated model answered.
	Simulated bool
	// Replies are what was answered in a run of [Runner.Delegate], in the order asked.
	Replies []facilitator.Reply
}

// ID gives the run's id.
func (r *Run) ID() events.RunID { return r.id }

// Key gives the thread that the run is in.
func (r *Run) Key() events.ThreadKey { return r.key }

// Row gives the row of a batch that the run is of, nil for a run of its own.
func (r *Run) Row() *events.BatchRow { return r.row }

// Events yields the events of the run's thread from its first on, live, until the
// run's last event, or until it is no longer driven here.
func (r *Run) Events(ctx context.Context) iter.Seq2[events.Envelope, error] {
	return func(yield func(events.Envelope, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-r.done:
				cancel()
			case <-ctx.Done():
			}
		}()
		after := events.Seq(0)
		for env, err := range events.Follow(ctx, r.runner.config.Log, r.key, 0) {
			if err != nil && r.ended() {
				break
			}
			if after = env.Seq; !yield(env, err) || err != nil || r.last(env) {
				return
			}
		}
		// What was committed between the last look and the end.
		rest, err := r.runner.config.Log.Read(context.WithoutCancel(ctx), r.key, after, 0)
		for _, env := range rest {
			if !yield(env, nil) {
				return
			}
		}
		if err != nil {
			yield(events.Envelope{}, err)
		}
	}
}

func (r *Run) last(env events.Envelope) bool {
	return env.Run == r.id && env.Data.Kind() == events.KindWorkflowFinished
}

func (r *Run) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// Live gives what each agent under way does now.
func (r *Run) Live() []*agent.Live { return r.watch.lives() }

// Wait returns when the run is no longer driven here. The error is nil if the run is
// over or suspended, whatever its outcome, and else the store's.
func (r *Run) Wait() (Result, error) {
	<-r.done
	return r.result, r.err
}

// Then calls f, once, when the run is no longer driven here, so that nobody need wait for
// it on a goroutine of his own. It may be called once in the life of a run.
func (r *Run) Then(f func()) {
	if !r.behind.CompareAndSwap(nil, &f) {
		go f()
	}
}

func (r *Run) followUp() {
	if f := r.behind.Swap(&over); f != nil {
		(*f)()
	}
}

// over stands for what follows a run behind which all is done.
var over = func() {}

// Suspend lets the model calls under way end, and then parks the run, to be
// resumed. Calls that wait to go out do not. It does not wait.
func (r *Run) Suspend() { r.governor.drain() }

// SuspendBy is Suspend with who wants it, and from where, for the log.
func (r *Run) SuspendBy(by *events.Actor) {
	r.stopper.Store(by)
	r.Suspend()
}

// Halt parks the run at once: calls under way are given up. It does not wait.
func (r *Run) Halt() { r.stop(loop.ErrSuspended) }

// Stop parks the run, to be resumed, and returns when it is no longer driven here: its
// model calls under way end first, unless ctx does, which gives them up. A run that has
// ended stays as it is, so twice is fine. The error is that of [Run.Wait].
func (r *Run) Stop(ctx context.Context) error {
	r.Suspend()
	defer context.AfterFunc(ctx, r.Halt)()
	_, err := r.Wait()
	return err
}

// Cancel ends the run for good. It does not wait.
func (r *Run) Cancel(reason string) error {
	err := r.journal.Do(func(tx *thread.Tx) {
		if !tx.Run.Cancelled && !tx.Run.Status.Over() {
			tx.Emit("", "", events.RunCancelled{Reason: reason})
		}
	})
	r.stop(loop.ErrCancelled)
	return err
}

func (r *Run) claim(ctx context.Context, key events.ThreadKey) (err error) {
	r.key = key
	r.epoch, err = r.runner.claim(ctx, key, r)
	r.clock = newClock()
	if err == nil {
		r.fold = r.runner.kept.Pin(key)
	}
	return err
}

// claimed reports whether the thread is claimed for the run: not before a first append does so.
func (r *Run) claimed() bool { return r.epoch > 0 }

func (r *Run) release() {
	r.fold.Unpin()
	r.runner.Release(r.key, r.epoch)
	r.givePlace()
}

// takePlace takes a place among the runs of the tenant, unless the run has one.
func (r *Run) takePlace(ctx context.Context) (err error) {
	if !r.placed {
		err = r.runner.quotas.enter(ctx, r.key.Tenant)
		r.placed = err == nil
	}
	return err
}

func (r *Run) givePlace() {
	if r.placed {
		r.placed = false
		r.runner.quotas.leave(r.key.Tenant)
	}
}

// open appends the first events of the run.
func (r *Run) open(ctx context.Context, th *thread.Thread, message *Message, started events.WorkflowStarted) error {
	return r.openWith(ctx, th, message, started, func(tx *thread.Tx) error {
		for _, brought := range r.brought {
			tx.Emit("", "", brought)
		}
		r.route(tx, message)
		return nil
	})
}

// openWith is [Run.open] of a run that begins with a decision.
func (r *Run) openWith(ctx context.Context, th *thread.Thread, message *Message, started events.WorkflowStarted, decide func(*thread.Tx) error) error {
	after := th.Seq
	r.told = after
	r.clock.reach(th.Time)
	first, err := r.first(th, message, started, decide)
	if err != nil {
		return err
	}
	if r.claimed() {
		err = r.runner.config.Log.Append(ctx, r.key, r.epoch, after, first)
	} else {
		r.epoch, err = r.runner.config.Log.AppendFirst(ctx, r.key, r.runner.config.Owner, first)
	}
	if err != nil {
		return err
	}
	r.opening = first
	r.sequence(th)
	return nil
}

// reopen appends that the run was taken up again, by whom if anybody wanted it.
func (r *Run) reopen(by *events.Actor) error {
	return r.journal.Do(func(tx *thread.Tx) {
		tx.By = by
		tx.Emit("", "", events.RunResumed{Owner: r.runner.config.Owner, BinaryVersion: r.runner.config.Version})
	})
}

// sequence takes from the thread what the run is driven with.
func (r *Run) sequence(th *thread.Thread) {
	r.clock.reach(th.Time)
	current := th.Current()
	r.journal = &sequencer{log: r.runner.config.Log, key: r.key, epoch: r.epoch, clock: r.clock, fold: r.fold, run: current.ID, from: th.Seq, committed: r.runner.committed}
	r.before, r.spent, r.costUSD, r.row = current.Driven, current.Usage, current.CostUSD, current.Started.Batch
	r.prompt = current.Started.Message
	if current.Started.Prompt != "" {
		r.prompt = current.Started.Prompt
	}
}

// drive runs the facilitator in the background until the run is over or parked.
func (r *Run) drive(ctx context.Context) {
	limits := r.plan.config.Team.Limits
	r.governor = newGovernor(limits, r.terms.Budget, r.runner.price, r.spent, r.costUSD)
	r.governor.quotas, r.governor.tenant = r.runner.quotas, r.key.Tenant
	r.watch = &watcher{run: r.id, limits: limits, slow: r.plan.slow, signal: r.runner.config.OnSignal}
	r.begun = time.Now()

	driven, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	lead, live, unwatch := r.watch.add(driven, r.plan.specs[events.FacilitatorID], "", 0)
	work, stopWork := context.WithCancelCause(lead)
	r.stop, r.work = stop, stopWork
	r.patience = &patience{tenant: r.key.Tenant, caller: r.runner.config.Caller, journal: r.journal, maxWait: r.terms.MaxWait, park: r.Suspend}
	if r.patience.maxWait == 0 {
		r.patience.maxWait = r.runner.config.MaxWait
	}
	r.journal.broke = stop
	r.runner.registry.drives(r, true)
	detach := context.AfterFunc(ctx, r.Halt)
	go func() {
		defer r.followUp()
		defer r.goOn(ctx)
		defer close(r.done)
		defer detach()
		defer unwatch()
		r.run(lead, work, live)
	}()
}

// run drives the facilitator under ctx, and what its tools have under way under work.
func (r *Run) run(ctx, work context.Context, live *agent.Live) {
	var last standing
	r.runner.hooks.begin(r.key, r.told, r.opening)
	r.opening = nil
	defer func() {
		r.runner.hooks.end(r.key, last.seq)
		r.finish(last)
	}()
	defer r.runner.registry.drives(r, false)
	r.heed() // what was posted while nobody drove the run
	underWay, end := context.WithCancel(context.WithoutCancel(ctx))
	stopLooking := r.lookAfter()
	var listening sync.WaitGroup
	listening.Go(func() { r.listen(underWay) })

	dispatcher := r.dispatcher()
	var err error
	if r.plan.config.Delegation != nil {
		err = r.untilAnswered(func() error { return r.delegate(work, dispatcher) })
	} else {
		err = r.talk(ctx, work, live, dispatcher)
	}
	end()
	listening.Wait()
	stopLooking()
	if errors.Is(err, loop.ErrSuspended) {
		err = r.journal.Do(func(tx *thread.Tx) {
			if !tx.Run.Status.Over() {
				r.park(tx, loop.ErrSuspended)
			}
		})
	}
	r.stop(nil)
	r.work(nil)
	last = r.conclude()
	r.err = err
}

// dispatcher drives the run's specialists. It is made in a function of its own: what that needs
// of the stack is not the facilitator's, for as long as it runs.
func (r *Run) dispatcher() *specialists.Dispatcher {
	return specialists.NewDispatcher(specialists.Config{
		Files: r.files(), FilesRoot: r.terms.FilesRoot,
		Run: r.id, Priority: r.terms.Priority, Team: &r.plan.config.Team, Specs: r.plan.specs, Asked: r.plan.asked, Journal: r.journal,
		Functions: r.terms.Functions, Supervisor: r.plan.supervisor, Decide: r.terms.Approve.decision(),
		Caller: r.patience, Governor: r.governor.dispatch, Watch: r.watch.add,
	})
}

// listen takes in what others post to the thread, and heeds it, until ctx ends. What the
// state has when the run begins to be driven is not read again: a wait for what is behind it
// ends at once where there is something.
func (r *Run) listen(ctx context.Context) {
	for look := r.journal.reached; ; look = r.journal.sync {
		last, err := look()
		if err != nil {
			return // the run ends with it
		}
		r.runner.hooks.reached(r.key, last)
		r.heed()
		if err := r.journal.await(ctx, last); err != nil {
			select { // a log that cannot be read now may be readable later
			case <-ctx.Done():
				return
			case <-time.After(retryInterval):
			}
		}
	}
}

// retryInterval is the pause before a run listens for its mail again.
const retryInterval = time.Second

// lookAfter checks the agents and the clock until done is called.
func (r *Run) lookAfter() (done func()) {
	limits := r.plan.config.Team.Limits
	soft := limits.MaxTime * time.Duration(100-limits.WrapUpShare) / 100
	return every(min(watchInterval, max(soft/10, time.Millisecond)), func(now time.Time) {
		r.watch.look(now)
		used := r.before + now.Sub(r.begun) - r.patience.time(now)
		limit := timeLimit(events.LimitMaxTime, limits.MaxTime, used)
		switch {
		case used >= limits.MaxTime:
			r.stop(limit)
		case used >= soft:
			r.governor.outOfTime(used)
			r.work(limit)
		}
	})
}

// heed acts on what others posted to the thread.
func (r *Run) heed() {
	var reason string
	cancel, leave := false, false
	err := r.journal.Do(func(tx *thread.Tx) {
		cancel, leave = false, left(tx.Run)
		if tx.Run.CancelRequested != nil && !tx.Run.Cancelled && !tx.Run.Status.Over() {
			cancel, reason = true, tx.Run.CancelRequested.Reason
		}
	})
	if err == nil && cancel {
		_ = r.Cancel(reason) // a store that fails ends the run at its next commit
	}
	if stop := r.leave.Load(); leave && stop != nil {
		(*stop)(specialists.ErrLeft)
	}
}

// conclude notes what the run came to, and gives where it leaves the thread.
func (r *Run) conclude() (left standing) {
	_ = r.journal.Do(func(tx *thread.Tx) { // fails only with the run's own error
		r.result = resultOf(tx.Run)
		left = standing{tx.Run.Status, tx.Run.Thread().Seq, len(tx.Run.Thread().Queue())}
	})
	if r.result.Run == "" {
		r.result = Result{Run: r.id, Thread: r.key.Thread, Status: events.StatusRunning}
	}
	return left
}

func resultOf(run *thread.Run) Result {
	result := Result{
		Run: run.ID, Thread: run.RunSummary.Thread, Status: run.Status, Reason: run.Reason, Limit: run.Limit, Failure: run.Failure,
		Document: run.Document.RenderClean(), Tasks: run.Board.Tasks(), MissingTasks: run.Board.Open(""),
		Usage: run.Usage, CostUSD: run.CostUSD, ModelCalls: run.ModelCalls, Driven: run.Driven, Simulated: run.Simulated,
		Replies: facilitator.Replies(run, askedCall),
	}
	if run.Suspended != nil {
		result.Code, result.Endpoint = run.Suspended.Code, run.Suspended.Endpoint
	}
	if run.FinalAnswer != nil {
		result.Answer, result.Fallback = run.FinalAnswer.Content, run.FinalAnswer.Fallback
		if run.FinalAnswer.Structured {
			result.Data = json.RawMessage(result.Answer)
		}
	}
	result.Basis = evidence.Of(run.Document, result.Answer, result.Data != nil)
	return result
}
