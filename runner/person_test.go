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
		return r.Leave(context.Background(), "", k.thread, "", conversation.Caller{UserID: "joe"}) == nil
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

// besides is the pair, whose agents go on answering while a person is asked.
func besides() *team.Team {
	tm := talkers()
	tm.Handoff.Targets = append(tm.Handoff.Targets, team.HandoffTarget{Agent: events.HumanID, AllMayAnswer: true})
	return tm
}

// Proves R49, "all may answer": a person is asked and the agents of the router go on
// answering, the facilitator and a specialist that takes over; the request stays open from run
// to run until the person answers or leaves, and whoever answers next knows what the person
// said.
func TestAllMayAnswerBesideAPerson(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	client := llmtest.Script(t,
		llmtest.Agent(boss,
			llmtest.Calls("", handoff("human")), llmtest.Says("Somebody looks into it."),
			llmtest.Calls("", handoff("human")), llmtest.Says("Still open."),
			llmtest.Says("As Joe said.")),
		llmtest.Agent(alphaTalks, llmtest.Says("Which skill?"), llmtest.Says("Alerts it is.")))
	say := func(text, answer string) { // each in a process of its own
		result := k.sayTo(client, besides(), text, runner.Message{})
		require.Equal(t, answer, result.Answer, result.Reason)
	}
	open := func() (texts []string) {
		for _, input := range k.fold().Inputs() {
			texts = append(texts, string(input.InputID)+" "+input.Question)
		}
		runs, err := k.log.Runs(t.Context(), events.RunQuery{Tenant: events.LocalTenant, Threads: true})
		require.NoError(t, err)
		var listed []string
		for _, ask := range runs[0].Asks {
			listed = append(listed, string(ask.InputID)+" "+ask.Question)
		}
		require.Equal(t, texts, listed, "the listing has what the thread asks")
		return texts
	}

	say("I am angry", "Somebody looks into it.")
	require.Equal(t, "A person has been asked, and will answer you here.", of[events.HandoffAccepted](k)[0].Notice)
	require.Equal(t, []string{"i1 I am angry"}, open())
	require.Nil(t, k.fold().Handoffs.Active())
	say("Is it done?", "Still open.")
	require.Equal(t, conversation.CodeActiveSession, of[events.HandoffRejected](k)[0].Code, "the person is asked once")
	require.Equal(t, []string{"i2 Is it done?"}, open(), "the newest message takes the place of the one before")
	say("create skill", "Which skill?")
	require.Equal(t, events.AgentID("alpha"), k.fold().Handoffs.Active().Request.Target)
	require.Equal(t, []string{"i3 create skill"}, open())

	r := newRunner(t, k.log, client)
	answer := func(m runner.Message) (runner.Receipt, error) {
		m.Delivery = events.DeliveryAnswer
		receipt, err := r.Send(t.Context(), runner.Job{Request: "I am Joe. It is paid.", Thread: k.thread, Message: &m})
		if err == nil && receipt.Run != nil {
			_, err = receipt.Run.Wait()
		}
		return receipt, err
	}
	_, err := answer(runner.Message{InputID: "i1"})
	require.ErrorIs(t, err, runner.ErrNothingAsked)
	require.ErrorContains(t, err, "i3 (create skill)")
	receipt, err := answer(runner.Message{ID: "joe-1", InputID: "i3", UserID: "joe"})
	require.NoError(t, err)
	require.Equal(t, events.DeliveryStart, receipt.Delivery)
	again, err := answer(runner.Message{ID: "joe-1", InputID: "i3", UserID: "joe"})
	require.NoError(t, err)
	require.True(t, again.Duplicate)
	require.Empty(t, open())
	newest := k.fold().Messages(0, 0)
	last := newest[len(newest)-1]
	require.Equal(t, []any{events.RoleAssistant, events.HumanID, "joe", "I am Joe. It is paid."}, []any{last.Role, last.Agent, last.UserID, last.Content}, "once")
	require.Equal(t, events.AgentID("alpha"), k.fold().Handoffs.Active().Request.Target, "nobody lost the conversation to the person")

	say("Alerts", "Alerts it is.")
	require.Contains(t, said(client.Requests(alphaTalks)[1].Messages), "user: [A person answered the user:] I am Joe. It is paid.")
	require.Equal(t, []string{"i4 Alerts"}, open(), "the person is asked until they leave")
	require.NoError(t, r.Leave(t.Context(), "", k.thread, "h1", conversation.Caller{UserID: "joe"}))
	require.Empty(t, open())
	require.Nil(t, k.fold().Handoffs.Person())
	require.NotNil(t, k.fold().Handoffs.Active(), "Alpha was not left")
	require.NoError(t, r.Leave(t.Context(), "", k.thread, "", conversation.Caller{}))
	require.Eventually(t, func() bool { return k.fold().Current().Status.Over() }, time.Minute, 5*time.Millisecond)
	require.Equal(t, "As Joe said.", k.fold().Current().FinalAnswer.Content)
	requests := client.Requests(boss)
	require.Contains(t, said(requests[len(requests)-1].Messages), "assistant: [human]: I am Joe. It is paid.")
	require.NoError(t, r.Shutdown(t.Context()))
}

// A person answers beside the agents while one of them does: the answer is shown at once, and
// is recorded once the agent's run has ended, also by another process than the one that took it.
func TestPersonAnswersWhileAnAgentDoes(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	k.sayTo(llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", handoff("human")), llmtest.Says("Wait."))), besides(), "Help", runner.Message{})
	k.sayTo(llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", llmtest.Call("ask_user", args{"question": "With what?"})))), besides(), "Well?", runner.Message{})
	require.Equal(t, events.StatusAwaitingInput, k.fold().Current().Status)

	r := newRunner(t, k.log, llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Then so."))))
	send := func(text string, m runner.Message) runner.Receipt {
		receipt, err := r.Send(t.Context(), runner.Job{Request: text, Thread: k.thread, Message: &m})
		require.NoError(t, err)
		if receipt.Run != nil {
			_, err = receipt.Run.Wait()
			require.NoError(t, err)
		}
		return receipt
	}
	taken := send("With this.", runner.Message{InputID: "i2", UserID: "joe"})
	require.Equal(t, []any{events.DeliveryQueue, 1}, []any{taken.Delivery, taken.Place})
	require.Equal(t, events.StatusAwaitingInput, k.fold().Current().Status, "the agent's question is the user's to answer")
	require.Len(t, k.fold().Inputs(), 1)
	send("My bill", runner.Message{})
	require.Eventually(t, func() bool { return k.fold().Quiet() && len(k.fold().Runs) == 3 }, time.Minute, 5*time.Millisecond)
	runs := k.fold().Runs
	require.Equal(t, "Then so.", runs[1].FinalAnswer.Content)
	require.Equal(t, "With this.", runs[2].FinalAnswer.Content)
	require.NoError(t, r.Shutdown(t.Context()))
}
