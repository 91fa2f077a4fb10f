package bench

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/sim"
	"github.com/convene-run/convene/runner"
)

// How long the limiter may learn, and how long it is then measured.
const (
	learning = 30 * time.Second
	measured = 3 * time.Minute
)

// BenchmarkLimits lets far more runs go at once than the endpoint takes, tells the
// limiter nothing, and reads from the server's own report what was used of what it
// allows. The bars: 600 requests a minute, at least 0.95 of it and fewer than 0.02
// of the calls refused; 64 at once with calls of one to three seconds, at least 0.97
// busy.
func BenchmarkLimits(b *testing.B) {
	b.Run("600-a-minute", func(b *testing.B) {
		before, after := underLoad(b, sim.Options{Faults: sim.Faults{RequestsPerMinute: 600}}, 300)
		allowed := 600 * measured.Minutes()
		served := float64(after.Served - before.Served)
		b.ReportMetric(served/allowed, "used")
		reportRefused(b, before, after)
	})
	b.Run("64-at-once", func(b *testing.B) {
		before, after := underLoad(b, sim.Options{
			FirstToken: time.Second, PerChunk: 25 * time.Millisecond, Faults: sim.Faults{MaxInFlight: 64},
		}, 200)
		b.ReportMetric(busy(after, 64), "busy")
		reportRefused(b, before, after)
	})
}

func reportRefused(b *testing.B, before, after sim.Report) {
	refused, all := float64(after.Refused-before.Refused), float64(after.Requests-before.Requests)
	b.ReportMetric(refused/all, "refused")
	b.ReportMetric(0, "ns/op")
}

// underLoad keeps width runs going and gives the server's reports at the beginning
// and at the end of the measured time.
func underLoad(b *testing.B, options sim.Options, width int) (before, after sim.Report) {
	b.Helper()
	baseURL := startServer(b, options)
	r, err := runner.New(runner.Config{Log: events.NewMemory(), Models: models{&llm.Endpoint{
		Name: "sim", Client: openai.New(openai.Config{Provider: "sim", BaseURL: baseURL, APIKey: "key"}),
		Limiter: llm.NewLimiter(llm.LimiterConfig{MaxInFlight: width * 4}),
	}}})
	require.NoError(b, err)
	tm := tripTeam(b)
	ctx, stop := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	for range width {
		wg.Go(func() {
			for ctx.Err() == nil {
				run, err := r.Start(ctx, runner.Job{Request: request, Team: tm})
				if err == nil {
					_, err = run.Wait()
				}
				if err != nil && ctx.Err() == nil {
					b.Error(err)
				}
			}
		})
	}
	time.Sleep(learning)
	before = reportOf(b, baseURL, false)
	time.Sleep(measured)
	after = reportOf(b, baseURL, true)
	stop()
	wg.Wait()
	return before, after
}

// busy is how much of the places of the endpoint was in use over the measured time.
func busy(report sim.Report, places int) float64 {
	until := 0.0
	for _, r := range report.Records {
		until = max(until, r.ArrivalMS)
	}
	from := until - float64(measured.Milliseconds())
	used := 0.0
	for _, r := range report.Records {
		begin, end := max(r.ArrivalMS, from), min(r.ArrivalMS+r.LastChunkMS, until)
		used += max(0, end-begin)
	}
	return used / (float64(places) * float64(measured.Milliseconds()))
}
