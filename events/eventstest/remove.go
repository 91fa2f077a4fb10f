package eventstest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

// finished gives a thread with a run that is over and that nobody holds.
func (f *fixture) finished() *writer {
	f.Helper()
	w := f.begin()
	w.add(events.FinalAnswer{Content: "done"}, events.WorkflowFinished{Status: events.StatusCompleted})
	require.NoError(f, f.Release(f.ctx, w.key, w.epoch))
	return w
}

// A removed thread is gone from everything that can be asked; others stay as they are.
func testRemove(t *testing.T, f *fixture) {
	w, other := f.finished(), f.finished()
	before := f.all(other.key)
	require.ErrorIs(t, f.Remove(f.ctx, events.ThreadKey{Tenant: "other", Thread: w.key.Thread}), events.ErrNotFound)
	require.NoError(t, f.Remove(f.ctx, w.key))
	require.ErrorIs(t, f.Remove(f.ctx, w.key), events.ErrNotFound)
	require.Empty(t, f.all(w.key))
	_, err := f.FindRun(f.ctx, w.key.Tenant, string(w.run))
	require.ErrorIs(t, err, events.ErrNotFound)
	runs, err := f.Runs(f.ctx, events.RunQuery{})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.Equal(t, other.run, runs[0].Run)
	require.Equal(t, before, f.all(other.key))
	require.ErrorIs(t, w.try(warning("late")), events.ErrFenced)
	_, err = f.Post(f.ctx, w.key, events.Envelope{Run: w.run, Data: events.UserMessage{}})
	require.ErrorIs(t, err, events.ErrNotFound)

	again := f.claim(w.key)
	again.add(events.WorkflowStarted{Message: "a new run of that name"})
	f.contiguous(f.all(w.key), 1)
}

// Nothing is removed that somebody works on or that is to be continued.
func testRemoveRefused(t *testing.T, f *fixture) {
	w := f.begin()
	require.ErrorIs(t, f.Remove(f.ctx, w.key), events.ErrHeld)
	require.NoError(t, f.Release(f.ctx, w.key, w.epoch))
	require.ErrorIs(t, f.Remove(f.ctx, w.key), events.ErrNotOver)
	w = f.claim(w.key)
	w.last = 1
	run := f.all(w.key)[0].Run
	w.run = run
	w.add(events.RunSuspended{Reason: "interrupted"})
	require.NoError(t, f.Release(f.ctx, w.key, w.epoch))
	require.ErrorIs(t, f.Remove(f.ctx, w.key), events.ErrNotOver)
	require.Len(t, f.all(w.key), 2)
	_, err := f.Post(f.ctx, w.key, events.Envelope{Run: run, Data: events.CancelRequested{}})
	require.NoError(t, err)

	over := f.finished()
	held := f.claim(over.key)
	require.ErrorIs(t, f.Remove(f.ctx, over.key), events.ErrHeld, "a run that is over, in a thread that is held")
	require.NoError(t, f.Release(f.ctx, over.key, held.epoch))
	require.NoError(t, f.Remove(f.ctx, over.key))
}

// What nobody is to continue goes in whatever state it is, but not under the hands of whoever
// drives it, and not from a batch that may go on.
func testErase(t *testing.T, f *fixture) {
	w := f.begin()
	require.ErrorIs(t, f.Erase(f.ctx, w.key), events.ErrHeld)
	w.add(events.RunSuspended{Reason: "interrupted"})
	require.NoError(t, f.Release(f.ctx, w.key, w.epoch))
	require.ErrorIs(t, f.Remove(f.ctx, w.key), events.ErrNotOver)
	require.ErrorIs(t, f.Erase(f.ctx, events.ThreadKey{Tenant: "other", Thread: w.key.Thread}), events.ErrNotFound)
	require.NoError(t, f.Erase(f.ctx, w.key))
	require.ErrorIs(t, f.Erase(f.ctx, w.key), events.ErrNotFound)
	require.Empty(t, f.all(w.key))

	batch := f.claim(newKey())
	batch.run = ""
	batch.add(events.BatchStarted{Rows: 1})
	require.NoError(t, f.Release(f.ctx, batch.key, batch.epoch))
	row := f.claim(newKey())
	row.add(events.WorkflowStarted{Batch: &events.BatchRow{Batch: events.BatchID(batch.key.Thread), Row: "a"}})
	require.NoError(t, f.Release(f.ctx, row.key, row.epoch))
	require.ErrorIs(t, f.Erase(f.ctx, row.key), events.ErrBatchOpen)
	require.ErrorIs(t, f.Erase(f.ctx, batch.key), events.ErrBatchOpen)
}

