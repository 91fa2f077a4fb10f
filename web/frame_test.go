//go:build browser

package web_test

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/web"
)

// spoilt is a log in which a run is listed that has a damaged event.
type spoilt struct {
	events.Log
	run events.RunID
}

func (s spoilt) Runs(ctx context.Context, query events.RunQuery) ([]events.RunSummary, error) {
	runs, err := s.Log.Runs(ctx, query)
	for i := range runs {
		if runs[i].Run == s.run {
			runs[i].Damaged, runs[i].Request = &events.Damage{Seq: 7, Through: 9, Problem: "it is missing"}, ""
		}
	}
	return runs, err
}

// framed is a log with what lists and runs can show: costs, reasons, rows of batches, an answer
// in Markdown.
func framed(t testing.TB) (events.Log, events.RunID) {
	t.Helper()
	log := events.NewMemory()
	for i, status := range []events.Status{events.StatusCompleted, events.StatusDegraded, events.StatusFailed, events.StatusCancelled} {
		s := newScript(t, log)
		cost := []float64{0.00001, 0.0125, 0.5, 12.345}[i]
		s.add(events.WorkflowStarted{Message: fmt.Sprintf("Request  %d\n<b>of</b> some", i), Team: "trip"},
			events.ModelCalled{ID: "f.1", Model: "m", Attempts: 1, Usage: events.Usage{InputTokens: []int64{9, 1250, 9999, 2_000_000}[i], OutputTokens: 0}, CostUSD: &cost})
		s.add(events.WorkflowFinished{Status: status, Reason: map[events.Status]string{events.StatusDegraded: "one task is open", events.StatusFailed: "the model <i>failed</i>"}[status]})
	}
	tellBatch(t, log, 250, 250).then(time.Now().UTC(), events.BatchEnded{Status: events.StatusCompleted}) // begun a minute ago, and for half a minute more
	s := newScript(t, log)
	s.add(events.WorkflowStarted{Message: "Compare <two> things", Team: "trip"},
		events.FinalAnswer{Content: "# Heading\n\nSome *text* with `code & more`, <b>no markup</b>, a [link](https://example.org/a?b=1&c=2) and a [trap](javascript:alert(1)). Second sentence.\n\n- one\n- two\n  1. three\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n> said\n\n```go\nfunc main() {}\n```\n"},
		events.WorkflowFinished{Status: events.StatusCompleted})
	return log, s.run
}

// framedLive is a log with one run, which goes on.
func framedLive(t testing.TB) (events.Log, events.RunID) {
	t.Helper()
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("Plan a day")
	s.add(events.TasksCreated{Tasks: []events.Task{{ID: 1, Text: "find a hotel", AssignedTo: "food"}}},
		events.DocumentUpdated{Version: 1, Author: "food", EntryID: 1, Section: "general", Slot: "general", Content: "Lunch at *noon*.", ChangeDescription: "lunch"})
	return log, s.run
}

// Proves R71: what the server draws first is what the script then shows, text by text and where
// it stands; what the reader has begun to type and where the focus is stay.
func TestFrames(t *testing.T) {
	t.Parallel()
	log, run := framed(t)
	log = spoilt{log, run}
	liveLog, live := framedLive(t)
	server, liveServer := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})}), serve(t, web.Config{Log: liveLog})
	for _, page := range []struct {
		server               *served
		address, texts, over string
	}{
		{server, "/", ".top .brand, .top nav a, .list h1, .start label, .filters label > span, .filters select, .runs li:nth-child(-n + 10)", `document.querySelector('.list-totals')?.innerText.includes('runs')`},
		{server, "/runs/" + string(run), ".head h1, .head .status, .head .facts > *, .head .notice, #plan-title, #document-title, #document h3, #document h5, #document p, #document li, #document td, #document th, #document blockquote, #document pre", `document.querySelector('.timeline canvas')`},
		{liveServer, "/runs/" + string(live), ".top .brand, .top nav a, .head h1, .head .status, .head .facts > :not(time), #plan-title, #document-title, #document h3, #document h4, #document p", `document.querySelector('.timeline canvas')`},
	} {
		b := browse(t)
		b.before(fmt.Sprintf(`window.look = (texts) => [...document.querySelectorAll(texts)].map((e) => {
				const { left, top } = e.getBoundingClientRect();
				return [(e.selectedOptions?.[0] ?? e).textContent.trim().replace(/\s+/g, ' '), %s ? Math.round(left) : 'behind a clock', Math.round(top)].join(' | ');
			});
			window.held = new Promise((done) => { window.release = () => done(true); });
			const real = fetch;
			window.fetch = async (path, how) => { await held; return real(path, how); };`, fmt.Sprint(page.server == server)))
		b.open(page.server.url(page.address))
		b.until(`window.ahead`)
		before := js[[]string](b, fmt.Sprintf(`look(%q)`, page.texts))
		require.Greater(t, len(before), 12)
		if page.address == "/" {
			js[bool](b, `(document.querySelector('#new-request').focus(), true)`)
			b.press("typed before")
		} else {
			js[bool](b, `document.querySelector('.actions details').open = true`)
		}
		js[bool](b, `(window.mine = document.querySelector('.runs a, .answer, #document p'), release(), true)`)
		b.wait(page.over)
		require.Equal(t, before, js[[]string](b, fmt.Sprintf(`look(%q)`, page.texts)), "the script shows something else than the server, or elsewhere")
		require.True(t, js[bool](b, `mine.isConnected`), "the script takes the elements over")
		if page.address == "/" {
			require.Contains(t, b.text(".runs"), "✗ damaged")
			require.Contains(t, b.text(".runs"), "Events 7 to 9 of its log are damaged: it is missing.")
			require.Contains(t, b.text(".runs"), "Its request cannot be read")
			require.Equal(t, "typed before", js[string](b, `document.activeElement.value`))
		} else {
			require.Contains(t, b.text(".actions details[open]"), "JSON", "a menu that was opened before stays open")
		}
		b.clean()
	}
}

// An old link leads where it did, in a page that is opened and in one that is open.
func TestLinksOfEarlierVersions(t *testing.T) {
	t.Parallel()
	log, run := framed(t)
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/#/runs/" + string(run) + "?tags=1"))
	b.wait(fmt.Sprintf(`document.querySelector('.answer') && location.pathname + location.search === '/runs/%s?tags=1' && !location.hash`, run))
	js[bool](b, `(location.hash = '#/?q=Compare', true)`)
	b.wait(`document.querySelectorAll('.runs li').length === 1 && location.pathname + location.search === '/?q=Compare'`)
	js[bool](b, `(document.querySelector('.runs a').click(), true)`)
	b.wait(`document.querySelector('.answer')`)
	js[bool](b, `(history.back(), true)`)
	b.wait(`document.querySelectorAll('.runs li').length === 1`)
	b.clean()
	_, _, body := server.get(t, "/runs/"+string(run))
	require.NotRegexp(t, regexp.MustCompile(`<b>no markup|href="javascript`), body)
	require.Contains(t, body, "Compare &lt;two&gt; things")
}
