package batch_test

import (
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
)

// asGiven yields rows as they are.
func asGiven(rows ...batch.Row) iter.Seq2[batch.Row, error] {
	return func(yield func(batch.Row, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// runRows gives the outputs by index.
func runRows(t *testing.T, log events.Log, rows iter.Seq2[batch.Row, error]) (batch.Report, map[int][]batch.Output) {
	t.Helper()
	b, err := batch.New(config(t, log))
	require.NoError(t, err)
	byIndex := map[int][]batch.Output{}
	report, err := b.Run(t.Context(), rows, batch.SinkFunc(func(out batch.Output) error {
		byIndex[out.Index] = append(byIndex[out.Index], out)
		return nil
	}))
	require.NoError(t, err)
	return report, byIndex
}

// Proves R72: rows without an Index are rows of their own, each with a run and a thread
// of its own, named after their place.
func TestRowsWithoutIndex(t *testing.T) {
	log := events.NewMemory()
	rows := make([]batch.Row, 12)
	for i := range rows {
		rows[i].Request = "Say hello" // all alike: the place alone tells them apart
	}
	report, outs := runRows(t, log, asGiven(rows...))
	require.Equal(t, 12, report.Completed)
	runs, threads := map[events.RunID]bool{}, map[events.ThreadID]bool{}
	for i := range rows {
		require.Len(t, outs[i], 1)
		require.Equal(t, fmt.Sprint(i), outs[i][0].ID)
		runs[outs[i][0].RunID], threads[outs[i][0].ThreadID] = true, true
	}
	require.Len(t, runs, 12)
	require.Len(t, threads, 12)
}

// Rows that are numbered keep their numbers, in whatever order they come.
func TestRowsWithIndexInAnyOrder(t *testing.T) {
	report, outs := runRows(t, events.NewMemory(), asGiven(
		batch.Row{Index: 2, Request: "c"}, batch.Row{Index: 0, Request: "a"}, batch.Row{Index: 7, ID: "h", Request: "h"}))
	require.Equal(t, 3, report.Completed)
	require.Equal(t, "2", outs[2][0].ID)
	require.Equal(t, "0", outs[0][0].ID)
	require.Equal(t, "h", outs[7][0].ID)
}

// A bad row has its place too.
func TestBadRowWithoutIndex(t *testing.T) {
	bad := &batch.RowError{Kind: batch.KindInvalidRow, Message: "no request"}
	report, outs := runRows(t, events.NewMemory(), func(yield func(batch.Row, error) bool) {
		_ = yield(batch.Row{Request: "a"}, nil) && yield(batch.Row{}, bad) && yield(batch.Row{Request: "c"}, nil)
	})
	require.Equal(t, 2, report.Completed)
	require.Equal(t, 1, report.Failed)
	require.Equal(t, "no request", outs[1][0].Error.Message)
	require.Zero(t, bad.Index, "the caller's error stays as it was")
}

// Of two rows of one Index and one ID the second is refused: it would be the same run.
func TestTwoRowsThatAreOne(t *testing.T) {
	c := config(t, events.NewMemory())
	c.Concurrency = 1
	b, err := batch.New(c)
	require.NoError(t, err)
	var refused []string
	report, err := b.Run(t.Context(), asGiven(batch.Row{Index: 3, ID: "x", Request: "a"}, batch.Row{Index: 3, ID: "x", Request: "a"}),
		batch.SinkFunc(func(out batch.Output) error {
			if out.Error != nil {
				refused = append(refused, out.Error.Message)
			}
			return nil
		}))
	require.NoError(t, err)
	require.Equal(t, 1, report.Completed)
	require.Len(t, refused, 1)
	require.Contains(t, refused[0], "already")
}
