package web_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/web"
)

// The agents of the stages while they have the conversation, by stretches of their prompts.
const (
	firstTalks  = "You are First, a specialist in a team. The conversation"
	secondTalks = "You are Second, a specialist in a team. The conversation"
)

// staged is a team whose conversations go through the stages of two specialists.
func staged(t *testing.T, stages ...conversation.Stage) *team.Team {
	t.Helper()
	pipeline, err := conversation.NewPipeline(stages...)
	require.NoError(t, err)
	tm := &team.Team{Name: "staged", Document: document.Free(), Specialists: []team.Specialist{
		{ID: "first", DisplayName: "First", Description: "Begins.", Prompt: "Ask."}, {ID: "second", DisplayName: "Second", Description: "Goes on.", Prompt: "Ask more."},
	}}
	tm.Install(pipeline)
	return tm
}

// servesTeam serves a team that the client answers for.
func servesTeam(t *testing.T, client llm.Client, tm *team.Team, change ...func(*runner.Config)) *served {
	t.Helper()
	config := runner.Config{Log: events.NewMemory(), Models: oneClient{client}}
	for _, c := range change {
		c(&config)
	}
	r, err := runner.New(config)
	require.NoError(t, err)
	runs := &simRuns{steer.New(steer.Config{Runner: r, DefaultTeam: tm.Name, Teams: map[string]*team.Team{tm.Name: tm}}), r}
	t.Cleanup(runs.stop)
	return serve(t, web.Config{Log: config.Log, Runs: runs, Transitions: r.Transitions})
}

func completes(result string) events.ToolCall {
	return llmtest.Call("complete_phase", map[string]any{"result": result})
}

// Proves R38 over HTTP: a transition whose agent fails is taken back, the user is told, and the
// next message tries once more; both are counted.
func TestTransitionThatFailsOverHTTP(t *testing.T) {
	script := llmtest.Script(t,
		llmtest.Agent(firstTalks, llmtest.Calls("That is all I need.", completes("Forty people")), llmtest.Calls("Once more.", completes("Forty people"))),
		llmtest.Agent(secondTalks, llmtest.Fails(&llm.Error{Kind: llm.ErrBadRequest, Status: 400, Message: "no such thing"}), llmtest.Says("Question 1?")))
	server := servesTeam(t, script, staged(t,
		conversation.Stage{Phase: "intake", Agent: "first", Next: "assessment"}, conversation.Stage{Phase: "assessment", Agent: "second"}))
	c := newChat(t, server)
	require.Equal(t, "First: Second could not take over just now. You are with First again and nothing is lost: send a message to try once more.",
		last(c.answers("Assess my company of forty")))
	view := c.context()
	require.Equal(t, []any{events.StatusDegraded, events.AgentID("first"), conversation.Transitions{RolledBack: 1}}, []any{view.Status, view.Agent, view.Transitions})
	require.Equal(t, []string{"First: Once more.", "notice: ✓ Intake complete - Starting assessment...", "Second: Question 1?"}, c.answers("ok"))
	view = c.context()
	require.Equal(t, []any{events.AgentID("second"), events.Phase("assessment"), conversation.Transitions{Succeeded: 1, RolledBack: 1}},
		[]any{view.Agent, view.Phase, view.Transitions})
	_, _, metrics := server.get(t, "/metrics")
	require.Contains(t, metrics, "\nconvene_phase_transitions_total 2\n")
	require.Contains(t, metrics, "\nconvene_phase_transitions_rolled_back_total 1\n")
}

// Proves R38 over HTTP: agents that pass the conversation on in a ring are stopped, the user is
// told, and is heard again.
func TestRingOfAgentsOverHTTP(t *testing.T) {
	var on, back []llmtest.Step
	for range conversation.MaxTransitions/2 + 1 {
		on, back = append(on, llmtest.Calls("", completes("on"))), append(back, llmtest.Calls("", completes("back")))
	}
	script := llmtest.Script(t, llmtest.Agent(firstTalks, append(on, llmtest.Says("What do you need?"))...), llmtest.Agent(secondTalks, back[1:]...))
	server := servesTeam(t, script, staged(t,
		conversation.Stage{Phase: "here", Agent: "first", Next: "there"}, conversation.Stage{Phase: "there", Agent: "second", Next: "here"}))
	c := newChat(t, server)
	require.Contains(t, last(c.answers("Go")), "I stopped here, because the conversation was passed on many times")
	view := c.context()
	require.Equal(t, []any{events.StatusDegraded, events.AgentID("first"), conversation.MaxTransitions}, []any{view.Status, view.Agent, view.Transitions.Succeeded})
	require.Equal(t, "First: What do you need?", last(c.answers("Stop that")))
}

// Proves R49: how a person is to be reached is in the log, and the program is told.
func TestChannelEscalationOverHTTP(t *testing.T) {
	told := make(chan events.HandoffRequested, 1)
	tm := staged(t, conversation.Stage{Phase: "intake", Agent: "first"})
	tm.Handoff = &team.Handoff{Targets: []team.HandoffTarget{{Agent: events.HumanID}}}
	server := servesTeam(t, llmtest.Script(t,
		llmtest.Agent(firstTalks, llmtest.Says("Hello.")), llmtest.Agent("the facilitator of a team", llmtest.Says("I am back."))), tm, func(c *runner.Config) {
		c.Hooks.OnHandoff = func(_ events.Envelope, request events.HandoffRequested) {
			if request.Target == events.HumanID {
				told <- request
			}
		}
	})
	c := newChat(t, server)
	c.answers("Hi")
	order := `{"target":"human","reason":"It is urgent","summary":"Wants to be called","channel_escalation":`
	c.call(http.MethodPost, "/handoff", order+`"pigeon"}`, http.StatusUnprocessableEntity, nil)
	c.call(http.MethodDelete, "/handoff", "", http.StatusAccepted, nil)
	c.rests()
	c.call(http.MethodPost, "/handoff", order+`"voice"}`, http.StatusAccepted, nil)
	request := <-told
	require.Equal(t, []any{events.ChannelVoice, "Wants to be called"}, []any{request.ChannelEscalation, request.ContextSummary})
	require.Equal(t, events.HumanID, c.rests().Agent)
}
