//go:build browser

package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/web"
)

// older copies a log of one run to another log, as if it had been written that long ago.
func older(t *testing.T, from events.Log, run events.RunSummary, ago time.Duration) *events.Memory {
	t.Helper()
	key := events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}
	envs, err := from.Read(t.Context(), key, 0, 0)
	require.NoError(t, err)
	for i := range envs {
		envs[i].Time = envs[i].Time.Add(-ago)
	}
	log := events.NewMemory()
	epoch, err := log.Claim(t.Context(), key, "test", false)
	require.NoError(t, err)
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, envs))
	require.NoError(t, log.Release(t.Context(), key, epoch))
	return log
}

// Proves R71: a run that is over is forked at a point that works, and run again; what a
// fork counts is the time that it was driven, not that since its origin.
func TestAfterTheEndOfARun(t *testing.T) {
	t.Parallel()
	from, origin := simulated(t, "trip", sim.Options{})
	log := older(t, from, origin, 3*time.Hour)
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	b := browse(t)
	page := "/runs/" + string(origin.Run)
	over := fmt.Sprintf(`location.pathname.startsWith('/runs/') && !location.pathname.startsWith(%q) && document.querySelector('.head .origin') && document.querySelector('.head .status')?.innerText.includes('completed')`, page)
	b.open(server.url(page))
	b.push("Fork …")
	b.wait(`document.querySelector('form.fork')?.innerText.includes(', before the run ended')`)
	b.click("form.fork button[type=submit]")
	b.wait(over)
	require.Regexp(t, `^\d+:\d\d$`, b.text(".head .facts time"))
	b.open(server.url(page))
	b.push("Run again")
	b.wait(over)
	require.Regexp(t, `forked from \w+ at event 1 · compare$`, b.text(".head .origin"))
	require.Regexp(t, `^\d+:\d\d$`, b.text(".head .facts time"))
	all, err := log.Runs(t.Context(), events.RunQuery{Tenant: events.LocalTenant})
	require.NoError(t, err)
	require.Len(t, all, 3)
	b.clean()
}

// finished is a run with a document, that is over.
func finished(t *testing.T, log events.Log, request string) *script {
	t.Helper()
	s := newScript(t, log)
	s.start(request)
	s.add(events.DocumentUpdated{Version: 1, EntryID: 1, Author: "food", Section: "a", Slot: "main", Content: "One sentence."})
	s.fill(60)
	s.add(events.WorkflowFinished{Status: events.StatusCompleted, CostUSD: new(float64)})
	require.NoError(t, log.Release(t.Context(), s.key, s.epoch))
	return s
}

// Proves R71: what is of one run does not stand on the next: the source of a sentence, a
// form that is open; and a link to a moment opens the log there.
func TestEachRunHasItsOwn(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	one, two := finished(t, log, "the first"), finished(t, log, "the second")
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	b := browse(t)
	b.open(server.url("/runs/" + string(one.run)))
	b.wait(`document.querySelector('#document .s')`)
	js[bool](b, `(document.querySelector('#document .s').focus(), true)`)
	b.wait(`document.querySelector('.provenance').innerText.includes('entry 1')`)
	b.push("Fork …")
	b.wait(`document.querySelector('form.fork')`)
	js[bool](b, fmt.Sprintf(`(location.hash = '#/runs/%s?at=40', true)`, two.run))
	b.wait(`document.querySelector('h1').innerText === 'the second' && document.querySelector('#document .s')`)
	require.NotContains(t, b.text(".provenance"), "entry 1")
	require.False(t, js[bool](b, `!!document.querySelector('form.fork')`))
	b.wait(`(() => {
		const [box, row] = [document.querySelector('#log-rows'), document.querySelector('#log-rows-39')].map((e) => e?.getBoundingClientRect());
		return row && row.top >= box.top && row.bottom <= box.bottom + 1;
	})()`)
	b.clean()
}

// Proves R71: while nobody can tell, the clock of a run stands.
func TestClockStandsWhileDisconnected(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("under way")
	live := &said{simRuns: newSimRuns(t, log, sim.Options{})}
	live.say("d1.1")
	server := serve(t, web.Config{Log: log, Runs: live})
	b := browse(t)
	b.open(server.url("/runs/" + string(s.run)))
	b.wait(`!['', '0:00'].includes(document.querySelector('.head .facts time')?.innerText ?? '')`)
	server.stop()
	b.wait(`document.querySelector('.notice')?.innerText.includes('Connection to the server lost')`)
	at := b.text(".head .facts time")
	time.Sleep(2100 * time.Millisecond) // two ticks of the page
	require.Equal(t, at, b.text(".head .facts time"))
}

