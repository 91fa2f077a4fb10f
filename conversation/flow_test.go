package conversation_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
)

// review is the pipeline of the fifth source.
func review() []conversation.Stage {
	return []conversation.Stage{
		{Phase: "analysis", Agent: "agent-discuss", Next: "coding"},
		{Phase: "coding", Agent: "agent-coder", Next: "review"},
		{Phase: "review", Agent: "agent-reviewer", Next: "report", CanReturnTo: []events.Phase{"coding"}},
		{Phase: "report", Agent: "agent-writer"},
	}
}

func flow(t require.TestingT, stages ...conversation.Stage) *conversation.Flow {
	pipeline, err := conversation.NewPipeline(stages...)
	require.NoError(t, err)
	return &conversation.Flow{Default: events.FacilitatorID, Pipeline: pipeline}
}

// enter opens a session as the router does.
func (f *fold) enter(t require.TestingT, flow *conversation.Flow, target events.AgentID) {
	f.apply(t, conversation.Request(&f.state, anyOf([]events.AgentID{target}...), conversation.Handoff{Source: events.RouterID, Target: target, Summary: "x"})...)
	if changed := flow.Begin(&f.state); changed != nil {
		f.apply(t, *changed)
	}
}

func (f *fold) complete(t require.TestingT, flow *conversation.Flow, next events.Phase) {
	facts, err := flow.Complete(&f.state, "found", next)
	require.NoError(t, err)
	f.apply(t, facts...)
}

// Proves R51: what the fifth source says that its pipeline compiles to.
func TestPipelineOfTheFifthSource(t *testing.T) {
	p := flow(t, review()...).Pipeline
	require.Equal(t, map[events.AgentID]events.Phase{
		"agent-discuss": "analysis", "agent-coder": "coding", "agent-reviewer": "review", "agent-writer": "report",
	}, p.PhaseMap())
	require.Equal(t, map[events.Phase][]events.Phase{
		"analysis": {"coding"}, "coding": {"review"}, "review": {"report", "coding"}, "report": nil,
	}, p.AllowedTransitions())
	require.Equal(t, review(), p.Stages())
	require.Equal(t, "agent-coder", string(p.Rules()[1].Agent))
	_, err := conversation.NewPipeline(conversation.Stage{Phase: "chat", Agent: "a", Next: "chat"})
	require.NoError(t, err, "a stage may lead to itself")
}

// Proves R51: what is wrong with a pipeline is said when it is built, with the place.
func TestPipelinesThatAreRefused(t *testing.T) {
	for says, change := range map[string]func(s []conversation.Stage) []conversation.Stage{
		`the pipeline has no stages; list at least one, with phase and agent_id`: func([]conversation.Stage) []conversation.Stage { return nil },
		`pipeline[1].next: there is no phase "revue"; the phases are "analysis", "coding", "review", "report"`: func(s []conversation.Stage) []conversation.Stage {
			s[1].Next = "revue"
			return s
		},
		`pipeline[2].can_return_to[0]: there is no phase "x"; the phases are "analysis", "coding", "review", "report"`: func(s []conversation.Stage) []conversation.Stage {
			s[2].CanReturnTo = []events.Phase{"x"}
			return s
		},
		`pipeline[4].phase: phase "coding" is there twice, first as stage 2; give each stage a phase of its own`: func(s []conversation.Stage) []conversation.Stage {
			return append(s, conversation.Stage{Phase: "coding", Agent: "b"})
		},
		`pipeline[3].phase: phase "report" cannot be reached from the first, "analysis"; name it as the next of a stage, or in can_return_to, or remove it`: func(s []conversation.Stage) []conversation.Stage {
			s[2].Next = ""
			return s
		},
		"pipeline[0].agent_id: the stage has no agent; name the specialist that has the conversation in it": func(s []conversation.Stage) []conversation.Stage {
			s[0].Agent = ""
			return s
		},
		`pipeline[4].phase: the stage has no phase; name one, such as "intake"`: func(s []conversation.Stage) []conversation.Stage {
			return append(s, conversation.Stage{Phase: " ", Agent: "b"})
		},
		"the pipeline has 51 stages, 50 is the most": func([]conversation.Stage) []conversation.Stage { return make([]conversation.Stage, 51) },
	} {
		_, err := conversation.NewPipeline(change(review())...)
		require.EqualError(t, err, says)
	}
}

