package runner_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// betaTalks is Beta while it has the conversation.
const betaTalks = "You are Beta, a specialist in a team. The conversation"

// conversing is the pair with a conversation section.
func conversing(c team.Conversation) *team.Team {
	tm := pair()
	tm.Conversation = &c
	return tm
}

// sayTo sends a message to a team and waits for the answer.
func (k *talk) sayTo(client llm.Client, tm *team.Team, text string, message runner.Message) runner.Result {
	k.t.Helper()
	run, err := newRunner(k.t, k.log, client).Start(k.t.Context(), runner.Job{Request: text, Team: tm, Thread: k.thread, Message: &message})
	require.NoError(k.t, err)
	result, err := run.Wait()
	require.NoError(k.t, err)
	k.thread = run.Key().Thread
	return result
}

// of gives the data of the thread's events of a type, in order.
func of[E events.Event](k *talk) (found []E) {
	for _, env := range k.envs() {
		if e, ok := env.Data.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

// Proves R46: a rule gives the conversation to its specialist, which keeps it by affinity,
// and the facilitator is not asked.
func TestRuleGivesTheFloor(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	tm := conversing(team.Conversation{
		Rules:  []team.Rule{{Agent: "alpha", Intents: []string{"billing"}}},
		Phases: []team.AgentPhase{{Agent: "alpha", Phase: conversation.PhaseHandling}},
	})
	first := llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Says("Which invoice?"), llmtest.Says("Paid.")))
	result := k.sayTo(first, tm, "I paid twice", runner.Message{Metadata: json.RawMessage(`{"intent":"billing"}`)})
	require.Equal(t, []any{"Which invoice?", events.StatusCompleted}, []any{result.Answer, result.Status}, result.Reason)
	require.Equal(t, []string{"user: I paid twice"}, said(first.Requests(alphaTalks)[0].Messages))
	k.sayTo(first, tm, "Number 7", runner.Message{})
	to := of[events.MessageRouted](k)
	require.Equal(t, []string{"rule: 1: alpha", "affinity: h1"}, []string{
		string(to[0].Tier) + ": " + to[0].Rule, string(to[1].Tier) + ": " + to[1].Rule,
	})
	require.Equal(t, events.RouterID, of[events.HandoffRequested](k)[0].Source)
	progress := k.fold().Handoffs.Progress
	require.Equal(t, []any{conversation.PhaseHandling, events.AgentID("alpha"), 1}, []any{progress.Phase, progress.ActiveAgent, progress.HandoffCount})

	gone := pair()
	gone.Specialists = gone.Specialists[1:]
	gone.Conversation = &team.Conversation{DefaultAgent: "beta"}
	result = k.sayTo(llmtest.Script(t, llmtest.Agent(betaTalks, llmtest.Says("I am Beta."))), gone, "And now?", runner.Message{})
	require.Equal(t, "I am Beta.", result.Answer, result.Reason)
	to = of[events.MessageRouted](k)
	require.Equal(t, events.TierDefault, to[2].Tier, "affinity lapses with the agent")
}
