package runner

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/thread"
)

// askedCall is the call id under which a delegation's specialists are in the log: no
// model called for them.
const askedCall events.CallID = "delegation"

// Delegate puts one question to several specialists of the job's team, without a
// facilitator, and gives a reply of each, in the order asked. The job's Request may
// be left out: it is the question. The run's answer joins the replies with their
// authors, and the run is resumed as any other.
func (r *Runner) Delegate(ctx context.Context, job Job, delegation facilitator.Delegation) (Result, []facilitator.Reply, error) {
	run, err := r.StartDelegation(ctx, job, delegation)
	if err != nil {
		return Result{}, nil, err
	}
	result, err := run.Wait()
	return result, result.Replies, err
}

// StartDelegation is [Runner.Delegate] in the background: its run can be followed, see
// [Run.Events], parked and cancelled. The result has the replies.
func (r *Runner) StartDelegation(ctx context.Context, job Job, delegation facilitator.Delegation) (*Run, error) {
	if job.Request == "" {
		job.Request = delegation.Question
	}
	if err := job.Check(); err != nil {
		return nil, err
	}
	if err := delegation.Check(job.Team); err != nil {
		return nil, &InputError{err.Error()}
	}
	shared, err := r.plan(job)
	if err != nil {
		return nil, err
	}
	plan := *shared
	plan.config.Delegation = &delegation
	if plan.encoded, err = json.Marshal(plan.config); err != nil {
		return nil, err
	}
	return r.begin(ctx, job, &plan, r.started(&plan, job.Request))
}

// delegate asks, in place of a facilitator's model, and ends the run.
func (r *Run) delegate(ctx context.Context, dispatcher loop.Dispatcher) error {
	in := &agent.Invocation{Agent: events.FacilitatorID, Tool: facilitator.AskTool, Ref: events.CallRef{CallID: askedCall}}
	t := &r.plan.config.Team
	replies, err := facilitator.Ask(ctx, t, r.plan.desk, r.journal, dispatcher, *r.plan.config.Delegation, in)
	cause := context.Cause(ctx)
	if errors.Is(err, loop.ErrSuspended) || ctx.Err() != nil && errors.Is(cause, loop.ErrSuspended) {
		return loop.Suspension(err)
	}
	return r.journal.Do(func(tx *thread.Tx) {
		switch {
		case tx.Run.Status.Over():
		case tx.Run.Cancelled:
			facilitator.Cancel(tx, "")
		case err != nil:
			facilitator.Finish(tx, facilitator.Ending{Failed: true, Reason: err.Error()})
		default:
			facilitator.FinishAsked(tx, r.plan.config.Delegation.Strategy, replies)
		}
	})
}
