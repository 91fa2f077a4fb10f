//go:build browser

package web_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/web"
)

// gatedModel is the simulated model behind real HTTP. It refuses what is asked about
// the impossible, and keeps those waiting in whose request the name of a gate stands, until
// what the gate gives at that time is closed.
func gatedModel(t *testing.T, gates map[string]func() <-chan struct{}) *llm.Endpoint {
	t.Helper()
	model := sim.NewServer(sim.Options{FirstToken: 20 * time.Millisecond, PerChunk: 2 * time.Millisecond})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if bytes.Contains(body, []byte("the impossible")) {
			http.Error(w, `{"error":{"message":"this cannot be asked"}}`, http.StatusBadRequest)
			return
		}
		for name, gate := range gates {
			if !bytes.Contains(body, []byte(name)) {
				continue
			}
			select {
			case <-gate():
			case <-r.Context().Done():
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return &llm.Endpoint{
		Name: "sim", Simulated: true, Client: openai.New(openai.Config{Config: wire.Config{Provider: "sim", BaseURL: server.URL + "/v1"}}), Limiter: llm.NewLimiter(llm.LimiterConfig{MaxInFlight: 6}),
	}
}

// until is a gate that opens once.
func until(open <-chan struct{}) func() <-chan struct{} {
	return func() <-chan struct{} { return open }
}

// batchFiles are sixty rows: the 8th of them is none, four fail, and of the others
// twenty ask about soon and twenty about later.
func batchFiles(t *testing.T) batch.Files {
	t.Helper()
	dir := t.TempDir()
	var in strings.Builder
	for i := range 60 {
		request := fmt.Sprintf("Plan day %d in Kyoto", i)
		switch {
		case i == 7:
			fmt.Fprintf(&in, "{\"id\":%q}\n", rowID(i))
			continue
		case i%15 == 11:
			request = fmt.Sprintf("Plan the impossible, part %d", i)
		case i >= 40:
			request += ", for later"
		case i >= 20:
			request += ", for soon"
		}
		fmt.Fprintf(&in, "{\"id\":%q,\"request\":%q}\n", rowID(i), request)
	}
	files := batch.Files{Input: filepath.Join(dir, "asked.jsonl"), Output: filepath.Join(dir, "answered.jsonl")}
	require.NoError(t, os.WriteFile(files.Input, []byte(in.String()), 0o600))
	return files
}

// startBatch runs a batch in the background, as `convene batch` does. Its end waits for
// the batch's.
func startBatch(t *testing.T, log events.Log, files batch.Files, endpoint *llm.Endpoint) (job *batch.FileBatch, end func() batch.Report) {
	t.Helper()
	r, err := runner.New(runner.Config{Log: log, Models: oneEndpoint{endpoint}})
	require.NoError(t, err)
	trip, err := team.Builtin("trip")
	require.NoError(t, err)
	limiter, ok := endpoint.Limiter.(*llm.LocalLimiter)
	require.True(t, ok)
	job, err = batch.Open(t.Context(), files, batch.Config{
		Runner: r, Team: trip, Solo: true, Concurrency: 6, MaxCostUSD: 5,
		Limiters: func() []llm.LimiterState {
			state := limiter.State()
			state.Endpoint = endpoint.Name
			return []llm.LimiterState{state}
		},
	})
	require.NoError(t, err)
	ended := make(chan struct{})
	var report batch.Report
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		report, err = job.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		require.NoError(t, job.Close())
	})
	return job, func() batch.Report {
		<-ended
		require.NoError(t, err)
		return report
	}
}

// choose selects an option as a person does.
func (b *tab) choose(selector, value string) {
	b.t.Helper()
	require.True(b.t, js[bool](b, fmt.Sprintf(`(() => { const s = document.querySelector(%q); s.value = %q; s.dispatchEvent(new Event('change', {bubbles: true})); return s.value === %[2]q; })()`, selector, value)))
}

const (
	batchRow   = `document.querySelectorAll('#batch-rows .row').length`
	batchState = `document.querySelector('.head .status')?.innerText ?? ''`
	rowsDone   = `Number(/(\d+)\/60/.exec(document.querySelector('.head .done')?.innerText)?.[1])`
)

