package conversation

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/convene-run/convene/events"
)

// Status is the state of a handoff session.
type Status string

// The statuses of a session. A session is over in the last three.
const (
	StatusPending   Status = "pending"
	StatusActive    Status = "active"
	StatusReturning Status = "returning"
	StatusCompleted Status = "completed"
	StatusCancelled Status = "cancelled"
	// StatusError is also that of a request that was rejected.
	StatusError Status = "error"
)

// Over reports whether a session in this status has ended.
func (s Status) Over() bool {
	return s == StatusCompleted || s == StatusCancelled || s == StatusError
}

// Session is one handoff from its request to its end.
type Session struct {
	ID      events.HandoffID
	Request events.HandoffRequested
	Status  Status
	// Started is the time of the request, Ended that of the end; zero before it.
	Started, Ended time.Time
	// Result is what the specialist said at the end, or why the handoff came to nothing.
	Result    string
	Artifacts []string
	// Workflow is where the specialist stands: the zero value where it declares no steps,
	// or has not begun them. It stays what it was when the session ended.
	Workflow Workflow

	// entered is the transition of phases that opened the session, nil for none.
	entered *transition
	// endSeq is the event that ended the session, 0 before it.
	endSeq events.Seq
}

// Entered reports whether the end of another agent's phase opened the session.
func (s *Session) Entered() bool { return s.entered != nil }

// Workflow is a place in the steps that a specialist declares.
type Workflow struct {
	State string
	// Step counts from 1.
	Step, Steps int
	// Metadata is a JSON object of what was gathered so far, nil for nothing.
	Metadata json.RawMessage
}

// State is the fold of who speaks in a thread. The zero State is of a thread in which
// nothing was handed over. It is not safe for concurrent use.
type State struct {
	// Sessions are in the order of the requests.
	Sessions []*Session
	// Routed is how the newest message was routed, nil before the first.
	Routed *events.MessageRouted
	// Progress is the phase of the conversation, and how it came to it.
	Progress Progress

	active *Session
}

// Active gives the session whose specialist has the conversation, nil while that is the
// facilitator. One that is returning has it until it has returned.
func (s *State) Active() *Session { return s.active }

// Session gives a session by its id, nil if there is none.
func (s *State) Session(id events.HandoffID) *Session {
	for _, session := range s.Sessions {
		if session.ID == id {
			return session
		}
	}
	return nil
}

// next is the id that the next request has.
func (s *State) next() events.HandoffID {
	return events.HandoffID(fmt.Sprintf("h%d", len(s.Sessions)+1))
}

// Apply folds a fact about who speaks. One of another kind, or that contradicts the
// state, is an error.
func (s *State) Apply(env events.Envelope) error {
	switch e := env.Data.(type) {
	case events.MessageRouted:
		s.Routed, s.Progress.ActiveAgent = &e, e.Agent
		return nil
	case events.HandoffRequested:
		return s.request(env, e)
	case events.HandoffAccepted:
		return s.accept(e)
	case events.HandoffRejected:
		return s.end(env, e.HandoffID, StatusError, e.Reason, nil)
	case events.HandoffExitRequested:
		return s.exit(e)
	case events.HandoffReturned:
		s.Progress.ActiveAgent = events.FacilitatorID
		return s.end(env, e.HandoffID, Status(e.CompletionStatus), e.ResultSummary, e.ArtifactsCreated)
	case events.WorkflowStateChanged:
		return s.step(e)
	case events.PhaseChanged:
		return s.phase(env, e)
	case events.TransitionRolledBack:
		return s.rollBack(env, e)
	}
	return fmt.Errorf("%w %q", events.ErrUnknownKind, env.Data.Kind())
}

// request opens a session. One that is active stays so: it stands in the way of the
// acceptance, not of the request.
func (s *State) request(env events.Envelope, e events.HandoffRequested) error {
	if last := s.last(); last != nil && last.Status == StatusPending {
		return fmt.Errorf("handoff %s while %s is pending", e.HandoffID, last.ID)
	}
	if e.HandoffID != s.next() {
		return fmt.Errorf("handoff %s where %s is next", e.HandoffID, s.next())
	}
	s.Sessions = append(s.Sessions, &Session{ID: e.HandoffID, Request: e, Status: StatusPending, Started: env.Time})
	return nil
}

func (s *State) last() *Session {
	if len(s.Sessions) == 0 {
		return nil
	}
	return s.Sessions[len(s.Sessions)-1]
}

func (s *State) accept(e events.HandoffAccepted) error {
	last := s.last()
	if last == nil || last.ID != e.HandoffID || last.Status != StatusPending {
		return fmt.Errorf("handoff %s is not pending", e.HandoffID)
	}
	if s.active != nil {
		return fmt.Errorf("handoff %s while %s is active", e.HandoffID, s.active.ID)
	}
	last.Status, s.active = StatusActive, last
	s.Progress.ActiveAgent, s.Progress.HandoffCount = last.Request.Target, s.Progress.HandoffCount+1
	return nil
}

// exit marks the session as returning. Anybody may ask for that at any time, so one that
// comes too late changes nothing.
func (s *State) exit(e events.HandoffExitRequested) error {
	if s.active != nil && s.active.ID == e.HandoffID {
		s.active.Status = StatusReturning
	}
	return nil
}

// end closes a session: one that is pending is rejected, the active one returns.
func (s *State) end(env events.Envelope, id events.HandoffID, status Status, result string, artifacts []string) error {
	_, rejected := env.Data.(events.HandoffRejected)
	session := s.Session(id)
	switch {
	case session == nil, rejected && session.Status != StatusPending, !rejected && session != s.active:
		return fmt.Errorf("handoff %s is not one to end so", id)
	case !status.Over():
		return fmt.Errorf("handoff %s ends as %q", id, status)
	}
	if session == s.active {
		s.active = nil
	}
	session.Status, session.Ended, session.endSeq, session.Result, session.Artifacts = status, env.Time, env.Seq, result, artifacts
	return nil
}

func (s *State) step(e events.WorkflowStateChanged) error {
	if s.active == nil || s.active.ID != e.HandoffID {
		return fmt.Errorf("a step of handoff %s, which is not active", e.HandoffID)
	}
	if e.From != s.active.Workflow.State {
		return fmt.Errorf("a step from %q where %q is the state", e.From, s.active.Workflow.State)
	}
	s.active.Workflow = Workflow{State: e.To, Step: e.Step, Steps: e.Steps, Metadata: e.Metadata}
	return nil
}
