package team_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

const declaring = `
name: support
facilitator: {can_orchestrate: false}
specialists:
  - {id: agent-skills, description: d, prompt: p, supports_handoff: true, handoff_triggers: [new skill], max_session_duration_seconds: 60, requires_exclusive_control: false}
  - {id: agent-billing, description: d, prompt: p, can_be_orchestrated: false, can_orchestrate: true, supported_delegation_strategies: [sequential], max_concurrent_delegations: 2}
handoff:
  targets:
    - {agent: agent-billing, triggers: [pay], requires: "billing:pay", unavailable: "closed", estimated_duration_seconds: 300}
    - agent: human
  aliases: {billing: agent-billing, person: human}
  sources: [agent-billing]
  second: queue
  share_messages: true
  keep_state_days: 7
conversation:
  messages: {connecting: "One moment, {{agent}} is coming"}
`

// Proves R31, R41, R48: what a team file declares about handoffs is what decisions go by; one
// that supports handoff is a target without being listed.
func TestDeclarations(t *testing.T) {
	tm, err := team.Parse("t.yaml", []byte(declaring))
	require.NoError(t, err)
	require.Equal(t, []events.AgentID{"agent-billing", "human", "agent-skills"}, tm.Handoff.Agents())
	require.Equal(t, 5, tm.Handoff.Shared())
	require.False(t, tm.Plans(), "the facilitator only talks")
	require.Equal(t, []conversation.Trigger{{Phrase: "pay", Target: "agent-billing"}, {Phrase: "new skill", Target: "agent-skills"}}, tm.Triggers())
	p := tm.Policy()
	require.True(t, p.Queue)
	require.Equal(t, events.AgentID("agent-billing"), p.Resolve("billing"))
	require.Equal(t, "One moment, {{agent}} is coming", p.Messages.Connecting)
	require.Equal(t, "7d", strings.ReplaceAll(p.KeepState.String(), "168h0m0s", "7d"))
	require.Equal(t, "billing:pay", p.Targets[0].Requires)
	require.Equal(t, 300, p.Targets[0].EstimatedSeconds)
	require.Equal(t, []bool{false, true}, []bool{p.Targets[0].Yields, p.Targets[2].Yields})
	require.Equal(t, "1m0s", p.Targets[2].MaxIdle.String())
	require.Equal(t, "closed", tm.Handoff.Unavailable("agent-billing"))
	require.Equal(t, []events.AgentID{"agent-skills"}, []events.AgentID{tm.Workers()[0].ID})
}

// What is wrong with a declaration is said where it stands, with what would be right.
func TestWrongDeclarations(t *testing.T) {
	for wrong, says := range map[string][2]string{
		"second: queue":                    {"second: wait", `"wait" is no policy; write reject or queue`},
		"billing: agent-billing":           {"agent-skills: agent-billing", `"agent-skills" names an agent already; choose another alias`},
		"person: human":                    {"person: nobody", `"nobody" is no target; the targets are agent-billing, human, agent-skills`},
		"sources: [agent-billing]":         {"sources: [nobody]", `"nobody" never has the conversation, since it is no target`},
		"keep_state_days: 7":               {"keep_state_days: 4000", "4000 is out of range; write 1 to 3650 days"},
		"share_messages: true":             {"share_messages: yes please", "share_messages must be true or false"},
		"[sequential]":                     {"[sequentially]", `there is no strategy "sequentially"; did you mean "sequential"`},
		"max_concurrent_delegations: 2":    {"max_concurrent_delegations: 21", "21 is out of range; write 1 to 20"},
		"max_session_duration_seconds: 60": {"max_session_duration_seconds: -1", "-1 is out of range; write 1 to 2592000 seconds"},
		"estimated_duration_seconds: 300":  {"estimated_duration_seconds: 90000", "90000 is out of range; write 1 to 86400 seconds"},
		"can_be_orchestrated: false":       {"can_be_orchestrated: false, supports_handoff: false", `"agent-billing" has supports_handoff: false`},
		"{{agent}} is coming":              {"{{name}} is coming", `"{{name}}" stands for nothing here; write {{agent}}`},
		"id: agent-skills":                 {"id: " + strings.Repeat("a", 256), "is no id; write a lower-case letter, then up to 254"},
	} {
		src := strings.Replace(declaring, wrong, says[0], 1)
		require.NotEqual(t, declaring, src, wrong)
		_, err := team.Parse("t.yaml", []byte(src))
		require.ErrorContains(t, err, says[1], wrong)
		require.ErrorContains(t, err, "t.yaml:", "with its line")
	}
	_, err := team.Parse("t.yaml", []byte("name: x\nfacilitator: {can_orchestrate: false}\nspecialists: [{id: a, description: d, prompt: p}]\n"))
	require.ErrorContains(t, err, "nobody here can be given tasks")
}
