package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// The first run that somebody watches takes some eight seconds: by the clock of a bubble, in
// which nothing but the model's pace takes time.
func TestAWatchedRunTakesSomeEightSeconds(t *testing.T) {
	for name, request := range map[string]string{"general": "Plan three days in Kyoto for two", "trip": "Plan three days in Kyoto for two", "research": "Explain tides"} {
		synctest.Test(t, func(t *testing.T) {
			tm, err := team.Builtin(name)
			require.NoError(t, err)
			r, err := runner.New(runner.Config{Log: events.NewMemory(), Models: endpoint.New(endpoint.Config{
				Env: func(string) string { return "" }, Custom: map[string]llm.Client{sim.Provider: sim.New(watchedPace)},
			})})
			require.NoError(t, err)
			start := time.Now()
			run, err := r.Start(t.Context(), runner.Job{Request: request, Team: tm, Model: sim.Provider})
			require.NoError(t, err)
			result, err := run.Wait()
			require.NoError(t, err)
			require.Equal(t, events.StatusCompleted, result.Status)
			require.True(t, result.Simulated)
			require.InDelta(t, 8, time.Since(start).Seconds(), 3, name)
			require.NoError(t, r.Shutdown(t.Context()))
		})
	}
}