// Rows stay while their batch may be continued; then they go, and then the batch.
func testRemoveBatch(t *testing.T, f *fixture) {
	batch := f.claim(newKey())
	batch.run = ""
	batch.add(events.BatchStarted{Rows: 1})
	row := f.claim(newKey())
	row.add(events.WorkflowStarted{Batch: &events.BatchRow{Batch: events.BatchID(batch.key.Thread), Row: "a"}},
		events.WorkflowFinished{Status: events.StatusCompleted})
	require.NoError(t, f.Release(f.ctx, row.key, row.epoch))
	for _, status := range []events.Status{events.StatusSuspended, events.StatusFailed} {
		batch.add(events.BatchEnded{Status: status})
		require.ErrorIs(t, f.Remove(f.ctx, row.key), events.ErrBatchOpen)
	}
	require.NoError(t, f.Release(f.ctx, batch.key, batch.epoch))
	require.ErrorIs(t, f.Remove(f.ctx, batch.key), events.ErrBatchOpen)
	again := f.claim(batch.key)
	again.run, again.last = "", batch.last
	again.add(events.BatchStarted{Rows: 1, Resumed: true}, events.BatchEnded{Status: events.StatusDegraded})
	require.ErrorIs(t, f.Remove(f.ctx, batch.key), events.ErrHeld)
	require.NoError(t, f.Remove(f.ctx, row.key))
	require.NoError(t, f.Release(f.ctx, batch.key, again.epoch))
	require.NoError(t, f.Remove(f.ctx, batch.key))
	_, err := f.FindBatch(f.ctx, batch.key.Tenant, string(batch.key.Thread))
	require.ErrorIs(t, err, events.ErrNotFound)
}

// A tail goes on over what was removed: its cursor never lies behind the end, and what is
// appended later comes, even where the newest events of all were removed.
func testRemoveTail(t *testing.T, f *fixture) {
	stays, goes := f.finished(), f.finished()
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	seen := func(cursor events.Cursor, n int) (items []events.TailItem) {
		for item, err := range f.Tail(ctx, events.TailFilter{}, cursor) {
			require.NoError(t, err)
			if items = append(items, item); len(items) == n {
				break
			}
		}
		return items
	}
	end := seen("", 6)[5].Cursor
	require.NoError(t, f.Remove(f.ctx, goes.key))
	next := f.begin()
	require.Equal(t, next.key, seen(end, 1)[0].Envelope.Key(), "from behind what was removed")
	items := seen("", 4)
	for _, item := range items[:3] {
		require.Equal(t, stays.key, item.Envelope.Key())
	}
	require.Equal(t, next.key, items[3].Envelope.Key())
	next.add(events.WorkflowFinished{Status: events.StatusFailed})
	require.NoError(t, f.Release(f.ctx, next.key, next.epoch))
	require.NoError(t, f.Remove(f.ctx, next.key))
	require.NoError(t, f.Remove(f.ctx, stays.key))
	last := f.begin()
	require.Equal(t, last.key, seen(items[3].Cursor, 1)[0].Envelope.Key())
	require.Equal(t, last.key, seen("", 1)[0].Envelope.Key())
}

// Who waits for more of a thread learns that it was removed.
func testRemoveWait(t *testing.T, f *fixture) {
	w := f.finished()
	waited := make(chan error, 1)
	go func() { waited <- f.Wait(f.ctx, w.key, w.last) }()
	select {
	case err := <-waited:
		require.NoError(t, err, "it has nothing more yet")
	case <-time.After(20 * time.Millisecond):
	}
	require.NoError(t, f.Remove(f.ctx, w.key))
	require.ErrorIs(t, <-waited, events.ErrNotFound)
}
