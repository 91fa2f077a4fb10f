//go:build browser

package web_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/web"
)

// visible makes a simulated run slow enough to be watched.
var visible = sim.Options{FirstToken: 150 * time.Millisecond, PerChunk: 20 * time.Millisecond, ChunkBytes: 24}

const statusOver = `/completed|degraded|failed|cancelled/.test(document.querySelector('.head .status')?.innerText ?? '')`

// entries counts the texts of the document that are shown.
const entries = `document.querySelectorAll('#document .entry').length`

// Proves R71: a run is started from the page and followed to its end: its plan, its
// agents and their tokens, its document as it arrives; a reload in the middle of it
// loses nothing; what the page shows in the end is what the log says.
func TestStartAndFollowARun(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	// So slow that the page is loaded again in the middle of it on a machine that has much else to do.
	slow := sim.Options{FirstToken: 500 * time.Millisecond, PerChunk: 80 * time.Millisecond, ChunkBytes: 24}
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, slow)})
	b := browse(t)
	// What a reader sees go by, for a test that may be slower than the run.
	b.before(`window.seen = {};
		addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
			const note = (name) => { window.seen[name] = (window.seen[name] ?? 0) + 1; };
			note('entries ' + document.querySelectorAll('#document .entry').length);
			if (document.querySelector('.entry.arrived')) note('arrived');
			for (const e of document.querySelectorAll('.now .doing')) note(e.innerText);
			if ((document.querySelector('.now .tail')?.innerText.length ?? 0) > 5) note('tokens');
		}).observe(document.body, {subtree: true, childList: true, characterData: true}))`)
	b.open(server.url("/"))
	b.wait(`document.querySelector('.start select')`)
	b.shot("list-empty")
	require.Contains(t, b.text("main"), "There are no runs yet")
	b.click("#new-request")
	b.press("Plan three days in Kyoto for two: temples, food, hotels, costs")
	b.click(".start button")
	b.wait(`location.pathname.startsWith('/runs/') && document.querySelector('.head h1')`)
	b.wait(entries + ` > 0`)
	require.Contains(t, b.text(".head"), "running")
	require.Contains(t, b.text(".head"), "simulated model")
	b.shot("run-live")
	b.wait(`window.seen.arrived && window.seen.tokens && window.seen.writing && window.seen['waiting for the specialists']`)
	b.wait(`Object.keys(window.seen).filter((k) => k.startsWith('entries ')).length >= 3`)
	require.Contains(t, b.text(".head"), "running", "the page is loaded again in the middle of the run")
	b.reload()
	b.wait(entries + ` > 0`)
	b.wait(statusOver)
	b.wait(`document.querySelector('.answer')`)
	b.shot("run-done")

	id := strings.TrimPrefix(js[string](b, "location.pathname"), "/runs/")
	run, err := log.FindRun(t.Context(), events.LocalTenant, id)
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, run.Status)
	require.Contains(t, b.text("#plan-title"), fmt.Sprintf("%d/%d", run.Tasks, run.Tasks))
	require.Contains(t, b.text("#log-title"), fmt.Sprint(run.LastSeq))
	require.Contains(t, b.text(".head .facts"), "completed")
	b.press("t")
	b.toEntry()
	b.press("j", "j", "j", "j", "j", "j", "j", "j", "j", "j")
	b.wait(`/call d\d/.test(document.querySelector('.provenance').innerText)`)
	b.shot("dashboard") // docs/dashboard.png is one of these
	b.clean()
}

// toEntry goes on by key from the sentences of the answer to those of the document.
func (b *tab) toEntry() {
	b.t.Helper()
	for range 200 {
		b.press("j")
		if js[bool](b, `document.activeElement.closest('.entry') !== null`) {
			return
		}
	}
	require.FailNow(b.t, "no entry is reached")
}

// shown opens a finished run in a new tab.
func shown(t *testing.T, team string, query string) (*tab, *served, events.RunSummary, *events.Memory) {
	t.Helper()
	log, run := simulated(t, team, sim.Options{})
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/runs/" + string(run.Run) + query))
	b.wait(statusOver + ` || location.search.includes('at=')`)
	b.wait(`document.querySelectorAll('#log-rows .row').length > 3`)
	return b, server, run, log
}