// Proves R45 and R38: the end of a phase closes one session and opens the next, with the
// result; the state is JSON, and a transition leaves the value before it as it was.
func TestPhasesFollowEachOther(t *testing.T) {
	var f fold
	flow := flow(t, review()...)
	require.Equal(t, events.Phase("analysis"), flow.Phase(f.state.Progress))
	f.enter(t, flow, "agent-discuss")
	before := f.state.Progress
	require.Equal(t, events.Phase("analysis"), before.Phase)
	f.complete(t, flow, "")
	require.Len(t, before.History, 1)
	require.Equal(t, events.AgentID("agent-discuss"), before.ActiveAgent)
	session := f.state.Active()
	require.Equal(t, events.AgentID("agent-coder"), session.Request.Target)
	require.Equal(t, []any{"found", events.AgentID("agent-discuss"), true}, []any{session.Request.ContextSummary, session.Request.Source, session.Entered()})
	require.Equal(t, conversation.StatusCompleted, f.state.Sessions[0].Status)

	f.complete(t, flow, "")
	_, err := flow.Complete(&f.state, "found", "analysis")
	require.EqualError(t, err, `phase "analysis" does not follow "review"; it goes to "report", "coding"`)
	_, err = flow.Complete(&f.state, " ", "")
	require.EqualError(t, err, "the result is empty; say what the next agent needs to know")
	f.complete(t, flow, "coding")
	f.complete(t, flow, "")
	f.complete(t, flow, "")
	require.Equal(t, events.AgentID("agent-writer"), f.state.Active().Request.Target)
	f.complete(t, flow, "")
	require.Nil(t, f.state.Active(), "behind the last stage the default agent has the conversation")
	progress := f.state.Progress
	require.Equal(t, []any{events.Phase(""), events.FacilitatorID, 6}, []any{progress.Phase, progress.ActiveAgent, progress.HandoffCount})
	require.Equal(t, events.Phase(""), flow.Phase(progress))
	_, err = flow.Complete(&f.state, "found", "")
	require.ErrorIs(t, err, conversation.ErrNoHandoff)

	text, err := json.Marshal(progress)
	require.NoError(t, err)
	var again conversation.Progress
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, progress, again)
	require.Equal(t, []events.Phase{"analysis", "coding", "review", "coding", "review", "report", ""}, phases(progress))
}

func phases(p conversation.Progress) (phases []events.Phase) {
	for _, t := range p.History {
		phases = append(phases, t.To)
	}
	return phases
}

// Proves R48: a handoff that the pipeline does not allow is refused with what it allows; a
// person may take over in any phase, and a phase may be any text.
func TestAllowedTransitions(t *testing.T) {
	var f fold
	flow := flow(t, review()...)
	flow.Phases = map[events.AgentID]events.Phase{"expert": "second opinion"}
	f.enter(t, flow, "agent-discuss")
	for _, c := range []struct {
		agent events.AgentID
		next  events.Phase
		phase events.Phase
		why   string
	}{
		{"agent-coder", "", "coding", ""},
		{"agent-writer", "", "", `a handoff to agent-writer would take the conversation from phase "analysis" to "report"; from there it goes to "coding"`},
		{"expert", "", "", `a handoff to expert would take the conversation from phase "analysis" to "second opinion"; from there it goes to "coding"`},
		{"expert", "analysis", "analysis", ""},
		{"nobody of the pipeline", "", "", ""},
		{"human", "escalation", "escalation", ""},
	} {
		phase, why := flow.Enter(f.state.Progress, c.agent, c.next)
		require.Equal(t, []any{c.phase, c.why}, []any{phase, why}, c.agent)
	}
	flow.Pipeline = nil
	phase, why := flow.Enter(f.state.Progress, "expert", "")
	require.Equal(t, []any{events.Phase("second opinion"), ""}, []any{phase, why})
}

