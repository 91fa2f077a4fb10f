package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
)

// slow answers as the simulated model does, after a while.
type slow struct {
	llm.Client
	wait time.Duration
}

func (s slow) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		select {
		case <-time.After(s.wait):
		case <-ctx.Done():
			yield(llm.Delta{}, ctx.Err())
			return
		}
		for delta, err := range s.Client.Stream(ctx, req) {
			if !yield(delta, err) {
				return
			}
		}
	}
}

// onlyBatch gives the one batch of the log, with its events.
func onlyBatch(t testing.TB, log events.Log) (events.BatchSummary, []events.Envelope) {
	t.Helper()
	ctx := context.Background()
	batches, err := log.Batches(ctx, events.BatchQuery{Tenant: events.LocalTenant})
	require.NoError(t, err)
	require.Len(t, batches, 1)
	envs, err := log.Read(ctx, batchKey(batches[0]), 0, 0)
	require.NoError(t, err)
	for _, env := range envs {
		require.Empty(t, env.Run)
	}
	return batches[0], envs
}

func batchKey(b events.BatchSummary) events.ThreadKey {
	return events.ThreadKey{Tenant: b.Tenant, Thread: events.ThreadID(b.Batch)}
}

// kinds gives the kinds of events in a row, repetitions aside.
func kinds(envs []events.Envelope) (all []events.Kind) {
	for _, env := range envs {
		if kind := env.Data.Kind(); len(all) == 0 || all[len(all)-1] != kind {
			all = append(all, kind)
		}
	}
	return all
}

func given(rows ...batch.Row) iter.Seq2[batch.Row, error] {
	return func(yield func(batch.Row, error) bool) {
		for i, row := range rows {
			row.Index = i
			if row.ID == "" {
				row.ID = fmt.Sprint(i)
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

var discard = batch.SinkFunc(func(batch.Output) error { return nil })

// Proves R71, R72: what a batch does stands in a thread of its own, in good order, and
// its runs say whose rows they are.
func TestJournal(t *testing.T) {
	log := events.NewMemory()
	c := config(t, log)
	c.Total, c.MaxFailures = 3, batch.MaxFailures{Count: 2, Set: true}
	b, err := batch.New(c)
	require.NoError(t, err)
	report, err := b.Run(t.Context(), given(
		batch.Row{Request: "Plan a day"}, batch.Row{ID: "no team", Request: "Plan a day", Team: "nobody"}, batch.Row{Request: " "},
	), discard)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, []int{report.Completed, report.Failed})

	summary, envs := onlyBatch(t, log)
	require.Equal(t, []events.Kind{events.KindBatchStarted, events.KindBatchRowRejected, events.KindBatchEnded}, kinds(envs))
	started := envs[0].Data.(events.BatchStarted)
	require.Equal(t, events.BatchStarted{
		Team: "lean", Models: []string{"sim/sim"}, Solo: true, Simulated: true, Rows: 3, Concurrency: batch.DefaultConcurrency,
		MaxFailures: "2", Owner: c.Runner.Owner(),
	}, started)
	rejected := map[string]events.BatchRowRejected{}
	for _, env := range envs[1:3] {
		r := env.Data.(events.BatchRowRejected)
		rejected[r.Row] = r
	}
	require.Equal(t, batch.KindUnknownTeam, rejected["no team"].Code)
	require.Equal(t, 1, rejected["no team"].Index)
	require.Contains(t, rejected["2"].Message, "request is empty")

	require.Equal(t, events.StatusDegraded, summary.Status)
	require.Equal(t, []int{3, 1, 2, 0}, []int{summary.Done, summary.Completed, summary.Failed, summary.Running})
	require.Len(t, summary.Causes, 2)
	rows, err := log.Runs(t.Context(), events.RunQuery{Batch: summary.Batch})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, &events.BatchRow{Batch: summary.Batch, Row: "0"}, rows[0].Batch)
	require.EqualValues(t, rows[0].Usage.Total(), summary.Tokens)
	owner, _, err := log.Holder(t.Context(), batchKey(summary))
	require.NoError(t, err)
	require.Empty(t, owner)
}

// Progress is written while something changes, every two seconds, and not while a row
// only takes its time.
func TestProgressIsWrittenWhereSomethingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		c := batch.Config{Runner: newRunner(t, log, slow{sim.New(sim.Options{}), 60500 * time.Millisecond}), Team: solo(t), Solo: true, Concurrency: 2}
		c.Limiters = func() []llm.LimiterState {
			return []llm.LimiterState{{Endpoint: "sim", Limit: 9, InFlight: 2, ThrottledUntil: time.Now().Add(time.Hour)}}
		}
		b, err := batch.New(c)
		require.NoError(t, err)
		begun := time.Now()
		_, err = b.Run(t.Context(), given(
			batch.Row{Request: "one"}, batch.Row{Request: "two"}, batch.Row{Request: "three"}, batch.Row{Request: "four"},
		), discard)
		require.NoError(t, err)
		_, envs := onlyBatch(t, log)
		var at []time.Duration
		for _, env := range envs {
			at = append(at, env.Time.Sub(begun))
		}
		require.Equal(t, []time.Duration{0, 2 * time.Second, 62 * time.Second, 121 * time.Second}, at)
		first := envs[1].Data.(events.BatchProgress)
		require.Equal(t, 2, first.Running)
		require.Equal(t, "0", first.Slowest[0].Row)
		require.EqualValues(t, 2000, first.Slowest[0].ElapsedMS)
		require.Equal(t, "Facilitator waiting for first token", first.Slowest[0].Doing)
		require.Equal(t, []events.BatchLimiter{{Endpoint: "sim", Limit: 9, InFlight: 2, HeldBackMS: 3_600_000}}, first.Limiters)
		rows, err := log.Runs(t.Context(), events.RunQuery{OldestFirst: true, Limit: 1})
		require.NoError(t, err)
		require.Equal(t, rows[0].Run, first.Slowest[0].Run)
		ended := envs[3].Data.(events.BatchEnded)
		require.Equal(t, events.StatusCompleted, ended.Status)
		require.Zero(t, ended.Left)
		require.InDelta(t, 4.0/121, ended.RowsPerSecond, 0.001)
	})
}

