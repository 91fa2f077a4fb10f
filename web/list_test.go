//go:build browser

package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/web"
)

// Proves R71: a batch is one line of the list; team, model and time narrow it, totals stand
// above it, and a laptop shows more than a dozen runs.
func TestListIsNarrowed(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	cost := 0.5
	for i := range 20 {
		s := newScript(t, log)
		team := []string{"trip", "research"}[i%2]
		s.add(events.WorkflowStarted{Message: fmt.Sprintf("Request %d", i), Team: team, Agents: []events.AgentCard{{ID: events.FacilitatorID, Models: []string{"maker/model-" + team}}}},
			events.ModelCalled{ID: "f.1", Model: "m", Attempts: 1, Usage: events.Usage{InputTokens: 90, OutputTokens: 10}, CostUSD: &cost}, events.WorkflowFinished{Status: events.StatusCompleted})
	}
	tellBatch(t, log, 300, 300).then(time.Now().UTC(), events.BatchEnded{Status: events.StatusCompleted})
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	b := browse(t)
	b.open(server.url("/"))
	const runs = `document.querySelectorAll('.runs li').length`
	b.wait(runs + ` === 21`)
	require.Equal(t, 1, js[int](b, `document.querySelectorAll('.runs .parts').length`), "a batch is one line")
	b.wait(`document.querySelector('.list-totals').innerText === '20 runs · 1 batch · 628k tok · $10.59'`)
	require.GreaterOrEqual(t, js[int](b, `[...document.querySelectorAll('.runs li')].filter((li) => li.getBoundingClientRect().bottom <= innerHeight).length`), 13)
	choose := func(label, value string) {
		js[bool](b, fmt.Sprintf(`(() => { const e = [...document.querySelectorAll('.filters label')].find((l) => l.innerText.startsWith(%q)).querySelector('select, input'); e.value = %q; e.dispatchEvent(new Event(e.localName === 'select' ? 'change' : 'input', {bubbles: true})); return true; })()`, label, value))
	}
	b.shot("list")
	b.scheme("dark")
	b.shot("list-dark")
	choose("Team", "trip")
	b.wait(runs + ` === 10`)
	b.wait(`document.querySelector('.list-totals').innerText === '10 runs · 1.0k tok · $5.00'`)
	choose("Cost", "1")
	b.wait(`/No run matches/.test(document.querySelector('.empty')?.innerText)`)
	choose("Cost", "0.1")
	b.wait(runs + ` === 10`)
	choose("Model", "MODEL-research")
	b.wait(`/No run matches/.test(document.querySelector('.empty')?.innerText)`)
	choose("Team", "")
	choose("Started", "1")
	b.wait(runs + ` === 10`)
	b.size(390, 844, true)
	require.LessOrEqual(t, js[float64](b, `document.documentElement.scrollWidth`), 390.0)
	b.shot("list-phone")
	b.clean()
	status, _, body := server.get(t, "/api/v1/runs?own=true&since="+time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	require.Equal(t, 200, status)
	require.True(t, strings.Contains(body, `"runs":[]`))
}

// Proves R71: what a reader reaches for stays where it is: a list is shown once the server has
// told all that stands above its rows and between them, however late.
func TestListsStandWhereTheyAreShown(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	newScript(t, log).start("Plan a day")
	tellSupport(t, log)
	s := newScript(t, log)
	s.add(events.WorkflowStarted{Message: "Compare two things", Team: "trip"},
		events.FinalAnswer{Content: "# In **short**\n\n- [x] the *first*, `snake_case`\n> 2 * 3 [see](https://example.org/a_b) it[^1]\n\n| a | b |\n|---|--:|\n| c | d |"},
		events.WorkflowFinished{Status: events.StatusCompleted})
	tellBatch(t, log, 300, 300)
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	b := browse(t)
	b.before(`window.released = new Promise((done) => { window.release = () => done(true); });
		const real = fetch;
		window.fetch = async (path, how) => { if (/server|batches/.test(path)) await released; return real(path, how); };
		addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
			window.places ??= new Set();
			const row = document.querySelector('.runs a[href*="/runs/"], .threads a');
			if (row) places.add(Math.round(row.getBoundingClientRect().top));
		}).observe(document.body, {subtree: true, childList: true}))`)
	for path, list := range map[string]string{"/": "/api/v1/runs?", "/threads": "/api/v1/threads?"} {
		b.open("about:blank")
		b.open(server.url(path))
		b.until(fmt.Sprintf(`document.querySelector('h1') && performance.getEntriesByType('resource').some((e) => e.name.includes(%q) && e.responseEnd)`, list))
		js[bool](b, `new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(true))))`)
		js[bool](b, `(release(), true)`)
		b.wait(`document.querySelector('.start select') && places.size > 0`)
		require.Len(t, js[[]int](b, `[...places]`), 1, "the first row of %s moved", path)
		if path == "/threads" {
			require.Contains(t, b.text(".threads"), "In short the first, snake_case 2 * 3 see it a | b c | d\n", "a preview is plain text")
		}
	}
	b.clean()
}