// Proves R38: what was begun with a transition is taken back by a fact, and the agent before
// has the conversation in the state that it had.
func TestRollBack(t *testing.T) {
	var f fold
	flow := flow(t, review()...)
	f.enter(t, flow, "agent-discuss")
	moved, err := conversation.Move(&f.state, []string{"a", "b"}, "b", json.RawMessage(`{"x":1}`))
	require.NoError(t, err)
	f.apply(t, moved)
	before, at := f.state.Snapshot(), f.log[len(f.log)-1].Seq
	_, ok := conversation.RollBack(&f.state, "no")
	require.False(t, ok, "no transition opened this session")
	f.complete(t, flow, "")
	var snapshot conversation.Snapshot
	changed := f.log[len(f.log)-1].Data.(events.PhaseChanged)
	require.NoError(t, json.Unmarshal(changed.Snapshot, &snapshot))
	require.Equal(t, before, snapshot)

	rolled, ok := conversation.RollBack(&f.state, "agent-coder failed")
	require.True(t, ok)
	require.Equal(t, events.TransitionRolledBack{HandoffID: "h2", ToSeq: at, Reason: "agent-coder failed"}, rolled)
	f.apply(t, rolled)
	require.Equal(t, before, f.state.Snapshot())
	require.Equal(t, events.HandoffID("h1"), f.state.Active().ID)
	require.Equal(t, conversation.StatusError, f.state.Sessions[1].Status)
	require.Equal(t, []events.Phase{"analysis", "coding", "analysis"}, phases(f.state.Progress), "the audit keeps both")
	f.complete(t, flow, "")
	require.Equal(t, events.HandoffID("h3"), f.state.Active().ID)
	require.Error(t, f.state.Apply(events.Envelope{Data: rolled}))
}

// Proves R46: the router of the fifth source, and the tiers in their order.
func TestRouterOfTheFifthSource(t *testing.T) {
	agents := []events.AgentID{"agent-billing", "agent-support", "agent-triage", "agent-vip", "agent-late", "skills", "billing"}
	router := conversation.NewRouter(conversation.Routing{
		Agents: agents, Default: "agent-triage", Triggers: []conversation.Trigger{{Phrase: "create skill", Target: "skills"}},
		Rules: []conversation.Rule{
			{Agent: "agent-late", Priority: 20, Conditions: conversation.Conditions{Phases: []events.Phase{"handling"}}},
			{Agent: "agent-support", Priority: 10, Conditions: conversation.Conditions{Phases: []events.Phase{"handling"}, ChannelTypes: []string{"sms"}}},
			{Agent: "skills", Priority: 10, Conditions: conversation.Conditions{ChannelTypes: []string{"sms"}, Channels: []string{"c1", "c2"}}},
			{Agent: "agent-billing", Conditions: conversation.Conditions{Phases: []events.Phase{"handling"}, Intents: []string{"billing"}}},
			{Name: "vip", Agent: "agent-vip", Priority: -1, Conditions: conversation.Conditions{
				Match: func(m conversation.Message, p conversation.Progress) bool {
					return m.UserID == "ann" && p.Phase == "intake"
				},
			}},
		},
	})
	handling, intake := &conversation.State{Progress: conversation.Progress{History: make([]conversation.PhaseTransition, 1), Phase: "handling"}}, &conversation.State{}
	for _, c := range []struct {
		state *conversation.State
		m     conversation.Message
		want  events.MessageRouted
	}{
		{handling, conversation.Message{Intent: "billing", ChannelType: "sms"}, events.MessageRouted{Agent: "agent-billing", Tier: events.TierRule, Rule: "4: agent-billing"}},
		{handling, conversation.Message{ChannelType: "sms", Channel: "c1"}, events.MessageRouted{Agent: "agent-support", Tier: events.TierRule, Rule: "2: agent-support"}},
		{intake, conversation.Message{ChannelType: "sms", Channel: "c1"}, events.MessageRouted{Agent: "skills", Tier: events.TierRule, Rule: "3: skills"}},
		{intake, conversation.Message{ChannelType: "sms", Channel: "c3"}, events.MessageRouted{Agent: "agent-triage", Tier: events.TierDefault}},
		{intake, conversation.Message{Intent: "billing"}, events.MessageRouted{Agent: "agent-triage", Tier: events.TierDefault}},
		{handling, conversation.Message{}, events.MessageRouted{Agent: "agent-late", Tier: events.TierRule, Rule: "1: agent-late"}},
		{intake, conversation.Message{UserID: "ann"}, events.MessageRouted{Agent: "agent-vip", Tier: events.TierRule, Rule: "vip"}},
		{handling, conversation.Message{Text: "Create skill!"}, events.MessageRouted{Agent: "skills", Tier: events.TierTrigger, Rule: "create skill"}},
	} {
		routed, ok := router.Route(c.state, c.m)
		require.True(t, ok)
		require.Equal(t, c.want, routed, "%+v", c.m)
	}
	_, ok := router.Route(intake, conversation.Message{Author: "agent-billing"})
	require.False(t, ok, "a message of an agent is never routed")

	var f fold
	f.enter(t, &conversation.Flow{Default: "agent-triage"}, "agent-billing")
	routed := func(text string) events.MessageRouted {
		routed, _ := router.Route(&f.state, conversation.Message{Text: text, UserID: "ann"})
		return routed
	}
	require.Equal(t, events.MessageRouted{Agent: "agent-billing", Tier: events.TierAffinity, Rule: "h1"}, routed("Thanks"))
	require.Equal(t, events.TierTrigger, routed("create skill").Tier, "a trigger comes before affinity")
	require.Equal(t, events.TierExit, routed("cancel").Tier)
	gone := conversation.NewRouter(conversation.Routing{Agents: []events.AgentID{"agent-triage"}, Default: "agent-triage"})
	lapsed, _ := gone.Route(&f.state, conversation.Message{Text: "Thanks"})
	require.Equal(t, events.TierDefault, lapsed.Tier, "affinity lapses when the agent has left the team")

	var handed fold
	handed.apply(t, conversation.Request(&handed.state, anyOf(agents...), to("billing"))...)
	explicit, _ := router.Route(&handed.state, conversation.Message{Text: "create skill"})
	require.Equal(t, events.MessageRouted{Agent: "billing", Tier: events.TierHandoff, Rule: "h1"}, explicit, "an active handoff comes before triggers")
}