// A batch of a day does not fill its thread.
func TestProgressOfALongBatch(t *testing.T) {
	race.Skip(t, "a day with a row at a time")
	synctest.Test(t, func(t *testing.T) {
		log, moved := events.NewMemory(), 0
		c := batch.Config{Runner: newRunner(t, log, slow{sim.New(sim.Options{}), time.Hour}), Team: solo(t), Solo: true, Concurrency: 1, RowTimeout: 2 * time.Hour}
		c.Limiters = func() []llm.LimiterState {
			moved++
			return []llm.LimiterState{{Endpoint: "sim", Limit: 1 << 30, InFlight: moved}}
		}
		b, err := batch.New(c)
		require.NoError(t, err)
		_, err = b.Run(t.Context(), func(yield func(batch.Row, error) bool) {
			for hour := range 24 {
				if !yield(batch.Row{Request: "one more", Index: hour}, nil) {
					return
				}
			}
		}, discard)
		require.NoError(t, err)
		_, envs := onlyBatch(t, log)
		require.Greater(t, len(envs), 8000)
		require.Less(t, len(envs), 10_500)
		require.Equal(t, 2*time.Second, envs[2].Time.Sub(envs[1].Time))
		require.Equal(t, 10*time.Second, envs[8001].Time.Sub(envs[8000].Time))
	})
}

