//go:build browser

package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/web"
)

// Proves R71: a team's run and a single agent's stand side by side: time, cost, answer,
// document; on a narrow screen below each other.
func TestTwoRunsSideBySide(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	finish := func(solo bool, answer string, usd float64) events.RunID {
		s := newScript(t, log)
		s.add(events.WorkflowStarted{Message: "Plan Kyoto", Team: "trip", Solo: solo},
			events.ModelCalled{ID: "f.1", Model: "m", Attempts: 1, Usage: events.Usage{InputTokens: 90, OutputTokens: 10}, CostUSD: &usd},
			events.FinalAnswer{Content: answer}, events.WorkflowFinished{Status: events.StatusCompleted, DrivenMS: 65_000, CostUSD: &usd})
		return s.run
	}
	team, solo := finish(false, "By the **team**", 0.5), finish(true, "By one", 0.25)
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	b := browse(t)
	b.open(server.url("/"))
	b.wait(`document.querySelector('a[href="/compare"]')`)
	js[bool](b, `(document.querySelector('a[href="/compare"]').click(), true)`)
	b.wait(`document.querySelectorAll('.compare option').length === 6`)
	choose := func(side int, id events.RunID) {
		js[bool](b, `(() => { const e = document.querySelectorAll('.compare select')[`+string(rune('0'+side))+`]; e.value = '`+string(id)+`'; e.dispatchEvent(new Event('change', {bubbles: true})); return true; })()`)
	}
	choose(0, team)
	choose(1, solo)
	b.wait(`document.querySelectorAll('.compare .sides h3').length === 4`)
	require.Contains(t, b.text(".compare .figures"), "−50%")
	require.Contains(t, b.text(".compare .figures"), "trip, solo")
	require.Contains(t, b.text(".compare .sides"), "By the team")
	require.Contains(t, js[string](b, `location.pathname + location.search`), "/compare?a="+string(team)+"&b="+string(solo))
	b.shot("compare")
	b.size(320, 640, true)
	require.LessOrEqual(t, js[float64](b, `document.documentElement.scrollWidth`), 320.0)
	b.shot("compare-320")
	b.open(server.url("/compare?a=none&b=" + string(solo)))
	b.wait(`/there is no run/.test(document.querySelector('.compare .sides').innerText)`)
}
