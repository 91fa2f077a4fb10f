package bench

import (
	"context"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/runner"
)

// BenchmarkMemory measures how much the resident memory grows for each of 2,000
// runs at once, at the moment when each has three specialists' streams open. The
// bar is 250 KB.
func BenchmarkMemory(b *testing.B) {
	const runs, streams = 2000, 3
	for range b.N {
		// Slow first tokens line the runs up at the point where all specialists wait.
		baseURL := startServer(b, sim.Options{Bench: true, Chunks: chunksPerCall, FirstToken: 15 * time.Second, PerChunk: time.Millisecond})
		log := events.NewMemory()
		r := newRunner(b, baseURL, log)
		tm := tripTeam(b)
		debug.FreeOSMemory()
		before := resident(b)
		ctx, stop := context.WithCancel(b.Context())
		var wg sync.WaitGroup
		for range runs {
			wg.Go(func() {
				run, err := r.Start(ctx, runner.Job{Request: request, Team: tm})
				if err == nil {
					_, err = run.Wait()
				}
				if err != nil {
					b.Error(err)
				}
			})
		}
		most, open := 0, 0
		for deadline := time.Now().Add(3 * time.Minute); open < runs*streams && time.Now().Before(deadline); {
			time.Sleep(100 * time.Millisecond)
			open = reportOf(b, baseURL, false).InFlight
			most = max(most, resident(b))
		}
		require.Equal(b, runs*streams, open, "streams open at once")
		most = max(most, resident(b))
		stop()
		wg.Wait()
		b.ReportMetric(float64(most-before)/runs/1000, "KB-RSS/run")
	}
	b.ReportMetric(0, "ns/op")
}

// resident is this process's resident memory in bytes.
func resident(tb testing.TB) int {
	tb.Helper()
	body, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		tb.Skip("needs /proc/self/statm")
	}
	pages, err := strconv.Atoi(strings.Fields(string(body))[1])
	require.NoError(tb, err)
	return pages * os.Getpagesize()
}