// A batch says in what order it ended, and why rows are left.
func TestHowABatchEnded(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*batch.Config)
		rows   iter.Seq2[batch.Row, error]
		sink   batch.Sink
		stop   func(*batch.Batch)
		status events.Status
		reason string
		left   int // -2: some
	}{
		"all good": {status: events.StatusCompleted},
		"a bound": {
			change: func(c *batch.Config) { c.MaxTokens = 1 }, status: events.StatusSuspended, reason: "--max-tokens", left: -2,
		},
		"too many failures": {
			change: func(c *batch.Config) { c.MaxFailures, c.Concurrency = batch.MaxFailures{Set: true}, 1 },
			rows:   given(batch.Row{}, batch.Row{}, batch.Row{}, batch.Row{}, batch.Row{}, batch.Row{}, batch.Row{}),
			status: events.StatusFailed, reason: "rows failed; the maximum is 0", left: -2,
		},
		"every row failed": {rows: given(batch.Row{}, batch.Row{}), status: events.StatusFailed},
		"some rows failed": {
			rows: given(batch.Row{}, batch.Row{ID: "1", Index: 1, Request: "Plan a day"}), status: events.StatusDegraded,
		},
		"the sink fails": {
			sink:   batch.SinkFunc(func(batch.Output) error { return errors.New("no room") }),
			status: events.StatusFailed, reason: "no room", left: -2,
		},
		"the rows fail": {
			rows:   func(yield func(batch.Row, error) bool) { yield(batch.Row{}, errors.New("torn input")) },
			status: events.StatusFailed, reason: "torn input", left: 20,
		},
		"interrupted": {stop: (*batch.Batch).Suspend, status: events.StatusSuspended, reason: "interrupted", left: -2},
	} {
		t.Run(name, func(t *testing.T) {
			log := events.NewMemory()
			c := config(t, log)
			c.Total = 20
			if test.change != nil {
				test.change(&c)
			}
			b, err := batch.New(c)
			require.NoError(t, err)
			rows, sink := test.rows, test.sink
			if rows == nil {
				rows = func(yield func(batch.Row, error) bool) {
					for i := range c.Total {
						if i == 10 && test.stop != nil {
							test.stop(b)
						}
						if !yield(batch.Row{ID: fmt.Sprint(i), Index: i, Request: "Plan a day"}, nil) {
							return
						}
					}
				}
			}
			if sink == nil {
				sink = discard
			}
			_, _ = b.Run(t.Context(), rows, sink) // the journal says how it went
			summary, envs := onlyBatch(t, log)
			ended := envs[len(envs)-1].Data.(events.BatchEnded)
			require.Equal(t, test.status, summary.Status, summary.Reason)
			require.Contains(t, summary.Reason, test.reason)
			require.Equal(t, test.reason == "", summary.Reason == "")
			if test.left >= -1 {
				require.Equal(t, test.left, ended.Left)
			}
		})
	}
}

// faulty fails appends to the batch's own thread from the n-th on, and only those.
type faulty struct {
	events.Log
	err error
	mu  sync.Mutex // guards left
	// left is how many appends still work.
	left int
}

func (f *faulty) Append(ctx context.Context, key events.ThreadKey, epoch events.Epoch, after events.Seq, envs []events.Envelope) error {
	if len(envs) > 0 && strings.HasPrefix(string(envs[0].Data.Kind()), "batch_") {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.left--; f.left < 0 {
			return f.err
		}
	}
	return f.Log.Append(ctx, key, epoch, after, envs)
}

// A journal that cannot be written breaks the batch as a failing store does, at any
// moment of it; its runs are left to be resumed.
func TestJournalThatCannotBeWritten(t *testing.T) {
	for left := range 3 {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				full := errors.New("the disk is full")
				log := &faulty{Log: events.NewMemory(), err: full, left: left}
				b, err := batch.New(batch.Config{
					Runner: newRunner(t, log, slow{sim.New(sim.Options{}), 3 * time.Second}), Team: solo(t), Solo: true, Concurrency: 1,
				})
				require.NoError(t, err)
				report, err := b.Run(t.Context(), given(batch.Row{Request: "one"}), discard)
				require.ErrorIs(t, err, full)
				require.ErrorContains(t, err, "journal of batch")
				require.Equal(t, left == 1, report.Stop != nil && report.Stop.Kind == batch.StopBroken)
				require.Equal(t, left == 1, report.Suspended == 1, "the run under way is left to be resumed")
				runs, err := log.Runs(t.Context(), events.RunQuery{})
				require.NoError(t, err)
				require.Equal(t, left == 0, len(runs) == 0, "nothing is started that nobody could follow")
			})
		})
	}
}

