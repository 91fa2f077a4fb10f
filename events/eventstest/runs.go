package eventstest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

func testTenants(t *testing.T, f *fixture) {
	w := f.begin()
	theirs := events.ThreadKey{Tenant: "other", Thread: w.key.Thread}
	envs, err := f.Read(f.ctx, theirs, 0, 0)
	require.NoError(t, err)
	require.Empty(t, envs)
	encoded, err := f.ReadEncoded(f.ctx, theirs, 0, 0)
	require.NoError(t, err)
	require.Empty(t, encoded)
	owner, _, err := f.Holder(f.ctx, theirs)
	require.NoError(t, err)
	require.Empty(t, owner)
	_, err = f.Post(f.ctx, theirs, events.Envelope{Run: w.run, Data: events.CancelRequested{}})
	require.ErrorIs(t, err, events.ErrNotFound)
	err = f.Append(f.ctx, theirs, w.epoch, w.last, []events.Envelope{{Run: w.run, Data: warning("astray")}})
	require.ErrorIs(t, err, events.ErrFenced)
	_, err = f.FindRun(f.ctx, "other", string(w.run))
	require.ErrorIs(t, err, events.ErrNotFound)
	for _, query := range []events.RunQuery{{Tenant: "other"}, {Tenant: "other", Thread: w.key.Thread}, {Tenant: "other", Search: "request"}} {
		runs, err := f.Runs(f.ctx, query)
		require.NoError(t, err)
		require.Empty(t, runs)
	}
	short, cancel := context.WithTimeout(f.ctx, 30*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, f.Wait(short, theirs, 0), context.DeadlineExceeded)
	for _, err := range f.Tail(short, events.TailFilter{Tenant: "other"}, "") {
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}

	// The same thread id of another tenant is another thread.
	twin := f.claim(theirs)
	twin.add(events.WorkflowStarted{Message: "theirs"})
	require.Len(t, f.all(w.key), 1)
	require.Len(t, f.all(theirs), 1)
	runs, err := f.Runs(f.ctx, events.RunQuery{Tenant: events.LocalTenant})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.Equal(t, w.run, runs[0].Run)
}

// A listing says what a fold over the run's events says.
func testSummaries(t *testing.T, f *fixture) {
	w := f.begin()
	cost := 0.5
	for _, facts := range [][]events.Event{
		{events.TasksCreated{Tasks: []events.Task{{ID: 1, Text: "a", AssignedTo: "x"}, {ID: 2, Text: "b", AssignedTo: "x"}}}},
		{events.ModelCalled{ID: "f.1", Model: "m", CostUSD: &cost, Usage: events.Usage{InputTokens: 10, OutputTokens: 3}}},
		{events.TaskUpdated{Task: events.Task{ID: 1, Finished: true}}, events.ModelCalled{ID: "d1.1", Model: "m", CostUSD: &cost}},
		{events.RunSuspended{Reason: "interrupted"}},
		{events.RunResumed{Owner: "tester"}},
		{events.ModelCalled{ID: "d1.2", Model: "odd"}, events.FinalAnswer{Content: "Go to Kyōto"}},
		{events.WorkflowFinished{Status: events.StatusDegraded, Reason: "one task is open", Limit: "max_turns"}},
	} {
		w.add(facts...)
		got, err := f.FindRun(f.ctx, w.key.Tenant, string(w.run))
		require.NoError(t, err)
		require.Equal(t, rebuild(t, f.all(w.key), w.run), got)
	}
	got, err := f.FindRun(f.ctx, w.key.Tenant, string(w.run))
	require.NoError(t, err)
	require.Equal(t, events.StatusDegraded, got.Status)
	require.Equal(t, "Go to Kyōto", got.Answer)
	require.Equal(t, 2, got.Tasks)
	require.Equal(t, 1, got.FinishedTasks)
	require.Equal(t, 3, got.ModelCalls)
	require.Nil(t, got.CostUSD, "one unknown price makes the sum unknown")
}

// rebuild folds the summary of a run from the events of its thread.
func rebuild(t require.TestingT, envs []events.Envelope, run events.RunID) events.RunSummary {
	var summary events.RunSummary
	for _, env := range envs {
		if env.Run == run {
			require.NoError(t, summary.Apply(env))
		}
	}
	return summary
}

