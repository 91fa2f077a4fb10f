package eventstest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
)

// claimBatch takes the thread of a new batch.
func (f *fixture) claimBatch(key events.ThreadKey) *writer {
	f.Helper()
	w := f.claim(key)
	w.run = ""
	return w
}

// beginBatch starts a batch at that moment.
func (f *fixture) beginBatch(start time.Time, started events.BatchStarted) *writer {
	f.Helper()
	w := f.claimBatch(newKey())
	require.NoError(f, w.Append(w.ctx, w.key, w.epoch, 0, []events.Envelope{{Time: start, Data: started}}))
	w.last++
	return w
}

// rebuildBatch folds the summary of a batch from the events of its thread.
func rebuildBatch(envs []events.Envelope) (summary events.BatchSummary, started bool) {
	for _, env := range envs {
		if started = started || env.Data.Kind() == events.KindBatchStarted; started && env.Run == "" {
			summary.Apply(env)
		}
	}
	return summary, started
}

// A listing says what a fold over the batch's events says, whatever call of the batch
// they are of.
func testBatchSummaries(t *testing.T, f *fixture) {
	w := f.claimBatch(newKey())
	w.add(warning("before the batch has started"))
	_, err := f.FindBatch(f.ctx, w.key.Tenant, string(w.key.Thread))
	require.ErrorIs(t, err, events.ErrNotFound)
	samples := Samples()
	for _, facts := range [][]events.Event{
		{events.BatchStarted{Team: "trip", Rows: 3, Input: "in.jsonl"}},
		{samples[events.KindBatchRowRejected], samples[events.KindBatchProgress]},
		{samples[events.KindBatchEnded]},
		{warning("after its end")},
		{samples[events.KindBatchStarted]},
		{events.BatchProgress{}},
		{events.BatchEnded{Status: events.StatusCompleted, BatchFigures: events.BatchFigures{Done: 3}}},
	} {
		w.add(facts...)
		want, _ := rebuildBatch(f.all(w.key))
		got, err := f.FindBatch(f.ctx, w.key.Tenant, string(w.key.Thread))
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, w.last, got.LastSeq)
		if facts[0].Kind() == events.KindBatchStarted {
			require.Equal(t, events.StatusRunning, got.Status)
			require.Zero(t, got.Running+int(got.ElapsedMS)+len(got.Slowest)+len(got.Limiters), "of the call before")
		}
	}
	got, err := f.FindBatch(f.ctx, w.key.Tenant, string(w.key.Thread))
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, got.Status)
	require.Equal(t, 3, got.Done)
	require.Equal(t, events.BatchID(w.key.Thread), got.Batch)

	// Events of a run that somebody started there are none of the batch's.
	w.run = newRun()
	w.add(events.WorkflowStarted{})
	after, err := f.FindBatch(f.ctx, w.key.Tenant, string(w.key.Thread))
	require.NoError(t, err)
	require.Equal(t, got, after)
}

func testBatches(t *testing.T, f *fixture) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 1, time.UTC)
	started := []*writer{
		f.beginBatch(noon, events.BatchStarted{Input: "Kyōto.jsonl", Output: "out/a.jsonl", Team: "trip"}),
		f.beginBatch(noon.Add(time.Nanosecond), events.BatchStarted{Input: "100%_in.csv", Output: "b.jsonl", Team: "review"}),
		f.beginBatch(noon.Add(2*time.Nanosecond), events.BatchStarted{Team: "trip"}),
		f.beginBatch(noon.Add(2*time.Nanosecond), events.BatchStarted{Team: "solo \x1f"}), // at the same moment: by id
	}
	f.begin() // a run is no batch
	started[1].add(events.BatchEnded{Status: events.StatusDegraded})
	id := func(i int) events.BatchID { return events.BatchID(started[i].key.Thread) }
	for name, check := range map[string]struct {
		query events.BatchQuery
		want  []int
	}{
		"all, newest first":   {events.BatchQuery{}, []int{3, 2, 1, 0}},
		"input":               {events.BatchQuery{Search: "KYŌTO"}, []int{0}},
		"output":              {events.BatchQuery{Search: "OUT/"}, []int{0}},
		"team":                {events.BatchQuery{Search: "trip"}, []int{2, 0}},
		"id":                  {events.BatchQuery{Search: string(id(1))}, []int{1}},
		"percent is no joker": {events.BatchQuery{Search: "1%"}, nil},
		"quotes are harmless": {events.BatchQuery{Search: `'";--`}, nil},
		"status":              {events.BatchQuery{Status: []events.Status{events.StatusDegraded, events.StatusFailed}}, []int{1}},
		"before":              {events.BatchQuery{Before: id(2)}, []int{1, 0}},
		"before its twin":     {events.BatchQuery{Before: id(3)}, []int{2, 1, 0}},
		"before nothing":      {events.BatchQuery{Before: "nothing"}, nil},
		"limit":               {events.BatchQuery{Limit: 2}, []int{3, 2}},
		"all at once": {events.BatchQuery{
			Tenant: events.LocalTenant, Search: "trip", Status: []events.Status{events.StatusRunning}, Before: id(2), Limit: 9,
		}, []int{0}},
	} {
		batches, err := f.Batches(f.ctx, check.query)
		require.NoError(t, err, name)
		var want, got []events.BatchID
		for _, i := range check.want {
			want = append(want, id(i))
		}
		for _, b := range batches {
			got = append(got, b.Batch)
		}
		require.Equal(t, want, got, name)
	}
}

