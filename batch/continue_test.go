package batch_test

import (
	"context"
	"iter"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
)

// lame is a simulated model whose specialist of one kind is refused until it is fixed. It
// counts the calls of the other kind.
type lame struct {
	llm.Client
	refused, other string
	fixed          atomic.Bool
	others         atomic.Int64
}

func (l *lame) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	system := req.Messages[0].Content
	if strings.Contains(system, l.other) {
		l.others.Add(1)
	}
	if !l.fixed.Load() && strings.Contains(system, l.refused) {
		return func(yield func(llm.Delta, error) bool) {
			yield(llm.Delta{}, &llm.Error{Kind: llm.ErrBadRequest, Status: 400, Message: "no"})
		}
	}
	return l.Client.Stream(ctx, req)
}

// Proves R72, R73: a degraded row goes on from what the log has: the specialist that did
// its work is not asked again, and the row's next attempt is a new run in the same thread.
func TestRetryDegradedGoesOn(t *testing.T) {
	client := &lame{Client: sim.New(sim.Options{}), refused: "You know what to see", other: "You know how a place eats"}
	log := events.NewMemory()
	c := batch.Config{Runner: newRunner(t, log, client), Team: parse(t, leanTeam)}
	files := batch.Files{Input: write(t, "in.jsonl", requests(4)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	report, err := run(t, files, c)
	require.NoError(t, err)
	require.Equal(t, []int{0, 4}, []int{report.Completed, report.Degraded})
	failed, degraded := report.Retriable()
	require.Equal(t, []int{0, 4}, []int{failed, degraded})
	before, asked, used := outputs(t, files.Output), client.others.Load(), report.Usage
	require.Positive(t, asked)

	files.RetryFailed = true
	report, err = run(t, files, c)
	require.NoError(t, err)
	require.Equal(t, 4, report.Degraded, "they did not fail")
	require.Equal(t, asked, client.others.Load())

	client.fixed.Store(true)
	files.RetryFailed, files.RetryDegraded = false, true
	report, err = run(t, files, c)
	require.NoError(t, err)
	require.Equal(t, []int{4, 0}, []int{report.Completed, report.Degraded}, "%v", report.Causes)
	require.Equal(t, asked, client.others.Load(), "what was written is not written again")
	sum := used
	for i, out := range outputs(t, files.Output) {
		require.Equal(t, 1, out.Attempt)
		require.Equal(t, before[i].ThreadID, out.ThreadID)
		require.NotEqual(t, before[i].RunID, out.RunID)
		require.Len(t, out.Tasks, 4)
		require.Less(t, out.Usage.Total(), 2*before[i].Usage.Total())
		envs, err := log.Read(t.Context(), events.ThreadKey{Tenant: events.LocalTenant, Thread: out.ThreadID}, 0, 0)
		require.NoError(t, err)
		var started []events.WorkflowStarted
		for _, env := range envs {
			if e, ok := env.Data.(events.WorkflowStarted); ok {
				started = append(started, e)
			}
		}
		require.Len(t, started, 2)
		require.Equal(t, before[i].RunID, started[1].Continues)
		sum = sum.Add(out.Usage)
	}
	require.Equal(t, sum, report.Usage, "the attempts before are counted, once")
}

// Rows that are bad themselves are not run again, and nobody is advised to.
func TestBadRowsAreNotRetried(t *testing.T) {
	c := config(t, events.NewMemory())
	files := batch.Files{Input: write(t, "in.jsonl", `{"request":"a"}`, `{"id":"none"}`, "no JSON"), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	report, err := run(t, files, c)
	require.NoError(t, err)
	require.Equal(t, 2, report.Failed)
	failed, degraded := report.Retriable()
	require.Zero(t, failed+degraded)
	before := outputs(t, files.Output)
	files.RetryFailed, files.RetryDegraded = true, true
	_, err = run(t, files, c)
	require.NoError(t, err)
	require.Equal(t, before, outputs(t, files.Output))
}

// Where the log has lost the run of the attempt before, the row starts over.
func TestRetryWithoutTheRunBefore(t *testing.T) {
	client := &flaky{Client: sim.New(sim.Options{}), text: "day 1"}
	files := batch.Files{Input: write(t, "in.jsonl", requests(3)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	_, err := run(t, files, batch.Config{Runner: newRunner(t, events.NewMemory(), client), Team: solo(t), Solo: true})
	require.NoError(t, err)
	client.fixed.Store(true)
	files.RetryFailed = true
	report, err := run(t, files, batch.Config{Runner: newRunner(t, events.NewMemory(), client), Team: solo(t), Solo: true})
	require.NoError(t, err)
	require.Equal(t, 3, report.Completed, "%v", report.Causes)
}