func testRuns(t *testing.T, f *fixture) {
	var started []*writer
	for _, request := range []string{"Plan a trip to KYŌTO", "100% of_it", "Second trip", "Review \x1f"} {
		w := f.claim(newKey())
		w.add(events.WorkflowStarted{Message: request, Team: "trip"})
		started = append(started, w)
	}
	started[1].add(events.FinalAnswer{Content: "An Answer about kyōto"}, events.WorkflowFinished{Status: events.StatusCompleted})
	for name, check := range map[string]struct {
		query events.RunQuery
		want  []int
	}{
		"all, newest first":   {events.RunQuery{}, []int{3, 2, 1, 0}},
		"request or answer":   {events.RunQuery{Search: "Kyōto"}, []int{1, 0}},
		"without case":        {events.RunQuery{Search: "ANSWER ABOUT KYŌTO"}, []int{1}},
		"percent is no joker": {events.RunQuery{Search: "1%"}, nil},
		"underscore neither":  {events.RunQuery{Search: "of_i"}, []int{1}},
		"quotes are harmless": {events.RunQuery{Search: `'";--`}, nil},
		"thread":              {events.RunQuery{Thread: started[2].key.Thread}, []int{2}},
		"status":              {events.RunQuery{Status: []events.Status{events.StatusCompleted, events.StatusFailed}}, []int{1}},
		"before":              {events.RunQuery{Before: started[2].run}, []int{1, 0}},
		"limit":               {events.RunQuery{Limit: 2}, []int{3, 2}},
		"all at once":         {events.RunQuery{Tenant: "local", Search: "trip", Before: started[2].run, Limit: 9}, []int{0}},
	} {
		runs, err := f.Runs(f.ctx, check.query)
		require.NoError(t, err, name)
		var want, got []events.RunID
		for _, i := range check.want {
			want = append(want, started[i].run)
		}
		for _, run := range runs {
			got = append(got, run.Run)
		}
		require.Equal(t, want, got, name)
	}
}

// A listing is narrowed by team and model, and leaves out the rows of batches.
func testRunsOf(t *testing.T, f *fixture) {
	begin := func(started events.WorkflowStarted) events.RunID {
		w := f.claim(newKey())
		w.add(started)
		return w.run
	}
	card := func(models ...string) []events.AgentCard { return []events.AgentCard{{ID: "x", Models: models}} }
	small := begin(events.WorkflowStarted{Team: "trip", Agents: card("acme/Small-2", "acme/big")})
	big := begin(events.WorkflowStarted{Team: "review", Agents: card("acme/big")})
	row := begin(events.WorkflowStarted{Team: "trip", Agents: card("acme/big"), Batch: &events.BatchRow{Batch: "b", Row: "1"}})
	anns := begin(events.WorkflowStarted{UserID: "ann"})
	bobs := begin(events.WorkflowStarted{UserID: "bob"})
	for name, check := range map[string]struct {
		query events.RunQuery
		want  []events.RunID
	}{
		"own":                {events.RunQuery{Own: true, Limit: 4}, []events.RunID{bobs, anns, big, small}},
		"user":               {events.RunQuery{UserID: "ann"}, []events.RunID{anns}},
		"another user":       {events.RunQuery{UserID: "bob", Threads: true}, []events.RunID{bobs}},
		"not as it is put":   {events.RunQuery{UserID: "ANN"}, nil},
		"quoted user":        {events.RunQuery{UserID: `ann' OR '1'='1`}, nil},
		"team":               {events.RunQuery{Team: "trip"}, []events.RunID{row, small}},
		"no part of a team":  {events.RunQuery{Team: "tri"}, nil},
		"model":              {events.RunQuery{Model: "BIG"}, []events.RunID{row, big, small}},
		"part of a model":    {events.RunQuery{Model: "small"}, []events.RunID{small}},
		"quotes are nothing": {events.RunQuery{Model: `"]'`, Team: `'";--`}, nil},
		"all at once":        {events.RunQuery{Own: true, Team: "trip", Model: "acme/big", Limit: 1}, []events.RunID{small}},
	} {
		runs, err := f.Runs(f.ctx, check.query)
		require.NoError(t, err, name)
		var got []events.RunID
		for _, run := range runs {
			got = append(got, run.Run)
		}
		require.Equal(t, check.want, got, name)
	}
}