// Proves R71, R16: pointing at a sentence, or going there by key, tells entry,
// specialist, task and model call; from there the event is one click away.
func TestProvenance(t *testing.T) {
	t.Parallel()
	b, _, _, _ := shown(t, "trip", "")
	require.Empty(t, b.text(".provenance"), "it takes no room before it says something")
	b.press("j")
	b.wait(`/answer\s+←\s+written by\s+Facilitator\s+call f\.\d/.test(document.querySelector('.provenance').innerText)`)
	b.toEntry()
	b.wait(`/^entry \d+/.test(document.querySelector('.provenance').innerText)`)
	top := js[float64](b, `document.querySelector('#document').getBoundingClientRect().y`)
	require.NoError(t, chromedp.Do(b.ctx, chromedp.ScrollIntoView(chromedp.CSS("#document .entry .s"))))
	at := js[[]float64](b, `(() => { const r = document.querySelector('#document .entry .s').getClientRects()[0]; return [r.x + 5, r.y + r.height / 2]; })()`)
	require.NoError(t, chromedp.Do(b.ctx, chromedp.MouseEvent(chromedp.MouseMoved, at[0], at[1])))
	b.wait(`/entry \d+[^]*←[^]*task \d+[^]*←[^]*call d\d+\.\d+[^]*tok/.test(document.querySelector('.provenance').innerText)`)
	require.InDelta(t, top, js[float64](b, `document.querySelector('#document').getBoundingClientRect().y`), 0.5, "nothing that is read moves")
	first := b.text(".provenance")
	b.press("j", "j", "j", "j", "j", "j", "j", "j")
	b.wait(`document.activeElement.classList.contains('s')`)
	b.shot("run-provenance")
	for range 60 {
		b.press("j")
	}
	b.wait(fmt.Sprintf(`document.querySelector('.provenance').innerText !== %q`, first))
	b.click(".provenance .source .link")
	b.wait(`document.querySelector('.detail pre')?.innerText.includes('"type": "document_updated"')`)
	require.Contains(t, js[string](b, "location.search"), "sel=event%3A")
	b.shot("run-event")
	b.press(kb.Escape)
	b.wait(`!document.querySelector('.detail')`)
	b.clean()
}

// Proves R71: the scrubber rebuilds any moment; arrow keys step; the moment is in
// the address and found again after a reload; play goes on from there.
func TestScrubber(t *testing.T) {
	t.Parallel()
	// Of a long document what is far below the window is drawn once somebody goes there.
	const drawnAlike = `((now, then) => now !== '' && (now.startsWith(then) || then.startsWith(now)))(document.querySelector('#document').innerText, %q)`
	b, server, run, _ := shown(t, "trip", "")
	end := js[string](b, `document.querySelector('#document').innerText`)
	b.press(kb.ArrowLeft)
	b.wait(fmt.Sprintf(`location.search.includes('at=%d')`, run.LastSeq-1))
	require.Contains(t, b.text(".head .status"), "running", "the moment before the end")
	b.press(kb.ArrowRight)
	b.wait(`!location.search.includes('at=')`)
	b.press(kb.Home)
	b.wait(`location.search.includes('at=1')`)
	require.Zero(t, js[int](b, entries))
	require.Contains(t, b.text("#plan-title"), "0/0")
	b.wait(`document.querySelectorAll('#log-rows .row').length === 1`)
	for range 25 {
		b.press(kb.ArrowRight)
	}
	b.wait(`location.search.includes('at=26') && document.querySelector('.moment').innerText.includes('seq 26')`)
	middle := b.text("#document")
	b.shot("run-moment")
	b.reload()
	b.wait(`location.search.includes('at=26') && document.querySelector('.moment')?.innerText.includes('seq 26')`)
	b.wait(fmt.Sprintf(drawnAlike, middle))
	b.press(" ")
	b.wait(`!location.search.includes('at=')`) // a simulated run has no pauses
	b.wait(fmt.Sprintf(drawnAlike, end))

	// `convene replay FILE --open --speed` leads here.
	b.open("about:blank")
	b.open(server.url("/runs/" + string(run.Run) + "?play=1&speed=20"))
	b.wait(statusOver)
	b.clean()
}

// Proves R71: versions and what changed between them.
func TestVersionsAndChanges(t *testing.T) {
	t.Parallel()
	b, _, run, log := shown(t, "trip", "")
	require.NotZero(t, run.Tasks)
	all, err := log.Read(t.Context(), events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}, 0, 0)
	require.NoError(t, err)
	versions, consolidated := 0, 0
	for _, env := range all {
		if e, ok := env.Data.(events.DocumentUpdated); ok {
			if versions++; len(e.Replaced) > 0 && consolidated == 0 {
				consolidated = e.Version
			}
		}
	}
	require.NotZero(t, consolidated)
	b.press("c", "t")
	b.wait(`document.querySelector('.entry.fresh') && document.querySelector('.document').classList.contains('tagged')`)
	js[bool](b, fmt.Sprintf(`(() => { const s = document.querySelector('.document .bar select'); s.value = '%d'; s.dispatchEvent(new Event('change', {bubbles: true})); return true; })()`, consolidated))
	b.wait(`location.search.includes('at=') && document.querySelector('.entry.gone')`)
	require.Contains(t, b.text("#document"), "Replaced:")
	require.NotEmpty(t, b.text(".entry .tag"))
	b.shot("run-changes")
	b.clean()
}