func testFindBatch(t *testing.T, f *fixture) {
	for _, id := range []events.ThreadID{"abc", "abcd", "abd", "a%"} {
		f.claimBatch(events.ThreadKey{Tenant: events.LocalTenant, Thread: id}).add(events.BatchStarted{})
	}
	for prefix, want := range map[string]events.BatchID{"abc": "abc", "abcd": "abcd", "abd": "abd", "a%": "a%"} {
		b, err := f.FindBatch(f.ctx, events.LocalTenant, prefix)
		require.NoError(t, err, prefix)
		require.Equal(t, want, b.Batch)
	}
	for prefix, want := range map[string]error{
		"ab": events.ErrAmbiguous, "": events.ErrNotFound, "x": events.ErrNotFound, "abcde": events.ErrNotFound, "%": events.ErrNotFound,
	} {
		_, err := f.FindBatch(f.ctx, events.LocalTenant, prefix)
		require.ErrorIs(t, err, want, prefix)
	}
}

func testBatchTenants(t *testing.T, f *fixture) {
	w := f.beginBatch(time.Time{}, events.BatchStarted{Team: "mine"})
	theirs := events.ThreadKey{Tenant: "other", Thread: w.key.Thread}
	_, err := f.FindBatch(f.ctx, "other", string(w.key.Thread))
	require.ErrorIs(t, err, events.ErrNotFound)
	f.claimBatch(theirs).add(events.BatchStarted{Team: "theirs"})
	for tenant, team := range map[events.TenantID]string{"other": "theirs", events.LocalTenant: "mine"} {
		b, err := f.FindBatch(f.ctx, tenant, string(w.key.Thread))
		require.NoError(t, err)
		require.Equal(t, team, b.Team)
		batches, err := f.Batches(f.ctx, events.BatchQuery{Tenant: tenant})
		require.NoError(t, err)
		require.Equal(t, []events.BatchSummary{b}, batches)
		batches, err = f.Batches(f.ctx, events.BatchQuery{Tenant: tenant, Before: b.Batch})
		require.NoError(t, err)
		require.Empty(t, batches)
	}
	everyone, err := f.Batches(f.ctx, events.BatchQuery{})
	require.NoError(t, err)
	require.Len(t, everyone, 2)

	row := f.claim(events.ThreadKey{Tenant: "other", Thread: newKey().Thread})
	row.add(events.WorkflowStarted{Batch: &events.BatchRow{Batch: events.BatchID(w.key.Thread), Row: "r"}})
	rows, err := f.Runs(f.ctx, events.RunQuery{Tenant: events.LocalTenant, Batch: events.BatchID(w.key.Thread)})
	require.NoError(t, err)
	require.Empty(t, rows)
}

