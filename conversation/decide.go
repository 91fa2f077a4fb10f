package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

// Bounds of a handoff, in characters where they are of texts.
const (
	MaxSummaryChars   = 2000
	MaxReasonChars    = 500
	MaxRecentMessages = 20
	// MaxIDChars bounds the ids of agents and users, and names of phases.
	MaxIDChars = 255
	// MaxMetadataBytes bounds what a specialist keeps of a workflow, and what a source passes
	// on beside its summary: a page of notes.
	MaxMetadataBytes = 8 << 10
	// MaxPending bounds the handoffs that wait for the active one to end: nobody remembers
	// more.
	MaxPending = 8
)

// Handoff is a request as its source makes it.
type Handoff struct {
	// Target is an agent or an alias of one.
	Source, Target events.AgentID
	UserID         string
	// Summary tells the target what it needs to know, at most [MaxSummaryChars]; Reason
	// says why, at most [MaxReasonChars].
	Summary, Reason string
	// RecentMessages is how many of the newest messages go along, at most
	// [MaxRecentMessages]; 0 for the summary alone. Messages are those that do.
	RecentMessages int
	Messages       []events.SharedMessage
	// NextPhase is the phase that begins with the handoff, "" where the team says which.
	NextPhase events.Phase
	// ChannelEscalation is how a person is reached, "" for the same channel.
	ChannelEscalation events.Channel
	// Metadata is a JSON object for the target, at most [MaxMetadataBytes].
	Metadata json.RawMessage
	// Resume continues a saved session of the target in place of a new one. Of the rest only
	// Summary is used then, which tells the target what was said since and may be empty.
	Resume events.HandoffID
	// Grants are the permissions of the user, where they are not those of the message that
	// the handoff is part of the answer to. nil is that message's, or everything.
	Grants access.Grants
	// Actor is who asks for it from outside, and from where, for the log; nil for an agent or a
	// program.
	Actor *events.Actor
	// ForGood hands over without a return: the target keeps the conversation until it cannot
	// go on or the user leaves. DropState forgets the workflow state of a session that ends
	// before its time.
	ForGood, DropState bool
}

// Check says what is wrong with the request, in words for whoever made it.
func (h Handoff) Check() error {
	if h.Resume != "" && !chars.Over(h.Summary, MaxSummaryChars) {
		return nil
	}
	switch {
	case h.Target == "":
		return errors.New("the target is empty; name who takes over")
	case strings.TrimSpace(h.Summary) == "":
		return errors.New("the summary is empty; say what the target needs to know")
	case chars.Over(h.Summary, MaxSummaryChars):
		return fmt.Errorf("the summary has %d characters; at most %d are allowed", chars.Count(h.Summary), MaxSummaryChars)
	case strings.TrimSpace(h.Reason) == "":
		return errors.New("the reason is empty; say in a sentence why the target takes over")
	case chars.Over(h.Reason, MaxReasonChars):
		return fmt.Errorf("the reason has %d characters; at most %d are allowed", chars.Count(h.Reason), MaxReasonChars)
	case h.RecentMessages < 0 || h.RecentMessages > MaxRecentMessages:
		return fmt.Errorf("%d recent messages; 0 to %d can be passed on", h.RecentMessages, MaxRecentMessages)
	}
	for _, id := range []struct{ what, text string }{
		{"the source", string(h.Source)}, {"the target", string(h.Target)}, {"the user id", h.UserID}, {"the next phase", string(h.NextPhase)},
	} {
		if chars.Over(id.text, MaxIDChars) {
			return fmt.Errorf("%s has %d characters; at most %d are allowed", id.what, chars.Count(id.text), MaxIDChars)
		}
	}
	return h.checkRest()
}

func (h Handoff) checkRest() error {
	if !slices.Contains(append(Channels(), ""), h.ChannelEscalation) {
		return fmt.Errorf("there is no channel %q; choose same, voice, email or sms", chars.Clip(string(h.ChannelEscalation), 100))
	}
	if len(h.Metadata) > MaxMetadataBytes {
		return fmt.Errorf("the metadata has %d bytes; at most %d are passed on", len(h.Metadata), MaxMetadataBytes)
	}
	var object map[string]json.RawMessage
	if h.Metadata != nil && json.Unmarshal(h.Metadata, &object) != nil {
		return errors.New("the metadata is not a JSON object")
	}
	return nil
}

// Channels are the channels by which a person can be reached.
func Channels() []events.Channel {
	return []events.Channel{events.ChannelSame, events.ChannelVoice, events.ChannelEmail, events.ChannelSMS}
}

