package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/procusage"
	"github.com/convene-run/convene/internal/sim"
)

// BenchmarkBatch compares the CPU of a row of a batch, 64 at once, from a file to a
// file with a durable log, with that of a bare loop. The bar is 1.0.
func BenchmarkBatch(b *testing.B) {
	const rows, width, rounds = 1000, 64, 3
	for range b.N {
		baseURL := startServer(b, sim.Options{Bench: true, Chunks: chunksPerCall})
		plain, err := newBare(tripTeam(b), baseURL)
		require.NoError(b, err)
		bareJob := func(ctx context.Context) error { return plain.run(ctx, request) }
		load(b, width, width, bareJob) // warms up connections and caches
		var ratios, each []float64
		for range rounds {
			bareCPU := load(b, rows, width, bareJob)
			before := procusage.Time()
			runBatch(b, baseURL, rows, width, false)
			batchCPU := (procusage.Time() - before) / rows
			ratios = append(ratios, float64(batchCPU)/float64(bareCPU))
			each = append(each, float64(batchCPU.Microseconds())/1000)
		}
		b.ReportMetric(median(ratios), "batch/bare")
		b.ReportMetric(median(each), "cpu-ms/row")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkUnevenRows runs 2,000 rows at once whose calls take 20, 40 or 60 seconds,
// and compares the wall time with the longest row's own: its call as the server
// planned it. The rows are of a single agent, so that a row's ideal is known. The bar
// is 1.02.
func BenchmarkUnevenRows(b *testing.B) {
	const rows = 2000
	for range b.N {
		baseURL := startServer(b, sim.Options{Chunks: chunksPerCall, FirstToken: 20 * time.Second, Faults: sim.Faults{Random: []sim.Fault{
			{Kind: sim.FaultSlow, Rate: 0.2, For: 20 * time.Second}, {Kind: sim.FaultSlow, Rate: 0.1, For: 40 * time.Second},
		}}})
		began := time.Now()
		runBatch(b, baseURL, rows, rows, true)
		wall, longest := time.Since(began), 0.0
		for _, record := range reportOf(b, baseURL, true).Records {
			longest = max(longest, record.PlannedMS)
		}
		b.ReportMetric(wall.Seconds(), "wall-s")
		b.ReportMetric(wall.Seconds()*1000/longest, "wall/ideal")
	}
	b.ReportMetric(0, "ns/op")
}

// runBatch runs rows from a file to a file.
func runBatch(b *testing.B, baseURL string, rows, width int, solo bool) {
	b.Helper()
	dir := b.TempDir()
	in := filepath.Join(dir, "in.jsonl")
	file, err := os.Create(in)
	require.NoError(b, err)
	out := bufio.NewWriter(file)
	for i := range rows {
		fmt.Fprintf(out, `{"id":"r%d","request":"%s, number %d"}`+"\n", i, request, i)
	}
	require.NoError(b, out.Flush())
	require.NoError(b, file.Close())
	store, err := sqlite.Open(b.Context(), filepath.Join(dir, "store.db"))
	require.NoError(b, err)
	job, err := batch.Open(b.Context(), batch.Files{Input: in, Output: filepath.Join(dir, "out.jsonl")}, batch.Config{
		Runner: newRunner(b, baseURL, store), Team: tripTeam(b), Solo: solo, Concurrency: width,
	})
	require.NoError(b, err)
	report, err := job.Run(b.Context())
	require.NoError(b, err)
	require.Equal(b, rows, report.Completed, "%+v", report.Causes)
	require.NoError(b, store.Close())
}
