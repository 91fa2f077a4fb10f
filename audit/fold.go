package audit

import (
	"fmt"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

// actionRefused is the action of a [events.PermissionDenied].
const actionRefused = "refused"

// ActionLost is the [Entry.Action] of an event that cannot be read: what it told of nobody knows.
const ActionLost = "event_damaged"

// maxReasonChars bounds [Entry.Why]: agents write some of the reasons.
const maxReasonChars = 500

// kinds are those of the events that entries are told from, or that say more of others.
var kinds = []events.Kind{
	events.KindWorkflowStarted, events.KindRunSuspended, events.KindRunResumed, events.KindCancelRequested, events.KindRunCancelled, events.KindWorkflowFinished,
	events.KindAgentStarted, events.KindDispatchRefused,
	events.KindHandoffRequested, events.KindHandoffAccepted, events.KindHandoffRejected, events.KindHandoffExitRequested, events.KindHandoffReturned, events.KindHandoffResumed,
	events.KindInputRequested, events.KindUserMessage, events.KindPermissionDenied,
	events.KindBatchStarted, events.KindBatchEnded, events.KindAudited,
}

// fold tells entries from the events of one thread, in their order.
type fold struct {
	owner string
	// tools are those of the calls that wait, or waited, for leave.
	tools map[events.InputID]string
	// forks are the origins of forked runs, copied the last event that was copied for one:
	// what the events up to it tell of was done in another thread.
	forks  map[events.RunID]*events.ForkOrigin
	copied events.Seq
}

func newFold(owner string) *fold {
	return &fold{owner: owner, tools: map[events.InputID]string{}, forks: map[events.RunID]*events.ForkOrigin{}}
}

// entry gives what an event tells of; ok is false where that is nothing.
func (f *fold) entry(env events.Envelope) (e Entry, ok bool) {
	e = Entry{Time: env.Time, Tenant: env.Tenant, Thread: env.Thread, Run: env.Run, Seq: env.Seq, By: env.By, Owner: f.owner}
	if env.Thread == events.AuditThread {
		e.Thread, e.Owner = "", ""
	}
	if !f.ofRun(&e, env) && !ofHandoff(&e, env) {
		f.ofPerson(&e, env.Data)
	}
	e.Why, _ = chars.Cut(strings.Join(strings.Fields(e.Why), " "), maxReasonChars)
	return e, e.Action != ""
}

// ofRun tells of the state of a run or batch and of the work that is given out in it.
func (f *fold) ofRun(e *Entry, env events.Envelope) bool {
	switch d := env.Data.(type) {
	case events.WorkflowStarted:
		f.started(env, d)
		e.Owner, e.Action, e.What = f.owner, "run_started", join("team "+d.Team, about("message", string(d.MessageID)))
	case events.RunSuspended:
		e.Action, e.Why = "run_parked", d.Reason
		if d.AwaitingInput {
			e.What = "waits for input"
		}
	case events.RunResumed:
		e.Action = "run_resumed"
		if origin := f.forks[env.Run]; origin != nil && env.Seq == f.copied+1 {
			e.Action, e.What = "run_forked", fmt.Sprintf("from run %s at event %d", origin.Run, origin.Seq)
		}
	case events.CancelRequested:
		e.Action, e.Why = "cancel_requested", d.Reason
	case events.RunCancelled:
		e.Action, e.Why = "run_cancelled", d.Reason
	case events.WorkflowFinished:
		e.Action, e.What, e.Why = "run_ended", string(d.Status), d.Reason
	case events.AgentStarted:
		e.Action, e.Agent, e.What = "delegated", delegator(d.ModelCall), join("to "+string(d.Agent), tasks(d.TaskIDs))
	case events.DispatchRefused:
		e.Action, e.Agent, e.What, e.Why = "delegation_refused", delegator(d.ModelCall), d.Tool, d.Result
	case events.BatchStarted:
		e.Action, e.What = "batch_started", join("team "+d.Team, fmt.Sprintf("%d rows", d.Rows))
	case events.BatchEnded:
		e.Action, e.What, e.Why = "batch_ended", string(d.Status), d.Reason
	default:
		return false
	}
	return true
}

func (f *fold) started(env events.Envelope, d events.WorkflowStarted) {
	f.owner = d.UserID
	if origin := d.ForkedFrom; origin != nil {
		f.forks[env.Run] = origin
		last := origin.Seq
		if origin.Instruction != "" {
			last++ // which stands behind what was copied
		}
		f.copied = max(f.copied, last)
	}
}

// delegator is who made a call: the facilitator, or whoever has the dispatch or handoff.
func delegator(call events.ModelCallID) events.AgentID {
	actor, _, _ := strings.Cut(string(call), ".")
	if actor == "f" || actor == "" {
		return events.FacilitatorID
	}
	return events.AgentID(actor)
}

func tasks(ids []events.TaskID) string {
	if len(ids) == 0 {
		return ""
	}
	return "tasks " + strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]")
}

