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
	Progress int
	// Written are the tasks that an entry of the dispatch names: it answers just one.
	Written map[events.TaskID]bool
	// Said is the agent's closing text.
	Said         string
	Conversation *Conversation
	// Returned are the results of its tools that reach outside, those that failed aside: what
	// it may quote from. A finished dispatch has none.
	Returned []events.ToolCallDone
	// Cited are the pages that its model's provider found in a search of its own, with the
	// model call that cited them. A finished dispatch has none.
	Cited []Cited
	// Refused are the writes that were refused for their sources, and not made since.
	Refused []events.EvidenceRefused
	// Usage and CostUSD are of its model calls, failed attempts included; the cost is nil where a model has no
	// known price.
	Usage   events.Usage
	CostUSD *float64
}

// Cited is what a model call cites.
type Cited struct {
	Call  events.ModelCallID
	Pages []events.CitedPage
}

func (r *Run) startDispatch(env events.Envelope) error {
	e := env.Data.(events.AgentStarted)
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
	d.Conversation = &Conversation{actor: ActorOf(env.Dispatch), thread: r.thread}
	r.Dispatches = append(r.Dispatches, d)
	r.byID[d.ID] = d
	return nil
}

func (r *Run) finishDispatch(env events.Envelope) error {
	e := env.Data.(events.AgentFinished)
	d := r.byID[env.Dispatch]
	if d == nil || d.Finish != nil {
		return fmt.Errorf("dispatch %s is not under way", env.Dispatch)
	}
	d.Finish = &e
	if !d.supervises() {
		r.countTool(e.Status == events.OutcomeOK)
	}
	// Nobody continues a finished dispatch: its history is in the log for whoever
	// asks, and thousands of runs at once need not hold it.
	d.Conversation = &Conversation{actor: ActorOf(env.Dispatch), thread: r.thread, turns: d.Conversation.turns}
	d.Returned, d.Cited, d.Refused = nil, nil, nil
	if d.Start.Asked {
		return nil
	}
	return r.Facilitator.callDone(events.ToolCallDone{Tool: d.Start.Tool, Result: e.Result, CallRef: d.Start.CallRef})
}

// supervises reports whether the agent reads the exchange of the run, which it is no part of.
func (d *Dispatch) supervises() bool { return d != nil && d.Start.Tool == events.SuperviseTool }

// Supervision is the dispatch that reads the run's exchange, nil for none.
func (r *Run) Supervision() *Dispatch {
	for _, d := range r.Dispatches {
		if d.supervises() {
			return d
		}
	}
	return nil
}

// wrote counts an entry that answers the tasks.
func (d *Dispatch) wrote(tasks []events.TaskID) {
	d.Progress++
	if len(tasks) != 1 {
		return // it is not known which of them it answers
	}
	if d.Written == nil {
		d.Written = map[events.TaskID]bool{}
	}
	d.Written[tasks[0]] = true
}

// returned keeps a result that the agent may quote from; started says that its call was one
// of a tool that reaches outside.
func (d *Dispatch) returned(e events.ToolCallDone, started bool) {
	if d != nil && started && !e.Failed {
		d.Returned = append(d.Returned, e)
	}
}

// rewrote takes an entry for the next try of a write at its place that was refused.
func (d *Dispatch) rewrote(e events.DocumentUpdated) {
	at := slices.IndexFunc(d.Refused, func(r events.EvidenceRefused) bool { return r.Section == e.Section && r.Slot == e.Slot })
	if at >= 0 {
		d.Refused = slices.Delete(d.Refused, at, at+1)
	}
}

// Unwritten gives the dispatch's tasks that are neither done nor declined, and that no
// entry of it names.
func (r *Run) Unwritten(d *Dispatch) []events.TaskID {
	return slices.DeleteFunc(r.Board.Undecided(d.Start.TaskIDs), func(id events.TaskID) bool { return d.Written[id] })
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