// A batch that another process took over halts.
func TestBatchTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		b, err := batch.New(batch.Config{
			Runner: newRunner(t, log, slow{sim.New(sim.Options{}), time.Hour}), Team: solo(t), Solo: true,
		})
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() {
			summary, _ := onlyBatch(t, log)
			_, err := log.Claim(context.Background(), batchKey(summary), "somebody else", true)
			require.NoError(t, err)
		})
		begun := time.Now()
		report, err := b.Run(t.Context(), given(batch.Row{Request: "one"}), discard)
		require.ErrorIs(t, err, events.ErrFenced)
		require.Equal(t, 1, report.Suspended)
		require.Equal(t, 2*time.Second, time.Since(begun))
		summary, _ := onlyBatch(t, log)
		owner, _, err := log.Holder(t.Context(), batchKey(summary))
		require.NoError(t, err)
		require.Equal(t, events.Owner("somebody else"), owner)
	})
}

// What others post to the batch's thread does not keep it from going on.
func TestPostToABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		b, err := batch.New(batch.Config{
			Runner: newRunner(t, log, slow{sim.New(sim.Options{}), 5 * time.Second}), Team: solo(t), Solo: true,
		})
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() {
			summary, _ := onlyBatch(t, log)
			for range 3 {
				_, err := log.Post(context.Background(), batchKey(summary), events.Envelope{Data: events.UserMessage{Content: "how is it going?"}})
				require.NoError(t, err)
			}
		})
		_, err = b.Run(t.Context(), given(batch.Row{Request: "one"}), discard)
		require.NoError(t, err)
		summary, envs := onlyBatch(t, log)
		require.Equal(t, events.StatusCompleted, summary.Status)
		require.Equal(t, []events.Kind{
			events.KindBatchStarted, events.KindUserMessage, events.KindBatchProgress, events.KindBatchEnded,
		}, kinds(envs))
	})
}

// Two batches of one identity are one, also within a process, and a row cannot ask for
// the batch's own thread.
func TestOneBatchAtATime(t *testing.T) {
	c := config(t, events.NewMemory())
	c.Identity = batch.NewIdentity()
	first, err := batch.New(c)
	require.NoError(t, err)
	second, err := batch.New(c)
	require.NoError(t, err)
	thread := events.ThreadID(c.Identity.ID)
	report, err := first.Run(t.Context(), given(batch.Row{Request: "one", Thread: thread}, batch.Row{Request: "two"}),
		batch.SinkFunc(func(batch.Output) error {
			_, err := second.Run(t.Context(), given(), discard)
			require.ErrorIs(t, err, events.ErrHeld)
			return nil
		}))
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{report.Completed, report.Failed})
	require.Equal(t, batch.KindInvalidRow, report.Causes[0].Kind)
	_, err = second.Run(t.Context(), given(), discard)
	require.NoError(t, err, "it was given back")
}

// Of very many bad rows the first are named, and all are counted.
func TestManyBadRows(t *testing.T) {
	race.Skip(t, "nothing runs")
	const bad = 1500
	log := events.NewMemory()
	b, err := batch.New(config(t, log))
	require.NoError(t, err)
	_, err = b.Run(t.Context(), given(make([]batch.Row, bad)...), discard)
	require.NoError(t, err)
	summary, envs := onlyBatch(t, log)
	named := 0
	for _, env := range envs {
		if env.Data.Kind() == events.KindBatchRowRejected {
			named++
		}
	}
	require.Equal(t, 1000, named)
	require.Equal(t, bad, summary.Causes[0].Count)
}

