package thread_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

var cards = []events.AgentCard{{ID: events.FacilitatorID, DisplayName: "Facilitator"}, {ID: "builder", DisplayName: "Skill builder"}}

// by adds an event of an agent's.
func (h *history) by(agent events.AgentID, dispatch events.DispatchID, data events.Event) {
	env := h.envelope(dispatch, data)
	env.Agent = agent
	require.NoError(h.t, h.th.Apply(env))
}

// says adds a user's message that belongs to no run.
func (h *history) says(m events.UserMessage) {
	env := h.envelope("", m)
	env.Run = ""
	require.NoError(h.t, h.th.Apply(env))
}

func lines(messages []thread.Message) []string {
	var list []string
	for _, m := range messages {
		who := m.DisplayName
		if m.Role == events.RoleUser {
			who = "user"
		}
		if m.Role == thread.RoleNotice {
			who = "notice"
		}
		list = append(list, fmt.Sprintf("%s (%s): %s", who, m.Run, m.Content))
	}
	return list
}

// handedOver is a thread in which a specialist has the conversation, at its second step.
func handedOver(t require.TestingT) *history {
	h := talk(t)
	h.run = "a"
	h.says(events.UserMessage{Content: "Create a skill", MessageID: "m1"})
	h.begin("a", events.WorkflowStarted{Message: "Create a skill", MessageID: "m1", Agents: cards, Team: "helpdesk"})
	h.add("", events.MessageRouted{MessageID: "m1", Agent: events.FacilitatorID, Tier: events.TierDefault})
	handoff := events.ToolCall{ID: "c1", Name: "handoff_conversation"}
	h.by(events.FacilitatorID, "", turn("f.1", handoff))
	h.by(events.FacilitatorID, "", events.FacilitatorMessage{Content: "I'll connect you."})
	h.by(events.FacilitatorID, "", events.HandoffRequested{HandoffID: "h1", Source: events.FacilitatorID, Target: "builder", Reason: "it is a skill", PreserveState: true})
	h.by(events.FacilitatorID, "", events.HandoffAccepted{HandoffID: "h1"})
	h.add("", result("f.1", 0, handoff, "builder has the conversation now."))
	h.by("builder", "h1", events.AgentMessage{Content: "One moment."})
	h.by("builder", "h1", events.WorkflowStateChanged{HandoffID: "h1", To: "gathering", Step: 1, Steps: 5})
	h.by("builder", "h1", events.WorkflowStateChanged{HandoffID: "h1", From: "gathering", To: "triggers", Step: 2, Steps: 5, Metadata: json.RawMessage(`{"name":"x"}`)})
	h.by("builder", "h1", events.FinalAnswer{Content: "Which channel?"})
	h.add("", events.WorkflowFinished{Status: events.StatusCompleted})
	return h
}

// Proves R25: what users and agents say is there once, in order and whole, and what agents
// say to each other, to tools or to themselves is not.
func TestMessagesAreWhatTheUserSees(t *testing.T) {
	h := handedOver(t)
	h.says(events.UserMessage{Content: "#alerts", MessageID: "m2", Delivery: events.DeliveryQueue})
	require.Empty(t, h.th.Messages(0, 0)[4].Run, "nobody answers it yet")
	h.begin("b", events.WorkflowStarted{Message: "#alerts", MessageID: "m2", Agents: cards})
	h.add("", events.MessageRouted{MessageID: "m2", Agent: "builder", Tier: events.TierHandoff})
	h.says(events.UserMessage{Content: "#alerts", MessageID: "m2"})
	h.by("builder", "h1", events.UserMessage{Content: "Answer the user", Synthetic: true, Reason: "empty_reply"})
	h.add("", events.WorkflowFinished{Status: events.StatusFailed, Reason: "no model could be asked"})
	require.Equal(t, []string{
		"user (a): Create a skill", "Facilitator (a): I'll connect you.", "Skill builder (a): One moment.", "Skill builder (a): Which channel?",
		"user (b): #alerts", "notice (b): No answer was given: no model could be asked",
	}, lines(h.th.Messages(0, 0)))
	require.Equal(t, 6, h.th.Context().Messages)
	require.Equal(t, []bool{false, true, true, false, false, false}, interim(h.th.Messages(0, 0)))
}