// Proves R71: the rows of a batch are paged through in their order, by status and by
// what they are about, and none is missed or doubled.
func testBatchRows(t *testing.T, f *fixture) {
	const rows = 30
	one, other := events.BatchID("batch-1"), events.BatchID("batch-2")
	var runs []events.RunID
	for i := range rows {
		for _, batch := range []events.BatchID{one, other, ""} {
			w := f.claim(newKey())
			started := events.WorkflowStarted{Message: fmt.Sprintf("day %d", i), Team: "trip"}
			if batch != "" {
				started.Batch = &events.BatchRow{Batch: batch, Row: fmt.Sprintf("Row-%d-of-%s", i, batch), Index: i}
			}
			w.add(started)
			if i%3 == 0 {
				w.add(events.WorkflowFinished{Status: events.StatusFailed})
			}
			if batch == one {
				runs = append(runs, w.run)
			}
		}
	}
	page := func(query events.RunQuery) (ids []events.RunID) {
		query.Tenant, query.Batch = events.LocalTenant, one
		found, err := f.Runs(f.ctx, query)
		require.NoError(t, err)
		for _, run := range found {
			require.Equal(t, one, run.Batch.Batch)
			ids = append(ids, run.Run)
		}
		return ids
	}
	var all []events.RunID
	for query := (events.RunQuery{OldestFirst: true, Limit: 7}); ; query.After = all[len(all)-1] {
		next := page(query)
		if len(next) == 0 {
			break
		}
		all = append(all, next...)
	}
	require.Equal(t, runs, all)
	require.Equal(t, []events.RunID{runs[rows-1], runs[rows-2]}, page(events.RunQuery{Limit: 2}), "newest first unasked")
	require.Equal(t, []events.RunID{runs[6], runs[9]},
		page(events.RunQuery{OldestFirst: true, Status: []events.Status{events.StatusFailed}, After: runs[4], Limit: 2}))
	require.Equal(t, []events.RunID{runs[4], runs[5], runs[6]},
		page(events.RunQuery{
			OldestFirst: true, Status: []events.Status{events.StatusRunning, events.StatusFailed}, After: runs[3], Before: runs[7],
		}))
	require.Equal(t, []events.RunID{runs[7]}, page(events.RunQuery{Search: "row-7-OF"}), "by the row's id")
	require.Equal(t, []events.RunID{runs[20], runs[21]}, page(events.RunQuery{OldestFirst: true, Search: "Day 2", After: runs[2], Limit: 2}))
	found, err := f.Runs(f.ctx, events.RunQuery{Batch: "nothing"})
	require.NoError(t, err)
	require.Empty(t, found)
	found, err = f.Runs(f.ctx, events.RunQuery{Batch: other, Limit: rows + 1})
	require.NoError(t, err)
	require.Len(t, found, rows, "over all tenants")
}

// Whatever facts come in whatever order, claims and refusals between them: the listing
// is the fold over what was granted.
func testBatchProperty(t *testing.T, f *fixture) {
	facts := []events.Event{events.Warning{}, events.UserMessage{}}
	for kind, fact := range Samples() {
		switch kind {
		case events.KindBatchStarted, events.KindBatchProgress, events.KindBatchRowRejected, events.KindBatchEnded:
			facts = append(facts, fact)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		w := &writer{fixture: f, key: newKey()}
		r.Repeat(map[string]func(*rapid.T){
			"claim": func(r *rapid.T) {
				epoch, err := f.Claim(f.ctx, w.key, "tester", false)
				require.NoError(r, err)
				w.epoch = epoch
			},
			"append": func(r *rapid.T) {
				_ = w.try(rapid.SliceOfN(rapid.SampledFrom(facts), 1, 3).Draw(r, "facts")...) // refused before the first claim
			},
			"late append": func(r *rapid.T) {
				late := *w
				late.epoch--
				require.ErrorIs(r, late.try(events.BatchStarted{}), events.ErrFenced)
			},
			"post": func(*rapid.T) {
				if seq, err := f.Post(f.ctx, w.key, events.Envelope{Data: events.UserMessage{Content: "hello"}}); err == nil {
					w.last = seq
				}
			},
		})
		want, started := rebuildBatch(f.all(w.key))
		got, err := f.FindBatch(f.ctx, w.key.Tenant, string(w.key.Thread))
		if !started {
			require.ErrorIs(r, err, events.ErrNotFound)
			return
		}
		require.NoError(r, err)
		require.Equal(r, want, got)
	})
}