// ofHandoff tells of who talks with the user.
func ofHandoff(e *Entry, env events.Envelope) bool {
	e.Agent = env.Agent
	switch d := env.Data.(type) {
	case events.HandoffRequested:
		e.Action, e.Agent, e.What, e.Why = "handoff_requested", d.Source, fmt.Sprintf("%s to %s", d.HandoffID, d.Target), d.Reason
	case events.HandoffAccepted:
		e.Action, e.What = "handoff_accepted", string(d.HandoffID)
	case events.HandoffRejected:
		e.Action, e.What, e.Why = "handoff_rejected", join(string(d.HandoffID), d.Code), d.Reason
	case events.HandoffExitRequested:
		e.Action, e.What = "handoff_left", string(d.HandoffID)
	case events.HandoffReturned:
		e.Action, e.What = "handoff_returned", join(string(d.HandoffID), string(d.CompletionStatus))
	case events.HandoffResumed:
		e.Action, e.What = "handoff_resumed", string(d.HandoffID)
	default:
		e.Agent = ""
		return false
	}
	return true
}

// ofPerson tells of what people were asked and did, and of what they were refused.
func (f *fold) ofPerson(e *Entry, event events.Event) {
	switch d := event.(type) {
	case events.InputRequested:
		if d.Action != nil {
			f.tools[d.InputID] = d.Action.Tool
			e.Action, e.What = "approval_asked", join(string(d.InputID), "call of "+d.Action.Tool)
		}
	case events.UserMessage:
		f.said(e, d)
	case events.PermissionDenied:
		e.Action, e.What, e.More = actionRefused, join(d.What, d.Target), d.More
		e.Why = "the caller may not know of it"
		if d.Permission != "" {
			e.Why = "the permission " + d.Permission + " is missing"
		}
	case events.Audited:
		e.Action, e.Owner, e.More = string(d.Action), d.UserID, d.More
		e.What = join(d.What, about("user", d.UserID), about("token", d.TokenID), d.Target)
	}
}

// said tells of a message, but for what it says. Older logs have its sender alone.
func (f *fold) said(e *Entry, d events.UserMessage) {
	if e.By == nil && d.UserID != "" {
		e.By = &events.Actor{UserID: d.UserID}
	}
	switch {
	case d.Synthetic || d.MessageID == "":
		return // the engine's
	case d.InputID == "":
		e.Action, e.What = "message_sent", join(string(d.MessageID), string(d.Delivery))
		return
	case d.Approval == nil:
		e.Action, e.What = "answered", string(d.InputID)
		return
	case d.Approval.Decision == events.DecisionApprove:
		e.Action = "approved"
	default:
		e.Action = "denied"
	}
	e.What, e.Why = join(string(d.InputID), about("call of", f.tools[d.InputID])), d.Approval.Reason
	if d.Approval.Policy {
		e.What = join(e.What, "by policy")
	}
	if len(d.Approval.Arguments) > 0 {
		e.What = join(e.What, "with other arguments")
	}
}

func about(what, name string) string {
	if name == "" {
		return ""
	}
	return what + " " + name
}