// Runs are found by what they cost, and summed up: more of them than a listing has.
func testTotals(t *testing.T, f *fixture) {
	begin := func(batch *events.BatchRow, usd *float64, over bool) events.RunID {
		w := f.claim(newKey())
		called := events.ModelCalled{ID: "m1", Usage: events.Usage{InputTokens: 10, OutputTokens: 5}, CostUSD: usd}
		w.add(events.WorkflowStarted{Team: "trip", Batch: batch}, called)
		if over {
			w.add(events.WorkflowFinished{Status: events.StatusCompleted})
		}
		return w.run
	}
	cheap, dear := 0.25, 2.5
	begin(nil, &cheap, true)
	spent := begin(nil, &dear, true)
	going := begin(nil, &dear, false)
	begin(nil, nil, true)
	row := begin(&events.BatchRow{Batch: "b", Row: "1"}, &dear, true)
	for name, check := range map[string]struct {
		query events.RunQuery
		want  events.RunTotals
	}{
		"all":      {events.RunQuery{Limit: 1}, events.RunTotals{Runs: 5, Rows: 1, Running: 1, Tokens: 75, CostUSD: 7.75, Unpriced: 1}},
		"own":      {events.RunQuery{Own: true, Before: going}, events.RunTotals{Runs: 2, Tokens: 30, CostUSD: 2.75}},
		"cost":     {events.RunQuery{MinCostUSD: 2.5, Status: []events.Status{events.StatusCompleted}}, events.RunTotals{Runs: 2, Rows: 1, Tokens: 30, CostUSD: 5}},
		"none":     {events.RunQuery{Team: "nobody"}, events.RunTotals{}},
		"stranger": {events.RunQuery{Tenant: "other"}, events.RunTotals{}},
	} {
		totals, err := f.Totals(f.ctx, check.query)
		require.NoError(t, err, name)
		require.Equal(t, check.want, totals, name)
	}
	runs, err := f.Runs(f.ctx, events.RunQuery{MinCostUSD: 1, Status: []events.Status{events.StatusCompleted}})
	require.NoError(t, err)
	require.Equal(t, []events.RunID{row, spent}, []events.RunID{runs[0].Run, runs[1].Run})
}

// A listing of threads has each once, by the run that is the newest, and no row of a batch.
func testThreads(t *testing.T, f *fixture) {
	var newest []events.RunID
	for _, requests := range [][]string{{"one", "two", "three"}, {"four"}, {"five", "six"}} {
		w := f.claim(newKey())
		for i, request := range requests {
			w.run = newRun()
			w.add(events.WorkflowStarted{Message: request})
			if i < len(requests)-1 {
				w.add(events.WorkflowFinished{Status: events.StatusCompleted})
			}
		}
		newest = append(newest, w.run)
	}
	row := f.claim(newKey())
	row.add(events.WorkflowStarted{Message: "a row", Batch: &events.BatchRow{Batch: "b", Row: "1"}})
	for name, check := range map[string]struct {
		query events.RunQuery
		want  []events.RunID
	}{
		"newest first":                {events.RunQuery{Threads: true}, []events.RunID{newest[2], newest[1], newest[0]}},
		"of a tenant":                 {events.RunQuery{Threads: true, Tenant: events.LocalTenant, Limit: 2}, []events.RunID{newest[2], newest[1]}},
		"behind another":              {events.RunQuery{Threads: true, Before: newest[1]}, []events.RunID{newest[0]}},
		"status of the newest run":    {events.RunQuery{Threads: true, Status: []events.Status{events.StatusCompleted}}, nil},
		"earlier runs are not looked": {events.RunQuery{Threads: true, Search: "one"}, nil},
		"search in the newest run":    {events.RunQuery{Threads: true, Search: "three"}, []events.RunID{newest[0]}},
	} {
		runs, err := f.Runs(f.ctx, check.query)
		require.NoError(t, err, name)
		var got []events.RunID
		for _, run := range runs {
			got = append(got, run.Run)
		}
		require.Equal(t, check.want, got, name)
	}
}