// Proves R71: filters hide, count, stay in the address; the log gives each event as
// JSON.
func TestLogFilters(t *testing.T) {
	t.Parallel()
	b, _, run, log := shown(t, "trip", "?hide=model,tools,agents,run,plan,trouble")
	all, err := log.Read(t.Context(), events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}, 0, 0)
	require.NoError(t, err)
	documents := 0
	for _, env := range all {
		if env.Data.Kind() == events.KindDocumentUpdated {
			documents++
		}
	}
	b.wait(fmt.Sprintf(`document.querySelector('#log-title').innerText.toLowerCase().includes('%d of %d')`, documents, len(all)))
	require.True(t, js[bool](b, `[...document.querySelectorAll('#log-rows .kind')].every((k) => k.innerText === 'text written')`))
	b.press("/")
	b.wait(`document.activeElement.matches('.log input')`)
	b.press("no such text")
	b.wait(`document.querySelector('.log .empty')?.innerText.includes('No event matches')`)
	b.wait(`location.search.includes('find=no+such+text')`) // what matches nothing does so before its end is typed
	js[bool](b, `(() => { const i = document.querySelector('.log input[type=search]'); i.value = ''; i.dispatchEvent(new Event('input', {bubbles: true})); return true; })()`)
	b.wait(`!location.search.includes('find=')`)
	b.press(kb.Escape, "l", kb.ArrowDown)
	b.wait(`document.querySelector('.detail pre')?.innerText.includes('"type": "document_updated"')`)
	b.clean()
}

// Proves R71: a run is started, watched, and looked into by keyboard alone.
func TestKeyboardAlone(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	b := browse(t)
	b.open(server.url("/"))
	b.wait(`document.querySelector('#new-request')`)
	b.press("?")
	b.wait(`document.querySelector('dialog').open`)
	b.shot("keys")
	b.press(kb.Escape)
	b.wait(`!document.querySelector('dialog').open`)
	// The page hears of it in an event behind that, and takes keys from then on.
	js[bool](b, `new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(true))))`)
	b.press("n")
	b.wait(`document.activeElement.id === 'new-request'`)
	b.press("Write a short guide", kb.Tab, kb.Tab, kb.Tab)
	b.wait(`document.activeElement.matches('.start button')`)
	b.press(kb.Enter)
	b.wait(statusOver)
	// Every control is reached by Tab, and what has the focus can be seen.
	reached := map[string]bool{}
	for range 60 {
		b.press(kb.Tab)
		reached[js[string](b, `(() => { const e = document.activeElement; return e.id || e.innerText?.slice(0, 20) || e.getAttribute('aria-label') || e.tagName; })()`)] = true
		outlined := js[bool](b, `(() => { const s = getComputedStyle(document.activeElement); return document.activeElement === document.body || s.outlineStyle !== 'none'; })()`)
		require.True(t, outlined, "the focus is seen: %v", reached)
	}
	for _, want := range []string{"plan-rows", "document", "log-rows", "Moment, by event", "Play", "tags", "changes", "Fork …", "Export"} {
		require.True(t, reached[want], "%s in %v", want, reached)
	}
	js[bool](b, `(document.activeElement.blur(), true)`) // Tab may have ended in a field, where p is a letter
	b.press("p")
	b.wait(`document.activeElement.id === 'plan-rows'`)
	b.press(kb.ArrowDown, kb.ArrowDown)
	b.wait(`location.search.includes('sel=task')`)
	b.press("d")
	b.wait(`document.documentElement.dataset.theme === 'light'`)
	b.press("d", "d", "g")
	b.wait(`document.querySelector('.runs a')`)
	b.press("/")
	b.wait(`document.activeElement.matches('.filters input')`)
	b.press("nothing like it")
	b.wait(`document.querySelector('main').innerText.includes('No run matches')`)
	require.Contains(t, js[string](b, "location.search"), "q=nothing")
	b.clean()
}