// Over any sequence of phases that end and transitions that are taken back: one session at
// most is open, the phase is that of its agent, only allowed phases follow each other, and
// the log gives the state back.
func TestAnySequenceOfPhases(t *testing.T) {
	stages := append(review()[:3:3], conversation.Stage{Phase: "report", Agent: "agent-writer", CanReturnTo: []events.Phase{"report", "analysis"}})
	rapid.Check(t, func(t *rapid.T) {
		var f fold
		flow := flow(t, stages...)
		router := conversation.NewRouter(conversation.Routing{
			Agents: []events.AgentID{"agent-discuss", "agent-coder", "agent-reviewer", "agent-writer"}, Rules: flow.Pipeline.Rules(), Initial: flow.Initial(),
		})
		t.Repeat(map[string]func(*rapid.T){
			"message": func(t *rapid.T) {
				routed, ok := router.Route(&f.state, conversation.Message{Text: "hello"})
				require.True(t, ok)
				f.apply(t, routed)
				if routed.Tier == events.TierRule {
					f.enter(t, flow, routed.Agent)
				}
			},
			"complete": func(t *rapid.T) {
				leads, completes := []events.Phase{}, false
				if active := f.state.Active(); active != nil {
					leads, completes = flow.Leads(active.Request.Target)
				}
				next := rapid.SampledFrom(append(leads, "")).Draw(t, "next")
				facts, err := flow.Complete(&f.state, "found", next)
				require.Equal(t, completes, err == nil, "%v", err)
				f.apply(t, facts...)
			},
			"fail": func(t *rapid.T) {
				before := f.state.Active()
				if rolled, ok := conversation.RollBack(&f.state, "failed"); ok {
					f.apply(t, rolled)
					require.NotEqual(t, before, f.state.Active())
				}
			},
			"": func(t *rapid.T) {
				open := slices.DeleteFunc(slices.Clone(f.state.Sessions), func(s *conversation.Session) bool { return s.Status.Over() })
				require.LessOrEqual(t, len(open), 1)
				if active := f.state.Active(); active != nil {
					require.Equal(t, active, open[0])
					require.Equal(t, flow.Pipeline.PhaseMap()[active.Request.Target], f.state.Progress.Phase)
					require.Equal(t, active.Request.Target, f.state.Progress.ActiveAgent)
				}
				var again fold
				for _, env := range f.log {
					require.NoError(t, again.state.Apply(env))
				}
				require.Equal(t, f.state, again.state)
			},
		})
	})
}

// anyOf is a policy by which any of the agents may take over.
func anyOf(agents ...events.AgentID) (p conversation.Policy) {
	for _, id := range agents {
		p.Targets = append(p.Targets, conversation.Target{Agent: id})
	}
	return p
}
