//go:build browser

package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/web"
)

// Proves R71: a hundred thousand events and ten thousand tasks: few elements exist,
// and once the page has loaded nothing that a reader does stops it for long.
func TestHundredThousandEvents(t *testing.T) {
	if race.Enabled {
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
	b.open(server.url("/runs/" + string(s.run)))
	b.wait(fmt.Sprintf(`document.querySelector('#log-title')?.innerText.includes('%d')`, s.seq))
	b.wait(`document.querySelectorAll('#log-rows .row').length > 3`)
	t.Logf("loaded %d events in %.0f ms", s.seq, js[float64](b, `performance.now()`))
	b.shot("run-hundred-thousand")
	require.Equal(t, "Task 1 of very many, with a text of usual length", b.text("#plan-rows .task .text"))

	title := func(pattern string) {
		b.t.Helper()
		b.wait(fmt.Sprintf(`/%s/i.test(document.querySelector('#log-title').innerText)`, pattern))
	}
	set := func(selector string, value any, event string) {
		js[bool](b, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event(%q, {bubbles: true})); return true; })()`, selector, fmt.Sprint(value), event))
	}
	nodes := func() int { return js[int](b, `document.querySelectorAll('#log-rows *, #plan-rows *').length`) }
	for _, phase := range []struct {
		name  string
		tries int
		do    func()
	}{
		{"scrolling", 3, func() {
			for i := range 30 {
				js[bool](b, fmt.Sprintf(`(() => { for (const e of document.querySelectorAll('#log-rows, #plan-rows')) e.scrollTop = %d / 30 * e.scrollHeight; return true; })()`, i*7%30))
				b.frames(1)
			}
		}},
		{"stepping", 3, func() {
			b.press(strings.Repeat(kb.ArrowLeft, 10), strings.Repeat(kb.ArrowRight, 5))
			b.wait(fmt.Sprintf(`location.search.includes('at=%d')`, int(s.seq)-5))
		}},
		{"scrubbing", 6, func() {
			for i := range 40 {
				set(".scrubber input", 20+i*17%40*total/40, "input")
				b.frames(1)
			}
		}},
		{"first and newest", 3, func() {
			b.press(kb.Home, kb.ArrowRight, kb.ArrowRight, kb.End)
			b.wait(`!location.search.includes('at=')`)
		}},
		{"pointing at the timeline", 3, func() {
			for i := range 20 {
				require.NoError(t, chromedp.Do(b.ctx, chromedp.MouseEvent(chromedp.MouseMoved, float64(200+i*50), 800)))
				b.frames(1)
			}
		}},
		{"zooming", 3, func() {
			b.press("++++----0")
			b.frames(2)
		}},
		{"searching", 1, func() {
			b.press("/", "warning 999")
			title(`log 1\d of`)
			b.press(kb.Escape, "l", kb.ArrowDown)
			b.wait(`document.querySelector('.detail pre')?.innerText.includes('warning 999')`)
		}},
		{"clearing the search", 1, func() {
			set(".log input[type=search]", "", "input")
			title(fmt.Sprintf(`log %d$`, s.seq))
		}},
		{"hiding kinds", 1, func() {
			for _, label := range []string{"model calls", "plan", "document"} {
				js[bool](b, fmt.Sprintf(`([...document.querySelectorAll('.log .menu label')].find((e) => e.textContent.trim() === %q).querySelector('input').click(), true)`, label))
				b.frames(3)
			}
			title(`log \d+ of`)
		}},
		{"changes and tags", 3, func() {
			b.press("ct")
			b.wait(`document.querySelector('.entry.fresh')`)
			b.press("ct")
		}},
		{"events that arrive", 3, func() {
			for range 100 {
				s.fill(20)
				time.Sleep(5 * time.Millisecond)
			}
			b.wait(fmt.Sprintf(`document.querySelector('#log-title').innerText.includes('%d')`, s.seq))
		}},
	} {
		b.atOnce(phase.name, phase.tries, phase.do)
		require.Less(t, nodes(), 2000, "elements in the long lists")
	}
	b.clean()
}
