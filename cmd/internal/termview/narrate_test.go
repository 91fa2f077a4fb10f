package termview_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// Of all model calls only one that brought the rest of a turn is told, with its calls.
func TestNarrateRestOfATurn(t *testing.T) {
	th := thread.New()
	require.NoError(t, th.Apply(events.Envelope{Run: "r", Seq: 1, Data: events.WorkflowStarted{
		Agents: []events.AgentCard{{ID: events.FacilitatorID, DisplayName: "Facilitator"}},
	}}))
	called := events.ModelCalled{Reply: events.Reply{ToolCalls: []events.ToolCall{{Name: "call_food"}, {Name: "call_\x1bsights"}}}}
	narrated := func() []string {
		return termview.Narrate(th.Current(), events.Envelope{Run: "r", Agent: events.FacilitatorID, Data: called})
	}
	require.Empty(t, narrated())
	called.Purpose = events.PurposeRest
	require.Equal(t, []string{"Facilitator: the calls that had not arrived: call_food, call_" + termview.Line("\x1bsights")}, narrated())
	called.Reply.ToolCalls = nil
	require.Empty(t, narrated())
}

// Who has the conversation is told as it changes hands, with the steps; a message that goes
// to the facilitator as ever is nothing to tell.
func TestNarrateHandoffs(t *testing.T) {
	th := thread.New()
	var told []string
	for i, data := range []events.Event{
		events.WorkflowStarted{Agents: []events.AgentCard{{ID: "skills", DisplayName: "Skill builder"}}},
		events.MessageRouted{Agent: events.FacilitatorID, Tier: events.TierDefault},
		events.HandoffRequested{HandoffID: "h1", Target: "skills"}, events.HandoffAccepted{HandoffID: "h1"},
		events.HandoffRequested{HandoffID: "h2", Target: "skills"}, events.HandoffRejected{HandoffID: "h2", Reason: "busy"},
		events.WorkflowStateChanged{HandoffID: "h1", To: "testing", Step: 2, Steps: 5},
		events.MessageRouted{Agent: "skills", Tier: events.TierHandoff, Rule: "h1"},
		events.HandoffExitRequested{HandoffID: "h1", By: "user"},
		events.HandoffReturned{HandoffID: "h1", CompletionStatus: events.CompletionCancelled, ResultSummary: "The user left."},
	} {
		env := events.Envelope{Run: "r", Seq: events.Seq(i + 1), Data: data}
		require.NoError(t, th.Apply(env))
		if i > 0 {
			told = append(told, termview.Narrate(th.Current(), env)...)
		}
	}
	require.Equal(t, []string{
		"connecting you with Skill builder", "! no handoff: busy", "Skill builder: step 2 of 5: testing", "Skill builder has the conversation",
		"Skill builder returns the conversation (cancelled): The user left.",
	}, told)
}

// What people are asked and what they say to a run is told; what waits for a run is not
// of this one.
func TestNarrateInput(t *testing.T) {
	th := thread.New()
	var told []string
	for i, env := range []events.Envelope{
		{Run: "r", Data: events.WorkflowStarted{Agents: []events.AgentCard{{ID: "skills", DisplayName: "Skill builder"}}}},
		{Run: "r", Agent: "skills", Data: events.InputRequested{InputID: "i1", For: events.InputQuestion, Question: "Which\ncity?", Choices: []string{"Kyoto", "Nara"}}},
		{Run: "r", Agent: "human", Data: events.InputRequested{InputID: "i2", For: events.InputHuman, Question: "Hello?"}},
		{Run: "r", Data: events.UserMessage{Content: "Nara", MessageID: "m1", InputID: "i1"}},
		{Run: "r", Data: events.UserMessage{Content: "and fast", MessageID: "m2"}},
		{Data: events.UserMessage{Content: "later", MessageID: "m3"}},
	} {
		env.Seq = events.Seq(i + 1)
		require.NoError(t, th.Apply(env))
		if i > 0 {
			told = append(told, termview.Narrate(th.Current(), env)...)
		}
	}
	require.Equal(t, []string{
		"Skill builder asks: Which city? (Kyoto, Nara)", "a person is to answer: Hello?", "answered: Nara", "the user adds: and fast",
	}, told)
}
