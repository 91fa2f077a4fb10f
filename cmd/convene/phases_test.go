package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/race"
)

// chain is a team whose two specialists follow each other.
const chain = `name: chain
specialists:
  - {id: qualifier, display_name: Qualifier, description: Qualifies., prompt: You qualify.}
  - {id: assessor, display_name: Assessor, description: Assesses., prompt: You assess.}
document:
  sections:
    - {id: notes, title: Notes}
conversation:
  pipeline:
    - {phase: qualification, agent_id: qualifier, next: assessment}
    - {phase: assessment, agent_id: assessor, next: qualification}
`

// Proves R38 and the edge cases of the third source at the command line: an assessor that fails
// leaves the user with the qualifier and says so; agents that pass the conversation on in a ring
// are stopped.
func TestTransitionsAtTheCommandLine(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	plays := func(down bool) string {
		return scripted(t, func(system, _ string) reply {
			if down && strings.Contains(system, "You are Assessor") {
				return reply{down: true}
			}
			return reply{calls: [][2]string{{"complete_phase", `{"result":"Forty people"}`}}}
		})
	}
	said, told := chatsUntil(t, exitDegraded, plays(true), chain, "Assess us", "/status")
	require.Contains(t, said, "Assessor could not take over just now. You are with Qualifier again and nothing is lost: send a message to try once more.")
	require.Contains(t, told, "with      Qualifier")
	said, _ = chatsUntil(t, exitDegraded, plays(false), chain, "Assess us")
	require.Contains(t, said, "I stopped here, because the conversation was passed on many times")
}

// Proves R46 and R48 at the command line with the router of the fifth source: the default agent
// hands on by an alias, and in the phase that begins then a rule decides by the channel.
func TestRouterAtTheCommandLine(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	address := scripted(t, func(system, newest string) reply {
		switch {
		case strings.Contains(system, "You are Triage"):
			return reply{calls: [][2]string{{"handoff_conversation", `{"target":"billing","reason":"It is about money","summary":"Account #12345"}`}}}
		case strings.Contains(system, "You are Billing") && newest == "Number 7":
			return reply{calls: [][2]string{{"return_control", `{"completion_status":"completed","result_summary":"Paid back"}`}}}
		case strings.Contains(system, "You are Billing"):
			return reply{text: "Which invoice?"}
		case strings.Contains(system, "You are Support"):
			return reply{text: "Support here."}
		}
		return reply{text: "It is paid back."}
	})
	said, told := chats(t, address, `name: desk
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
    - {agent_id: agent-support, priority: 10, phases: [handling], channel_types: [terminal]}
    - {agent_id: agent-billing, phases: [handling], intents: [billing]}
  phases: [{agent_id: agent-billing, phase: handling}]
`, "My invoice is wrong", "Number 7", "Help", "/status")
	require.Equal(t, "Billing › Which invoice?\n\nFacilitator › It is paid back.\n\nSupport › Support here.\n\n", said)
	require.Contains(t, told, "with      Support")
}
