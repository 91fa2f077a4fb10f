package batch_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
)

// Proves R72: the tail of an output that was lost after a retry comes back as it was:
// no failure from before the retry, and nothing is paid for again.
func TestLostTailAfterARetry(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("unordered=%t", unordered), func(t *testing.T) {
			client := &flaky{Client: sim.New(sim.Options{}), text: "day 3"}
			c := batch.Config{Runner: newRunner(t, events.NewMemory(), client), Team: solo(t), Solo: true, Concurrency: 4}
			files := batch.Files{
				Input: write(t, "in.jsonl", requests(40)...), Output: filepath.Join(t.TempDir(), "out.jsonl"), Unordered: unordered,
			}
			_, err := run(t, files, c)
			require.NoError(t, err)
			files.RetryFailed = true
			for range 2 { // the second time all succeed, so that rows have three attempts
				before := client.calls.Load()
				_, err = run(t, files, c)
				require.NoError(t, err)
				require.EqualValues(t, 11, client.calls.Load()-before)
				client.fixed.Store(true)
			}
			whole, err := os.ReadFile(files.Output)
			require.NoError(t, err)
			paid := client.calls.Load()
			files.RetryFailed = false
			for _, keep := range []int{39, 20, 3, 0} {
				end := 0
				for range keep {
					end += bytes.IndexByte(whole[end:], '\n') + 1
				}
				require.NoError(t, os.WriteFile(files.Output, whole[:end], 0o600))
				report, err := run(t, files, c)
				require.NoError(t, err)
				require.Equal(t, []int{40, 0}, []int{report.Completed, report.Failed}, "%d lines kept", keep)
				require.Equal(t, paid, client.calls.Load(), "%d lines kept", keep)
				again, err := os.ReadFile(files.Output)
				require.NoError(t, err)
				if !unordered {
					require.Equal(t, string(whole), string(again))
				}
				for _, out := range outputs(t, files.Output) {
					require.Equal(t, out.Index == 3 || out.Index/10 == 3, out.Attempt == 2)
				}
			}
		})
	}
}

// The output from before a retry is removed only once the new one is durable: a power
// loss between the two would otherwise take both.
func TestOldOutputOutlivesTheRetry(t *testing.T) {
	client := &flaky{Client: sim.New(sim.Options{}), text: "day 1"}
	c := batch.Config{Runner: newRunner(t, events.NewMemory(), client), Team: solo(t), Solo: true}
	files := batch.Files{Input: write(t, "in.jsonl", requests(5)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	_, err := run(t, files, c)
	require.NoError(t, err)
	files.RetryFailed = true
	job, err := batch.Open(t.Context(), files, c)
	require.NoError(t, err)
	aside := filepath.Join(files.Output+".batch", "output-1.jsonl")
	var durable [][2]int // lines of the old and the new output when the new one is made durable
	job.OnSync(func() {
		old := -1
		if _, err := os.Stat(aside); err == nil {
			old = len(outputs(t, aside))
		}
		durable = append(durable, [2]int{old, len(outputs(t, files.Output))})
	})
	_, err = job.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, [2]int{5, 5}, durable[0])
	require.NoFileExists(t, aside)
}