// Request decides a handoff that passed [Handoff.Check]: the request, and behind it its
// rejection, or its acceptance. One that the policy queues has neither yet: see [Next]. An
// agent that has the conversation hands it on: its session ends, and the next begins.
func Request(s *State, p Policy, h Handoff) []events.Event {
	id := s.next()
	target, known := p.target(h.Target)
	if !known {
		target.Agent = h.Target
	}
	facts := []events.Event{events.HandoffRequested{
		HandoffID: id, UserID: h.UserID, Source: h.Source, Target: target.Agent, ContextSummary: h.Summary,
		RecentMessageCount: h.RecentMessages, RecentMessages: h.Messages, Reason: h.Reason, PreserveState: !h.DropState, ReturnExpected: !h.ForGood,
		NextPhase: h.NextPhase, ChannelEscalation: h.ChannelEscalation, Metadata: h.Metadata,
	}}
	if !known {
		return append(facts, events.HandoffRejected{HandoffID: id, Code: CodeUnknownTarget, Reason: fmt.Sprintf(
			"the conversation cannot be handed to %q; the targets are %s", chars.Clip(string(h.Target), 100), p.list())})
	}
	if denied := p.denied(target); denied != nil {
		return append(facts, *denied, events.HandoffRejected{HandoffID: id, Code: CodePermissionDenied, Reason: fmt.Sprintf(
			"the user may not have the conversation handed to %s: the permission %s is missing", target.Agent, denied.Permission)})
	}
	h.Target = target.Agent
	if code, why, notice := p.refusal(s, h, target); code != "" {
		return append(facts, events.HandoffRejected{HandoffID: id, Code: code, Reason: why, Notice: notice})
	}
	if s.active != nil && !target.AllMayAnswer && !p.givesWay(s, h) {
		return facts
	}
	if s.active != nil && !target.AllMayAnswer {
		facts = append(facts, handedOn(s.active, h))
	}
	return append(facts, p.accept(id, target))
}

// handedOn ends the session of an agent that hands the conversation on itself, or from which
// it is taken.
func handedOn(s *Session, h Handoff) events.HandoffReturned {
	status := events.CompletionCancelled
	if h.Source == s.Request.Target {
		status = events.CompletionCompleted
	}
	return events.HandoffReturned{HandoffID: s.ID, CompletionStatus: status, ResultSummary: fmt.Sprintf("Handed over to %s: %s", h.Target, h.Reason)}
}

// Next decides the requests that waited for a session to end, once it has: those whose
// target can no longer take over are rejected, the first that can is accepted.
func Next(s *State, p Policy) (facts []events.Event) {
	if s.active != nil {
		return nil
	}
	for _, session := range s.Pending() {
		target, known := p.target(session.Request.Target)
		switch err := p.away(target.Agent); {
		case !known:
			facts = append(facts, events.HandoffRejected{HandoffID: session.ID, Code: CodeUnknownTarget, Reason: fmt.Sprintf(
				"%q is no target any more; the targets are %s", session.Request.Target, p.list())})
		case err != nil:
			facts = append(facts, events.HandoffRejected{HandoffID: session.ID, Code: CodeUnavailable, Reason: p.unavailable(target, err), Notice: Say(p.Messages.Unavailable, target.Name)})
		default: // one that is asked for beside the active session never waits
			return append(facts, p.accept(session.ID, target))
		}
	}
	return facts
}

// Resume decides that the agent of a saved session goes on, at now. summary tells it what was
// said since, at most [MaxSummaryChars]. Where that is refused the error says what would be
// accepted, and nothing changes.
func Resume(s *State, p Policy, id events.HandoffID, summary string, now time.Time) (events.HandoffResumed, *RejectedError) {
	by := p.Caller.UserID
	if by == "" {
		by = "user"
	}
	session := s.Session(id)
	if session == nil || !slices.Contains(s.Saved(now, p.KeepState), session) {
		return events.HandoffResumed{}, &RejectedError{CodeNotAllowed, fmt.Sprintf("there is no saved session %q; %s", chars.Clip(string(id), 100), p.saved(s, now))}
	}
	target, known := p.target(session.Request.Target)
	if !known {
		return events.HandoffResumed{}, &RejectedError{CodeUnknownTarget, fmt.Sprintf("%s is no target any more; the targets are %s", session.Request.Target, p.list())}
	}
	if s.active != nil {
		return events.HandoffResumed{}, &RejectedError{CodeActiveSession, p.occupied(s)}
	}
	if err := p.away(target.Agent); err != nil {
		return events.HandoffResumed{}, &RejectedError{CodeUnavailable, p.unavailable(target, err)}
	}
	return events.HandoffResumed{HandoffID: id, By: by, ContextSummary: summary, Notice: Say(p.Messages.Resumed, target.Name)}, nil
}

