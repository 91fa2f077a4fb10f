//go:build browser

package web_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/web"
)

// paintedLog is a log on disk with a list of runs, the newest of them one of a whole team.
func paintedLog(t testing.TB) (web.Log, *simRuns, events.RunID) {
	t.Helper()
	log, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "convene.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	for n := range 50 {
		newScript(t, log).start(fmt.Sprintf("Run %d of those in the list", n))
	}
	runs := newSimRuns(t, log, sim.Options{})
	t.Cleanup(runs.stop)
	started, err := runs.Start(t.Context(), operator, web.Job{Request: "Plan three days in Kyoto for two"})
	require.NoError(t, err)
	runs.wait()
	return log, runs, started.Run
}

// BenchmarkPage tells when what the reader came for is painted, of the list and of a run,
// beside the least that the server answers, all in one run: cold in a browser that was
// just started and has seen nothing, warm in a new tab of one that has been here before and
// whose tabs have come to rest.
// `make bench-page` runs it.
func BenchmarkPage(b *testing.B) {
	log, runs, run := paintedLog(b)
	server := serve(b, web.Config{Log: log, Runs: runs})
	pages := []struct{ name, address, useful, whole string }{
		{"healthz", "/healthz", "", "true"},
		{"list", "/", ".runs a", `document.querySelector('.list-totals')?.innerText.includes('runs') && document.querySelectorAll('.runs li').length > 40`},
		{"run", "/runs/" + string(run), "#document .answer", `document.querySelector('.timeline canvas') && document.querySelector('#log-rows .row')`},
	}
	const samples = 5
	cold, warm := map[string][]float64{}, map[string][]float64{}
	for b.Loop() {
		for range samples {
			for _, page := range pages {
				fresh := startBrowser()
				require.NoError(b, fresh.err)
				paint := func() float64 {
					tab := fresh.tab(b)
					at := usefulPaint(tab, server.url(page.address), page.useful)
					tab.wait(page.whole)
					return at
				}
				cold[page.name] = append(cold[page.name], paint())
				paint()
				warm[page.name] = append(warm[page.name], paint())
				fresh.stop()
			}
		}
	}
	for name, times := range map[string]map[string][]float64{"cold": cold, "warm": warm} {
		bare := median(times["healthz"])
		for _, page := range pages {
			at := median(times[page.name])
			b.ReportMetric(at, name+"-"+page.name+"-ms")
			if page.useful != "" {
				b.ReportMetric(at/bare, name+"-"+page.name+"-of-healthz")
			}
		}
	}
	b.ReportMetric(0, "ns/op") // says how long the benchmark takes, nothing else
}

// BenchmarkAppendToPaint tells how long an event takes from before its commit until a page
// that follows the run has drawn it, where the server's own process drives the run and where
// another one does, in turn. `make bench-page` runs it.
func BenchmarkAppendToPaint(b *testing.B) {
	const count, rounds = 600, 3
	var one, across []time.Duration
	for b.Loop() {
		for range rounds {
			one = append(one, inOneProcess(b, count, onThePage)...)
			across = append(across, acrossProcesses(b, count, onThePage)...)
		}
	}
	slices.Sort(one)
	slices.Sort(across)
	for name, times := range map[string][]time.Duration{"process": one, "processes": across} {
		b.ReportMetric(float64(percentile(times, .5).Microseconds())/1000, name+"-p50-ms")
		b.ReportMetric(float64(percentile(times, .95).Microseconds())/1000, name+"-p95-ms")
	}
	b.ReportMetric(float64(percentile(one, .95))/float64(percentile(across, .95)), "p95-of-processes")
	b.ReportMetric(0, "ns/op") // says how long the benchmark takes, nothing else
}

// onThePage has each event drawn by a page that follows the run: it has been once a frame is
// drawn of which the log's title counts it.
func onThePage(t testing.TB, server *served, _ events.ThreadID, count int, drive func()) []time.Duration {
	t.Helper()
	b := browse(t)
	b.open(server.url("/runs/r"))
	b.wait(`document.querySelector('#log-title')`)
	js[bool](b, `(() => {
		window.drawn = [];
		const channel = new MessageChannel(); // a message is handled behind the frame
		channel.port1.onmessage = (message) => drawn.push([message.data, performance.timeOrigin + performance.now()]);
		new MutationObserver(() => {
			const count = parseInt(document.querySelector('#log-title').textContent.replace(/\D/g, ''), 10);
			requestAnimationFrame(() => channel.port2.postMessage(count));
		}).observe(document.querySelector('#log-title'), {subtree: true, childList: true, characterData: true});
		return true;
	})()`)
	drive()
	b.wait(fmt.Sprintf(`drawn.length > 0 && drawn[drawn.length - 1][0] === %d`, count+1))
	drawn := js[[][]float64](b, `drawn`)
	_, _, log := server.get(t, "/api/v1/runs/r/export?format=jsonl")
	sent := stamps(log)
	require.Len(t, sent, count)
	var times []time.Duration
	for _, frame := range drawn {
		for len(times)+1 < int(frame[0]) { // the first event began the run
			times = append(times, time.UnixMicro(int64(frame[1]*1000)).Sub(sent[len(times)]))
		}
	}
	return times
}

func median(times []float64) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

// usefulPaint is when it is painted, in milliseconds since the address was entered;
// where nothing is named, when anything is.
func usefulPaint(b *tab, address, useful string) float64 {
	if useful == "" {
		b.open(address)
		b.wait(`performance.getEntriesByName('first-contentful-paint').length > 0`)
		return js[float64](b, `performance.getEntriesByName('first-contentful-paint')[0].startTime`)
	}
	b.watchPaint(useful)
	b.open(address)
	at := js[float64](b, `painted`)
	b.clean()
	return at
}
