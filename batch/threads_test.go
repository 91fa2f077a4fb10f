package batch_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
)

// threaded makes rows of which every third is of one thread.
func threaded(n int, thread string) []string {
	lines := requests(n)
	for i := 0; i < n; i += 3 {
		lines[i] = fmt.Sprintf(`{"id":"r%d","request":"Plan day %d","thread_id":%q}`, i, i, thread)
	}
	return lines
}

// Proves R72: rows of one thread run one after the other, in the order of the input, and
// rows of other threads do not wait for them.
func TestRowsOfOneThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		thread, log := uuid.NewString(), events.NewMemory()
		c := batch.Config{Runner: newRunner(t, log, slow{Client: sim.New(sim.Options{}), wait: time.Second}), Team: solo(t), Solo: true, Concurrency: 4}
		files := batch.Files{Input: write(t, "in.jsonl", threaded(30, thread)...), Output: filepath.Join(t.TempDir(), "out.jsonl"), Unordered: true}
		begun := time.Now()
		report, err := run(t, files, c)
		require.NoError(t, err)
		require.Equal(t, []int{30, 30}, []int{report.Rows, report.Completed}, "%v", report.Causes)
		require.Equal(t, 10*time.Second, time.Since(begun), "10 rows of the thread at a second each; the others beside them")
		runs, err := log.Runs(t.Context(), events.RunQuery{Tenant: events.LocalTenant, Thread: events.ThreadID(thread), OldestFirst: true})
		require.NoError(t, err)
		require.Len(t, runs, 10)
		last := events.Seq(0)
		for i, run := range runs {
			require.Equal(t, 3*i, run.Batch.Index)
			require.Equal(t, last+1, run.FirstSeq, "in the order of the input")
			last = run.LastSeq
		}
	})
}

// Where a row of a thread is parked, those behind it wait for the next call, which runs
// them in order.
func TestRowsBehindAParkedOne(t *testing.T) {
	client := &parked{Client: sim.New(sim.Options{}), asked: make(chan struct{}, 1)}
	c := batch.Config{Runner: newRunner(t, events.NewMemory(), client), Team: solo(t), Solo: true, Concurrency: 2}
	files := batch.Files{Input: write(t, "in.jsonl", threaded(9, uuid.NewString())...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	job, err := batch.Open(t.Context(), files, c)
	require.NoError(t, err)
	go func() {
		<-client.asked
		job.Halt()
	}()
	report, err := job.Run(t.Context())
	require.NoError(t, err)
	require.Zero(t, report.Failed)
	require.Positive(t, report.Left)
	client.free.Store(true)
	report, err = run(t, files, c)
	require.NoError(t, err)
	require.Equal(t, []int{9, 0}, []int{report.Completed, report.Left}, "%v", report.Causes)
}

// parked does not answer before it is free.
type parked struct {
	llm.Client
	asked chan struct{}
	free  atomic.Bool
}

func (p *parked) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	if p.free.Load() || !strings.HasSuffix(req.Messages[len(req.Messages)-1].Content, "day 0") {
		return p.Client.Stream(ctx, req)
	}
	return func(yield func(llm.Delta, error) bool) {
		p.asked <- struct{}{}
		<-ctx.Done()
		yield(llm.Delta{}, ctx.Err())
	}
}

// A row whose thread somebody else has waits until it is given back.
func TestThreadHeldElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		thread, c := uuid.NewString(), config(t, events.NewMemory())
		key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(thread)}
		epoch, err := c.Runner.Claim(t.Context(), key)
		require.NoError(t, err)
		time.AfterFunc(time.Minute, func() { c.Runner.Release(key, epoch) })
		begun := time.Now()
		report, err := run(t, batch.Files{Input: write(t, "in.jsonl", threaded(2, thread)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}, c)
		require.NoError(t, err)
		require.Equal(t, 2, report.Completed, "%v", report.Causes)
		require.InDelta(t, time.Minute.Seconds(), time.Since(begun).Seconds(), 1)
	})
}

// lockedStore is a log that another process keeps locked for a while: claims fail then.
type lockedStore struct {
	events.Log
	batch events.ThreadID
	until time.Time
}

func (l *lockedStore) Claim(ctx context.Context, key events.ThreadKey, owner events.Owner, takeOver bool) (events.Epoch, error) {
	if key.Thread != l.batch && time.Now().Before(l.until) {
		time.Sleep(10 * time.Second) // as long as a claim waits itself
		return 0, fmt.Errorf("claim: %w", events.ErrLocked)
	}
	return l.Log.Claim(ctx, key, owner, takeOver)
}

// A store that another process keeps locked holds a batch up, and ends neither it nor a row,
// be it new or one to be resumed.
func TestLockedStorePausesTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &lockedStore{Log: events.NewMemory()}
		client := &parked{Client: sim.New(sim.Options{}), asked: make(chan struct{}, 1)}
		c := batch.Config{Runner: newRunner(t, store, client), Team: solo(t), Solo: true, Concurrency: 2}
		files := batch.Files{Input: write(t, "in.jsonl", requests(6)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
		job, err := batch.Open(t.Context(), files, c)
		require.NoError(t, err)
		go func() {
			<-client.asked
			job.Halt()
		}()
		_, err = job.Run(t.Context())
		require.NoError(t, err)
		client.free.Store(true)

		job, err = batch.Open(t.Context(), files, c)
		require.NoError(t, err)
		begun := time.Now()
		store.batch, store.until = job.Key().Thread, begun.Add(time.Minute)
		report, err := job.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int{6, 0}, []int{report.Completed, report.Failed}, "%v", report.Causes)
		require.GreaterOrEqual(t, time.Since(begun), time.Minute)
	})
}
