package bench

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/sim"
)

// BenchmarkCriticalPath compares the time of a run with the critical path that the
// server computes from its own timestamps, at 150 ms to the first token and 10 ms a
// chunk, with the durable log. Waiting: the path of a client that starts specialists
// when the dispatching turn has ended; the bar is 1.01. Early: the dispatching turn
// streams slowly, and a perfect client would take the share of that path that is
// reported as "perfect"; the bar is 0.02 above it.
func BenchmarkCriticalPath(b *testing.B) {
	b.Run("waiting", func(b *testing.B) { criticalPath(b, sim.Options{}) })
	b.Run("early", func(b *testing.B) { criticalPath(b, sim.Options{EarlyDispatch: true, SlowDispatch: 6}) })
}

func criticalPath(b *testing.B, options sim.Options) {
	options.FirstToken, options.PerChunk = 150*time.Millisecond, 10*time.Millisecond
	baseURL := startServer(b, options)
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "path.db"))
	require.NoError(b, err)
	defer func() { require.NoError(b, store.Close()) }()
	r, tm := newRunner(b, baseURL, store), tripTeam(b)
	var ratios []float64
	var report sim.RunReport
	for range max(b.N, 3) {
		_, err := wholeRun(b.Context(), r, tm)
		require.NoError(b, err)
		runs := reportOf(b, baseURL, false).Runs
		report = runs[len(runs)-1]
		ratios = append(ratios, report.ElapsedMS/report.CriticalPathMS)
		reset(b, baseURL)
	}
	b.ReportMetric(median(ratios), "elapsed/path")
	b.ReportMetric(report.EarlyCriticalPathMS/report.CriticalPathMS, "perfect")
	b.ReportMetric(report.CriticalPathMS, "path-ms")
	b.ReportMetric(0, "ns/op")
}

// reportOf asks the server for its report, with or without the single requests.
func reportOf(tb testing.TB, baseURL string, records bool) (report sim.Report) {
	tb.Helper()
	address := strings.TrimSuffix(baseURL, "/v1") + "/sim/report"
	if !records {
		address += "?records=0"
	}
	resp, err := http.Get(address)
	require.NoError(tb, err)
	defer resp.Body.Close()
	require.NoError(tb, json.NewDecoder(resp.Body).Decode(&report))
	return report
}

func reset(tb testing.TB, baseURL string) {
	tb.Helper()
	resp, err := http.Post(strings.TrimSuffix(baseURL, "/v1")+"/sim/reset", "", nil)
	require.NoError(tb, err)
	require.NoError(tb, resp.Body.Close())
}
