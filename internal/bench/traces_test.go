package bench

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/procusage"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/otel"
	"github.com/convene-run/convene/runner"
)

// BenchmarkTraces compares the CPU of a run that is exported to OpenTelemetry with that of one
// that is not, both durable: alternating rounds, the median of the ratios. The aim is 1.05.
func BenchmarkTraces(b *testing.B) {
	for _, width := range []int{1, 64} {
		b.Run(fmt.Sprintf("runs=%d", width), func(b *testing.B) {
			for range b.N {
				traced(b, width)
			}
		})
	}
}

func traced(b *testing.B, width int) {
	const rounds = 7
	count := max(3*width, 60)
	baseURL := startServer(b, sim.Options{Bench: true, Chunks: chunksPerCall})
	b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", strings.TrimSuffix(baseURL, "/v1")+"/otlp")
	tm := tripTeam(b)
	measure := func(hooks func(events.Log) (runner.Hooks, func())) float64 {
		store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "runs.db"))
		require.NoError(b, err)
		defer func() { require.NoError(b, store.Close()) }()
		told, end := hooks(store)
		r := newHookedRunner(b, baseURL, store, told)
		before := procusage.Time()
		load(b, count, width, runnerJob(r, tm))
		require.NoError(b, r.Shutdown(b.Context()))
		end()
		return float64(procusage.Time() - before)
	}
	var ratios []float64
	for round := range rounds {
		plain := measure(func(events.Log) (runner.Hooks, func()) { return runner.Hooks{}, func() {} })
		exported := measure(func(log events.Log) (runner.Hooks, func()) {
			exporter, err := otel.New(b.Context(), otel.Config{Log: log, OnError: func(err error) { b.Error(err) }})
			require.NoError(b, err)
			return runner.Hooks{OnEvent: exporter.OnEvent, Delay: time.Second}, func() { require.NoError(b, exporter.Shutdown(b.Context())) }
		})
		if round > 0 { // the first warms up connections and caches
			ratios = append(ratios, exported/plain)
		}
	}
	b.ReportMetric(median(ratios), "traced/sqlite")
	b.ReportMetric(0, "ns/op")
}
