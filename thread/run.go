package thread

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/convene-run/convene/board"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
)

// Run is the fold of one run.
type Run struct {
	events.RunSummary
	ID      events.RunID
	Started events.WorkflowStarted

	Board    *board.Board
	Document *document.Document

	// Facilitator is the facilitator's conversation, or the only agent's of a solo
	// run.
	Facilitator *Conversation
	// Dispatches are in the order in which they started.
	Dispatches []*Dispatch

	// Shown are the document entries that the facilitator has seen.
	Shown map[events.EntryID]bool
	// Limits are the bounds that the run has met, in order.
	Limits []events.LimitReached
	// FinalAnswer is the answer once there is one.
	FinalAnswer *events.FinalAnswer
	// Failure is the last error of the run.
	Failure *events.Error

	CancelRequested *events.CancelRequested
	Cancelled       bool
	// CancelReason is why the run was cancelled, if whoever did it said so.
	CancelReason string
	// Driven is the time that processes drove the run: gaps before a resume are not
	// counted.
	Driven time.Duration

	thread *Thread
	byID   map[events.DispatchID]*Dispatch
	last   time.Time
}

func newRun(t *Thread, env events.Envelope, started events.WorkflowStarted) (*Run, error) {
	layout := document.Free()
	if len(started.Layout) > 0 {
		if err := json.Unmarshal(started.Layout, &layout); err != nil {
			return nil, fmt.Errorf("layout: %w", err)
		}
	}
	run := &Run{
		ID: env.Run, Started: started,
		Board: &board.Board{}, Document: document.New(layout),
		Shown:  map[events.EntryID]bool{},
		thread: t, byID: map[events.DispatchID]*Dispatch{}, last: env.Time,
	}
	run.Facilitator = &Conversation{prefix: "f", thread: t}
	return run, run.RunSummary.Apply(env)
}

// Thread gives the thread that the run belongs to.
func (r *Run) Thread() *Thread { return r.thread }

// Dispatch gives a dispatch by its id, nil if there is none.
func (r *Run) Dispatch(id events.DispatchID) *Dispatch { return r.byID[id] }

// Conversation gives the history of a dispatch, or with "" the facilitator's; nil
// if there is no such dispatch.
func (r *Run) Conversation(id events.DispatchID) *Conversation {
	if id == "" {
		return r.Facilitator
	}
	if d := r.byID[id]; d != nil {
		return d.Conversation
	}
	return nil
}

// DrivenUntil is Driven with the time since the last event.
func (r *Run) DrivenUntil(now time.Time) time.Duration { return r.Driven + now.Sub(r.last) }

// LimitMet reports whether the run has met the bound.
func (r *Run) LimitMet(limit events.Limit) bool {
	for _, l := range r.Limits {
		if l.Limit == limit {
			return true
		}
	}
	return false
}

// closing are the kinds that a cancelled run still takes: facts that close what is
// open, calls that were paid for, and what others post.
var closing = map[events.Kind]bool{
	events.KindAgentFinished: true, events.KindWorkflowFinished: true, events.KindModelCalled: true,
	events.KindRunSuspended: true, events.KindRunResumed: true, events.KindWarning: true, events.KindError: true,
	events.KindCancelRequested: true,
}

// ErrCancelled is for a fact that a cancelled run does not take.
var ErrCancelled = errors.New("the run is cancelled")

func (r *Run) apply(env events.Envelope) error {
	if r.Cancelled && !closing[env.Data.Kind()] {
		if posted(env.Data) {
			return nil
		}
		return ErrCancelled
	}
	if _, resumed := env.Data.(events.RunResumed); !resumed {
		r.Driven += env.Time.Sub(r.last)
	}
	r.last = env.Time
	if err := r.RunSummary.Apply(env); err != nil {
		return err
	}
	switch e := env.Data.(type) {
	case events.TasksCreated:
		return r.Board.Apply(env)
	case events.TaskUpdated:
		if d := r.byID[env.Dispatch]; d != nil && !e.AutoCompleted {
			d.Progress++
		}
		return r.Board.Apply(env)
	case events.DocumentUpdated:
		if d := r.byID[env.Dispatch]; d != nil {
			d.Progress++
		} else {
			r.Shown[e.EntryID] = true
		}
		return r.Document.Apply(env)
	case events.AgentStarted:
		return r.startDispatch(env, e)
	case events.AgentFinished:
		return r.finishDispatch(env, e)
	case events.LimitReached:
		r.Limits = append(r.Limits, e)
	case events.FinalAnswer:
		r.FinalAnswer = &e
	case events.Error:
		r.Failure = &e
	case events.CancelRequested:
		if r.CancelRequested == nil {
			r.CancelRequested = &e
		}
	case events.RunCancelled:
		r.Cancelled, r.CancelReason = true, e.Reason
	case events.AgentMessage, events.FacilitatorMessage, events.Warning, events.WorkflowFinished,
		events.RunSuspended, events.RunResumed:
	default:
		return r.converse(env)
	}
	return nil
}

// converse folds the kinds that make up an agent's conversation.
func (r *Run) converse(env events.Envelope) error {
	conv := r.Conversation(env.Dispatch)
	if conv == nil {
		if posted(env.Data) {
			return nil
		}
		return fmt.Errorf("no dispatch %s", env.Dispatch)
	}
	switch e := env.Data.(type) {
	case events.ModelCalled:
		if d := r.byID[env.Dispatch]; d != nil {
			d.Usage, d.CostUSD = d.Usage.Add(e.Usage), events.AddCost(d.CostUSD, e.CostUSD)
		}
		return conv.modelCalled(e)
	case events.ToolStarted:
		_, err := conv.callStarted(e.Tool, e.CallRef)
		return err
	case events.ToolCallDone:
		if env.Dispatch == "" {
			for _, id := range e.ShownEntries {
				r.Shown[id] = true
			}
		}
		return conv.callDone(e.Tool, e.CallRef, e.Result)
	case events.DispatchRefused:
		return conv.callDone(e.Tool, e.CallRef, e.Result)
	case events.UserMessage:
		return conv.say(e)
	case events.HistoryCompacted:
		return conv.compact(e)
	}
	return fmt.Errorf("%w %q", events.ErrUnknownKind, env.Data.Kind())
}
