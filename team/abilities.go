package team

import (
	"slices"
	"time"

	"github.com/convene-run/convene/events"
)

// Abilities are what a specialist declares about having the conversation with the user, and
// about working with other agents.
type Abilities struct {
	// SupportsHandoff says whether the specialist can take over the conversation. Defaults to
	// whether it is a target of the team's handoffs; true makes it one.
	SupportsHandoff *bool `json:"supports_handoff,omitempty" jsonschema:"Whether the specialist can take over the conversation with the user; true makes it a target of handoffs. Defaults to whether it is listed in handoff.targets."`
	// HandoffTriggers are phrases as those of [HandoffTarget].
	HandoffTriggers []string `json:"handoff_triggers,omitempty" jsonschema:"Phrases that hand over at once when a message has one: whole words, in any case. They are added to those in handoff.targets."`
	// WorkflowStates are the steps that the specialist takes with the user while it has the
	// conversation, in order. Empty is none.
	WorkflowStates []string `json:"workflow_states,omitempty" jsonschema:"Steps that the specialist takes with the user while it has the conversation, in order. The user sees them as step 2 of 5."`
	// RequiresExclusiveControl keeps the conversation for the specialist until it gives it
	// back or the user leaves. Without it a second handoff ends its session. Defaults to true.
	RequiresExclusiveControl *bool `json:"requires_exclusive_control,omitempty" jsonschema:"Whether a second handoff is refused, or queued, while the specialist has the conversation. With false a second handoff takes the conversation from it, and its state is kept. Defaults to true."`
	// MaxSessionDurationSeconds is how long a session may be idle: the next message finds it
	// closed, with its state kept. Defaults to [DefaultSessionSeconds].
	MaxSessionDurationSeconds int `json:"max_session_duration_seconds,omitempty" jsonschema:"Seconds that a session may be idle. The next message after that finds it closed, its state kept, and the user is offered to continue. Defaults to 3600."`
	// CanBeOrchestrated says whether the specialist works and answers behind the scenes: is
	// given tasks, and asked. Without it the specialist only talks. Defaults to true.
	CanBeOrchestrated *bool `json:"can_be_orchestrated,omitempty" jsonschema:"Whether the specialist can be given tasks and asked questions by other agents. With false it only talks to the user. Defaults to true."`
	Orchestration
}

// Orchestration is what an agent declares about asking others. The facilitator does so too.
type Orchestration struct {
	// CanOrchestrate says whether the agent has ask_specialists; a facilitator without it
	// dispatches nobody either. Defaults to true for the facilitator, else to false.
	CanOrchestrate *bool `json:"can_orchestrate,omitempty" jsonschema:"Whether the agent can ask other specialists (ask_specialists); the facilitator without it gives them no tasks either. Defaults to true for the facilitator, to false for a specialist, which asks while it has the conversation."`
	// SupportedDelegationStrategies are how it asks. Defaults to all of [Strategies].
	SupportedDelegationStrategies []string `json:"supported_delegation_strategies,omitempty" jsonschema:"How the agent asks several specialists: parallel, sequential, first_success. Defaults to all of them."`
	// MaxConcurrentDelegations is how many it asks at once. Defaults to
	// [DefaultDelegations].
	MaxConcurrentDelegations int `json:"max_concurrent_delegations,omitempty" jsonschema:"How many specialists the agent asks at once; the others wait. Defaults to 5."`
}

// Defaults of what agents declare, as the protocol of agent cards has them.
const (
	DefaultSessionSeconds = 3600
	DefaultDelegations    = 5
)

// Bounds of what agents declare.
const (
	// maxSessionSeconds is longer than anybody's patience.
	maxSessionSeconds = 30 * day
	// maxDelegations is the most specialists that a team has.
	maxDelegations = maxSpecialists
)

// Strategies are the ways to ask several specialists.
func Strategies() []string { return []string{"parallel", "sequential", "first_success"} }

// Exclusive is RequiresExclusiveControl with its default.
func (a Abilities) Exclusive() bool { return orTrue(a.RequiresExclusiveControl) }

// Orchestrated is CanBeOrchestrated with its default.
func (a Abilities) Orchestrated() bool { return orTrue(a.CanBeOrchestrated) }