// Proves R71, R73: the server goes away in the middle of a run and comes back: the
// page says so, comes back by itself, and shows the run to its end.
func TestServerRestartInMidRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "convene.db")
	log, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	runs := newSimRuns(t, log, visible)
	server := serve(t, web.Config{Log: log, Runs: runs})
	b := browse(t)
	started := b.follows(server, runs, "Plan a week")
	b.wait(entries + ` > 1`)
	runs.stop()
	server.stop()
	require.NoError(t, log.Close())
	b.wait(`document.querySelector('.notice')?.innerText.includes('Connection to the server lost. Last event')`)
	b.shot("run-lost")
	b.forgetErrors() // that no server was there

	log, err = sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	runs = newSimRuns(t, log, visible)
	defer runs.stop()
	again := serve(t, web.Config{Log: log, Runs: runs, Address: server.address})
	defer again.stop()
	b.wait(`!document.querySelector('.notice')?.innerText.includes('server lost') && document.querySelector('.head .status').innerText.includes('suspended')`)
	b.forgetErrors()
	b.shot("run-suspended")
	b.push("Resume")
	b.wait(statusOver)
	run, err := log.FindRun(t.Context(), events.LocalTenant, string(started.Run))
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, run.Status)
	b.wait(fmt.Sprintf(`document.querySelector('#log-title').innerText.includes('%d')`, run.LastSeq))
	b.clean()
}

// Proves R71: where no WebSocket can be had the page follows by server-sent events.
func TestWithoutWebSocket(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	runs := newSimRuns(t, log, visible)
	server := serve(t, web.Config{Log: log, Runs: runs})
	b := browse(t)
	b.before("delete window.WebSocket")
	b.follows(server, runs, "Plan a day")
	b.wait(`document.querySelector('.now .tail')?.innerText.length > 5`)
	b.wait(statusOver)
	require.Contains(t, strings.Join(b.requested(), " "), "/events?after=")
	b.clean()
}

// follows starts a run once the page is there, and has that show it: a browser may take longer to
// begin than the run lasts.
func (b *tab) follows(server *served, runs *simRuns, request string) web.Started {
	b.t.Helper()
	b.open(server.url("/"))
	b.wait(`document.querySelector('.start button:enabled')`)
	started, err := runs.Start(b.t.Context(), operator, web.Job{Request: request})
	require.NoError(b.t, err)
	js[bool](b, fmt.Sprintf(`(location.hash = '#/runs/%s', true)`, started.Run))
	return started
}

// push presses the first of the page's actions with the label.
func (b *tab) push(label string) {
	b.t.Helper()
	b.clickText(".actions button", label)
}

// Proves R71: a run whose process was killed is interrupted, in the list as on its page, and
// its clock stands.
func TestRunIsInterrupted(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	s := newScript(t, log)
	s.moment = time.Now().UTC().Add(-time.Hour)
	s.start("Plan three days in Kyoto for two")
	s.add(events.TasksCreated{Tasks: []events.Task{{ID: 1, Text: "find a hotel", AssignedTo: "food"}}})
	require.NoError(t, log.Release(t.Context(), s.key, s.epoch))
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	b := browse(t)
	b.open(server.url("/"))
	b.wait(`document.querySelector('.runs .status')?.innerText.includes('interrupted')`)
	require.Contains(t, b.text(".runs .facts"), "0:00")
	b.click(".runs a")
	b.wait(`document.querySelector('.head .status')?.innerText.includes('interrupted')`)
	require.Contains(t, b.text(".notice"), "its process is gone")
	require.Equal(t, "0:00", b.text(".head .facts time"))
	require.Equal(t, "newest", b.text(".scrubber .live"))
	b.shot("run-interrupted")
	b.push("Cancel …")
	b.click(`form[aria-label="Cancel the run"] button`)
	b.wait(`document.querySelector('.head .status').innerText.includes('cancelled')`)
	b.clean()
}

// Proves R71: what costs money happens once, however often it is asked for at a time.
func TestStartIsSentOnce(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	runs := newSimRuns(t, log, sim.Options{})
	server := serve(t, web.Config{Log: log, Runs: runs})
	b := browse(t)
	b.open(server.url("/"))
	b.wait(`document.querySelector('.start select')`)
	js[bool](b, `(() => {
		const text = document.querySelector('#new-request');
		text.value = 'Plan a day';
		for (let i = 0; i < 3; i++) text.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true}));
		return true;
	})()`)
	b.wait(`location.pathname.startsWith('/runs/')`)
	b.wait(statusOver)
	all, err := log.Runs(t.Context(), events.RunQuery{Tenant: events.LocalTenant})
	require.NoError(t, err)
	require.Len(t, all, 1)
}

