package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
)

// Proves R74: how a run ended is its exit code, the worst thing first.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		result      runner.Result
		interrupted bool
		want        int
	}{
		{runner.Result{Status: events.StatusCompleted}, false, 0},
		{runner.Result{Status: events.StatusCompleted}, true, 0},
		{runner.Result{Status: events.StatusCompleted, Limit: events.LimitMaxTasks}, false, 0},
		{runner.Result{Status: events.StatusFailed}, false, 1},
		{runner.Result{Status: events.StatusFailed, Limit: events.LimitMaxTokens, Failure: &events.Error{}}, true, 1},
		{runner.Result{Status: events.StatusFailed, Limit: events.LimitMaxTokens}, true, 4}, // it admitted no first call
		{runner.Result{Status: events.StatusFailed, Limit: events.LimitMaxTasks}, false, 1},
		{runner.Result{Status: events.StatusCancelled}, false, 1},
		{runner.Result{Status: events.StatusRunning}, false, 1},
		{runner.Result{Status: events.StatusDegraded}, false, 3},
		{runner.Result{Status: events.StatusDegraded, Limit: events.LimitMaxTasks}, false, 3},
		{runner.Result{Status: events.StatusDegraded, Limit: events.LimitMaxTokens}, false, 4},
		{runner.Result{Status: events.StatusDegraded, Limit: events.LimitMaxCostUSD}, false, 4},
		{runner.Result{Status: events.StatusDegraded, Limit: events.LimitMaxTime}, true, 4},
		{runner.Result{Status: events.StatusAwaitingInput}, false, 5},
		{runner.Result{Status: events.StatusAwaitingInput}, true, 130},
		{runner.Result{Status: events.StatusSuspended}, true, 130},
	} {
		require.Equal(t, c.want, codeOf(c.result, c.interrupted), "%+v", c)
	}
}

func TestEdits(t *testing.T) {
	require.Equal(t, 0, edits("team", "team"))
	require.Equal(t, 1, edits("team", "tam"))
	require.Equal(t, 2, edits("tema", "team"))
	require.Equal(t, 4, edits("", "team"))
}