// Proves R72: each call of a batch of files says so in the same thread, and a row that
// is run again has both its runs in the log, with their attempts, side by side.
func TestJournalOfFiles(t *testing.T) {
	client := &flaky{Client: sim.New(sim.Options{}), text: "day 3"}
	log := events.NewMemory()
	c := batch.Config{Runner: newRunner(t, log, client), Team: solo(t), Solo: true, Concurrency: 4}
	files := batch.Files{Input: write(t, "in.jsonl", requests(10)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	_, err := run(t, files, c)
	require.NoError(t, err)
	summary, envs := onlyBatch(t, log)
	started := envs[0].Data.(events.BatchStarted)
	require.Equal(t, []any{files.Input, files.Output, 10, false, 0},
		[]any{started.Input, started.Output, started.Rows, started.Resumed, started.Attempt})
	require.Equal(t, events.StatusDegraded, summary.Status)
	cause := summary.Causes[0]
	require.Equal(t, "bad_request", cause.Code)
	failed, err := log.FindRun(t.Context(), events.LocalTenant, string(cause.Run))
	require.NoError(t, err)
	require.Equal(t, &events.BatchRow{Batch: summary.Batch, Row: "r3", Index: 3}, failed.Batch)

	client.fixed.Store(true)
	files.RetryFailed = true
	_, err = run(t, files, c)
	require.NoError(t, err)
	again, envs := onlyBatch(t, log)
	require.Equal(t, summary.Batch, again.Batch)
	require.Equal(t, events.StatusCompleted, again.Status)
	require.Equal(t, 10, again.Completed)
	require.Empty(t, again.Causes)
	var starts []events.BatchStarted
	for _, env := range envs {
		if s, ok := env.Data.(events.BatchStarted); ok {
			starts = append(starts, s)
		}
	}
	require.Len(t, starts, 2)
	require.True(t, starts[1].Resumed)
	require.Equal(t, 1, starts[1].Attempt)
	rows, err := log.Runs(t.Context(), events.RunQuery{Batch: again.Batch, OldestFirst: true})
	require.NoError(t, err)
	var listed []string
	for _, row := range rows {
		listed = append(listed, fmt.Sprintf("%s/%d %s", row.Batch.Row, row.Batch.Attempt, row.Status))
	}
	require.Equal(t, []string{
		"r0/0 completed", "r1/0 completed", "r2/0 completed", "r3/0 failed", "r3/1 completed", "r4/0 completed",
		"r5/0 completed", "r6/0 completed", "r7/0 completed", "r8/0 completed", "r9/0 completed",
	}, listed)
}

// A row that a file has wrongly is named with its line.
func TestRejectedRowsHaveLines(t *testing.T) {
	log := events.NewMemory()
	files := batch.Files{Input: write(t, "in.jsonl", `{"request":"a"}`, `nonsense`), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	_, err := run(t, files, config(t, log))
	require.NoError(t, err)
	_, envs := onlyBatch(t, log)
	rejected := envs[1].Data.(events.BatchRowRejected)
	require.Equal(t, 2, rejected.Line)
	require.True(t, strings.HasPrefix(rejected.Message, "the row is not a JSON object"), rejected.Message)
}

// What is written every two seconds stays small, whatever rows and endpoints say.
func TestProgressIsSmall(t *testing.T) {
	log := events.NewMemory()
	c := config(t, log)
	var rows []batch.Row
	for i := range 60 {
		rows = append(rows, batch.Row{Request: "a", Team: fmt.Sprintf("%d%s", i, strings.Repeat("x", 5000))})
	}
	b, err := batch.New(c)
	require.NoError(t, err)
	_, err = b.Run(t.Context(), given(rows...), discard)
	require.NoError(t, err)
	_, envs := onlyBatch(t, log)
	for _, env := range envs {
		body, err := json.Marshal(env)
		require.NoError(t, err)
		require.Less(t, len(body), 20_000)
	}
}

// A batch that was stopped and then started over is given up in the log: nobody is told
// to continue it. One that had come to its end stays as it was.
func TestStartedOver(t *testing.T) {
	log := events.NewMemory()
	files := batch.Files{Input: write(t, "in.jsonl", requests(20)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	c := config(t, log)
	c.MaxTokens = 1000
	_, err := run(t, files, c)
	require.NoError(t, err)
	first, _ := onlyBatch(t, log)
	require.Equal(t, events.StatusSuspended, first.Status)

	files.Fresh, c.MaxTokens = true, 0
	for range 2 {
		_, err = run(t, files, c)
		require.NoError(t, err)
	}
	batches, err := log.Batches(t.Context(), events.BatchQuery{})
	require.NoError(t, err)
	require.Len(t, batches, 3)
	for i, status := range []events.Status{events.StatusCompleted, events.StatusCompleted, events.StatusCancelled} {
		require.Equal(t, status, batches[i].Status)
		owner, _, err := log.Holder(t.Context(), batchKey(batches[i]))
		require.NoError(t, err)
		require.Empty(t, owner)
	}
	require.Equal(t, first.Batch, batches[2].Batch)
	require.Equal(t, first.Done, batches[2].Done)
	require.Contains(t, batches[2].Reason, "started over")
}
