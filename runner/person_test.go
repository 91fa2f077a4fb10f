package runner_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// Proves R49: a conversation that is escalated waits for a person while no process lives, the
// person answers, the user's messages wait for the person in order, and once the
// conversation is released the facilitator has it again.
func TestPersonAnswers(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	tm := conversing(team.Conversation{
		Rules:  []team.Rule{{Agent: events.HumanID, Intents: []string{"complaint"}}},
		Phases: []team.AgentPhase{{Agent: events.HumanID, Phase: conversation.PhaseEscalation}},
	})
	result := k.sayTo(llmtest.Script(t), tm, "I am angry", runner.Message{Metadata: []byte(`{"intent":"complaint"}`)})
	require.Equal(t, events.StatusAwaitingInput, result.Status)
	asked := of[events.InputRequested](k)
	require.Equal(t, []events.InputRequested{{InputID: "i1", For: events.InputHuman, Question: "I am angry"}}, asked)
	require.Equal(t, conversation.PhaseEscalation, k.fold().Handoffs.Progress.Phase)

	// One program: whichever of its runs hears that the person leaves, the same model answers.
	r := newRunner(t, k.log, llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("I am back."))))
	send := func(text string, m runner.Message) runner.Receipt {
		receipt, err := r.Send(t.Context(), runner.Job{Request: text, Thread: k.thread, Message: &m})
		require.NoError(t, err)
		if receipt.Run != nil {
			_, err = receipt.Run.Wait()
			require.NoError(t, err)
		}
		return receipt
	}
	waits := send("Is anybody there?", runner.Message{ID: "m2"})
	require.Equal(t, []any{events.DeliveryQueue, 1}, []any{waits.Delivery, waits.Place}, "a user's message is no answer of the person's")

	send("I am Joe, and I am sorry.", runner.Message{Delivery: events.DeliveryAnswer, InputID: "i1", UserID: "joe"})
	require.Eventually(t, func() bool { return len(of[events.InputRequested](k)) == 2 }, time.Minute, 5*time.Millisecond, "the next message is asked of the person")
	require.Equal(t, "Is anybody there?", of[events.InputRequested](k)[1].Question)
	run := k.fold().Runs[0]
	require.Equal(t, []any{events.StatusCompleted, "I am Joe, and I am sorry."}, []any{run.Status, run.FinalAnswer.Content}, run.Reason)
	for _, env := range k.envs() {
		if env.Data.Kind() == events.KindFinalAnswer {
			require.Equal(t, events.HumanID, env.Agent)
		}
	}

	require.Eventually(t, func() bool {
		return r.Leave(context.Background(), "", k.thread, conversation.Caller{UserID: "joe"}) == nil
	}, time.Minute, 5*time.Millisecond)
	require.Eventually(t, func() bool { return k.fold().Current().Status.Over() }, time.Minute, 5*time.Millisecond)
	require.Equal(t, "I am back.", k.fold().Current().FinalAnswer.Content)
	require.Nil(t, k.fold().Handoffs.Active())
	require.NoError(t, r.Shutdown(t.Context()))
}

// A run that waits for a person can be cancelled.
func TestCancelWhileAPersonIsAwaited(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	tm := conversing(team.Conversation{Rules: []team.Rule{{Agent: events.HumanID}}})
	result := k.sayTo(llmtest.Script(t), tm, "Help", runner.Message{})
	require.Equal(t, events.StatusAwaitingInput, result.Status)
	r := newRunner(t, k.log, llmtest.Script(t))
	require.NoError(t, r.Cancel(t.Context(), "", result.Run, "enough"))
	require.Equal(t, events.StatusCancelled, k.fold().Current().Status)
}
