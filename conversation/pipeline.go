package conversation

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
)

// MaxStages bounds the stages of a pipeline.
const MaxStages = 50

// Stage is one phase of a pipeline with the agent that talks to the user in it.
type Stage struct {
	Phase events.Phase   `json:"phase" jsonschema:"The phase: any text, such as intake, qualification, handling, escalation, resolution or followup."`
	Agent events.AgentID `json:"agent_id" jsonschema:"The specialist that has the conversation in this phase."`
	// Next is the phase that comes next; "" ends the pipeline. It may be Phase itself, for a
	// loop.
	Next events.Phase `json:"next,omitempty" jsonschema:"The phase that comes next, which may be this one again. Without it the pipeline ends here, and the default agent has the conversation."`
	// CanReturnTo are further phases that the agent may choose as the next one.
	CanReturnTo []events.Phase `json:"can_return_to,omitempty" jsonschema:"Further phases that the specialist may choose as the next one."`
}

// Pipeline is a conversation that goes through stages, each with an agent of its own. The
// first stage is where conversations begin. It does not change, and is safe for concurrent use.
type Pipeline struct{ stages []Stage }

// StageError says what is wrong with a stage: its place in the list, from 0, the field, and
// what to write instead.
type StageError struct {
	Stage   int
	Field   string // as in the stage's JSON, with the index in it where it is a list
	Message string
}

func (e *StageError) Error() string {
	return fmt.Sprintf("pipeline[%d].%s: %s", e.Stage, e.Field, e.Message)
}

// NewPipeline checks the stages: each phase is there once, is known where a stage names it,
// and can be reached from the first. The error joins a [*StageError] for each mistake.
func NewPipeline(stages ...Stage) (*Pipeline, error) {
	p := &Pipeline{slices.Clone(stages)}
	if len(stages) == 0 {
		return nil, errors.New("the pipeline has no stages; list at least one, with phase and agent_id")
	}
	if len(stages) > MaxStages {
		return nil, fmt.Errorf("the pipeline has %d stages, %d is the most", len(stages), MaxStages)
	}
	var wrong []error
	add := func(stage int, field, format string, args ...any) {
		wrong = append(wrong, &StageError{stage, field, fmt.Sprintf(format, args...)})
	}
	for i, s := range stages {
		first := slices.IndexFunc(stages, func(other Stage) bool { return other.Phase == s.Phase })
		switch {
		case strings.TrimSpace(string(s.Phase)) == "":
			add(i, "phase", "the stage has no phase; name one, such as %q", PhaseIntake)
		case first < i:
			add(i, "phase", "phase %q is there twice, first as stage %d; give each stage a phase of its own", s.Phase, first+1)
		}
		if s.Agent == "" {
			add(i, "agent_id", "the stage has no agent; name the specialist that has the conversation in it")
		}
		if s.Next != "" && p.stage(s.Next) == nil {
			add(i, "next", "there is no phase %q; the phases are %s", s.Next, phaseList(p.phases()))
		}
		for j, back := range s.CanReturnTo {
			if p.stage(back) == nil {
				add(i, fmt.Sprintf("can_return_to[%d]", j), "there is no phase %q; the phases are %s", back, phaseList(p.phases()))
			}
		}
	}
	if len(wrong) == 0 {
		reached := p.reached()
		for i, s := range stages {
			if !slices.Contains(reached, s.Phase) {
				add(i, "phase", "phase %q cannot be reached from the first, %q; name it as the next of a stage, or in can_return_to, or remove it", s.Phase, stages[0].Phase)
			}
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return p, nil
}

// reached are the phases that can be reached from the first.
func (p *Pipeline) reached() []events.Phase {
	reached := []events.Phase{p.stages[0].Phase}
	for i := 0; i < len(reached); i++ {
		for _, next := range p.stage(reached[i]).leads() {
			if !slices.Contains(reached, next) {
				reached = append(reached, next)
			}
		}
	}
	return reached
}

// leads are the phases that may follow the stage, the usual one first.
func (s *Stage) leads() []events.Phase {
	var phases []events.Phase
	for _, phase := range append([]events.Phase{s.Next}, s.CanReturnTo...) {
		if phase != "" && !slices.Contains(phases, phase) {
			phases = append(phases, phase)
		}
	}
	return phases
}

// Stages are the stages in their order.
func (p *Pipeline) Stages() []Stage { return slices.Clone(p.stages) }

// stage gives the stage of a phase, nil if there is none.
func (p *Pipeline) stage(phase events.Phase) *Stage {
	if i := slices.IndexFunc(p.stages, func(s Stage) bool { return s.Phase == phase }); i >= 0 {
		return &p.stages[i]
	}
	return nil
}

func (p *Pipeline) phases() []events.Phase {
	phases := make([]events.Phase, len(p.stages))
	for i, s := range p.stages {
		phases[i] = s.Phase
	}
	return phases
}

// Rules are the stages as rules of a router: each phase goes to its agent. They come behind
// all others.
func (p *Pipeline) Rules() []Rule {
	rules := make([]Rule, len(p.stages))
	for i, s := range p.stages {
		rules[i] = Rule{Name: "pipeline: " + string(s.Phase), Agent: s.Agent, Conditions: Conditions{Phases: []events.Phase{s.Phase}}, Priority: math.MaxInt}
	}
	return rules
}

// PhaseMap gives the phase of each agent, the first of one that has several.
func (p *Pipeline) PhaseMap() map[events.AgentID]events.Phase {
	phases := map[events.AgentID]events.Phase{}
	for _, s := range slices.Backward(p.stages) {
		phases[s.Agent] = s.Phase
	}
	return phases
}

// AllowedTransitions gives the phases that may follow each phase, the usual one first.
func (p *Pipeline) AllowedTransitions() map[events.Phase][]events.Phase {
	allowed := map[events.Phase][]events.Phase{}
	for i := range p.stages {
		allowed[p.stages[i].Phase] = p.stages[i].leads()
	}
	return allowed
}

func phaseList(phases []events.Phase) string {
	names := make([]string, len(phases))
	for i, phase := range phases {
		names[i] = fmt.Sprintf("%q", phase)
	}
	return strings.Join(names, ", ")
}
