package batch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
)

// Whoever stops a batch, or its runner, finds it at rest: nothing is driven any more, and
// the report says what is left.
func TestStopOfABatchWaits(t *testing.T) {
	stops := map[string]func(context.Context, batch.Config, *batch.Batch){
		"stop": func(ctx context.Context, _ batch.Config, b *batch.Batch) {
			b.Stop(ctx)
			b.Stop(ctx)
		},
		"shutdown": func(ctx context.Context, c batch.Config, _ *batch.Batch) { _ = c.Runner.Shutdown(ctx) },
	}
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &parked{Client: sim.New(sim.Options{}), asked: make(chan struct{}, 1)}
				c := batch.Config{Runner: newRunner(t, events.NewMemory(), client), Team: solo(t), Solo: true, Concurrency: 1}
				b, err := batch.New(c)
				require.NoError(t, err)
				ended := make(chan batch.Report, 1)
				go func() {
					report, err := b.Run(t.Context(), asGiven(batch.Row{Request: "Plan day 0"}, batch.Row{Request: "Plan day 1"}), discard)
					require.NoError(t, err)
					ended <- report
				}()
				<-client.asked
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				begun := time.Now()
				stop(ctx, c, b)
				require.Equal(t, time.Minute, time.Since(begun), "the call in flight goes on for so long")
				require.Empty(t, c.Runner.Runs())
				report := <-ended
				require.NotZero(t, report.Suspended)
				require.Zero(t, report.Rows)
				require.Equal(t, batch.StopInterrupted, report.Stop.Kind)
			})
		})
	}
}

func TestStopBeforeRun(t *testing.T) {
	b, err := batch.New(config(t, events.NewMemory()))
	require.NoError(t, err)
	b.Stop(t.Context())
	report, err := b.Run(t.Context(), asGiven(batch.Row{Request: "Plan a day"}), discard)
	require.NoError(t, err)
	require.Zero(t, report.Rows+report.Suspended)
}
