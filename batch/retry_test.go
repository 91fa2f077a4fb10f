package batch_test

import (
	"context"
	"fmt"
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
	"github.com/convene-run/convene/team"
)

// flaky fails requests that contain a text, until it is fixed.
type flaky struct {
	llm.Client
	text  string
	fixed atomic.Bool
	calls atomic.Int64
}

func (f *flaky) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	f.calls.Add(1)
	for _, m := range req.Messages {
		if !f.fixed.Load() && m.Role == events.RoleUser && strings.Contains(m.Content, f.text) {
			return func(yield func(llm.Delta, error) bool) {
				yield(llm.Delta{}, &llm.Error{Kind: llm.ErrBadRequest, Status: 400, Message: "no"})
			}
		}
	}
	return f.Client.Stream(ctx, req)
}

// Proves R72: failed rows, and only those, are run again; what the failures cost
// stays in the sum.
func TestRetryFailed(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("unordered=%t", unordered), func(t *testing.T) {
			client := &flaky{Client: sim.New(sim.Options{}), text: "day 3"}
			log := events.NewMemory()
			c := batch.Config{Runner: newRunner(t, log, client), Team: solo(t), Solo: true, Concurrency: 4}
			files := batch.Files{
				Input: write(t, "in.jsonl", requests(50)...), Output: filepath.Join(t.TempDir(), "out.jsonl"), Unordered: unordered,
			}
			report, err := run(t, files, c)
			require.NoError(t, err)
			require.Equal(t, 11, report.Failed, "rows 3 and 30 to 39")
			require.Equal(t, "bad_request", report.Causes[0].Kind)
			require.Equal(t, 11, report.Causes[0].Count)

			client.calls.Store(0)
			report, err = run(t, files, c)
			require.NoError(t, err)
			require.Equal(t, 11, report.Failed)
			require.Zero(t, client.calls.Load(), "without --retry-failed a failure stands")

			files.RetryFailed = true
			report, err = run(t, files, c)
			require.NoError(t, err)
			require.Equal(t, []int{50, 11}, []int{report.Rows, report.Failed})
			require.EqualValues(t, 11, client.calls.Load())

			client.fixed.Store(true)
			client.calls.Store(0)
			report, err = run(t, files, c)
			require.NoError(t, err)
			require.Equal(t, []int{50, 50, 0, 0}, []int{report.Rows, report.Completed, report.Failed, report.Left})
			require.EqualValues(t, 11, client.calls.Load())
			seen := map[int]bool{}
			for i, out := range outputs(t, files.Output) {
				seen[out.Index] = true
				require.True(t, unordered || out.Index == i)
				if out.Index == 3 || out.Index/10 == 3 {
					require.Equal(t, 2, out.Attempt)
				}
			}
			require.Len(t, seen, 50)
			require.NoFileExists(t, filepath.Join(files.Output+".batch", "output-2.jsonl"))
		})
	}
}

// A retry that was stopped is continued by the same command, and without it.
func TestInterruptedRetry(t *testing.T) {
	client := &flaky{Client: sim.New(sim.Options{}), text: "day 3"}
	c := batch.Config{Runner: newRunner(t, events.NewMemory(), client), Team: solo(t), Solo: true, Concurrency: 1}
	files := batch.Files{Input: write(t, "in.jsonl", requests(50)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	_, err := run(t, files, c)
	require.NoError(t, err)
	files.RetryFailed, c.MaxFailures = true, batch.MaxFailures{Count: 3, Set: true}
	report, err := run(t, files, c)
	require.NoError(t, err)
	require.Greater(t, report.Left, 0)
	client.fixed.Store(true)
	client.calls.Store(0)
	files.RetryFailed, c.MaxFailures = false, batch.MaxFailures{}
	report, err = run(t, files, c)
	require.NoError(t, err)
	require.Equal(t, 50, report.Rows)
	require.Less(t, client.calls.Load(), int64(11), "what failed in the retry stands until the next")
	require.Equal(t, report.Failed+int(client.calls.Load()), 11)
}

// A panic below a row is an error of that row alone.
func TestPanicIsTheRows(t *testing.T) {
	c := config(t, events.NewMemory())
	files := batch.Files{Input: write(t, "in.jsonl", `{"request":"a","team":"boom"}`, `{"request":"b"}`), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	c.Teams = func(name string) (*team.Team, error) { panic(name) }
	report, err := run(t, files, c)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{report.Completed, report.Failed})
	require.Equal(t, batch.KindInternal, report.Causes[0].Kind)
}
