package conversation

import (
	"encoding/json"
	"fmt"
	"slices"
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
	// Started is the time of the request, Ended that of the end, zero before it; Touched is
	// that of the newest event of the session.
	Started, Ended, Touched time.Time
	// Held is set once the target had the conversation: the request was accepted.
	Held bool
	// Result is what the specialist said at the end, or why the handoff came to nothing.
	Result    string
	Artifacts []string
	// Workflow is where the specialist stands: the zero value where it declares no steps,
	// or has not begun them. It stays what it was when the session ended, unless it ended
	// before its time and its request does not preserve it.
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
	// Transitions counts the ends of phases.
	Transitions Transitions

	active, person *Session
}

// Person gives the session of a person beside whom all may answer, nil for none. It is never
// the active one.
func (s *State) Person() *Session { return s.person }

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

// Pending are the requests that wait for the active session to end, in their order.
func (s *State) Pending() (pending []*Session) {
	for _, session := range s.Sessions {
		if session.Status == StatusPending {
			pending = append(pending, session)
		}
	}
	return pending
}

// Saved are the sessions that ended before their time, no longer ago than keep, and whose
// state is kept: they can be resumed. The newest comes first.
func (s *State) Saved(now time.Time, keep time.Duration) (saved []*Session) {
	for _, session := range slices.Backward(s.Sessions) {
		if session.resumable() && now.Sub(session.Ended) <= keep {
			saved = append(saved, session)
		}
	}
	return saved
}

func (s *Session) resumable() bool {
	return s.Held && s.Request.PreserveState && (s.Status == StatusCancelled || s.Status == StatusError)
}

// Seen notes that an event of the thread is the active session's: it was not idle then.
func (s *State) Seen(env events.Envelope) {
	if s.active != nil && env.Dispatch == events.DispatchID(s.active.ID) {
		s.active.Touched = env.Time
	}
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
		s.route(env, e)
		return nil
	case events.HandoffRequested:
		return s.request(env, e)
	case events.HandoffAccepted:
		return s.accept(env, e)
	case events.HandoffRejected:
		return s.reject(env, e)
	case events.HandoffExitRequested:
		s.exit(env, e)
		return nil
	case events.HandoffReturned:
		s.Progress.ActiveAgent = events.FacilitatorID
		return s.end(env, e)
	case events.HandoffResumed:
		return s.resume(env, e)
	case events.WorkflowStateChanged:
		return s.step(env, e)
	case events.PermissionDenied:
		return nil // nothing was done
	case events.PhaseChanged:
		return s.phase(env, e)
	case events.TransitionRolledBack:
		return s.rollBack(env, e)
	}
	return fmt.Errorf("%w %q", events.ErrUnknownKind, env.Data.Kind())
}

func (s *State) route(env events.Envelope, e events.MessageRouted) {
	s.Routed, s.Progress.ActiveAgent = &e, e.Agent
	if s.active != nil && (e.Tier == events.TierHandoff || e.Tier == events.TierAffinity) {
		s.active.Touched = env.Time
	}
}

// request opens a session. One that is active stays so: it stands in the way of the
// acceptance, not of the request.
func (s *State) request(env events.Envelope, e events.HandoffRequested) error {
	if e.HandoffID != s.next() {
		return fmt.Errorf("handoff %s where %s is next", e.HandoffID, s.next())
	}
	s.Sessions = append(s.Sessions, &Session{ID: e.HandoffID, Request: e, Status: StatusPending, Started: env.Time, Touched: env.Time})
	return nil
}

// pending gives the session whose request has not been decided.
func (s *State) pending(id events.HandoffID) (*Session, error) {
	session := s.Session(id)
	if session == nil || session.Status != StatusPending {
		return nil, fmt.Errorf("handoff %s is not pending", id)
	}
	return session, nil
}

func (s *State) accept(env events.Envelope, e events.HandoffAccepted) error {
	session, err := s.pending(e.HandoffID)
	if err != nil {
		return err
	}
	if e.AllMayAnswer {
		return s.join(env, session)
	}
	return s.activate(env, session)
}

// join has a person answer beside everybody else.
func (s *State) join(env events.Envelope, session *Session) error {
	if s.person != nil {
		return fmt.Errorf("handoff %s while a person has %s", session.ID, s.person.ID)
	}
	session.Status, session.Held, session.Touched, s.person = StatusActive, true, env.Time, session
	s.Progress.HandoffCount++
	return nil
}

// activate gives the conversation to the session's target.
func (s *State) activate(env events.Envelope, session *Session) error {
	if s.active != nil {
		return fmt.Errorf("handoff %s while %s is active", session.ID, s.active.ID)
	}
	session.Status, session.Held, session.Touched, s.active = StatusActive, true, env.Time, session
	s.Progress.ActiveAgent, s.Progress.HandoffCount = session.Request.Target, s.Progress.HandoffCount+1
	return nil
}

func (s *State) reject(env events.Envelope, e events.HandoffRejected) error {
	session, err := s.pending(e.HandoffID)
	if err != nil {
		return err
	}
	session.Status, session.Ended, session.Result = StatusError, env.Time, e.Reason
	return nil
}

// exit marks the session as returning; that of a person beside whom all may answer ends, as
// nobody else has to give anything back. Anybody may ask for that at any time, so one that
// comes too late changes nothing.
func (s *State) exit(env events.Envelope, e events.HandoffExitRequested) {
	if s.active != nil && s.active.ID == e.HandoffID {
		s.active.Status = StatusReturning
	}
	if left := s.person; left != nil && left.ID == e.HandoffID {
		left.Status, left.Ended, left.endSeq, left.Touched, s.person = StatusCompleted, env.Time, env.Seq, env.Time, nil
	}
}

// end closes the active session.
func (s *State) end(env events.Envelope, e events.HandoffReturned) error {
	session, status := s.active, Status(e.CompletionStatus)
	switch {
	case session == nil || session.ID != e.HandoffID:
		return fmt.Errorf("handoff %s returns, which is not active", e.HandoffID)
	case !status.Over():
		return fmt.Errorf("handoff %s ends as %q", e.HandoffID, status)
	}
	s.active = nil
	session.Status, session.Ended, session.endSeq, session.Touched = status, env.Time, env.Seq, env.Time
	session.Result, session.Artifacts = e.ResultSummary, e.ArtifactsCreated
	if status != StatusCompleted && !session.Request.PreserveState {
		session.Workflow = Workflow{}
	}
	return nil
}

// resume opens a session again that ended before its time.
func (s *State) resume(env events.Envelope, e events.HandoffResumed) error {
	session := s.Session(e.HandoffID)
	if session == nil || !session.resumable() {
		return fmt.Errorf("handoff %s is not one to resume", e.HandoffID)
	}
	if err := s.activate(env, session); err != nil {
		return err
	}
	session.Ended, session.endSeq, session.Result, session.Artifacts = time.Time{}, 0, "", nil
	return nil
}

func (s *State) step(env events.Envelope, e events.WorkflowStateChanged) error {
	if s.active == nil || s.active.ID != e.HandoffID {
		return fmt.Errorf("a step of handoff %s, which is not active", e.HandoffID)
	}
	if e.From != s.active.Workflow.State {
		return fmt.Errorf("a step from %q where %q is the state", e.From, s.active.Workflow.State)
	}
	s.active.Workflow = Workflow{State: e.To, Step: e.Step, Steps: e.Steps, Metadata: e.Metadata}
	s.active.Touched = env.Time
	return nil
}