// MaxIdle is MaxSessionDurationSeconds with its default.
func (a Abilities) MaxIdle() time.Duration {
	if a.MaxSessionDurationSeconds == 0 {
		return DefaultSessionSeconds * time.Second
	}
	return time.Duration(a.MaxSessionDurationSeconds) * time.Second
}

func orTrue(declared *bool) bool { return declared == nil || *declared }

// Strategies is SupportedDelegationStrategies with its default.
func (o Orchestration) Strategies() []string {
	if len(o.SupportedDelegationStrategies) == 0 {
		return Strategies()
	}
	return o.SupportedDelegationStrategies
}

// Delegations is MaxConcurrentDelegations with its default.
func (o Orchestration) Delegations() int {
	if o.MaxConcurrentDelegations == 0 {
		return DefaultDelegations
	}
	return o.MaxConcurrentDelegations
}

// Orchestration is what an agent of the team declares about asking others, with the
// defaults of its kind. An unknown agent asks nobody.
func (t *Team) Orchestration(id events.AgentID) (o Orchestration, can bool) {
	if id == events.FacilitatorID {
		return t.Facilitator.Orchestration, orTrue(t.Facilitator.CanOrchestrate)
	}
	s, _ := t.Specialist(id)
	return s.Orchestration, s.CanOrchestrate != nil && *s.CanOrchestrate
}

// Workers are the specialists that can be given tasks and asked, in order.
func (t *Team) Workers() (workers []Specialist) {
	for _, s := range t.Specialists {
		if s.Orchestrated() {
			workers = append(workers, s)
		}
	}
	return workers
}

// Plans reports whether the facilitator makes plans: it can orchestrate, and there is somebody
// to give tasks to. One that does not only talks, and hands the conversation over.
func (t *Team) Plans() bool {
	_, can := t.Orchestration(events.FacilitatorID)
	return can && len(t.Workers()) > 0
}

// Card is what an agent of the team declares, as it stands on its card.
func (t *Team) Card(id events.AgentID) (handoff *events.HandoffCard, orchestration *events.OrchestrationCard) {
	s, specialist := t.Specialist(id)
	o, can := t.Orchestration(id)
	orchestration = &events.OrchestrationCard{CanOrchestrate: can, CanBeOrchestrated: specialist && s.Orchestrated()}
	if can {
		orchestration.SupportedDelegationStrategies, orchestration.MaxConcurrentDelegations = o.Strategies(), o.Delegations()
	}
	if slices.Contains(t.Talkers(), id) {
		handoff = &events.HandoffCard{
			SupportsHandoff: true, WorkflowStates: s.WorkflowStates, RequiresExclusiveControl: s.Exclusive(),
			MaxSessionDurationSeconds: int(s.MaxIdle().Seconds()),
		}
		for _, trigger := range t.Triggers() {
			if trigger.Target == id {
				handoff.HandoffTriggers = append(handoff.HandoffTriggers, trigger.Phrase)
			}
		}
	}
	return handoff, orchestration
}

func (a Abilities) check(path string, found *problems) {
	checkTriggers(path+".handoff_triggers", a.HandoffTriggers, found)
	checkStates(path+".workflow_states", a.WorkflowStates, found)
	if n := a.MaxSessionDurationSeconds; n < 0 || n > maxSessionSeconds {
		found.add(path+".max_session_duration_seconds", "%d is out of range; write 1 to %d seconds, or leave it out for %d", n, maxSessionSeconds, DefaultSessionSeconds)
	}
	a.Orchestration.check(path, found)
}

func (o Orchestration) check(path string, found *problems) {
	for i, strategy := range o.SupportedDelegationStrategies {
		at := path + ".supported_delegation_strategies"
		switch {
		case !slices.Contains(Strategies(), strategy):
			found.add(at, "there is no strategy %q%s the strategies are %s", clip(strategy), didYouMean(strategy, Strategies()), join(Strategies()))
		case slices.Contains(o.SupportedDelegationStrategies[:i], strategy):
			found.add(at, "strategy %q is there twice; remove one", strategy)
		}
	}
	if n := o.MaxConcurrentDelegations; n < 0 || n > maxDelegations {
		found.add(path+".max_concurrent_delegations", "%d is out of range; write 1 to %d, or leave it out for %d", n, maxDelegations, DefaultDelegations)
	}
}
