package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// routed is the router of the fifth source as a team file.
const routed = `name: desk
specialists:
  - {id: agent-triage, display_name: Triage, description: Triages., prompt: You triage.}
  - {id: agent-billing, display_name: Billing, description: Handles invoices., prompt: You bill.}
  - {id: agent-support, display_name: Support, description: Supports., prompt: You support.}
document:
  sections:
    - {id: notes, title: Notes}
handoff:
  targets: [{agent: agent-billing}]
  aliases: {billing: agent-billing}
  sources: [agent-triage]
conversation:
  default_agent: agent-triage
  rules:
    - {agent_id: agent-support, priority: 10, phases: [handling], channel_types: [sms]}
    - {agent_id: agent-billing, phases: [handling], intents: [billing]}
  phases: [{agent_id: agent-billing, phase: handling}]
`

// Proves R46, R48 and R50 over HTTP with the router of the fifth source: the default agent hands
// on by an alias, which begins a phase with its context; in that phase the rules decide by the
// message's intent and channel, the lower priority first.
func TestRouterOfTheFifthSourceOverHTTP(t *testing.T) {
	file, err := team.Parse("desk.yaml", []byte(routed))
	require.NoError(t, err)
	const triage, billing, support = "You are Triage, a specialist", "You are Billing, a specialist", "You are Support, a specialist"
	script := llmtest.Script(t,
		llmtest.Agent(triage, llmtest.Calls("", llmtest.Call("handoff_conversation", map[string]any{
			"target": "billing", "reason": "It is about money", "summary": "Account #12345, premium plan",
		}))),
		llmtest.Agent(billing, llmtest.Says("Which invoice?"), llmtest.Calls("", llmtest.Call("return_control", map[string]any{
			"completion_status": "completed", "result_summary": "Paid back",
		})), llmtest.Says("What else?")),
		llmtest.Agent("the facilitator of a team", llmtest.Says("It is paid back."), llmtest.Says("I am back.")),
		llmtest.Agent(support, llmtest.Says("Support here.")))
	log := events.NewMemory()
	c := newChat(t, servesTeam(t, script, file, func(c *runner.Config) { c.Log = log }))
	require.Equal(t, "Billing: Which invoice?", last(c.answers("My invoice is wrong", `"metadata":{"intent":"billing"}`)))
	require.Equal(t, events.Phase("handling"), c.context().Phase)
	require.Equal(t, "[Context from previous agent (Triage)]: Account #12345, premium plan", script.Requests(billing)[0].Messages[1].Content)
	require.Equal(t, "Facilitator: It is paid back.", last(c.answers("Number 7")))
	require.Equal(t, "Billing: What else?", last(c.answers("Another", `"metadata":{"intent":"billing"}`, `"channel_type":"sms"`)))
	require.Equal(t, "Facilitator: I am back.", last(c.answers("cancel")))
	require.Equal(t, "Support: Support here.", last(c.answers("Help", `"channel_type":"sms"`)))

	envs, err := log.Read(t.Context(), events.ThreadKey{Tenant: events.LocalTenant, Thread: c.thread}, 0, 0, events.KindMessageRouted)
	require.NoError(t, err)
	var tiers []string
	for _, env := range envs {
		to := env.Data.(events.MessageRouted)
		tiers = append(tiers, string(to.Tier)+" "+to.Rule+" "+string(to.Agent))
	}
	require.Equal(t, []string{
		"default  agent-triage", "handoff h2 agent-billing", "rule 2: agent-billing agent-billing", "exit h3 facilitator", "rule 1: agent-support agent-support",
	}, tiers)
}
