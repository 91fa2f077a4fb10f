package runner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
)

func askUser(question string, choices ...string) events.ToolCall {
	if choices == nil {
		return llmtest.Call("ask_user", args{"question": question})
	}
	return llmtest.Call("ask_user", args{"question": question, "choices": choices})
}

// waits sends a message whose run comes to wait for input.
func waits(t testing.TB, r *runner.Runner, job runner.Job) runner.Receipt {
	t.Helper()
	receipt := send(t, r, job)
	result, err := receipt.Run.Wait()
	require.NoError(t, err)
	require.Equal(t, events.StatusAwaitingInput, result.Status, result.Reason)
	return receipt
}

// A facilitator that cannot go on asks the user; the run is parked, no process needs to live,
// and the answer, sent to another one, is the result of the call.
func TestAskUser(t *testing.T) {
	log := events.NewMemory()
	first := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("One moment.", askUser("Which city?", "Kyoto", "Nara"), create("alpha"))))
	r := newRunner(t, log, first)
	asked := waits(t, r, post(chat, "m1", "Plan my trip"))
	require.NoError(t, r.Shutdown(t.Context()))

	second := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Off to Nara."), llmtest.Says("Off to Nara, nobody wrote.")))
	r = newRunner(t, log, second)
	th := load(t, log)
	require.Len(t, th.Inputs(), 1)
	require.Equal(t, []any{events.InputQuestion, "Which city?", []string{"Kyoto", "Nara"}, asked.RunID},
		[]any{th.Inputs()[0].For, th.Inputs()[0].Question, th.Inputs()[0].Choices, th.Current().ID})
	require.Equal(t, "Which city?", th.Current().Reason, "a listing shows what is waited for")

	answer := send(t, r, runner.Job{Thread: chat, Request: "Nara", Message: &runner.Message{ID: "m2", UserID: "ann"}})
	require.Equal(t, runner.Receipt{Message: "m2", Delivery: events.DeliveryAnswer, RunID: asked.RunID, Run: answer.Run}, answer)
	result, err := answer.Run.Wait()
	require.NoError(t, err)
	require.Equal(t, asked.RunID, result.Run)
	messages := second.Requests(boss)[0].Messages
	requireValid(t, messages)
	require.Contains(t, said(messages), "tool: The user answers: Nara")
	require.True(t, send(t, r, runner.Job{Thread: chat, Request: "Nara", Message: &runner.Message{ID: "m2"}}).Duplicate)
	_, err = r.Send(t.Context(), runner.Job{Thread: chat, Request: "Kyoto", Message: &runner.Message{InputID: "i1"}})
	require.ErrorIs(t, err, runner.ErrNothingAsked)
	for _, env := range envsOf(t, log) {
		if warning, ok := env.Data.(events.Warning); ok {
			require.NotEqual(t, events.WarnOutcomeUnknown, warning.Code)
		}
	}
}

// Several questions are answered one by one, each by its id; a message that names none is
// queued, and answered once the run is over.
func TestSeveralQuestions(t *testing.T) {
	script := llmtest.Script(t, llmtest.Agent(boss,
		llmtest.Calls("", askUser("When?"), askUser("Where?")), llmtest.Says("Booked."), llmtest.Says("You are welcome.")))
	r := newRunner(t, events.NewMemory(), script)
	waits(t, r, post(chat, "m1", "Book a table"))
	unnamed := send(t, r, post(chat, "m2", "Thank you"))
	require.Equal(t, []any{events.DeliveryQueue, 1}, []any{unnamed.Delivery, unnamed.Place})
	require.Nil(t, unnamed.Run)

	job := post(chat, "m3", "At eight")
	job.Message.Delivery = events.DeliveryAnswer
	_, err := r.Send(t.Context(), job)
	require.ErrorIs(t, err, runner.ErrNothingAsked)
	require.ErrorContains(t, err, "name the input that it answers: i1 (When?), i2 (Where?)")
	job.Message.InputID = "i2"
	second := waits(t, r, job)
	require.Equal(t, second.RunID, load(t, r.Log()).Current().ID)
	send(t, r, post(chat, "m4", "At home")) // one is left: this answers it
	th := idle(t, r, 2)
	require.Equal(t, []string{"Book a table → Booked.", "Thank you → You are welcome."}, exchanges(th))
	messages := script.Requests(boss)[1].Messages
	requireValid(t, messages)
	require.Equal(t, []string{"tool: The user answers: At home", "tool: The user answers: At eight"}, said(messages)[2:])
	require.NoError(t, r.Shutdown(t.Context()))
}

// Where nobody is there to answer the driver's terms say what becomes of the run.
func TestOnInput(t *testing.T) {
	for _, c := range []struct {
		policy runner.OnInput
		status events.Status
		answer string
	}{
		{"", events.StatusAwaitingInput, ""},
		{runner.ParkOnInput, events.StatusAwaitingInput, ""},
		{runner.FailOnInput, events.StatusFailed, ""},
		{runner.AnswerOnInput("Nara"), events.StatusCompleted, "Off to Nara."},
	} {
		steps := []llmtest.Step{llmtest.Calls("", askUser("Which city?"))}
		if c.answer != "" {
			steps = append(steps, llmtest.Says(c.answer))
		}
		script := llmtest.Script(t, llmtest.Agent(boss, steps...))
		run, err := newRunner(t, events.NewMemory(), script).Start(t.Context(), runner.Job{Request: "Plan", Team: thePair, OnInput: c.policy})
		require.NoError(t, err)
		result, err := run.Wait()
		require.NoError(t, err)
		require.Equal(t, c.status, result.Status, "%s: %s", c.policy, result.Reason)
		require.Equal(t, c.answer, result.Answer)
		if c.policy == runner.FailOnInput {
			require.Contains(t, result.Reason, `nobody is there to answer: "Which city?"`)
		}
	}
	for _, wrong := range []runner.OnInput{"answer", "answer: ", "wait"} {
		require.Error(t, wrong.Check())
	}
}

// A question that asks nothing is the model's to mend.
func TestBadQuestions(t *testing.T) {
	for says, arguments := range map[string]args{
		"the question is empty":            {"question": " "},
		"do not fit its schema":            {"question": 1},
		"a choice has 1 to 200 characters": {"question": "Which?", "choices": []string{""}},
	} {
		script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", llmtest.Call("ask_user", arguments)), llmtest.Says("So.")))
		p := play(t, script, thePair)
		require.Contains(t, p.results("ask_user")[0], says)
		require.Empty(t, p.of(events.KindInputRequested))
	}
}

// A run that waits is cancelled as any other.
func TestCancelWhileAwaitingInput(t *testing.T) {
	script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", askUser("Which city?"))))
	r := newRunner(t, events.NewMemory(), script)
	asked := waits(t, r, post(chat, "m1", "Plan"))
	require.NoError(t, r.Cancel(t.Context(), "", asked.RunID, "never mind"))
	th := load(t, r.Log())
	require.Equal(t, events.StatusCancelled, th.Current().Status)
	require.Empty(t, th.Inputs())
}