// Proves R71: a batch of which every row failed has failed: the list says so, as its page
// and the API do, and the page says what to do.
func TestEveryRowFailed(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: "b"}
	epoch, err := log.Claim(t.Context(), key, "test", false)
	require.NoError(t, err)
	figures := events.BatchFigures{Done: 2, Failed: 2}
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, []events.Envelope{
		{Data: events.BatchStarted{Input: "rows.jsonl", Output: "out file.jsonl", Team: "trip", Rows: 2, Concurrency: 1}},
		{Data: events.BatchEnded{BatchFigures: figures, Status: events.StatusFailed}},
	}))
	require.NoError(t, log.Release(t.Context(), key, epoch))
	server := serve(t, web.Config{Log: log})
	_, _, body := server.get(t, "/api/v1/batches/b")
	require.Contains(t, body, `"status":"failed"`)
	b := browse(t)
	b.open(server.url("/batches"))
	b.wait(`document.querySelector('.batches .status')?.innerText.includes('failed')`)
	b.click(".batches a")
	b.wait(`document.querySelector('.head .status')?.innerText.includes('failed')`)
	require.Contains(t, b.text(".notice"), "Every row failed.")
	b.clean()
}

// Proves R71: what a specialist writes stands in its slot as it streams, rendered, with its
// author, and settles as the entry; what is being read does not move.
func TestTextArrivesInItsSlot(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("under way")
	live := &said{simRuns: newSimRuns(t, log, sim.Options{})}
	server := serve(t, web.Config{Log: log, Runs: live})
	b := browse(t)
	b.open(server.url("/runs/" + string(s.run)))
	b.wait(`document.querySelector('#document .empty')`)
	begun := `{"section":"Food","content":"## Tofu\n\nA **bold** house, and \"mo\u`
	live.say("d1.1", web.LivePiece{Text: begun, InCall: true, Begins: true})
	b.wait(`document.querySelector('.entry.arriving strong')?.innerText === 'bold'`)
	require.Equal(t, "Food", b.text("#document h3"))
	require.Equal(t, "Food is writing …", js[string](b, `document.querySelector('.arriving').innerText.split('\n')[0]`))
	require.Contains(t, b.text(".arriving"), `and "mo`)
	b.shot("run-arriving")
	b.scheme("dark")
	b.size(390, 800, true)
	b.shot("run-arriving-narrow-dark")
	b.scheme("light")
	b.size(1440, 900, false)
	live.say("d1.1", web.LivePiece{From: int64(len(begun)), Text: `0072e\".","task_id":1}`, InCall: true})
	b.wait(`document.querySelector('.arriving').innerText.includes('and "more".')`)
	write := func(section, content string, call events.ModelCallID) {
		n := js[int](b, `document.querySelectorAll('.entry[data-entry]').length`) + 1
		s.add(events.DocumentUpdated{Version: n, EntryID: events.EntryID(n), Author: "food", Section: section, Slot: "main", Content: content, ModelCall: call})
		b.wait(fmt.Sprintf(`document.querySelectorAll('.entry[data-entry]').length === %d`, n))
	}
	write("Food", "## Tofu\n\nA **bold** house, and \"more\".", "d1.1")
	require.False(t, js[bool](b, `!!document.querySelector('.arriving')`), "it is an entry now")

	// Seven more, of which the last is read; then one before them, as the ninth.
	long := strings.Repeat("A sentence of an entry of some length. ", 60)
	for i := range 7 {
		write(fmt.Sprintf("Part %d", i), long, "")
	}
	js[bool](b, `(() => {
		const box = document.querySelector('#document');
		window.read = [...document.querySelectorAll('.entry[data-entry]')].pop();
		read.scrollIntoView();
		window.places = new Set();
		const look = () => { places.add(Math.round(read.getBoundingClientRect().top)); requestAnimationFrame(look); };
		requestAnimationFrame(() => requestAnimationFrame(look));
		return true;
	})()`)
	b.wait(`window.places.size > 0`)
	live.say("d1.2", web.LivePiece{Text: `{"section":"Food","content":"` + long, InCall: true, Begins: true})
	b.wait(`document.querySelector('.arriving')?.innerText.includes('some length')`)
	write("Food", long, "d1.2")
	b.frames(2)
	places := js[[]int](b, `[...places]`)
	require.LessOrEqual(t, slices.Max(places)-slices.Min(places), 1, "what is read moved: %v", places)
	b.clean()
}
