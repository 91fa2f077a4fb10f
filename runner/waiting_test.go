package runner_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// takesUp has the runner take up what waits, until it is shut down.
func takesUp(t *testing.T, r *runner.Runner, most int) (ended chan error) {
	t.Helper()
	ended = make(chan error, 1)
	go func() {
		ended <- r.TakeUp(context.Background(), most, func(key events.ThreadKey, err error) { t.Errorf("%v: %v", key, err) })
	}()
	return ended
}

// Proves R36: what a process leaves in the queue is answered without a further message: by one
// that starts later, or is there when the other goes.
func TestTakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, model := events.NewMemory(), newEcho(t)
		other := newRunner(t, log, model)
		send(t, other, post(chat, "m0", "wait"))
		<-model.asked
		send(t, other, post(chat, "m1", "one"))
		send(t, other, post(chat, "m2", "two"))
		other.Runs()[0].Halt()
		require.NoError(t, other.Shutdown(t.Context()))
		synctest.Wait()

		model.goOn <- struct{}{}
		r := newRunner(t, log, model)
		ended := takesUp(t, r, 1)
		require.Equal(t, []string{"wait → re: wait", "one → re: one", "two → re: two"}, exchanges(idle(t, r, 3)))

		other = newRunner(t, log, model)
		send(t, other, post(chat, "m3", "wait, again"))
		<-model.asked
		send(t, other, post(chat, "m4", "four"))
		other.Runs()[0].Halt()
		require.NoError(t, other.Shutdown(t.Context()))
		synctest.Wait()
		model.goOn <- struct{}{}
		require.Equal(t, []string{"wait, again → re: wait, again", "four → re: four"}, exchanges(idle(t, r, 5))[3:])
		require.NoError(t, r.Shutdown(t.Context()))
		require.NoError(t, <-ended)
	})
}

// What nobody has answered waits on, and so does the queue behind it; a run that was parked
// with nothing queued stays so.
func TestTakeUpLeavesWhatWaitsForAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &talk{t: t, log: events.NewMemory(), thread: chat}
		tm := conversing(team.Conversation{Rules: []team.Rule{{Agent: events.HumanID}}})
		k.sayTo(llmtest.Script(t), tm, "Help", runner.Message{})
		other := newRunner(t, k.log, llmtest.Script(t))
		send(t, other, runner.Job{Thread: chat, Request: "Hello?"})
		require.NoError(t, other.Shutdown(t.Context()))

		r := newRunner(t, k.log, llmtest.Script(t))
		ended := takesUp(t, r, 1)
		synctest.Wait()
		require.Equal(t, events.StatusAwaitingInput, k.fold().Current().Status)

		// Somebody answers and is gone before the run goes on.
		_, err := k.log.Post(t.Context(), chatKey, events.Envelope{Run: k.fold().Current().ID, Data: events.UserMessage{
			Content: "I am Joe.", MessageID: "j1", Delivery: events.DeliveryAnswer, InputID: "i1",
		}})
		require.NoError(t, err)
		for len(of[events.InputRequested](k)) < 2 {
			require.NoError(t, k.log.Wait(t.Context(), chatKey, k.fold().Seq))
		}
		require.Equal(t, "I am Joe.", k.fold().Runs[0].FinalAnswer.Content)
		require.NoError(t, r.Shutdown(t.Context()))
		require.NoError(t, <-ended)
	})
}
