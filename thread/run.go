package thread

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/board"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/quote"
	"github.com/convene-run/convene/sanitize"
)

// Run is the fold of one run.
type Run struct {
	events.RunSummary
	ID      events.RunID
	Started events.WorkflowStarted
	// Before is the run that this one continues, nil if it starts from scratch.
	Before *Run

	Board    *board.Board
	Document *document.Document

	// Facilitator is the facilitator's conversation, or the only agent's of a solo
	// run.
	Facilitator *Conversation
	// Dispatches are in the order in which they started.
	Dispatches []*Dispatch

	// ToolsTried counts the tool calls that have a result, those of all agents;
	// ToolsSucceeded those that were neither refused nor failed.
	ToolsTried, ToolsSucceeded int

	// Shown are the document entries that the facilitator has seen: those that it
	// wrote, and those in results that were sent to it.
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
	// Outage is set while calls wait for an endpoint, Suspended while the run is parked.
	Outage    *events.OutageBegan
	Suspended *events.RunSuspended
	// Driven is the time that processes drove the run, up to its newest event, in whole
	// milliseconds. What lies between a suspension, or the end of a process, and the
	// resume is not in it, nor are waits for endpoints.
	Driven time.Duration

	// Handed is set where a specialist had the conversation in this run.
	Handed bool
	// Entered are the handoffs that the end of a phase opened in this run, without a message
	// of the user's between them.
	Entered []events.HandoffID
	// Passed counts the handoffs in this run from one specialist to another.
	Passed int
	// RolledBack is the transition that was taken back in this run, nil for none.
	RolledBack *events.TransitionRolledBack
	// ArtifactBytes is the size of the files that came with the run or into being in it.
	ArtifactBytes int64
	// Attached are the images and PDFs that came with the run's request and that models can be
	// shown, in order.
	Attached []events.Part
	// Denied are the permissions that were missing, in order.
	Denied []events.PermissionDenied

	// common is what all who wrote to the run may; nil is everything.
	common access.Grants
	// inputs are the requests for input, in order.
	inputs []*Input
	// answerer is who wrote the answer.
	answerer events.AgentID
	// said is what people said to the facilitator since the request.
	said []string
	// notes are what a supervisor wrote to the user below the answer.
	notes []string
	// saw are the exchanges of earlier runs that the facilitator's conversation began with.
	saw []*exchange
	// unsent are the entries in results that no request has carried yet.
	unsent []unsent
	thread *Thread
	byID   map[events.DispatchID]*Dispatch
	// last is the newest event of who drove the run, posted that of somebody else.
	last, posted time.Time
	// apis are the APIs by which models were asked last, by provider and model.
	apis map[[2]string]events.API
	// warned are the warnings so far, each once.
	warned map[events.Warning]bool
}

func newRun(t *Thread, env events.Envelope, started events.WorkflowStarted) (*Run, error) {
	layout, err := layoutOf(started)
	if err != nil {
		return nil, err
	}
	if before := t.Current(); before != nil {
		started = shared(started, before.Started)
	}
	run := &Run{
		ID: env.Run, Started: started,
		Board: &board.Board{}, Document: document.New(layout),
		Shown:  map[events.EntryID]bool{},
		thread: t, byID: map[events.DispatchID]*Dispatch{}, last: env.Time,
	}
	run.Facilitator = &Conversation{actor: Facilitator, thread: t}
	if started.Continues != "" {
		if err := run.continueFrom(started.Continues); err != nil {
			return nil, err
		}
	}
	if started.Follows != "" {
		if err := run.follow(started.Follows); err != nil {
			return nil, err
		}
	}
	return run, run.RunSummary.Apply(env)
}

// newestLayout is the one that was read last, as it was written: runs follow runs of their team.
var newestLayout atomic.Pointer[writtenLayout]

type writtenLayout struct {
	text   string
	layout document.Layout
}

// layoutOf gives the layout that the run's document has.
func layoutOf(started events.WorkflowStarted) (document.Layout, error) {
	if len(started.Layout) == 0 {
		return document.Free(), nil
	}
	if newest := newestLayout.Load(); newest != nil && newest.text == string(started.Layout) {
		return newest.layout, nil
	}
	read := &writtenLayout{text: string(started.Layout)}
	if err := json.Unmarshal(started.Layout, &read.layout); err != nil {
		return document.Layout{}, fmt.Errorf("layout: %w", err)
	}
	newestLayout.Store(read)
	return read.layout, nil
}

// Thread gives the thread that the run belongs to.
func (r *Run) Thread() *Thread { return r.thread }

// Dispatch gives a dispatch by its id, nil if there is none.
func (r *Run) Dispatch(id events.DispatchID) *Dispatch { return r.byID[id] }

