package events_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

// Proves R71: what a listing shows as a run's time is that for which it was driven: not the
// nights that it was parked or dead, nor what its endpoint was away.
func TestSummaryCountsDrivenTime(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	var s events.RunSummary
	seq := events.Seq(0)
	after := func(pause time.Duration, data events.Event, driven time.Duration, going bool) {
		t.Helper()
		at, seq = at.Add(pause), seq+1
		require.NoError(t, s.Apply(events.Envelope{Run: "r", Seq: seq, Time: at, Data: data}))
		require.Equal(t, driven, s.Elapsed())
		require.Equal(t, going, s.DrivenTo != nil, "%T", data)
	}
	after(0, events.WorkflowStarted{}, 0, true)
	after(3*time.Second, events.Warning{}, 3*time.Second, true)
	after(time.Second, events.CancelRequested{}, 3*time.Second, true) // who posts does not drive
	after(time.Second, events.Warning{}, 5*time.Second, true)
	after(time.Second, events.OutageBegan{}, 6*time.Second, false)
	after(time.Hour, events.OutageEnded{}, 6*time.Second, true)
	after(time.Second, events.RunSuspended{DrivenMS: 7000}, 7*time.Second, false)
	after(10*time.Hour, events.RunResumed{}, 7*time.Second, true)
	after(time.Second, events.Warning{}, 8*time.Second, true)
	after(24*time.Hour, events.RunResumed{}, 8*time.Second, true) // it was killed
	after(time.Second, events.RunCancelled{}, 9*time.Second, true)
	after(time.Second, events.WorkflowFinished{Status: events.StatusCancelled, DrivenMS: 10_000}, 10*time.Second, false)
}
