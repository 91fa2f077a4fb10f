package runner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/runner"
)

// Proves R73: a process that dies right after the first append leaves a run that can
// be resumed; one that dies before it leaves none.
func TestDeathAtTheFirstAppend(t *testing.T) {
	job := runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")}
	for _, after := range []bool{false, true} {
		log := dying(1, after)
		run, err := newRunner(t, log, sim.New(sim.Options{})).Start(t.Context(), job)
		if err == nil {
			_, err = run.Wait()
		}
		require.ErrorIs(t, err, errDied)
		runs, err := log.Log.Runs(t.Context(), events.RunQuery{Tenant: events.LocalTenant})
		require.NoError(t, err)
		if !after {
			require.Empty(t, runs)
			continue
		}
		require.Len(t, runs, 1)
		resumed, err := newRunner(t, log.Log, sim.New(sim.Options{})).Resume(t.Context(), "", runs[0].Run, runner.Terms{})
		require.NoError(t, err)
		result, err := resumed.Wait()
		require.NoError(t, err)
		require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
	}
}