// Conversation gives the history of an agent, nil if the run has no such agent.
func (r *Run) Conversation(id ActorID) *Conversation {
	if id == Facilitator {
		return r.Facilitator
	}
	if d := r.byID[id.Dispatch()]; d != nil {
		return d.Conversation
	}
	return r.thread.sessions[id]
}

// DrivenUntil is Driven with the time since the last event, while the run is driven and does
// not wait for an endpoint.
func (r *Run) DrivenUntil(now time.Time) time.Duration {
	if r.Status != events.StatusRunning || r.Outage != nil {
		return r.Driven
	}
	return r.Driven + r.since(now)
}

// since is the time since the last event of who drives the run. What others posted is
// timed by their clocks: where the driver's own was behind, it went on from there, and
// nobody knows how much time that was.
func (r *Run) since(now time.Time) time.Duration {
	if now.Equal(r.posted) {
		return 0
	}
	return max(0, now.Truncate(time.Millisecond).Sub(r.last.Truncate(time.Millisecond)))
}

// drive counts the time up to an event. What others post says nothing about who drove
// the run, and nobody drives one that is parked.
func (r *Run) drive(env events.Envelope) {
	if events.Posted(env.Data) {
		r.posted = env.Time
		return
	}
	if _, resumed := env.Data.(events.RunResumed); !resumed && r.Suspended == nil && r.Outage == nil {
		r.Driven += r.since(env.Time)
	}
	r.last = env.Time
}

// LimitMet reports whether the run has met the bound.
func (r *Run) LimitMet(limit events.Limit) bool {
	for _, l := range r.Limits {
		if l.Limit == limit {
			return true
		}
	}
	return false
}

// errCancelled is for a fact that a cancelled run does not take.
var errCancelled = errors.New("the run is cancelled")

func (r *Run) apply(env events.Envelope) error {
	late := r.Cancelled && !events.Closing(env.Data.Kind())
	if late && !events.Posted(env.Data) {
		return errCancelled
	}
	r.drive(env)
	if err := r.RunSummary.Apply(env); err != nil || late {
		return err
	}
	r.wait(env)
	// Each in a function of its own, the deepest first: specialists by the thousand have stacks of
	// 16 KB, which double for good where one call goes beyond.
	if _, updated := env.Data.(events.DocumentUpdated); updated {
		r.write(env)
		return r.Document.Apply(env)
	}
	if known, err := r.dispatched(env); known {
		return err
	}
	if known, err := r.keep(env); known {
		return err
	}
	return r.converse(env)
}

// dispatched folds that a specialist began or ended. It reports whether the event says so.
func (r *Run) dispatched(env events.Envelope) (known bool, err error) {
	switch env.Data.(type) {
	case events.AgentStarted:
		return true, r.startDispatch(env)
	case events.AgentFinished:
		r.lapse(ActorOf(env.Dispatch))
		return true, r.finishDispatch(env)
	}
	return false, nil
}

// keep folds the kinds that are of no conversation. It reports whether the event's is one of them.
func (r *Run) keep(env events.Envelope) (known bool, err error) {
	switch e := env.Data.(type) {
	case events.TasksCreated:
		return true, r.Board.Apply(env)
	case events.TaskUpdated:
		if d := r.byID[env.Dispatch]; d != nil && e.Finished && !e.AutoCompleted {
			d.Progress++
		}
		return true, r.Board.Apply(env)
	case events.EvidenceRefused:
		if d := r.byID[env.Dispatch]; d != nil {
			d.Refused = append(d.Refused, e)
		}
	case events.LimitReached:
		r.Limits = append(r.Limits, e)
	case events.FinalAnswer:
		r.FinalAnswer, r.answerer = &e, env.Agent
	case events.Error:
		r.Failure = &e
	case events.CancelRequested:
		if r.CancelRequested == nil {
			r.CancelRequested = &e
		}
	case events.RunCancelled:
		r.Cancelled, r.CancelReason = true, e.Reason
	case events.AgentMessage:
		if d := r.byID[env.Dispatch]; d != nil {
			d.Said = e.Content
		}
	case events.MessageRouted, events.HandoffRequested, events.HandoffAccepted, events.HandoffRejected,
		events.HandoffExitRequested, events.HandoffReturned, events.HandoffResumed, events.WorkflowStateChanged, events.PhaseChanged, events.TransitionRolledBack:
		return true, r.handOver(env)
	case events.InputRequested:
		return true, r.request(env, e)
	case events.PermissionDenied:
		r.Denied = append(r.Denied, e)
	case events.ValuesReplaced:
		for _, v := range e.Values {
			r.thread.Values.Add(sanitize.Value{Kind: sanitize.Kind(v.What), Placeholder: v.Placeholder, Text: v.Original})
		}
	case events.ArtifactCreated:
		r.ArtifactBytes += e.SizeBytes
		r.thread.Artifacts = append(r.thread.Artifacts, e)
		r.show(e)
	case events.Warning:
		r.warn(e)
	case events.FacilitatorMessage:
		if r.FinalAnswer != nil {
			r.notes = append(r.notes, quote.After(fmt.Sprintf("[Note to the user from %s]:", r.DisplayName(e.Agent)), e.Content))
		}
	case events.WorkflowFinished, events.Audited,
		events.RunSuspended, events.RunResumed, events.ModelCallFailed, events.OutageBegan, events.OutageEnded:
	default:
		return false, nil
	}
	return true, nil
}