// A run that waits for input says so in a listing, until it is answered or over.
func testAsks(t *testing.T, f *fixture) {
	w := f.begin()
	asks := func() []events.Ask {
		run, err := f.FindRun(f.ctx, w.key.Tenant, string(w.run))
		require.NoError(t, err)
		require.Equal(t, rebuild(t, f.all(w.key), w.run), run)
		return run.Asks
	}
	require.Empty(t, asks())
	w.add(events.InputRequested{InputID: "i1", For: events.InputQuestion, Question: strings.Repeat("ä", 600)},
		events.InputRequested{InputID: "i2", For: events.InputHuman, Question: "Anybody?"}, events.RunSuspended{AwaitingInput: true})
	require.Equal(t, []events.Ask{
		{InputID: "i1", For: events.InputQuestion, Question: strings.Repeat("ä", 500)}, {InputID: "i2", For: events.InputHuman, Question: "Anybody?"},
	}, asks())
	_, err := f.Post(f.ctx, w.key, events.Envelope{Run: w.run, Data: events.UserMessage{Content: "42", MessageID: "m", InputID: "i1", Delivery: events.DeliveryAnswer}})
	require.NoError(t, err)
	w.last++
	require.Equal(t, []events.Ask{{InputID: "i2", For: events.InputHuman, Question: "Anybody?"}}, asks())
	w.add(events.RunResumed{}, events.WorkflowFinished{Status: events.StatusCancelled})
	require.Empty(t, asks())
}

func testRunsPage(t *testing.T, f *fixture) {
	const total = events.DefaultRunsLimit + 7
	for range total {
		f.begin()
	}
	var all []events.RunID
	var before events.RunID
	for {
		page, err := f.Runs(f.ctx, events.RunQuery{Before: before})
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		require.LessOrEqual(t, len(page), events.DefaultRunsLimit)
		for _, run := range page {
			all = append(all, run.Run)
		}
		before = all[len(all)-1]
	}
	require.Len(t, all, total)
	require.True(t, slices.IsSortedFunc(all, func(a, b events.RunID) int {
		if a > b {
			return -1
		}
		return 1
	}))
}

func testFindRun(t *testing.T, f *fixture) {
	for _, id := range []events.RunID{"abc", "abcd", "abd", "Abx", "a%"} {
		w := f.claim(newKey())
		w.run = id
		w.add(events.WorkflowStarted{})
	}
	for prefix, want := range map[string]events.RunID{"abc": "abc", "abcd": "abcd", "abd": "abd", "A": "Abx", "a%": "a%"} {
		run, err := f.FindRun(f.ctx, events.LocalTenant, prefix)
		require.NoError(t, err, prefix)
		require.Equal(t, want, run.Run)
	}
	for prefix, want := range map[string]error{
		"ab": events.ErrAmbiguous, "a": events.ErrAmbiguous, "": events.ErrNotFound,
		"x": events.ErrNotFound, "abcde": events.ErrNotFound, "b": events.ErrNotFound, "%": events.ErrNotFound,
	} {
		_, err := f.FindRun(f.ctx, events.LocalTenant, prefix)
		require.ErrorIs(t, err, want, prefix)
	}
	twin := f.claim(newKey())
	twin.run = "abd"
	twin.add(events.WorkflowStarted{})
	_, err := f.FindRun(f.ctx, events.LocalTenant, "abd")
	require.ErrorIs(t, err, events.ErrAmbiguous, "the same id in two threads")
	_, err = f.FindRun(f.ctx, "", "abcd")
	require.ErrorIs(t, err, events.ErrNotFound, "no tenant is none, not all")
}

