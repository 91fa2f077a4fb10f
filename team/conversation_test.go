package team_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

const support = `name: desk
specialists:
  - {id: triage, description: d, prompt: p}
  - {id: handler, description: d, prompt: p}
  - {id: reviewer, description: d, prompt: p}
conversation:
  supervisor: reviewer
  memory_window: 20
  rules:
    - {agent_id: handler, intents: [billing], priority: 10}
    - {agent_id: human, name: by phone, phases: [intake], channel_types: [voice], custom: urgent}
  phases:
    - {agent_id: human, phase: escalation}
  pipeline:
    - {phase: intake, agent_id: triage, next: handling}
    - {phase: handling, agent_id: handler, next: review}
    - {phase: review, agent_id: reviewer, can_return_to: [handling]}
  messages: {connecting: "One moment, {{agent}} comes."}
`

// Proves R46, R51: a conversation section becomes a router and a flow; the pipeline installs
// itself, and Go installs the same one in one call.
func TestConversationSection(t *testing.T) {
	tm, err := team.Parse("desk.yaml", []byte(support))
	require.NoError(t, err)
	require.True(t, tm.Converses())
	require.Equal(t, []events.AgentID{"triage", "handler", "reviewer"}, tm.Talkers())
	require.Equal(t, 20, tm.Conversation.Window())
	require.Equal(t, "One moment, {{agent}} comes.", tm.Conversation.Sentences().Connecting)
	require.NotEmpty(t, tm.Conversation.Sentences().Completed)
	flow, err := tm.Flow()
	require.NoError(t, err)
	require.Equal(t, events.Phase("intake"), flow.Initial())

	_, err = tm.Router(flow, nil)
	require.EqualError(t, err, `conversation.rules[1].custom: this program has no predicate "urgent"; give it one, or run the team in the program that has it`)
	router, err := tm.Router(flow, team.Predicates{"urgent": func(m conversation.Message, _ conversation.Progress) bool { return strings.Contains(m.Text, "now") }})
	require.NoError(t, err)
	for _, c := range []struct {
		m     conversation.Message
		agent events.AgentID
		rule  string
	}{
		{conversation.Message{Intent: "billing"}, "handler", "1: handler"},
		{conversation.Message{ChannelType: "voice", Text: "now"}, "human", "by phone"},
		{conversation.Message{ChannelType: "voice"}, "triage", "pipeline: intake"},
	} {
		routed, ok := router.Route(&conversation.State{}, c.m)
		require.True(t, ok)
		require.Equal(t, []any{c.agent, c.rule}, []any{routed.Agent, routed.Rule})
	}

	pipeline, err := conversation.NewPipeline(tm.Conversation.Pipeline...)
	require.NoError(t, err)
	other := team.Team{Name: "desk", Specialists: tm.Specialists}
	other.Install(pipeline)
	other = other.WithDefaults()
	require.NoError(t, other.Validate())
	require.Equal(t, tm.Conversation.Pipeline, other.Conversation.Pipeline)
}

// What is wrong with a conversation section is said with its place and what to write.
func TestProblemsOfAConversation(t *testing.T) {
	for section, says := range map[string]string{
		"  default_agent: triag\n":                                                    `f.yaml:4:18: there is no specialist "triag"; did you mean "triage"?`,
		"  supervisor: human\n":                                                       `f.yaml:4:15: there is no specialist "human"`,
		"  memory_window: 1\n":                                                        `f.yaml:4:18: 1 is out of range; write 2 to 1000`,
		"  rules: [{agent_id: nobody}]\n":                                             `f.yaml:4:22: there is no specialist "nobody"; the specialists are triage, handler`,
		"  rules: [{agent_id: triage, when: x}]\n":                                    `f.yaml:4:30: unknown key "when" in conversation.rules[0]`,
		"  phases: [{agent_id: triage, phase: ''}]\n":                                 `f.yaml:4:38: "" is no phase; write 1 to 60 characters`,
		"  phases: [{agent_id: triage, phase: a}, {agent_id: triage, phase: b}]\n":    `"triage" is there twice; remove one`,
		"  pipeline: []\n":                                                            `f.yaml:4:3: the pipeline has no stages`,
		"  pipeline: [{phase: a, agent_id: triage, next: b}]\n":                       `f.yaml:4:49: there is no phase "b"; the phases are "a"`,
		"  pipeline: [{phase: a, agent_id: x}]\n":                                     `f.yaml:4:35: there is no specialist "x"`,
		"  pipeline: [{phase: a, agent_id: triage}, {phase: b, agent_id: handler}]\n": `f.yaml:4:52: phase "b" cannot be reached from the first, "a"; name it as the next of a stage`,
		"  pipeline:\n    - {phase: a, agent_id: triage, next: a}\n    - {phase: a, agent_id: handler}\n": `f.yaml:6:15: phase "a" is there twice, first as stage 1`,
		"  pipeline: [{phase: a, agent_id: triage, can_return_to: [c]}]\n":                                `there is no phase "c"`,
	} {
		_, err := team.Parse("f.yaml", []byte("name: n\nspecialists: [{id: triage, description: d, prompt: p}, {id: handler, description: d, prompt: p}]\nconversation:\n"+section))
		require.ErrorContains(t, err, says, section)
	}
	_, err := team.Parse("f.yaml", []byte(support+"answer_schema: {type: object}\n"))
	require.ErrorContains(t, err, "f.yaml:6:1: the answer of this team is JSON")
}
