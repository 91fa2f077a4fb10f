package eventstest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/procusage"
)

// The run that benchmarks append: about 20 times what a turn writes.
const (
	benchAppends   = 20
	benchEventSize = 450 // bytes of text, about 600 encoded
)

// Benchmark measures whole runs of 20 appends of three events on a log, at one
// and at 64 runs at once. cpu-ms/run is user and system time of the process.
func Benchmark(b *testing.B, open func(b *testing.B) events.Log) {
	for _, atOnce := range []int{1, 64} {
		b.Run(fmt.Sprintf("runs=%d", atOnce), func(b *testing.B) {
			log := open(b)
			defer func() { require.NoError(b, log.Close()) }()
			runs := make(chan events.ThreadKey)
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			start := procusage.Time()
			for range atOnce {
				wg.Go(func() {
					for key := range runs {
						benchRun(b, log, key)
					}
				})
			}
			for range b.N {
				runs <- newKey()
			}
			close(runs)
			wg.Wait()
			used := procusage.Time() - start
			b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/run")
		})
	}
}

func benchRun(b *testing.B, log events.Log, key events.ThreadKey) {
	ctx := context.Background()
	epoch, err := log.Claim(ctx, key, "bench", false)
	if err != nil {
		b.Error(err)
		return
	}
	run, text, cost := newRun(), strings.Repeat("nine char", benchEventSize/9), 0.001
	after, now := events.Seq(0), time.Now()
	for n := range benchAppends {
		envs := []events.Envelope{
			{Run: run, Time: now, Data: events.ModelCalled{ID: "f.1", Model: "m", CostUSD: &cost, Reply: events.Reply{Text: text}}},
			{Run: run, Time: now, Data: events.DocumentUpdated{Version: n, Author: "food", Content: text, Section: "day", Slot: "am", EntryID: 1}},
			{Run: run, Time: now, Data: events.ToolCallDone{Agent: "food", Tool: "write_section", Result: text, Phase: "complete"}},
		}
		if n == 0 {
			envs[0].Data = events.WorkflowStarted{Message: text, Team: "trip"}
		}
		if err := log.Append(ctx, key, epoch, after, envs); err != nil {
			b.Error(err)
			return
		}
		after += events.Seq(len(envs))
	}
	if err := log.Release(ctx, key, epoch); err != nil {
		b.Error(err)
	}
}