// Expire ends the active session where it has been idle for longer than its target allows, at
// now. Its state is kept.
func Expire(s *State, p Policy, now time.Time) (returned events.HandoffReturned, expired bool) {
	if s.active == nil || s.active.routed() { // messages go to its agent anyway
		return returned, false
	}
	target, _ := p.target(s.active.Request.Target)
	if idle := now.Sub(s.active.Touched); target.MaxIdle > 0 && idle > target.MaxIdle {
		return events.HandoffReturned{HandoffID: s.active.ID, CompletionStatus: events.CompletionCancelled, ResultSummary: fmt.Sprintf(
			"The session was idle for %s, longer than the %s that it may be.", idle.Round(time.Second), target.MaxIdle)}, true
	}
	return returned, false
}

// ErrNoHandoff is for what only an active handoff has: a step, a return, an exit.
var ErrNoHandoff = errors.New("no handoff is active: the facilitator has the conversation")

// Return gives the conversation back to the facilitator.
func Return(s *State, status events.CompletionStatus, summary string, artifacts []string) (events.HandoffReturned, error) {
	if s.active == nil {
		return events.HandoffReturned{}, ErrNoHandoff
	}
	if chars.Over(summary, MaxSummaryChars) {
		return events.HandoffReturned{}, fmt.Errorf("the summary has %d characters; at most %d are allowed", chars.Count(summary), MaxSummaryChars)
	}
	return events.HandoffReturned{HandoffID: s.active.ID, CompletionStatus: status, ResultSummary: summary, ArtifactsCreated: artifacts}, nil
}

// Exit asks that the conversation return at the wish of by: from the session with the id,
// which is [State.Active] or [State.Person], or where that is "" from the first of them that
// there is. It gives the fact to record: the request, or that by may not ask for that, which
// the error says in words as a [*RejectedError]. Where nothing is handed over there is none,
// and the error is [ErrNoHandoff].
func Exit(s *State, id events.HandoffID, by Caller) (events.Event, error) {
	session := s.open(id)
	if session == nil {
		return nil, ErrNoHandoff
	}
	if denied := by.Denied(access.HandoffCancel, fmt.Sprintf("leave handoff %s", session.ID)); denied != nil {
		return *denied, &RejectedError{CodePermissionDenied, fmt.Sprintf(
			"the user may not leave %s: the permission %s is missing", session.Request.Target, denied.Permission)}
	}
	if by.UserID == "" {
		by.UserID = "user"
	}
	return events.HandoffExitRequested{HandoffID: session.ID, By: by.UserID}, nil
}

// open gives the session that can be left with the id, or with "" the first there is.
func (s *State) open(id events.HandoffID) *Session {
	for _, session := range []*Session{s.active, s.person} {
		if session != nil && (id == "" || session.ID == id) {
			return session
		}
	}
	return nil
}

// Move takes the specialist to one of the steps that it declares. What was gathered is
// kept where metadata is nil.
func Move(s *State, states []string, to string, metadata json.RawMessage) (events.WorkflowStateChanged, error) {
	if s.active == nil {
		return events.WorkflowStateChanged{}, ErrNoHandoff
	}
	step := slices.Index(states, to)
	if step < 0 {
		return events.WorkflowStateChanged{}, fmt.Errorf("there is no state %q; the states are %s", chars.Clip(to, 100), strings.Join(states, ", "))
	}
	if len(metadata) > MaxMetadataBytes {
		return events.WorkflowStateChanged{}, fmt.Errorf("the metadata has %d bytes; at most %d are kept", len(metadata), MaxMetadataBytes)
	}
	if metadata == nil {
		metadata = s.active.Workflow.Metadata
	}
	return events.WorkflowStateChanged{
		HandoffID: s.active.ID, From: s.active.Workflow.State, To: to, Step: step + 1, Steps: len(states), Metadata: metadata,
	}, nil
}

// RejectedError is a handoff that was refused; the log says so too. The source keeps the
// conversation.
type RejectedError struct {
	// Code groups reasons for machines: see [events.HandoffRejected].
	Code string
	// Reason says in words why, and what would be accepted.
	Reason string
}

func (e *RejectedError) Error() string { return e.Reason }