func testRunsOfThread(t *testing.T, f *fixture) {
	w := f.begin()
	first := w.run
	w.add(events.WorkflowFinished{Status: events.StatusCompleted})
	w.run = newRun()
	w.add(events.UserMessage{Content: "said before the run started"})
	w.add(events.WorkflowStarted{Message: "again"}, events.FinalAnswer{Content: "second"})
	second := w.run
	w.run = first
	w.add(warning("a late word on the first run"))
	w.run = second
	w.add(events.WorkflowFinished{Status: events.StatusFailed})

	runs, err := f.Runs(f.ctx, events.RunQuery{Thread: w.key.Thread})
	require.NoError(t, err)
	envs := f.all(w.key)
	require.Equal(t, []events.RunSummary{rebuild(t, envs[3:], second), rebuild(t, envs, first)}, runs)
	require.Equal(t, events.Seq(4), runs[0].FirstSeq)
	require.Equal(t, w.last, runs[0].LastSeq)
}

func testLast(t *testing.T, f *fixture) {
	tip := func(key events.ThreadKey) events.Tip {
		t.Helper()
		tip, err := f.Last(f.ctx, key)
		require.NoError(t, err)
		return tip
	}
	w := f.claim(newKey())
	require.Zero(t, tip(newKey()), "a thread that there is not")
	require.Zero(t, tip(w.key), "a thread without events")
	earlier := newRun() // whose clock is behind, or that was named by somebody
	w.run = newRun()
	w.add(events.WorkflowStarted{}, warning("more"))
	require.Equal(t, events.Tip{Seq: 2, Run: w.run}, tip(w.key))
	w.add(events.WorkflowFinished{Status: events.StatusCompleted})
	w.run = earlier
	w.add(events.WorkflowStarted{})
	require.Equal(t, events.Tip{Seq: 4, Run: earlier}, tip(w.key), "by its place, not by its id")
	_, err := f.Post(f.ctx, w.key, events.Envelope{Run: earlier, Data: events.CancelRequested{}})
	require.NoError(t, err)
	require.Equal(t, events.Tip{Seq: 5, Run: earlier}, tip(w.key))

	require.Zero(t, tip(events.ThreadKey{Tenant: "other", Thread: w.key.Thread}))
	batch := f.claim(newKey())
	batch.run = ""
	batch.add(events.BatchStarted{})
	require.Equal(t, events.Tip{Seq: 1}, tip(batch.key))
}

func testClosed(t *testing.T, f *fixture) {
	w := f.begin()
	require.NoError(t, f.Close())
	for name, err := range f.everything(f.ctx, w) {
		require.ErrorIs(t, err, events.ErrClosed, name)
	}
}

func testContext(t *testing.T, f *fixture) {
	w := f.begin()
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	for name, err := range f.everything(ctx, w) {
		require.ErrorIs(t, err, context.Canceled, name)
	}
	require.Len(t, f.all(w.key), 1)
}

// everything calls each method once.
func (f *fixture) everything(ctx context.Context, w *writer) map[string]error {
	errs := map[string]error{}
	_, errs["claim"] = f.Claim(ctx, w.key, "tester", false)
	errs["append"] = f.Append(ctx, w.key, w.epoch, w.last, []events.Envelope{{Run: w.run, Data: warning("late")}})
	_, errs["post"] = f.Post(ctx, w.key, events.Envelope{Run: w.run, Data: events.CancelRequested{}})
	errs["release"] = f.Release(ctx, w.key, w.epoch)
	_, errs["read"] = f.Read(ctx, w.key, 0, 0)
	_, errs["read encoded"] = f.ReadEncoded(ctx, w.key, 0, 0)
	_, errs["last"] = f.Last(ctx, w.key)
	errs["wait"] = f.Wait(ctx, w.key, 0)
	_, errs["runs"] = f.Runs(ctx, events.RunQuery{})
	_, errs["find run"] = f.FindRun(ctx, w.key.Tenant, string(w.run))
	_, errs["batches"] = f.Batches(ctx, events.BatchQuery{})
	_, errs["find batch"] = f.FindBatch(ctx, w.key.Tenant, string(w.key.Thread))
	errs["remove"] = f.Remove(ctx, w.key)
	_, _, errs["holder"] = f.Holder(ctx, w.key)
	for _, err := range f.Tail(ctx, events.TailFilter{}, "") {
		errs["tail"] = err
		break
	}
	return errs
}
