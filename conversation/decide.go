package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

// Bounds of a handoff, in characters where they are of texts.
const (
	MaxSummaryChars   = 2000
	MaxReasonChars    = 500
	MaxRecentMessages = 20
	// MaxMetadataBytes bounds what a specialist keeps of a workflow: a page of notes.
	MaxMetadataBytes = 8 << 10
)

// Codes of [events.HandoffRejected].
const (
	CodeActiveSession = "active_session"
	CodeUnknownTarget = "unknown_target"
)

// Handoff is a request as its source makes it.
type Handoff struct {
	Source, Target events.AgentID
	UserID         string
	// Summary tells the target what it needs to know, at most [MaxSummaryChars]; Reason
	// says why, at most [MaxReasonChars].
	Summary, Reason string
	// RecentMessages is how many of the newest messages go along, at most
	// [MaxRecentMessages]; 0 for the summary alone.
	RecentMessages int
}

// Check says what is wrong with the request, in words for whoever made it.
func (h Handoff) Check() error {
	switch {
	case strings.TrimSpace(h.Summary) == "":
		return errors.New("the summary is empty; say what the target needs to know")
	case chars.Over(h.Summary, MaxSummaryChars):
		return fmt.Errorf("the summary has %d characters; at most %d are allowed", chars.Count(h.Summary), MaxSummaryChars)
	case chars.Over(h.Reason, MaxReasonChars):
		return fmt.Errorf("the reason has %d characters; at most %d are allowed", chars.Count(h.Reason), MaxReasonChars)
	case h.RecentMessages < 0 || h.RecentMessages > MaxRecentMessages:
		return fmt.Errorf("%d recent messages; 0 to %d can be passed on", h.RecentMessages, MaxRecentMessages)
	}
	return nil
}

// Request decides a handoff that passed [Handoff.Check]: the request, and behind it its
// acceptance or its rejection. targets are the agents that may take over.
func Request(s *State, targets []events.AgentID, h Handoff) []events.Event {
	id := s.next()
	requested := events.HandoffRequested{
		HandoffID: id, UserID: h.UserID, Source: h.Source, Target: h.Target, ContextSummary: h.Summary, RecentMessageCount: h.RecentMessages,
		Reason: h.Reason, PreserveState: true, ReturnExpected: true,
	}
	if code, why := refusal(s, targets, h.Target); code != "" {
		return []events.Event{requested, events.HandoffRejected{HandoffID: id, Code: code, Reason: why}}
	}
	return []events.Event{requested, events.HandoffAccepted{HandoffID: id}}
}

func refusal(s *State, targets []events.AgentID, target events.AgentID) (code, why string) {
	if !slices.Contains(targets, target) {
		return CodeUnknownTarget, fmt.Sprintf("the conversation cannot be handed to %q; the targets are %s", target, list(targets))
	}
	if s.active != nil {
		return CodeActiveSession, fmt.Sprintf("%s has the conversation already; finish or leave that first", s.active.Request.Target)
	}
	return "", ""
}

func list(ids []events.AgentID) string {
	if len(ids) == 0 {
		return "none"
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, ", ")
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

// Exit asks that the conversation return at the user's wish.
func Exit(s *State, by string) (events.HandoffExitRequested, error) {
	if s.active == nil {
		return events.HandoffExitRequested{}, ErrNoHandoff
	}
	if by == "" {
		by = "user"
	}
	return events.HandoffExitRequested{HandoffID: s.active.ID, By: by}, nil
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
