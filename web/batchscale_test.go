//go:build browser

package web_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/web"
)

// Proves R71: of a batch of a hundred thousand rows few elements exist, wherever the
// reader goes in it, and any row is found.
func TestHundredThousandRows(t *testing.T) {
	t.Parallel()
	if race.Enabled {
		t.Skip("the page is what is looked at, and it knows no race detector")
	}
	const total = 100_000
	log := events.NewMemory()
	s := newBatchStory(t, log)
	begun := time.Now().UTC().Add(-10 * time.Hour)
	s.then(begun, events.BatchStarted{Input: "in.jsonl", Output: "out.jsonl", Team: "trip", Rows: total, Concurrency: 64})
	for i := range 1000 {
		s.add(events.BatchRowRejected{Row: rowID(total + i), Index: total + i, Line: total + i + 1, Code: "invalid_row", Message: "the JSON ends too early"})
	}
	for i := range total {
		moment := begun.Add(time.Duration(i) * 360 * time.Millisecond)
		run := s.begin(moment, i, fmt.Sprintf("Plan day %d of very many", i))
		status, code, reason := howItEnded(i)
		s.end(run, moment.Add(4*time.Second), i, status, code, reason)
		if i%10 == 0 { // an event every four seconds
			s.then(moment, events.BatchProgress{BatchFigures: s.now(moment.Sub(begun)+time.Second, total)})
		}
	}
	s.then(begun.Add(10*time.Hour), events.BatchEnded{BatchFigures: s.now(10*time.Hour, total), Status: events.StatusDegraded})
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	few := func() {
		t.Helper()
		require.Less(t, js[int](b, `document.querySelectorAll('*').length`), 2000, "elements of the page")
	}
	path := "/batches/" + string(s.id)
	loading := time.Now()
	b.open(server.url(path))
	b.wait(`document.querySelector('.head .done')?.innerText === '100,000/100,000 rows' && ` + batchRow + ` > 5`)
	t.Logf("loaded %d events of the batch in %s", s.seq, time.Since(loading).Round(time.Millisecond))
	few()
	b.shot("batch-hundred-thousand")
	seen := 0
	for range 20 { // page after page
		js[bool](b, `(document.querySelector('#batch-rows').scrollTop = 1e9, true)`)
		b.wait(fmt.Sprintf(`document.querySelector('#batch-rows .row:last-child')?.getAttribute('aria-rowindex') > %d`, seen))
		seen = js[int](b, `Number(document.querySelector('#batch-rows .row:last-child').getAttribute('aria-rowindex'))`)
		few()
	}
	require.Greater(t, seen, 2000)
	b.press(kb.ArrowLeft) // a moment of ten thousand
	b.wait(`document.querySelector('.head .status').innerText.includes('running')`)
	few()
	b.press(kb.End, "/", "day 98765 ")
	b.wait(batchRow + ` === 1 && document.querySelector('#batch-rows .row .id').innerText === 'q-98765'`)
	b.press(kb.Escape, "r", kb.ArrowDown, kb.Enter)
	b.wait(`document.querySelector('.head .of')?.innerText.startsWith('row q-98765')`)
	// A row that a link names is found again among those before it.
	b.open("about:blank")
	b.open(server.url(path + "?sel=" + string(s.runID(5000))))
	b.wait(`document.querySelector('#batch-rows .row.selected .id')?.innerText === 'q-5000'`)
	few()
	b.clean()
}

// Proves R71: nothing that a reader looks at moves by itself: rows that begin to fit a
// filter above what is read push nothing down, and those that fit no more stay until
// they are let go.
func TestRowsStayWhereTheyAreRead(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	s := newBatchStory(t, log)
	now := time.Now().UTC()
	s.then(now, events.BatchStarted{Input: "in.jsonl", Output: "out.jsonl", Team: "trip", Rows: 1000, Concurrency: 400})
	runs := map[int]*script{}
	for i := 0; i < 400; i += 2 {
		runs[i] = s.begin(now, i, fmt.Sprintf("Plan day %d", i))
	}
	tell := func() {
		s.then(time.Now().UTC(), events.BatchProgress{BatchFigures: s.now(time.Second, 1000)})
	}
	tell()
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/batches/" + string(s.id) + "?status=running"))
	b.wait(batchRow + ` > 5`)
	js[bool](b, `(document.querySelector('#batch-rows').scrollTop = 50 * 44 + 10, true)`)
	b.wait(`document.querySelector('#batch-rows').innerText.includes('Plan day 104')`)
	const top = `(() => { const box = document.querySelector('#batch-rows').getBoundingClientRect();
		for (const row of document.querySelectorAll('#batch-rows .row')) { const r = row.getBoundingClientRect(); if (r.bottom > box.top + 30) return row.querySelector('.id').innerText + ' ' + Math.round(r.top - box.top); } })()`
	before := js[string](b, top)
	require.Contains(t, before, "q-10")
	for _, i := range []int{95, 97, 99} { // above what is read, but among the rows that exist
		runs[i] = s.begin(time.Now().UTC(), i, fmt.Sprintf("Plan day %d", i))
	}
	for _, i := range []int{104, 108} {
		s.end(runs[i], time.Now().UTC(), i, events.StatusCompleted, "", "")
	}
	tell()
	b.wait(`document.querySelector('.batch-rows .bar').innerText.includes('2 fit no more: let go')`)
	b.wait(`document.querySelector('#batch-rows').innerText.includes('moved on')`)
	require.Equal(t, before, js[string](b, top), "what is read stays where it is")
	b.shot("batch-rows-moved-on")
	js[bool](b, `(() => { document.querySelector('.batch-rows .bar button').click(); return true; })()`)
	b.wait(`!document.querySelector('#batch-rows').innerText.includes('moved on')`)
	require.NotContains(t, b.text("#batch-rows"), "q-104\n")
	b.clean()
}
