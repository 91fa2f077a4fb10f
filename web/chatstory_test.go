package web_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

// chatStory writes a conversation to a thread, as its runs would.
type chatStory struct {
	*script
	runs     int
	messages int
	calls    int
}

// tellSupport is a conversation with support: triage answers, billing takes over, goes
// through its steps, and is still at it.
func tellSupport(t testing.TB, log events.Log) *chatStory {
	t.Helper()
	c := &chatStory{script: newScript(t, log)}
	c.moment = time.Now().UTC().Add(-9 * time.Minute)
	c.hears("I was charged twice in October.", events.MessageRouted{Agent: events.FacilitatorID, Tier: events.TierDefault})
	c.by(events.FacilitatorID, "", events.FacilitatorMessage{Agent: events.FacilitatorID, DisplayName: "Triage", Content: "Billing can look into that."})
	c.by(events.FacilitatorID, "", events.HandoffRequested{
		HandoffID: "h1", Source: events.FacilitatorID, Target: "billing", ContextSummary: "Charged twice in October", Reason: "double charge",
		PreserveState: true, ReturnExpected: true,
	}, events.HandoffAccepted{HandoffID: "h1"})
	c.step("", "identify", 1)
	c.answers("billing", "h1", "I can help with that. Which card ends the number of the statement, and which **two charges** do you mean?")
	c.hears("4417, both of 12 October", events.MessageRouted{Agent: "billing", Tier: events.TierHandoff, Rule: "h1"})
	c.step("identify", "verify", 2)
	c.answers("billing", "h1", "Found both:\n\n| date | amount | card |\n| --- | --- | --- |\n| 12 October, 09:12 | €39.00 | 4417 |\n| 12 October, 09:13 | €39.00 | 4417 |\n\nI would refund the second one. Shall I?")
	return c
}

// hears has the user say something that begins a run.
func (c *chatStory) hears(text string, routed events.MessageRouted) {
	c.t.Helper()
	c.moment = c.moment.Add(time.Minute)
	c.messages++
	routed.MessageID = events.MessageID(fmt.Sprint("m", c.messages))
	if c.runs++; c.runs > 1 {
		id, err := uuid.NewV7()
		require.NoError(c.t, err)
		c.run = events.RunID(id.String())
	}
	run := c.run
	c.run = ""
	c.add(events.UserMessage{Content: text, MessageID: routed.MessageID, Delivery: events.DeliveryStart})
	c.run = run
	c.add(supportStarted(text, routed.MessageID), routed)
}

func supportStarted(text string, id events.MessageID) events.WorkflowStarted {
	return events.WorkflowStarted{Message: text, Team: "support", MessageID: id, Simulated: true, Agents: []events.AgentCard{
		{ID: events.FacilitatorID, DisplayName: "Triage", Models: []string{"sim/sim"}},
		{ID: "billing", DisplayName: "Billing", Models: []string{"sim/sim"}},
		{ID: "technical", DisplayName: "Technical support", Models: []string{"sim/sim"}},
	}}
}

// by adds what an agent does, in a dispatch or with the conversation.
func (c *chatStory) by(agent events.AgentID, dispatch events.DispatchID, facts ...events.Event) {
	c.t.Helper()
	c.moment = c.moment.Add(2 * time.Second)
	for _, fact := range facts {
		c.seq++
		if err := c.log.Append(c.t.Context(), c.key, c.epoch, c.seq-1, []events.Envelope{{Run: c.run, Agent: agent, Dispatch: dispatch, Time: c.moment, Data: fact}}); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *chatStory) step(from, to string, step int) {
	c.by("billing", "h1", events.WorkflowStateChanged{HandoffID: "h1", From: from, To: to, Step: step, Steps: 5, Metadata: json.RawMessage(`{"card":"4417"}`)})
}

// answers ends the run with an answer.
func (c *chatStory) answers(agent events.AgentID, dispatch events.DispatchID, text string) {
	c.t.Helper()
	cost := 0.0042
	if c.calls++; dispatch != "" {
		c.by(agent, dispatch, events.ModelCalled{
			ID: events.ModelCallID(fmt.Sprintf("%s.%d", dispatch, c.calls)), Model: "sim", Reply: events.Reply{Text: text},
			Usage: events.Usage{InputTokens: 900, OutputTokens: 80}, CostUSD: &cost,
		})
	}
	c.by(agent, dispatch, events.FinalAnswer{Content: text})
	c.by("", "", events.WorkflowFinished{Status: events.StatusCompleted, CostUSD: &cost})
}