// write notes who wrote an entry.
func (r *Run) write(env events.Envelope) {
	e := env.Data.(events.DocumentUpdated)
	if d := r.byID[env.Dispatch]; d != nil {
		d.wrote(e.Tasks)
		d.rewrote(e)
	} else {
		r.Shown[e.EntryID] = true
	}
}

// Warned reports whether the run has that warning already.
func (r *Run) Warned(w events.Warning) bool { return r.warned[w] }

func (r *Run) warn(w events.Warning) {
	if r.warned == nil {
		r.warned = map[events.Warning]bool{}
	}
	r.warned[w] = true
}

func (r *Run) countTool(succeeded bool) {
	r.ToolsTried++
	if succeeded {
		r.ToolsSucceeded++
	}
}

// wait folds whether the run waits for an endpoint, or is parked, and what a failed call cost
// its specialist.
func (r *Run) wait(env events.Envelope) {
	if d := r.byID[env.Dispatch]; d != nil {
		d.Usage, d.CostUSD = events.LostIn(env.Data).AddTo(d.Usage, d.CostUSD)
	}
	switch e := env.Data.(type) {
	case events.OutageBegan:
		r.Outage = &e
	case events.OutageEnded, events.RunCancelled:
		r.Outage = nil
	case events.RunSuspended:
		r.Outage, r.Suspended = nil, &e
	case events.RunResumed:
		r.Outage, r.Suspended = nil, nil
	}
}

// converse folds the kinds that make up an agent's conversation.
func (r *Run) converse(env events.Envelope) error {
	conv := r.Conversation(ActorOf(env.Dispatch))
	if conv == nil {
		if events.Posted(env.Data) {
			return nil
		}
		return fmt.Errorf("no dispatch %s", env.Dispatch)
	}
	switch e := env.Data.(type) {
	case events.ModelCalled:
		if d := r.byID[env.Dispatch]; d != nil {
			d.Usage, d.CostUSD = d.Usage.Add(e.Usage), events.AddCost(d.CostUSD, e.CostUSD)
			if len(e.Reply.Cited) > 0 {
				d.Cited = append(d.Cited, Cited{e.ID, e.Reply.Cited})
			}
		} else if e.Purpose == "" && env.Dispatch == "" {
			r.sent(e.ID)
		}
		r.asked(e)
		return conv.modelCalled(e)
	case events.ToolStarted:
		_, err := conv.callStarted(e.Tool, e.CallRef)
		return err
	case events.ToolCallDone:
		if !r.byID[env.Dispatch].supervises() {
			r.countTool(!e.Failed)
		}
		if input := r.Asked(e.CallID); input != nil {
			input.Settled = true
		}
		if env.Dispatch == "" {
			for _, id := range e.ShownEntries {
				r.unsent = append(r.unsent, unsent{id, e.ModelCall})
			}
		}
		r.byID[env.Dispatch].returned(e, conv.started(e.CallRef))
		return conv.callDone(e)
	case events.DispatchRefused:
		r.countTool(false)
		return conv.callDone(events.ToolCallDone{Tool: e.Tool, Result: e.Result, Failed: true, CallRef: e.CallRef})
	case events.UserMessage:
		if !e.Synthetic && !r.take(env, e) {
			return nil
		}
		if env.Dispatch == "" && !e.Synthetic {
			r.said = append(r.said, e.Content)
			conv = r.Conversation(r.Floor())
		}
		if e.Synthetic && e.Reason == ToldReturned && env.Dispatch == "" {
			r.thread.returned = nil
		}
		return conv.say(e)
	case events.HistoryCompacted:
		if env.Dispatch == "" && e.CoveredBytes == 0 {
			r.unsent = nil // the summary shortens results, or leaves them out
		}
		return conv.compact(e)
	}
	return fmt.Errorf("%w %q", events.ErrUnknownKind, env.Data.Kind())
}

// unsent is an entry in a result of the turn.
type unsent struct {
	entry events.EntryID
	turn  events.ModelCallID
}

// sent marks what the request of a turn showed: the results of those before it.
func (r *Run) sent(turn events.ModelCallID) {
	r.unsent = slices.DeleteFunc(r.unsent, func(u unsent) bool {
		if u.turn != turn {
			r.Shown[u.entry] = true
		}
		return u.turn != turn
	})
}
