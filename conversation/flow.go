package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
)

// MaxTransitions bounds how often a phase follows a phase before the user has said
// something: agents in a ring would go on for ever.
const MaxTransitions = 8

// TooDeep is the warning of agents that go beyond [MaxTransitions].
func TooDeep() events.Warning {
	return events.Warning{Code: events.WarnTransitionDepth, Message: fmt.Sprintf(
		"the conversation was passed on %d times without a message of the user's, which is the most: it stops here", MaxTransitions)}
}

// Flow is how the conversations of a team go: who answers, and which phase follows which.
// It does not change, and is safe for concurrent use.
type Flow struct {
	// Default is the agent that answers where nothing else decides.
	Default events.AgentID
	// Pipeline is nil for none.
	Pipeline *Pipeline
	// Phases are the phases of agents that are in no pipeline, or have another phase where
	// a handoff names none.
	Phases map[events.AgentID]events.Phase
}

// Initial is the phase in which conversations begin.
func (f *Flow) Initial() events.Phase {
	if f.Pipeline != nil {
		return f.Pipeline.stages[0].Phase
	}
	return PhaseIntake
}

// Phase is the phase that the conversation is in: that of its beginning before the first
// transition.
func (f *Flow) Phase(p Progress) events.Phase {
	if len(p.History) == 0 {
		return f.Initial()
	}
	return p.Phase
}

// phaseOf is the phase that an agent's turn to speak is, "" for none of its own.
func (f *Flow) phaseOf(agent events.AgentID) events.Phase {
	phases := map[events.AgentID]events.Phase{}
	if f.Pipeline != nil {
		phases = f.Pipeline.PhaseMap()
	}
	maps.Copy(phases, f.Phases)
	return phases[agent]
}

// Enter says which phase begins where the conversation is handed to an agent: the one that
// the handoff names, or the agent's own; "" where the phase stays. why is set where the
// pipeline does not allow that. A person may take over in any phase.
func (f *Flow) Enter(p Progress, agent events.AgentID, next events.Phase) (phase events.Phase, why string) {
	now := f.Phase(p)
	if next == "" {
		next = f.phaseOf(agent)
	}
	if next == "" || next == now || f.Pipeline == nil || agent == events.HumanID {
		return next, ""
	}
	stage := f.Pipeline.stage(now)
	if stage == nil || slices.Contains(stage.leads(), next) {
		return next, ""
	}
	return "", fmt.Sprintf("a handoff to %s would take the conversation from phase %q to %q; from there it goes to %s",
		agent, now, next, orEnd(stage.leads()))
}

func orEnd(phases []events.Phase) string {
	if len(phases) == 0 {
		return "its end"
	}
	return phaseList(phases)
}

// Begin gives the change of phase that goes with the session that was just opened, nil
// where the phase stays.
func (f *Flow) Begin(s *State) *events.PhaseChanged {
	if s.active == nil {
		return nil
	}
	request := s.active.Request
	phase, why := f.Enter(s.Progress, request.Target, request.NextPhase)
	if why != "" || phase == "" || phase == s.Progress.Phase {
		return nil
	}
	return &events.PhaseChanged{
		From: s.Progress.Phase, To: phase, FromAgent: request.Source, ToAgent: request.Target, Reason: request.Reason, HandoffID: s.active.ID,
	}
}

// Complete decides the end of the phase of the agent that has the conversation: its session
// ends, and that of the next phase's agent begins with what it found. next is "" for the
// phase that usually comes next. Behind the last stage the conversation goes to the default
// agent. An error is in words for the agent.
func (f *Flow) Complete(s *State, result string, next events.Phase) ([]events.Event, error) {
	returned, err := Return(s, events.CompletionCompleted, result, nil)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(result) == "" {
		return nil, errors.New("the result is empty; say what the next agent needs to know")
	}
	agent, now := s.active.Request.Target, f.Phase(s.Progress)
	stage := f.stageOf(agent, now)
	if stage == nil {
		return nil, fmt.Errorf("phase %q is not yours to complete; call return_control instead", now)
	}
	if next != "" && !slices.Contains(stage.leads(), next) {
		return nil, fmt.Errorf("phase %q does not follow %q; it goes to %s", next, now, orEnd(stage.leads()))
	}
	if next == "" {
		next = stage.Next
	}
	to, ends := f.Default, next == ""
	if ends {
		if next = f.phaseOf(to); f.Pipeline.stage(next) == nil {
			next = ""
		}
	} else {
		to = f.Pipeline.stage(next).Agent
	}
	snapshot, err := json.Marshal(s.Snapshot())
	if err != nil {
		return nil, err
	}
	changed := events.PhaseChanged{
		From: s.Progress.Phase, To: next, FromAgent: agent, ToAgent: to, FromHandoffID: s.active.ID,
		Reason: fmt.Sprintf("%s is complete", now), Result: result, Snapshot: snapshot,
	}
	if to == events.FacilitatorID {
		return []events.Event{returned, changed}, nil
	}
	changed.HandoffID = s.next()
	return []events.Event{returned, events.HandoffRequested{
		HandoffID: changed.HandoffID, UserID: s.active.Request.UserID, Source: agent, Target: to, ContextSummary: result, Reason: changed.Reason,
		RecentMessageCount: s.active.Request.RecentMessageCount, PreserveState: true, ReturnExpected: true, NextPhase: next,
	}, events.HandoffAccepted{HandoffID: changed.HandoffID}, changed}, nil
}

// stageOf is the stage that the agent can complete in the phase, nil for none.
func (f *Flow) stageOf(agent events.AgentID, phase events.Phase) *Stage {
	if f.Pipeline == nil {
		return nil
	}
	if stage := f.Pipeline.stage(phase); stage != nil && stage.Agent == agent {
		return stage
	}
	return nil
}

// Leads are the phases to which an agent may take the conversation when it completes its
// own, the usual one first, and whether it has a phase to complete.
func (f *Flow) Leads(agent events.AgentID) (phases []events.Phase, completes bool) {
	if f.Pipeline == nil {
		return nil, false
	}
	for i := range f.Pipeline.stages {
		if stage := &f.Pipeline.stages[i]; stage.Agent == agent {
			completes = true
			for _, phase := range stage.leads() {
				if !slices.Contains(phases, phase) {
					phases = append(phases, phase)
				}
			}
		}
	}
	return phases, completes
}

// RollBack takes back the transition that opened the active session, because its agent
// cannot go on. ok is false where no transition did.
func RollBack(s *State, reason string) (rolled events.TransitionRolledBack, ok bool) {
	if s.active == nil || s.active.entered == nil {
		return rolled, false
	}
	return events.TransitionRolledBack{HandoffID: s.active.ID, ToSeq: s.active.entered.from.endSeq - 1, Reason: reason}, true
}
