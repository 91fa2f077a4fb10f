package batch_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
)

// A batch has the functions of its team, and gives them again to the rows that it takes
// up.
func TestFunctionsOfABatch(t *testing.T) {
	trip, err := team.Builtin("trip")
	require.NoError(t, err)
	log := events.NewMemory()
	c := batch.Config{Runner: newRunner(t, log, sim.New(sim.Options{})), Team: trip, Concurrency: 1}
	nothing := func(context.Context, specialists.Assignment) (specialists.Contribution, error) {
		return specialists.Contribution{}, nil
	}
	c.Functions = runner.Functions{"nobody": nothing}
	_, err = batch.New(c)
	require.ErrorContains(t, err, "no such specialist")

	rows := asGiven(batch.Row{Request: "Plan three days in Kyoto"}, batch.Row{Request: "Write a line", Team: "general"})
	var b *batch.Batch
	c.Functions = runner.Functions{"logistics": func(ctx context.Context, _ specialists.Assignment) (specialists.Contribution, error) {
		b.Halt()
		<-ctx.Done()
		return specialists.Contribution{}, ctx.Err()
	}}
	c.Identity = batch.NewIdentity()
	b, err = batch.New(c)
	require.NoError(t, err)
	report, err := b.Run(t.Context(), rows, discard)
	require.NoError(t, err)
	require.Equal(t, 1, report.Suspended)

	var called atomic.Int64
	c.Functions["logistics"] = func(context.Context, specialists.Assignment) (specialists.Contribution, error) {
		called.Add(1)
		return specialists.Contribution{
			Entries: []specialists.Entry{{Place: map[string]any{"day": 1, "time_slot": "morning"}, Content: "Train 7."}},
		}, nil
	}
	c.Resumed = true
	b, err = batch.New(c)
	require.NoError(t, err)
	var documents []string
	report, err = b.Run(t.Context(), rows, batch.SinkFunc(func(out batch.Output) error {
		documents = append(documents, out.Document)
		return nil
	}))
	require.NoError(t, err)
	require.Equal(t, 2, report.Completed)
	require.Contains(t, documents[0], "Train 7.")
	require.Positive(t, called.Load())
}