// Proves R71, R73: a batch over real HTTP is followed from its beginning to its end: its
// progress, its failures and their cause, a row that cannot be run, its rows by filter
// and search, the run of one and back; a reload and a server that goes away in the
// middle of it lose nothing.
func TestFollowABatch(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	soon, later := make(chan struct{}), make(chan struct{})
	runs := newSimRuns(t, log, sim.Options{})
	server := serve(t, web.Config{Log: log, Runs: runs})
	b := browse(t)
	b.open(server.url("/batches"))
	b.wait(`document.querySelector('.empty')?.innerText.includes('convene batch IN -o OUT')`)
	b.shot("batches-empty")

	job, end := startBatch(t, log, batchFiles(t), gatedModel(t, map[string]func() <-chan struct{}{"for soon": until(soon), "for later": until(later)}))
	b.wait(`document.querySelector('.batches .status')?.innerText.includes('running')`)
	require.Contains(t, b.text(".batches .request"), "asked.jsonl → answered.jsonl")
	b.click(".batches a")
	b.wait(rowsDone + ` === 20`)
	close(soon)
	b.wait(rowsDone + ` === 41`) // one of the later ones is impossible
	b.wait(`document.querySelectorAll('.under-way li').length > 0 && document.querySelector('.limiters')?.innerText.includes('6/6 in flight')`)
	require.Contains(t, b.text(".head .status"), "running")
	require.Contains(t, b.text(".head"), "of $5.00")
	require.Contains(t, b.text(".rejected"), "line 8")
	require.Contains(t, b.text(".rejected"), rowID(7))
	b.wait(`document.querySelector('.causes')?.innerText.includes('this cannot be asked')`)
	b.wait(batchRow + ` > 5`)
	b.wait(`document.querySelector('#rows-title .num').innerText === '46'`) // those under way, too
	b.shot("batch-live")

	// A row under way leads to its run, and that back.
	b.click(".under-way a")
	b.wait(`location.pathname.startsWith('/runs/') && document.querySelector('.head .of')?.innerText.startsWith('row q-4')`)
	b.click(".head .of a")
	b.wait(`location.pathname.startsWith('/batches/') && ` + rowsDone + ` === 41`)

	// The server goes away and comes back: the page says so, and goes on by itself.
	server.stop()
	b.wait(`document.querySelector('.notice')?.innerText.includes('Connection to the server lost. Last event')`)
	b.shot("batch-lost")
	b.forgetErrors() // that no server was there
	again := serve(t, web.Config{Log: log, Runs: runs, Address: server.address})
	defer again.stop()
	b.wait(`!document.querySelector('.notice')?.innerText.includes('server lost')`)
	b.forgetErrors()

	close(later)
	report := end()
	require.Equal(t, []int{60, 55, 5, 0}, []int{report.Rows, report.Completed, report.Failed, report.Left})
	b.wait(`(` + batchState + `).includes('degraded') && document.querySelector('.head .done').innerText === '60/60 rows'`)
	b.wait(`document.querySelector('#rows-title .num').innerText === '59'`)
	b.wait(`[...document.querySelectorAll('#batch-rows .row .status')].every((s) => !s.innerText.includes('running'))`)
	require.Contains(t, b.text(".notice"), "5 rows failed. The same command with --retry-failed retries them.")
	b.shot("batch-done")

	// A cause leads to the rows of its status, and a row to its run and back.
	require.Equal(t, []int{1, 1}, js[[]int](b, `["button", "span"].map((kind) => document.querySelectorAll(`+"`.causes ${kind}.cause`"+`).length)`), "rows without a run cannot be shown")
	b.click(".causes button.cause")
	b.wait(`location.search.includes('status=failed') && ` + batchRow + ` === 4`)
	b.reload()
	b.wait(batchRow + ` === 4 && document.querySelector('.batch-rows select').value === 'failed'`)
	require.Equal(t, "q-11 q-26 q-41 q-56", js[string](b, `[...document.querySelectorAll('#batch-rows .row .id')].map((e) => e.innerText).join(' ')`))
	b.choose(".batch-rows select", "")
	b.wait(batchRow + ` > 5`)
	b.press("/", "day 33")
	b.wait(`location.search.includes('q=day') && ` + batchRow + ` === 1`)
	b.press(kb.Escape, "r", kb.ArrowDown, kb.Enter)
	b.wait(`location.pathname.startsWith('/runs/') && document.querySelector('.head .of')?.innerText.startsWith('row q-33')`)
	js[bool](b, `(history.back(), true)`)
	b.wait(`location.search.includes('q=day') && document.querySelector('#batch-rows .row.selected .id')?.innerText === 'q-33'`)

	// Any moment of it can be seen again.
	b.press(kb.Home)
	b.wait(`location.search.includes('at=1') && document.querySelector('.head .done').innerText === '0/60 rows'`)
	require.Contains(t, b.text(".notice"), "Event 1 of")
	b.reload()
	b.wait(`document.querySelector('.head .done')?.innerText === '0/60 rows'`)
	b.press(kb.End)
	b.wait(`document.querySelector('.head .done').innerText === '60/60 rows'`)

	key := job.Key()
	summary, err := log.FindBatch(t.Context(), key.Tenant, string(key.Thread))
	require.NoError(t, err)
	require.Equal(t, events.StatusDegraded, summary.Status)
	b.press("b")
	b.wait(`document.querySelector('.batches .status')?.innerText.includes('degraded')`)
	b.size(760, 900, false)
	require.LessOrEqual(t, js[float64](b, `document.documentElement.scrollWidth`), 760.0, "nothing scrolls sideways on half a screen")
	b.size(1440, 900, false)
	b.press("g")
	b.wait(`document.querySelector('.runs .parts')`) // one line of all its rows
	require.Zero(t, js[int](b, `document.querySelectorAll('.runs .of').length`))
	js[bool](b, `(location.hash = '#/?rows=1', true)`)
	b.wait(`document.querySelector('.runs .of')?.innerText.includes('row q-')`)
	require.Less(t, js[float64](b, `document.querySelector('.runs .of').getBoundingClientRect().height`), 40.0, "which row of which batch is one line, the link in it")
	b.clean()
}