func interim(messages []thread.Message) []bool {
	var list []bool
	for _, m := range messages {
		list = append(list, m.Interim)
	}
	return list
}

// A run that no message started says what was asked, one that continues another does not
// say it again, and a dispatched specialist speaks to the facilitator, not to the user.
func TestMessagesOfRunsWithoutMessages(t *testing.T) {
	h := begin(t)
	h.add("d1", events.AgentStarted{Agent: "ada", Message: "Go", Tool: "call_ada", CallRef: events.CallRef{ModelCall: "f.1", CallID: "c1"}})
	h.add("d1", events.AgentMessage{Agent: "ada", Content: "To the facilitator"})
	h.add("", events.WorkflowFinished{Status: events.StatusCancelled})
	h.begin("s", events.WorkflowStarted{Message: "Hello", Continues: "r"})
	h.answer("Good day")
	require.Equal(t, []string{"user (r): Hello", "notice (r): This request was cancelled.", "facilitator (s): Good day"}, lines(h.th.Messages(0, 0)))
}

// Messages are read in pages, from either end.
func TestMessagesInPages(t *testing.T) {
	h := talk(t)
	for i := range 5 {
		h.begin(events.RunID(fmt.Sprint("r", i)), events.WorkflowStarted{Message: fmt.Sprint("q", i)})
		h.answer(fmt.Sprint("a", i))
	}
	var forth, back []thread.Message
	for page := h.th.Messages(0, 3); len(page) > 0; page = h.th.Messages(page[len(page)-1].Seq, 3) {
		forth = append(forth, page...)
	}
	for page := h.th.MessagesBefore(0, 3); len(page) > 0; page = h.th.MessagesBefore(page[0].Seq, 3) {
		back = append(append([]thread.Message{}, page...), back...)
	}
	require.Len(t, forth, 10)
	require.Equal(t, forth, back)
	require.Equal(t, h.th.Messages(0, 0), forth)
	require.Empty(t, h.th.Messages(1_000, 3))
	require.Empty(t, thread.New().MessagesBefore(0, 3))
}

// The context says who answers next, and where a handed-over conversation stands.
func TestContext(t *testing.T) {
	require.Equal(t, thread.Context{
		Agent: events.FacilitatorID, DisplayName: "facilitator", Saved: []thread.SavedContext{}, Inputs: []thread.InputContext{}, Queued: []events.MessageID{},
	}, thread.New().Context())
	h := handedOver(t)
	c := h.th.Context()
	require.Equal(t, events.AgentID("builder"), c.Agent)
	require.Equal(t, "Skill builder", c.DisplayName)
	require.Equal(t, "helpdesk", c.Team)
	require.Equal(t, events.StatusCompleted, c.Status)
	require.Equal(t, &thread.WorkflowContext{State: "triggers", Step: 2, Steps: 5, Metadata: json.RawMessage(`{"name":"x"}`)}, c.Workflow)
	require.Equal(t, events.HandoffID("h1"), c.Handoff.ID)
	require.Equal(t, "it is a skill", c.Handoff.Reason)
	require.Equal(t, 1, c.Handoffs)
	require.Empty(t, c.Inputs)
	h.says(events.UserMessage{Content: "#alerts", MessageID: "m2", Delivery: events.DeliveryQueue})
	require.Equal(t, []events.MessageID{"m2"}, h.th.Context().Queued)
	require.True(t, c.Created.Equal(noon))
	require.True(t, c.Updated.After(c.Created))

	h.begin("b", events.WorkflowStarted{Message: "cancel", Agents: cards})
	h.by("builder", "h1", events.HandoffReturned{HandoffID: "h1", CompletionStatus: events.CompletionCancelled})
	c = h.th.Context()
	require.Equal(t, events.FacilitatorID, c.Agent)
	require.Nil(t, c.Handoff)
	require.Nil(t, c.Workflow)
	require.Len(t, c.Saved, 1)
	require.Equal(t, []any{events.HandoffID("h1"), "Skill builder", 2}, []any{c.Saved[0].ID, c.Saved[0].DisplayName, c.Saved[0].Workflow.Step})
	require.Equal(t, 1, c.Handoffs)
}