// Proves R71: a run is stopped and resumed, cancelled and forked from the page.
func TestStopAndFork(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	// Specialists write no word before the page has shown what comes before it.
	var held atomic.Pointer[chan struct{}]
	hold := func() (release func()) {
		gate := make(chan struct{})
		held.Store(&gate)
		return func() { close(gate) }
	}
	runs := newRuns(t, log, oneEndpoint{gatedModel(t, map[string]func() <-chan struct{}{`"complete_task"`: func() <-chan struct{} { return *held.Load() }})})
	first := hold()
	server := serve(t, web.Config{Log: log, Runs: runs})
	started, err := runs.Start(t.Context(), operator, web.Job{Request: "Plan a day"})
	require.NoError(t, err)
	b := browse(t)
	b.open(server.url("/runs/" + string(started.Run)))
	b.wait(`document.querySelector('.actions button')?.innerText === 'Stop' && document.querySelector('#plan-rows').innerText.includes('under way')`)
	b.push("Stop")
	b.wait(`document.querySelector('.actions').innerText.includes('Stopping')`) // once the calls under way have ended
	second := hold()
	first()
	b.wait(`document.querySelector('.head .status').innerText.includes('suspended')`)
	require.NotContains(t, b.text("#plan-rows"), "under way")
	require.Equal(t, "newest", b.text(".scrubber .live"))
	b.push("Cancel …")
	b.wait(`document.querySelector('form[aria-label="Cancel the run"]')`)
	b.press(kb.Escape)
	b.wait(`!document.querySelector('form[aria-label="Cancel the run"]')`)
	b.push("Resume")
	b.wait(`document.querySelector('.head .status').innerText.includes('running')`)
	b.push("Cancel …")
	b.click(`form[aria-label="Cancel the run"] button`)
	b.wait(`document.querySelector('.head .status').innerText.includes('cancelled')`)
	b.shot("run-cancelled")
	second()
	b.press(kb.Home)
	for range 5 {
		b.press(kb.ArrowRight)
	}
	b.push("Fork …")
	b.wait(`document.querySelector('.fork')?.innerText.includes('up to event 6')`)
	b.click(".fork input[name=instruction]")
	b.press("Keep it short")
	b.shot("run-fork")
	b.click(".fork button")
	b.wait(fmt.Sprintf(`location.pathname.startsWith('/runs/') && !location.pathname.includes(%q)`, string(started.Run)))
	b.wait(`document.querySelector('.head .status')?.innerText.includes('completed')`)
	require.Regexp(t, `forked from \w+ at event \d+, told “Keep it short”`, b.text(".head .origin"))
	b.shot("run-forked")
	b.click(".head .origin a")
	b.wait(fmt.Sprintf(`(location.pathname + location.search).startsWith('/runs/' + %q + '?at=') && /^Event \d+ of/.test(document.querySelector('.notice')?.innerText ?? '')`, string(started.Run)))
	b.clean()
}

// Proves R71: the export opens from disk, with the network off, and shows the run.
func TestExportOpensFromDisk(t *testing.T) {
	t.Parallel()
	log, run := simulated(t, "research", sim.Options{})
	server := serve(t, web.Config{Log: log})
	status, header, body := server.get(t, "/api/v1/runs/"+string(run.Run)+"/export?format=html")
	require.Equal(t, 200, status)
	require.Contains(t, header.Get("Content-Disposition"), "attachment")
	path := filepath.Join(t.TempDir(), "run.html")
	require.NoError(t, os.WriteFile(path, []byte(body), 0o600))
	server.stop()
	b := browse(t)
	_, err := chromedp.Call(b.ctx, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: true})
	require.NoError(t, err)
	file := (&url.URL{Scheme: "file", Path: path}).String()
	b.open(file)
	b.wait(statusOver)
	b.wait(`document.querySelector('.answer') && document.querySelectorAll('#log-rows .row').length > 3`)
	b.press(kb.ArrowLeft)
	b.wait(`location.hash.includes('at=')`)
	b.shot("export")
	for _, request := range b.requested() {
		require.True(t, strings.HasPrefix(request, file) || request == "about:blank", request)
	}
	b.clean()
}

// A run that is not there, and a page that is asked before the server is.
func TestUnknownRun(t *testing.T) {
	t.Parallel()
	server := serve(t, web.Config{Log: events.NewMemory()})
	b := browse(t)
	b.open(server.url("/runs/nothing-like-it"))
	b.wait(`document.querySelector('main').innerText.includes('This run cannot be shown')`)
	require.Contains(t, b.text("main"), `there is no run "nothing-like-it"`)
	b.shot("run-unknown")
}
