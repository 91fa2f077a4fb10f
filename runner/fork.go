package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// Change is what is different in a forked run.
type Change struct {
	// At is the last seq of the thread that the fork keeps.
	At events.Seq
	// Model, if set, is asked instead of every model of the run.
	Model string
	// Instruction, if set, is told to the facilitator at that point. It cannot stand
	// between a turn's calls and their results: the fork then keeps the facts up to
	// the turn alone.
	Instruction string
	// By is whose the fork is, and more than whose permissions nobody in it has. The zero
	// Caller is the local user.
	By conversation.Caller
	// Functions are the specialists that are Go functions, as in [Terms].
	Functions Functions
}

// Fork starts a new run, in a thread of its own, with the facts of another one up to
// a point, and drives it as [Runner.Start] does. The model calls among those facts
// are not made again, though their usage counts towards the fork's limits. The other
// run stays as it is; it may be under way.
func (r *Runner) Fork(ctx context.Context, tenant events.TenantID, id events.RunID, change Change) (*Run, error) {
	summary, err := r.find(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	facts, err := r.factsToFork(ctx, summary, change)
	if err != nil {
		return nil, err
	}
	key := events.ThreadKey{Tenant: summary.Tenant, Thread: events.ThreadID(uuid.NewString())}
	fork, err := r.copyFacts(ctx, key, id, change.By.UserID, facts)
	if err != nil {
		return nil, fmt.Errorf("fork run %s at seq=%d: %w", id, change.At, err)
	}
	return r.Resume(ctx, tenant, fork, Terms{Functions: change.Functions, By: change.By.Actor})
}

// factsToFork reads what a fork keeps, with the change made.
func (r *Runner) factsToFork(ctx context.Context, summary events.RunSummary, change Change) ([]events.Envelope, error) {
	if change.At < summary.FirstSeq || change.At > summary.LastSeq {
		return nil, &InputError{fmt.Sprintf("run %s has the events %d to %d, so it cannot be forked at %d", summary.Run, summary.FirstSeq, summary.LastSeq, change.At)}
	}
	key := keyOf(summary)
	facts, err := r.config.Log.Read(ctx, key, 0, int(change.At))
	if err != nil {
		return nil, err
	}
	th, settled := thread.New(), 0
	for i, env := range facts {
		if err := th.Apply(env); err != nil {
			return nil, fmt.Errorf("read thread %s: %w", key.Thread, err)
		}
		if env.Run == summary.Run && th.Current().Facilitator.Turn() == nil && !th.Current().Cancelled {
			settled = i + 1
		}
	}
	if run := th.Current(); run.Status.Over() || run.Cancelled || run.CancelRequested != nil {
		return nil, &InputError{fmt.Sprintf("at event %d run %s is over: fork it at an earlier event, such as %d", change.At, summary.Run, lastOpen(facts))}
	}
	kept := facts[len(facts)-1].Seq
	if change.Instruction != "" {
		kept = facts[settled-1].Seq
		facts = append(facts[:settled:settled], events.Envelope{
			Run: summary.Run, Agent: events.FacilitatorID, Time: facts[settled-1].Time,
			Data: events.UserMessage{Content: change.Instruction},
		})
	}
	// A cancellation requested of the other run does not concern the fork.
	facts = slices.DeleteFunc(facts, func(env events.Envelope) bool {
		return env.Run == summary.Run && env.Data.Kind() == events.KindCancelRequested
	})
	for i, env := range facts {
		if started, ok := env.Data.(events.WorkflowStarted); ok && env.Run == summary.Run {
			started.By, started.Grants = change.By.UserID, change.By.Grants.And(started.Grants)
			if facts[i].Data, err = r.forked(started, summary, change, kept); err != nil {
				return nil, err
			}
		}
	}
	return facts, nil
}

// lastOpen is the last event before a run was closed.
func lastOpen(facts []events.Envelope) events.Seq {
	for i := len(facts) - 1; i > 0; i-- {
		switch facts[i].Data.(type) {
		case events.WorkflowFinished, events.RunCancelled, events.CancelRequested, events.FinalAnswer, events.AgentFinished:
		default:
			return facts[i].Seq
		}
	}
	return facts[0].Seq
}

// forked is the first fact of a fork: it says where the run comes from, and another
// model is written into the configuration that the run will be driven with.
func (r *Runner) forked(started events.WorkflowStarted, from events.RunSummary, change Change, kept events.Seq) (events.WorkflowStarted, error) {
	started.ForkedFrom = &events.ForkOrigin{
		Run: from.Run, Thread: from.Thread, Seq: kept, Model: change.Model, Instruction: change.Instruction,
	}
	var c config
	if err := json.Unmarshal(started.Config, &c); err != nil {
		return started, fmt.Errorf("read the configuration of run %s: %w", from.Run, err)
	}
	if err := change.Functions.cover(from.Run, &c); err != nil || change.Model == "" {
		return started, err
	}
	for j := range c.Agents {
		if !c.Agents[j].Function {
			c.Agents[j].Models = []string{change.Model}
		}
	}
	offered, err := r.shelf(&c.Team, c.Solo)
	if err != nil {
		return started, err
	}
	plan, err := r.resolve(c, offered)
	if err != nil {
		return started, err
	}
	started.Config, started.Agents, started.Simulated = plan.encoded, plan.cards, plan.simulated
	return started, nil
}

// copyFacts writes the facts into a thread of their own, under new run ids, and
// gives that of the forked run. by is whose the thread is.
func (r *Runner) copyFacts(ctx context.Context, key events.ThreadKey, forked events.RunID, by string, facts []events.Envelope) (events.RunID, error) {
	ids := map[events.RunID]events.RunID{}
	for i := range facts {
		old := facts[i].Run
		if old != "" && ids[old] == "" {
			id, err := uuid.NewV7()
			if err != nil {
				return "", err
			}
			ids[old] = events.RunID(id.String())
		}
		facts[i].Run, facts[i].By = ids[old], nil // who did so did it there
		if started, ok := facts[i].Data.(events.WorkflowStarted); ok {
			started.Batch = nil // the batch knows nothing of the fork
			started.UserID = by
			if started.Continues != "" {
				started.Continues = ids[started.Continues]
			}
			if started.Follows != "" {
				started.Follows = ids[started.Follows]
			}
			facts[i].Data = started
		}
	}
	epoch, err := r.Claim(ctx, key)
	if err != nil {
		return "", err
	}
	defer r.Release(key, epoch)
	return ids[forked], r.config.Log.Append(ctx, key, epoch, 0, facts)
}