// rowsRunning counts the rows in view that are shown as running.
const rowsRunning = `[...document.querySelectorAll('.batch-rows .row .state')].filter((e) => e.innerText.includes('running')).length`

// Proves R71, R73: a batch whose process is killed shows as interrupted, though no event
// tells so, and as running again once it is taken up.
func TestBatchIsInterrupted(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	s := tellBatch(t, log, 400, 120)
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/batches/" + string(s.id) + "?status=running"))
	b.wait(`(` + batchState + `).includes('running') && document.querySelector('.head').innerText.includes('held by host:1')`)
	b.wait(rowsRunning + " > 0")
	require.NoError(t, log.Release(t.Context(), s.key, s.epoch))
	b.wait(`(` + batchState + `).includes('interrupted')`)
	require.Contains(t, b.text(".notice"), "its process is gone")
	require.Contains(t, b.text(".notice"), "Run the same command again to continue.")
	require.NotContains(t, b.text(".head"), "left")
	require.Zero(t, js[int](b, rowsRunning), "rows that nobody drives do not go on running")
	require.Positive(t, js[int](b, `[...document.querySelectorAll('.batch-rows .row .state')].filter((e) => e.innerText.includes('interrupted')).length`))
	var err error
	s.epoch, err = log.Claim(t.Context(), s.key, "host:3", false)
	require.NoError(t, err)
	s.then(time.Now().UTC(), events.BatchStarted{Input: "questions.jsonl", Output: "answers.jsonl", Team: "trip", Rows: 400, Concurrency: 16, Resumed: true})
	b.wait(`(` + batchState + `).includes('running') && document.querySelector('.head').innerText.includes('call 3')`)
	require.NotContains(t, b.text(".notice"), "gone")
	b.wait(rowsRunning + " > 0")
	b.clean()
}
