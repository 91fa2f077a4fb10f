package runner_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
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

// Two processes with one store: the one that drives the thread answers what the other has
// sent, and the other goes on once that one has ended.
func TestTwoProcessesAndOneStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	model := newEcho(t)
	open := func() (*sqlite.Log, *runner.Runner) {
		log, err := sqlite.Open(t.Context(), path)
		require.NoError(t, err)
		return log, newRunner(t, log, model)
	}
	logA, a := open()
	logB, b := open()
	defer func() { require.NoError(t, logB.Close()) }()
	send(t, a, post(chat, "m0", "wait"))
	<-model.asked
	for i, text := range []string{"one", "two"} {
		receipt := send(t, b, runner.Job{Thread: chat, Request: text})
		require.Equal(t, i+1, receipt.Place)
	}
	model.goOn <- struct{}{}
	require.Equal(t, []string{"wait → re: wait", "one → re: one", "two → re: two"}, exchanges(idle(t, b, 3)))

	waiting := send(t, a, post(chat, "m3", "wait, again"))
	require.NotEmpty(t, waiting.Message)
	<-model.asked
	send(t, b, runner.Job{Thread: chat, Request: "three"})
	a.Runs()[0].Halt()
	require.NoError(t, a.Shutdown(t.Context()))
	require.NoError(t, logA.Close())
	model.goOn <- struct{}{}
	require.Equal(t, []string{"wait, again → re: wait, again", "three → re: three"}, exchanges(idle(t, b, 5))[3:])
	require.NoError(t, b.Shutdown(t.Context()))
}
