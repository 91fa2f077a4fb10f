package thread

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-run/convene/events"
)

// Dispatch is the fold of one dispatch of a specialist.
type Dispatch struct {
	ID      events.DispatchID
	Start   events.AgentStarted
	Finish  *events.AgentFinished
	Started time.Time
	// driven is the run's driven time at the start.
	driven time.Duration
	// Progress counts the entries written and the tasks completed by the agent
	// itself.
	Progress     int
	Conversation *Conversation
	// Usage and CostUSD are of its model calls; the cost is nil where a model has no
	// known price.
	Usage   events.Usage
	CostUSD *float64
}

func (r *Run) startDispatch(env events.Envelope, e events.AgentStarted) error {
	if want := r.thread.NextDispatch(); env.Dispatch != want {
		return fmt.Errorf("dispatch %s where %s is next", env.Dispatch, want)
	}
	if !e.Asked {
		call, err := r.Facilitator.callStarted(e.Tool, e.CallRef)
		if err != nil {
			return err
		}
		call.Dispatch = env.Dispatch
	}
	r.thread.dispatches++
	d := &Dispatch{ID: env.Dispatch, Start: e, Started: env.Time, driven: r.Driven, CostUSD: new(float64)}
	d.Conversation = &Conversation{prefix: string(env.Dispatch), thread: r.thread}
	r.Dispatches = append(r.Dispatches, d)
	r.byID[d.ID] = d
	return nil
}

func (r *Run) finishDispatch(env events.Envelope, e events.AgentFinished) error {
	d := r.byID[env.Dispatch]
	if d == nil || d.Finish != nil {
		return fmt.Errorf("dispatch %s is not under way", env.Dispatch)
	}
	d.Finish = &e
	// Nobody continues a finished dispatch: its history is in the log for whoever
	// asks, and thousands of runs at once need not hold it.
	d.Conversation = &Conversation{prefix: string(env.Dispatch), thread: r.thread, turns: d.Conversation.turns}
	if d.Start.Asked {
		return nil
	}
	return r.Facilitator.callDone(d.Start.Tool, d.Start.CallRef, e.Result)
}

// Elapsed is the time that the dispatch has taken by now: downtime is not counted.
func (r *Run) Elapsed(d *Dispatch, now time.Time) time.Duration {
	return r.DrivenUntil(now) - d.driven
}

// Busy gives the tasks that open dispatches work on.
func (r *Run) Busy() map[events.TaskID]events.DispatchID {
	busy := map[events.TaskID]events.DispatchID{}
	for _, d := range r.Dispatches {
		if d.Finish == nil {
			for _, id := range d.Start.TaskIDs {
				busy[id] = d.ID
			}
		}
	}
	return busy
}

// Fruitless counts the latest dispatches of the agent for just these tasks that
// ended without an entry written or a task completed.
func (r *Run) Fruitless(agent events.AgentID, tasks []events.TaskID) int {
	want := sortedTasks(tasks)
	count := 0
	for _, d := range slices.Backward(r.Dispatches) {
		if d.Start.Agent != agent || !slices.Equal(sortedTasks(d.Start.TaskIDs), want) {
			continue
		}
		if d.Finish == nil || d.Progress > 0 {
			break
		}
		count++
	}
	return count
}

func sortedTasks(ids []events.TaskID) []events.TaskID {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	return sorted
}
