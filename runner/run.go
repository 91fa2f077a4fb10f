package runner

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// Run is a run that this process drives. Its methods are safe for concurrent use.
type Run struct {
	runner   *Runner
	id       events.RunID
	key      events.ThreadKey
	epoch    events.Epoch
	plan     *plan
	terms    Terms
	journal  *sequencer
	governor *governor
	watch    *watcher
	stop     context.CancelCauseFunc
	// work ends the specialists when the time for ordinary work is up.
	work   context.CancelCauseFunc
	begun  time.Time
	before time.Duration

	// mail says, without saying it twice, that others posted to the thread.
	mail chan struct{}

	done   chan struct{}
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
	Limit  events.Limit
	// Failure is the last error that ended a part of the run, nil if there was none.
	Failure *events.Error
	Answer  string
	// Fallback is set where Answer is the document with attribution, because no model
	// wrote one.
	Fallback bool
	// Data is the answer as JSON where the team has an answer_schema and it fits.
	Data json.RawMessage
	// Document is the document as Markdown, without authors and ids.
	Document     string
	Tasks        []events.Task
	MissingTasks []events.TaskID
	Usage        events.Usage
	// CostUSD is nil where a model has no known price.
	CostUSD    *float64
	ModelCalls int
	Driven     time.Duration
	Simulated  bool
}

// ID gives the run's id.
func (r *Run) ID() events.RunID { return r.id }

// Key gives the thread that the run is in.
func (r *Run) Key() events.ThreadKey { return r.key }

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

// Suspend lets the model calls under way end, and then parks the run, to be
// resumed. It does not wait.
func (r *Run) Suspend() { r.governor.drain() }

// Stop parks the run at once: calls under way are given up. It does not wait.
func (r *Run) Stop() { r.stop(agent.ErrSuspended) }

// Cancel ends the run for good. It does not wait.
func (r *Run) Cancel(reason string) error {
	err := r.journal.Do(func(tx *thread.Tx) {
		if !tx.Run.Cancelled && !tx.Run.Status.Over() {
			tx.Emit("", "", events.RunCancelled{Reason: reason})
		}
	})
	r.stop(agent.ErrCancelled)
	return err
}

func (r *Run) claim(ctx context.Context, key events.ThreadKey) (err error) {
	r.key = key
	r.epoch, err = r.runner.Claim(ctx, key)
	return err
}

func (r *Run) release() { r.runner.Release(r.key, r.epoch) }

// open appends the first event of the run.
func (r *Run) open(ctx context.Context, th *thread.Thread, started events.WorkflowStarted) error {
	after := th.Seq
	first := []events.Envelope{{
		Tenant: r.key.Tenant, Thread: r.key.Thread, Run: r.id, Seq: after + 1, Time: time.Now().UTC(), Data: started,
	}}
	if err := r.runner.config.Log.Append(ctx, r.key, r.epoch, after, first); err != nil {
		return err
	}
	if err := th.Apply(first[0]); err != nil {
		return err
	}
	r.sequence(th)
	return nil
}

// reopen appends that the run was taken up again.
func (r *Run) reopen(th *thread.Thread, resumed events.RunResumed) error {
	r.sequence(th)
	return r.journal.Do(func(tx *thread.Tx) { tx.Emit("", "", resumed) })
}

func (r *Run) sequence(th *thread.Thread) {
	r.journal = &sequencer{log: r.runner.config.Log, key: r.key, epoch: r.epoch, thread: th}
}

// drive runs the facilitator in the background until the run is over or parked.
func (r *Run) drive(ctx context.Context) {
	current := r.journal.thread.Current()
	limits := r.plan.config.Team.Limits
	r.governor = newGovernor(limits, r.terms.Budget, r.runner.price, current.Usage, current.CostUSD)
	r.watch = &watcher{run: r.id, limits: limits, signal: r.runner.config.OnSignal}
	r.begun, r.before = time.Now(), current.Driven
	r.mail = make(chan struct{}, 1)

	driven, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	work, stopWork := context.WithCancelCause(driven)
	r.stop, r.work = stop, stopWork
	r.journal.posted = func() {
		select {
		case r.mail <- struct{}{}:
		default: // there is mail already
		}
	}
	r.journal.broke = stop
	prompt := current.Started.Message
	if current.Started.Prompt != "" {
		prompt = current.Started.Prompt
	}
	r.runner.remember(r)
	detach := context.AfterFunc(ctx, r.Stop)
	go func() {
		defer close(r.done)
		defer detach()
		r.run(driven, work, prompt)
	}()
}

