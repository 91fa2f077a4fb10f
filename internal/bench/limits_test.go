package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/runner"
)

// How long the limiter may learn, and how long it is then measured. At an endpoint that
// counts by the minute and does not say when to come again the calls come in bursts, more
// than a minute apart, so that few minutes tell little.
const (
	learning     = 30 * time.Second
	measured     = 2 * time.Minute
	measuredLong = 8 * time.Minute
)

// BenchmarkLimits lets far more runs go at once than the endpoint takes, and reads from
// the server's own report what was used of what it allows: two and a half minutes for
// each case, eight and a half for the one without Retry-After. The limiter is told nothing, but where the case says so. The bars: 600
// requests a minute, at least 0.70 of it and at most 0.10 of the calls refused; told by
// the replies, 0.97 and 0.01; 64 at once with calls of one to three seconds, at least
// 0.97 busy.
func BenchmarkLimits(b *testing.B) {
	slow := sim.Options{FirstToken: time.Second, PerChunk: 25 * time.Millisecond}
	for _, c := range []struct {
		name      string
		perMinute int
		measured  time.Duration
		faults    sim.Faults
	}{
		{"600-a-minute", 600, measured, sim.Faults{RequestsPerMinute: 600}},
		{"600-a-minute-without-retry-after", 600, measuredLong, sim.Faults{RequestsPerMinute: 600, RetryAfter: -1}},
		{"600-a-minute-and-64-at-once", 600, measured, sim.Faults{RequestsPerMinute: 600, MaxInFlight: 64}},
		{"600-a-minute-told", 600, measured, sim.Faults{RequestsPerMinute: 600, TellLimits: true}},
		{"64-at-once", 0, measured, sim.Faults{MaxInFlight: 64}},
		{"64-at-once-without-retry-after", 0, measured, sim.Faults{MaxInFlight: 64, RetryAfter: -1}},
	} {
		b.Run(c.name, func(b *testing.B) {
			options := slow
			options.Faults = c.faults
			before, after := underLoad(b, options, 300, c.measured)
			if c.perMinute > 0 {
				allowed := float64(c.perMinute) * c.measured.Minutes()
				b.ReportMetric(float64(after.Served-before.Served)/allowed, "used")
			} else {
				b.ReportMetric(busy(after, 64), "busy")
			}
			reportRefused(b, before, after)
		})
	}
}

// BenchmarkLimitsAtRandom makes 600 calls of 30 workers at an endpoint that refuses some
// at random, with a limiter and without one: some 25 seconds each. The bar: at least 0.85
// of the throughput without.
func BenchmarkLimitsAtRandom(b *testing.B) {
	for _, share := range []float64{0.03, 0.08} {
		for _, wait := range []time.Duration{time.Second, -1} {
			name := fmt.Sprintf("%.0f%%", 100*share)
			if wait < 0 {
				name += "-without-retry-after"
			}
			b.Run(name, func(b *testing.B) {
				options := sim.Options{FirstToken: time.Second, Faults: sim.Faults{
					Random: []sim.Fault{{Kind: sim.FaultRateLimit, Rate: share}}, RetryAfter: wait,
				}}
				without := calls(b, options, nil)
				with := calls(b, options, llm.NewLimiter(llm.LimiterConfig{}))
				b.ReportMetric(without.Seconds()/with.Seconds(), "of-throughput")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// calls gives the time that 600 calls of 30 workers take.
func calls(b *testing.B, options sim.Options, limiter llm.Limiter) time.Duration {
	b.Helper()
	const workers, each = 30, 20
	route := llm.Route{{Endpoint: endpointOf(startServer(b, options), limiter), Model: "sim"}}
	begun := time.Now()
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			req := llm.Request{Run: events.RunID(fmt.Sprintf("%06d", i)), Messages: []events.Message{{Role: events.RoleUser, Content: "hi"}}}
			for range each {
				for _, err := range new(llm.Caller).Stream(b.Context(), route, req) {
					if err != nil {
						b.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	return time.Since(begun)
}

func endpointOf(baseURL string, limiter llm.Limiter) *llm.Endpoint {
	client := openai.New(openai.Config{Config: wire.Config{Provider: "sim", BaseURL: baseURL, APIKey: "key"}})
	return &llm.Endpoint{Name: "sim", Simulated: true, Client: client, Limiter: limiter}
}

func reportRefused(b *testing.B, before, after sim.Report) {
	refused, all := float64(after.Refused-before.Refused), float64(after.Requests-before.Requests)
	b.ReportMetric(refused/all, "refused")
	b.ReportMetric(0, "ns/op")
}

// underLoad keeps width runs going and gives the server's reports at the beginning
// and at the end of the measured time.
func underLoad(b *testing.B, options sim.Options, width int, measured time.Duration) (before, after sim.Report) {
	b.Helper()
	baseURL := startServer(b, options)
	limiter := llm.NewLimiter(llm.LimiterConfig{})
	r, err := runner.New(runner.Config{Log: events.NewMemory(), Models: models{endpointOf(baseURL, limiter)}})
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
