package web_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// Proves R71: a hundred thousand events and ten thousand tasks: few elements exist,
// and once the page has loaded nothing that a reader does stops it for long.
func TestHundredThousandEvents(t *testing.T) {
	if raceDetector {
		t.Skip("the page is what is measured, and it knows no race detector")
	}
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("A very long run")
	const tasks, total = 10_000, 100_000
	created := events.TasksCreated{}
	for id := 1; id <= tasks; id++ {
		created.Tasks = append(created.Tasks, events.Task{ID: events.TaskID(id), Text: fmt.Sprintf("Task %d of very many, with a text of usual length", id), AssignedTo: "food"})
	}
	s.add(created)
	for n := 1; int(s.seq) < total; n++ {
		call := events.ModelCalled{
			ID: events.ModelCallID(fmt.Sprintf("f.%d", n)), Model: "gpt-x", QueuedMS: 3, FirstTokenMS: 40, TotalMS: 120, Attempts: 1,
			Usage: events.Usage{InputTokens: 1200, OutputTokens: 80}, Reply: events.Reply{Text: "A reply of some length that says what comes next."},
		}
		facts := []events.Event{call, events.Warning{Code: "test", Message: fmt.Sprintf("warning %d", n)}, events.FacilitatorMessage{Agent: "facilitator", Content: "a message of usual length, to be read in the log"}}
		if n <= tasks/2 {
			facts = append(facts, events.TaskUpdated{Task: events.Task{ID: events.TaskID(n), Text: created.Tasks[n-1].Text, AssignedTo: "food", Finished: true}})
		}
		if n <= 300 {
			facts = append(facts, events.DocumentUpdated{
				Version: n, EntryID: events.EntryID(n), Author: "food", Section: fmt.Sprintf("section %d", n%20), Slot: "main",
				Content: fmt.Sprintf("**Entry %d.** It says something. Then something more, and ends.\n\n- one\n- two", n), ModelCall: call.ID,
			})
		}
		s.add(facts...)
	}
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.before(`window.longest = 0; new PerformanceObserver((list) => { for (const e of list.getEntries()) window.longest = Math.max(window.longest, e.duration); }).observe({type: 'longtask', buffered: true});`)
	b.open(server.url("/#/runs/" + string(s.run)))
	b.wait(fmt.Sprintf(`document.querySelector('#log-title')?.innerText.includes('%d')`, s.seq))
	b.wait(`document.querySelectorAll('#log-rows .row').length > 3`)
	loaded := js[float64](b, `performance.now()`)
	b.shot("run-hundred-thousand")
	nodes := js[int](b, `document.querySelectorAll('#log-rows *, #plan-rows *').length`)
	require.Less(t, nodes, 2000, "elements in the long lists")
	require.Equal(t, "Task 1 of very many, with a text of usual length", b.text("#plan-rows .task .text"))

	// The same small work again and again tells how slow the machine is at this time.
	pace := func() float64 {
		return js[float64](b, `(() => { const t = performance.now(); let x = 0; for (let i = 0; i < 2e6; i++) x += Math.sqrt(i); return performance.now() - t + x * 0; })()`)
	}
	slowest := pace()
	js[bool](b, `(window.longest = 0, true)`)
	for i := range 5 {
		js[bool](b, fmt.Sprintf(`(document.querySelector('#log-rows').scrollTop = %d * document.querySelector('#log-rows').scrollHeight / 5, true)`, i))
		js[bool](b, fmt.Sprintf(`(document.querySelector('#plan-rows').scrollTop = %d * document.querySelector('#plan-rows').scrollHeight / 5, true)`, i))
		b.press(kb.ArrowLeft)
		slowest = max(slowest, pace())
	}
	b.wait(fmt.Sprintf(`location.hash.includes('at=%d')`, int(s.seq)-5))
	scrolled := js[float64](b, `window.longest`)
	b.press(kb.Home, kb.ArrowRight, kb.ArrowRight, kb.End)
	jumped := js[float64](b, `window.longest`)
	b.press("/", "warning 999")
	b.wait(`/LOG 1\d OF/i.test(document.querySelector('#log-title').innerText)`)
	b.press(kb.Escape, "l", kb.ArrowDown)
	b.wait(`document.querySelector('.detail pre')?.innerText.includes('warning 999')`)
	before, searched := s.seq, js[float64](b, `window.longest`)
	s.fill(2000) // and it goes on
	b.wait(fmt.Sprintf(`document.querySelector('#log-title').innerText.includes('%d')`, s.seq))
	longest := js[float64](b, `window.longest`)
	t.Logf("loaded %d events in %.0f ms; %d elements in the lists; longest task after load %.0f ms (so far after scrolling and stepping %.0f, jumping %.0f, searching %.0f), pace %.1f ms", before, loaded, nodes, longest, scrolled, jumped, searched, slowest)
	require.Less(t, nodes, 2000)
	require.Less(t, jumped, max(longestTaskMS, longestTaskPaces*slowest), "a task that stops the page")
	// A search drops and makes a hundred thousand lines, which the collector takes up.
	require.Less(t, longest, 3*max(longestTaskMS, longestTaskPaces*slowest), "a task that stops the page")
	b.clean()
}

// longestTaskMS is what a reader takes for at once; longestTaskPaces is the same on
// a machine that has much else to do.
const (
	longestTaskMS    = 100.0
	longestTaskPaces = 15.0
)
