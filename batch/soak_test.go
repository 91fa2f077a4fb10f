package batch_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/procusage"
)

// soakEnv runs what takes minutes: `make soak`.
const soakEnv = "CONVENE_SOAK"

func soak(t *testing.T) {
	t.Helper()
	if os.Getenv(soakEnv) == "" {
		t.Skip("set " + soakEnv + "=1: it takes minutes")
	}
}

// Proves R72: memory does not grow with the number of rows, from a file or standard
// input, nor with the outputs that wait for a slow first row.
func TestMemoryIsFlat(t *testing.T) {
	soak(t)
	const few, many = 2_000, 100_000
	for name, w := range map[string]work{
		"file":       {},
		"stdin":      {},
		"slow first": {SlowFirst: true},
		"unordered":  {Unordered: true},
	} {
		t.Run(name, func(t *testing.T) {
			var peaks []int64
			for _, rows := range []int{few, many} {
				w.Rows = rows
				peaks = append(peaks, peak(t, w, name == "stdin"))
			}
			ratio := float64(peaks[1]) / float64(peaks[0])
			t.Logf("peak RSS %d MB for %d rows, %d MB for %d: %.2f times", peaks[0]>>10, few, peaks[1]>>10, many, ratio)
			require.LessOrEqual(t, ratio, 1.3)
		})
	}
}

// peak runs a batch in a process of its own and gives its highest RSS in KB.
func peak(t *testing.T, w work, stdin bool) int64 {
	t.Helper()
	w.Dir, w.Team, w.Solo, w.Offline, w.Concurrency = t.TempDir(), leanTeam, true, true, 64
	rows := filepath.Join(w.Dir, "in.jsonl")
	writeRows(t, rows, w.Rows)
	w.Input = rows
	if stdin {
		w.Input = "-"
	}
	began := time.Now()
	cmd, stdout, stderr := w.start(t, rows)
	require.NoError(t, cmd.Wait(), "%s", stderr)
	require.Contains(t, stdout.String(), fmt.Sprintf(`"completed":%d`, w.Rows))
	t.Logf("%d rows in %s", w.Rows, time.Since(began).Round(time.Millisecond))
	return procusage.Peak(cmd.ProcessState) >> 10
}

func writeRows(t *testing.T, path string, rows int) {
	t.Helper()
	file, err := os.Create(path)
	require.NoError(t, err)
	out := bufio.NewWriter(file)
	for i := range rows {
		fmt.Fprintf(out, `{"id":"r%d","request":"Plan day %d"}`+"\n", i, i)
	}
	require.NoError(t, out.Flush())
	require.NoError(t, file.Close())
}
