package runner_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// readLog counts the events that were read.
type readLog struct {
	events.Log
	read atomic.Int64
}

func (l *readLog) Read(ctx context.Context, key events.ThreadKey, after events.Seq, limit int, kinds ...events.Kind) ([]events.Envelope, error) {
	envs, err := l.Log.Read(ctx, key, after, limit, kinds...)
	l.read.Add(int64(len(envs)))
	return envs, err
}

// A run that nobody writes to reads nothing back of what it wrote.
func TestRunReadsNothingBack(t *testing.T) {
	log := &readLog{Log: events.NewMemory()}
	r := newRunner(t, log, sim.New(sim.Options{}))
	run, err := r.Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")})
	require.NoError(t, err)
	result, err := run.Wait()
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
	require.Zero(t, log.read.Load())
}

// That a team is still what it was is seen without writing it down; of one that is not, the
// plan is not used.
func TestPlanOfAnEqualTeam(t *testing.T) {
	r := newRunner(t, events.NewMemory(), sim.New(sim.Options{}))
	for _, name := range team.BuiltinNames() {
		tm := builtin(t, name)
		require.False(t, r.HasPlan(tm), name)
		_, err := r.Check(runner.Job{Request: "Work", Team: tm})
		require.NoError(t, err, name)
		require.True(t, r.HasPlan(tm), name)
		tm.Limits.MaxTokens++
		require.False(t, r.HasPlan(tm), name)
	}
}
