package runner_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
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
		for seq := k.fold().Seq; len(of[events.InputRequested](k)) < 2; seq = k.fold().Seq { // read before the look
			require.NoError(t, k.log.Wait(t.Context(), chatKey, seq))
		}
		require.Equal(t, "I am Joe.", k.fold().Runs[0].FinalAnswer.Content)
		require.NoError(t, r.Shutdown(t.Context()))
		require.NoError(t, <-ended)
	})
}

// What waits is found however many threads were begun since, and however far the log was read.
func TestTakeUpFindsOldThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, model := events.NewMemory(), newEcho(t)
		other := newRunner(t, log, model)
		ended := takesUp(t, other, 2)
		send(t, other, post(chat, "m0", "wait"))
		<-model.asked
		send(t, other, post(chat, "m1", "one"))
		time.Sleep(time.Minute) // it drives the thread itself, and has read on
		other.Runs()[0].Halt()
		require.NoError(t, other.Shutdown(t.Context()))
		require.NoError(t, <-ended)
		for i := range 2_100 {
			begunAndOver(t, log, events.ThreadID(fmt.Sprintf("7b2c5a60-93f0-4d7e-8f43-%012d", i)))
		}

		model.goOn <- struct{}{}
		r := newRunner(t, log, model)
		ended = takesUp(t, r, 1)
		require.Equal(t, []string{"wait → re: wait", "one → re: one"}, exchanges(idle(t, r, 2)))
		require.NoError(t, r.Shutdown(t.Context()))
		require.NoError(t, <-ended)
	})
}

// begunAndOver is a thread of one run that was cancelled.
func begunAndOver(t *testing.T, log events.Log, id events.ThreadID) {
	t.Helper()
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: id}
	epoch, err := log.Claim(t.Context(), key, "test", false)
	require.NoError(t, err)
	run := events.RunID(uuid.Must(uuid.NewV7()).String())
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, []events.Envelope{
		{Run: run, Data: events.WorkflowStarted{Message: "Hello"}},
		{Run: run, Data: events.RunCancelled{}},
		{Run: run, Data: events.WorkflowFinished{Status: events.StatusCancelled}},
	}))
	require.NoError(t, log.Release(t.Context(), key, epoch))
}
