package runner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// gammaWatches is Gamma as the supervisor.
const gammaWatches = "You are Gamma, the supervisor"

// watched is a team that Gamma supervises, in which Alpha may take over.
func watched() *team.Team {
	tm := talkers()
	tm.Specialists = append(tm.Specialists, team.Specialist{ID: "gamma", Description: "Supervises.", Prompt: "Promise no refunds."})
	tm.Conversation = &team.Conversation{Supervisor: "gamma"}
	return tm
}

// Proves R47: the supervisor reads every exchange, whoever answered, and intervenes with three
// tools; where it has nothing to say, or fails, the answer stands alone.
func TestSupervisor(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	script := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Says("You get a refund."), llmtest.Says("Fine.")),
		llmtest.Agent(gammaWatches,
			llmtest.Calls("", llmtest.Call("note_to_user", args{"text": "Refunds are decided by a person."})), llmtest.Says("Corrected."),
			llmtest.Fails(&llm.Error{Kind: llm.ErrBadRequest, Status: 400, Message: "no such thing"})))
	result := k.sayTo(script, watched(), "I want my money", runner.Message{})
	require.Equal(t, []any{"You get a refund.", events.StatusCompleted}, []any{result.Answer, result.Status}, result.Reason)
	read := said(script.Requests(gammaWatches)[0].Messages)
	require.Equal(t, []string{"user: The user writes: I want my money\n\nFacilitator answers: You get a refund."}, read)
	messages := k.fold().Messages(0, 0)
	require.Equal(t, "Refunds are decided by a person.", messages[len(messages)-1].Content)
	require.Equal(t, []any{events.AgentID("gamma"), false}, []any{messages[len(messages)-1].Agent, messages[len(messages)-1].Interim})

	result = k.sayTo(script, watched(), "Thanks", runner.Message{})
	require.Equal(t, []any{"Fine.", events.StatusCompleted}, []any{result.Answer, result.Status}, result.Reason)

	require.Equal(t, []string{
		"user: I want my money", "assistant: You get a refund.\n\n[Note to the user from Gamma]: Refunds are decided by a person.", "user: Thanks",
	}, said(script.Requests(boss)[1].Messages), "whoever answers next has read the note")

	third := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Sure.")), llmtest.Agent(gammaWatches,
		llmtest.Calls("", llmtest.Call("hand_over", args{"target": "nobody", "reason": "r", "summary": "s"})),
		llmtest.Calls("", llmtest.Call("hand_over", args{"target": "alpha", "reason": "It wants a skill", "summary": "A skill"})), llmtest.Says("Handed over.")))
	k.sayTo(third, watched(), "I need something", runner.Message{})
	require.Equal(t, events.AgentID("alpha"), k.fold().Handoffs.Active().Request.Target)

	noted := llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Says("For whom?"), llmtest.Says("Sure.")), llmtest.Agent(gammaWatches,
		llmtest.Calls("", llmtest.Call("note_to_user", args{"text": "Not for refunds."})), llmtest.Says("Noted."), llmtest.Says("Fine.")))
	k.sayTo(noted, watched(), "For payments", runner.Message{})
	k.sayTo(noted, watched(), "For Bob", runner.Message{})
	read = said(noted.Requests(alphaTalks)[1].Messages)
	require.Equal(t, []string{"assistant: For whom?", "user: [Note to the user from Gamma]: Not for refunds.", "user: For Bob"}, read[len(read)-3:])

	fourth := llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Says("Which skill?")), llmtest.Agent(gammaWatches,
		llmtest.Calls("", llmtest.Call("pause_conversation", args{"reason": "It is about a refund"})), llmtest.Says("Paused.")))
	result = k.sayTo(fourth, watched(), "One for refunds", runner.Message{})
	require.Equal(t, []any{"Which skill?", events.StatusCompleted}, []any{result.Answer, result.Status}, result.Reason)
	require.Equal(t, events.HumanID, k.fold().Handoffs.Active().Request.Target)
	result = k.sayTo(llmtest.Script(t), watched(), "Hello?", runner.Message{})
	require.Equal(t, events.StatusAwaitingInput, result.Status, "the conversation is paused")
}

// Proves R47 and R62: each tool of the supervisor needs a permission of its own.
func TestSupervisorNeedsPermission(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Hello.")), llmtest.Agent(gammaWatches,
		llmtest.Calls("", llmtest.Call("note_to_user", args{"text": "Hi"}), llmtest.Call("hand_over", args{"target": "alpha", "reason": "r", "summary": "s"}),
			llmtest.Call("pause_conversation", args{"reason": "r"})), llmtest.Says("So be it.")))
	result := k.sayTo(script, watched(), "Hi", runner.Message{UserID: "ann", Grants: access.Grants{access.SupervisorNote}})
	require.Equal(t, []any{"Hello.", events.StatusCompleted}, []any{result.Answer, result.Status}, result.Reason)
	var denied []string
	for _, d := range of[events.PermissionDenied](k) {
		denied = append(denied, d.UserID+" "+d.Permission)
	}
	require.Equal(t, []string{"ann supervisor:handoff", "ann supervisor:pause"}, denied)
	require.Len(t, of[events.FacilitatorMessage](k), 1)
	require.Nil(t, k.fold().Handoffs.Active())
}
