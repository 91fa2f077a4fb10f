package runner_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
)

// A message to a thread that another process drives is answered by this one, should that one
// be gone before it has: killed, which no event tells, or stopped.
func TestQueueOfAProcessThatGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, model := events.NewMemory(), newEcho(t)
		other := newRunner(t, log, model)
		first := send(t, other, post(chat, "m0", "wait"))
		<-model.asked
		r := newRunner(t, log, model)
		receipt := send(t, r, runner.Job{Thread: chat, Request: "one", Message: &runner.Message{ID: "m1"}})
		require.Equal(t, runner.Receipt{Message: "m1", Delivery: events.DeliveryQueue, Place: 1}, receipt)
		first.Run.Halt()
		require.NoError(t, other.Shutdown(t.Context()))
		model.goOn <- struct{}{}
		require.Equal(t, []string{"wait → re: wait", "one → re: one"}, exchanges(idle(t, r, 2)))
		require.NoError(t, r.Shutdown(t.Context()))
	})
}
