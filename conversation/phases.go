package conversation

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/convene-run/convene/events"
)

// The phases that are built in. Any other text is a phase as well.
const (
	PhaseIntake        events.Phase = "intake"
	PhaseQualification events.Phase = "qualification"
	PhaseHandling      events.Phase = "handling"
	PhaseEscalation    events.Phase = "escalation"
	PhaseResolution    events.Phase = "resolution"
	PhaseFollowup      events.Phase = "followup"
)

// Phases are the built-in phases, in the order in which conversations usually have them.
func Phases() []events.Phase {
	return []events.Phase{PhaseIntake, PhaseQualification, PhaseHandling, PhaseEscalation, PhaseResolution, PhaseFollowup}
}

// Progress is how far a conversation has come. A transition gives another value, and the
// old one stays as it is. As JSON it can be stored and read back.
type Progress struct {
	// Phase is "" before the first transition, and behind the last stage of a pipeline.
	Phase events.Phase `json:"phase"`
	// ActiveAgent is who answers the user; "" before the first message.
	ActiveAgent events.AgentID `json:"active_agent_id"`
	// HandoffCount counts the handoffs that were accepted.
	HandoffCount int `json:"handoff_count"`
	// History has every transition, the oldest first. Do not change it.
	History []PhaseTransition `json:"phase_history"`
}

// PhaseTransition records one change of phase. One that was taken back stays, with the way
// back behind it.
type PhaseTransition struct {
	From      events.Phase   `json:"from_phase,omitempty"`
	To        events.Phase   `json:"to_phase"`
	FromAgent events.AgentID `json:"from_agent,omitempty"`
	ToAgent   events.AgentID `json:"to_agent"`
	Reason    string         `json:"reason"`
	Time      time.Time      `json:"time"`
}

// Transition gives the progress behind a transition.
func (p Progress) Transition(t PhaseTransition) Progress {
	p.Phase, p.ActiveAgent = t.To, t.ToAgent
	p.History = append(slices.Clip(p.History), t)
	return p
}

// Snapshot is what a transition is taken back to: the state of the conversation before it,
// as [events.PhaseChanged] has it.
type Snapshot struct {
	Phase            events.Phase     `json:"phase"`
	ActiveAgent      events.AgentID   `json:"active_agent_id"`
	HandoffCount     int              `json:"handoff_count"`
	HandoffID        events.HandoffID `json:"handoff_id,omitempty"`
	WorkflowState    string           `json:"workflow_state,omitempty"`
	WorkflowMetadata json.RawMessage  `json:"workflow_metadata,omitempty"`
}

// Snapshot gives the state of the conversation as it is now.
func (s *State) Snapshot() Snapshot {
	shot := Snapshot{Phase: s.Progress.Phase, ActiveAgent: s.Progress.ActiveAgent, HandoffCount: s.Progress.HandoffCount}
	if s.active != nil {
		shot.HandoffID, shot.WorkflowState, shot.WorkflowMetadata = s.active.ID, s.active.Workflow.State, s.active.Workflow.Metadata
	}
	return shot
}

// Transitions counts how often the end of a phase gave the conversation to the next agent.
type Transitions struct {
	// Succeeded counts those that stand, RolledBack those that were taken back.
	Succeeded  int `json:"succeeded"`
	RolledBack int `json:"rolled_back"`
}

// With gives the counts with a further fact. Facts of other kinds change nothing.
func (t Transitions) With(fact events.Event) Transitions {
	switch e := fact.(type) {
	case events.PhaseChanged:
		if e.FromHandoffID != "" {
			t.Succeeded++
		}
	case events.TransitionRolledBack:
		t.Succeeded--
		t.RolledBack++
	}
	return t
}

// transition is what a phase's end left, until the session of the next phase has ended.
type transition struct {
	from  *Session
	phase events.Phase // that came to its end
}

// phase folds a change of phase. The session that ended with it is kept as it was, so that
// the transition can be taken back.
func (s *State) phase(env events.Envelope, e events.PhaseChanged) error {
	if e.From != s.Progress.Phase {
		return fmt.Errorf("a change from phase %q where %q is the phase", e.From, s.Progress.Phase)
	}
	if e.HandoffID != "" && (s.active == nil || s.active.ID != e.HandoffID) {
		return fmt.Errorf("phase %q begins with handoff %s, which is not active", e.To, e.HandoffID)
	}
	s.Transitions = s.Transitions.With(e)
	if from := s.Session(e.FromHandoffID); e.HandoffID != "" && from != nil {
		s.active.entered = &transition{from, e.From}
	}
	s.Progress = s.Progress.Transition(PhaseTransition{
		From: e.From, To: e.To, FromAgent: e.FromAgent, ToAgent: e.ToAgent, Reason: e.Reason, Time: env.Time,
	})
	return nil
}

// rollBack folds that a transition is taken back: the session that ended with it goes on.
func (s *State) rollBack(env events.Envelope, e events.TransitionRolledBack) error {
	if s.active == nil || s.active.ID != e.HandoffID || s.active.entered == nil {
		return fmt.Errorf("handoff %s is not one to take back", e.HandoffID)
	}
	s.Transitions = s.Transitions.With(e)
	failed, back := s.active, s.active.entered
	failed.Status, failed.Ended, failed.endSeq, failed.Result, failed.entered = StatusError, env.Time, env.Seq, e.Reason, nil
	back.from.Status, back.from.Ended, back.from.endSeq, back.from.Result, back.from.Artifacts = StatusActive, time.Time{}, 0, "", nil
	s.active = back.from
	s.Progress = s.Progress.Transition(PhaseTransition{
		From: s.Progress.Phase, To: back.phase, FromAgent: failed.Request.Target, ToAgent: back.from.Request.Target,
		Reason: e.Reason, Time: env.Time,
	})
	s.Progress.HandoffCount--
	return nil
}
