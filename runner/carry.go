package runner

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// carryOn has this process drive what a thread has to do: the run that was parked or whose
// process died, or else the first message of its queue. The run is nil where there is nothing
// to do, as where a run waits for input that nobody has given. While somebody else holds the
// thread the error is an [*events.HeldError]: whoever that is carries on.
//
// The run has the place of the one that it follows, or one of its own.
func (r *Runner) carryOn(ctx context.Context, key events.ThreadKey, terms Terms, before *Run) (*Run, error) {
	run := &Run{runner: r, done: make(chan struct{}), terms: terms}
	if err := run.claim(ctx, key); err != nil {
		return nil, err
	}
	if before != nil {
		run.placed, before.placed = before.placed, false
	}
	driven, err := run.takeUp(ctx)
	if !driven || err != nil {
		run.release()
		return nil, err
	}
	run.drive(ctx)
	return run, nil
}

// takeUp appends the first fact of what there is to drive, and reports whether there is
// anything.
func (r *Run) takeUp(ctx context.Context) (driven bool, err error) {
	resumes := false
	err = r.fold.Use(ctx, func(th *thread.Thread) error {
		current := th.Current()
		switch {
		case current == nil:
			return nil
		case !current.Status.Over():
			if current.Status == events.StatusAwaitingInput && !ready(current) {
				return nil
			}
			driven, resumes, r.id = true, true, current.ID
		case len(th.Queue()) == 0:
			return nil
		default:
			driven = true
		}
		if err := r.takePlace(ctx); err != nil {
			return err
		}
		if resumes {
			return r.resume(th)
		}
		return r.startQueued(ctx, th, th.Queue()[0])
	})
	if err == nil && resumes {
		err = r.reopen(nil)
	}
	return driven, err
}

// ready reports whether a run that waits for input can go on: it was given some, or is not to
// wait any longer.
func ready(run *thread.Run) bool {
	return run.Answered() || run.CancelRequested != nil || left(run)
}

// resume prepares to take up the current run of the thread: [Run.reopen] does.
func (r *Run) resume(th *thread.Thread) (err error) {
	r.message = th.Current().Started.MessageID
	if r.plan, err = r.runner.recall(r.id, th.Current().Started, r.terms.Functions); err != nil {
		return err
	}
	if err := r.runner.priced(r.plan, r.key.Tenant, r.terms.Budget); err != nil {
		return err
	}
	r.told = r.runner.hooks.resumed(th)
	r.sequence(th)
	return nil
}

// startQueued begins the run of a message that waits.
func (r *Run) startQueued(ctx context.Context, th *thread.Thread, m *thread.Sent) error {
	before := th.Current()
	plan, started, err := r.runner.again(before, m.Content, r.terms.Functions)
	if err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	r.id, r.plan, r.message = events.RunID(id.String()), plan, m.MessageID
	started.Follows = before.ID
	return r.open(ctx, th, queued(m.UserMessage), started)
}

// again gives the plan of a run that the team of an earlier one answers, and its first fact.
// The team's request template is for whoever names the team: this is what the user says next.
func (r *Runner) again(before *thread.Run, said string, functions Functions) (*plan, events.WorkflowStarted, error) {
	p, err := r.recall(before.ID, before.Started, functions)
	if err != nil {
		return nil, events.WorkflowStarted{}, err
	}
	if p.config.Delegation != nil {
		other := *p
		p = &other
		p.config.Delegation = nil
		if p.encoded, err = json.Marshal(p.config); err != nil {
			return nil, events.WorkflowStarted{}, err
		}
	}
	return p, r.started(p, said), nil
}

// standing is where a run leaves its thread. The zero standing is that of a log that failed.
type standing struct {
	status events.Status
	seq    events.Seq
	queued int
}

// finish releases the thread behind a run, and notes whether it has to be looked at again:
// somebody who sent a message meanwhile found it held. The last event of a run releases it
// itself, so that nobody does.
func (r *Run) finish(last standing) {
	sent := false
	if !r.journal.released {
		_ = r.runner.config.Log.Release(context.Background(), r.key, r.epoch) // the claim dies with the process at the latest
		behind, err := r.runner.config.Log.Read(context.Background(), r.key, last.seq, 1)
		sent = err == nil && len(behind) > 0
	}
	r.fold.Unpin()
	if r.row != nil { // nobody talks in it
		r.runner.kept.Forget(r.key)
	}
	knocked := r.runner.registry.vacate(r.key)
	news := knocked || sent
	switch {
	case last.status.Over():
		r.more = news || last.queued > 0
	case last.status == events.StatusAwaitingInput:
		r.more = news
	}
	if !r.more {
		r.givePlace()
	}
}

// goOn carries on behind a run that has ended, or that was given its answer while it was being
// parked.
func (r *Run) goOn(ctx context.Context) {
	if r.more && ctx.Err() == nil {
		// What fails here waits in the log; the next message, or a resume, says why.
		_, _ = r.runner.carryOn(ctx, r.key, r.terms, r)
	}
	r.givePlace()
}

// attendInterval is how often a process looks whether the one that holds a thread is gone.
const attendInterval = 2 * time.Second

// attend carries on in a thread that another process holds, should that one die or be told to
// stop: until it has given the thread back, ctx ends or the runner is shut down.
func (r *Runner) attend(ctx context.Context, key events.ThreadKey, terms Terms) {
	if !r.registry.attend(key) {
		return
	}
	waiting, stop := context.WithCancel(ctx)
	detach := context.AfterFunc(r.registry.closing, stop)
	go func() {
		defer r.registry.attended(key)
		defer detach()
		defer stop()
		for {
			select {
			case <-waiting.Done():
				return
			case <-time.After(attendInterval):
			}
			if r.quotas.full(ctx, key.Tenant) != nil {
				continue
			}
			if _, err := r.carryOn(ctx, key, terms, nil); !errors.Is(err, events.ErrHeld) && !errors.Is(err, ErrQuota) {
				return
			}
		}
	}()
}