func (r *Run) run(ctx, work context.Context, prompt string) {
	defer r.release()
	defer r.runner.forget(r)
	r.heed() // what was posted while nobody drove the run
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { r.lookAfter(ended) })

	facilitatorCtx, live, done := r.watch.add(ctx, r.plan.specs[events.FacilitatorID], "")
	dispatcher := workContext{work, specialists.NewDispatcher(specialists.Config{
		Run: r.id, Priority: r.terms.Priority, Team: &r.plan.config.Team, Specs: r.plan.specs, Journal: r.journal,
		Functions: r.runner.config.Functions,
		Caller:    r.runner.config.Caller, Governor: r.governor.dispatch, Watch: r.watch.add, Stop: r.watch.stop,
	})}
	loop := &agent.Loop{
		Spec: r.plan.specs[events.FacilitatorID], Role: facilitator.NewRole(&r.plan.config.Team, prompt),
		Run: r.id, Priority: r.terms.Priority, Journal: r.journal, Caller: r.runner.config.Caller, Governor: r.governor,
		Dispatcher: dispatcher, Live: live,
	}
	var err error
	if r.plan.config.Delegation != nil {
		err = r.delegate(facilitatorCtx, dispatcher)
	} else {
		err = loop.Drive(facilitatorCtx)
	}
	done()
	close(ended)
	watching.Wait()
	if errors.Is(err, agent.ErrSuspended) {
		err = r.journal.Do(func(tx *thread.Tx) {
			if !tx.Run.Status.Over() {
				tx.Emit("", "", events.RunSuspended{Reason: "stopped", DrivenMS: tx.Run.DrivenUntil(tx.Now).Milliseconds()})
			}
		})
	}
	r.stop(nil)
	r.work(nil)
	r.result, r.err = r.conclude(), err
}

// workContext drives dispatches under the context of ordinary work: it ends before
// the facilitator's, so that there is time to wrap up.
type workContext struct {
	ctx context.Context
	agent.Dispatcher
}

func (w workContext) Dispatch(_ context.Context, id events.DispatchID) error {
	return w.Dispatcher.Dispatch(w.ctx, id)
}

// lookAfter checks the agents, the mail and the clock until the run has ended.
func (r *Run) lookAfter(ended <-chan struct{}) {
	limits := r.plan.config.Team.Limits
	soft := limits.MaxTime * time.Duration(100-limits.WrapUpShare) / 100
	ticker := time.NewTicker(min(watchInterval, max(soft/10, time.Millisecond)))
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ended:
			return
		case <-r.mail:
			r.heed()
		case now := <-ticker.C:
			r.watch.look(now, now.Sub(last))
			last = now
			_ = r.journal.sync() // a store that fails ends the run at its next commit
			used := r.before + now.Sub(r.begun)
			limit := timeLimit(team.LimitMaxTime, limits.MaxTime, used)
			switch {
			case used >= limits.MaxTime:
				r.stop(limit)
			case used >= soft:
				r.governor.outOfTime(used)
				r.work(limit)
			}
		}
	}
}

// heed acts on what others posted to the thread.
func (r *Run) heed() {
	var reason string
	cancel := false
	err := r.journal.Do(func(tx *thread.Tx) {
		cancel = false
		if tx.Run.CancelRequested != nil && !tx.Run.Cancelled && !tx.Run.Status.Over() {
			cancel, reason = true, tx.Run.CancelRequested.Reason
		}
	})
	if err == nil && cancel {
		_ = r.Cancel(reason) // a store that fails ends the run at its next commit
	}
}

func (r *Run) conclude() (result Result) {
	_ = r.journal.Do(func(tx *thread.Tx) { result = resultOf(tx.Run) }) // fails only with the run's own error
	if result.Run == "" {
		result = Result{Run: r.id, Thread: r.key.Thread, Status: events.StatusRunning}
	}
	return result
}

func resultOf(run *thread.Run) Result {
	result := Result{
		Run: run.ID, Thread: run.RunSummary.Thread, Status: run.Status, Reason: run.Reason, Limit: run.Limit, Failure: run.Failure,
		Document: run.Document.RenderClean(), Tasks: run.Board.Tasks(), MissingTasks: run.Board.Open(""),
		Usage: run.Usage, CostUSD: run.CostUSD, ModelCalls: run.ModelCalls, Driven: run.Driven, Simulated: run.Simulated,
	}
	if run.FinalAnswer != nil {
		result.Answer, result.Fallback = run.FinalAnswer.Content, run.FinalAnswer.Fallback
		if run.FinalAnswer.Structured {
			result.Data = json.RawMessage(result.Answer)
		}
	}
	return result
}

// Claim keeps a thread for whoever calls, a run or a batch: for others, of this runner
// too, the error is an [*events.HeldError] until [Runner.Release].
func (r *Runner) Claim(ctx context.Context, key events.ThreadKey) (events.Epoch, error) {
	if err := r.occupy(key); err != nil {
		return 0, err
	}
	epoch, err := r.config.Log.Claim(ctx, key, r.config.Owner, false)
	if err != nil {
		r.vacate(key)
	}
	return epoch, err
}

// Release gives back what [Runner.Claim] gave.
func (r *Runner) Release(key events.ThreadKey, epoch events.Epoch) {
	_ = r.config.Log.Release(context.Background(), key, epoch) // the claim dies with the process at the latest
	r.vacate(key)
}

// occupy keeps a thread for one run of this runner: in the log a second claim of the
// same owner would take it from the first.
func (r *Runner) occupy(key events.ThreadKey) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if since, taken := r.threads[key]; taken {
		return &events.HeldError{Owner: r.config.Owner, Since: since}
	}
	r.threads[key] = time.Now().UTC()
	return nil
}

func (r *Runner) vacate(key events.ThreadKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.threads, key)
}

// Driven gives the run that this runner drives in the thread, nil where it drives none.
func (r *Runner) Driven(key events.ThreadKey) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[key]
}

func (r *Runner) remember(run *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[run.key] = run
}

func (r *Runner) forget(run *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, run.key)
}
