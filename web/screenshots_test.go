//go:build browser

package web_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/web"
)

// TestScreenshots writes every view, light and dark, at three widths, to testdata/screens,
// for a person to look at: `make screenshots` runs it.
func TestScreenshots(t *testing.T) {
	if !screens {
		t.Skip("make screenshots runs it")
	}
	log, run := simulated(t, "trip", sim.Options{})
	batch := tellBatch(t, log, 300, 200)
	stopped, desk := tellStopped(t, log), tellDesk(t, log)
	runs := newSimRuns(t, log, sim.Options{})
	alone, err := runs.Start(t.Context(), operator, web.Job{Request: "Plan three days in Kyoto for two: food, sights, costs", Team: "trip", Solo: true})
	require.NoError(t, err)
	runs.wait()
	server := serve(t, web.Config{Log: log, Runs: runs, Batches: &steer.Batches{Runner: runs.runner}})
	views := []struct{ name, hash, ready string }{
		{"list", "/", `document.querySelector('.runs a')`},
		{"run", "/runs/" + string(run.Run), statusOver + ` && document.querySelector('.canvas')`},
		{"call", "/runs/" + string(run.Run) + "?sel=event:2", `document.querySelector('.call')`},
		{"moment", "/runs/" + string(run.Run) + "?tags=1&changes=1&at=60", `document.querySelector('.canvas')`},
		{"dear", "/?min_cost=0.001&rows=1", `document.querySelector('.list-totals')`},
		{"compare", "/compare?a=" + string(run.Run) + "&b=" + string(alone.Run), `document.querySelectorAll('.compare .sides h3').length > 3`},
		{"stopped", "/batches/" + string(stopped.id), `document.querySelector('.head .actions button')`},
		{"desk", "/threads/" + string(desk), `document.querySelector('.choices button')`},
		{"threads", "/threads", `document.querySelector('.threads a')`},
		{"conversation", "/threads/" + string(run.Thread), `document.querySelector('.said')`},
		{"batches", "/batches", `document.querySelector('.batches a')`},
		{"batch", "/batches/" + string(batch.id), batchRow + ` > 5`},
	}
	b := browse(t)
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		for _, width := range []int64{390, 1440, 2560} {
			b.size(width, map[int64]int64{390: 844, 1440: 900, 2560: 1300}[width], width < 1000)
			for _, view := range views {
				b.open("about:blank")
				b.open(server.url("/#" + view.hash))
				b.wait(view.ready)
				name := fmt.Sprintf("view-%s-%d-%s", view.name, width, scheme)
				b.shot(name)
				require.LessOrEqual(t, js[float64](b, `document.documentElement.scrollWidth`), float64(width), "%s: nothing scrolls sideways", name)
			}
		}
	}
	b.clean()
}

// tellStopped tells of a batch that was stopped from the page, which can go on there.
func tellStopped(t testing.TB, log events.Log) *batchStory {
	t.Helper()
	stopped := tellBatch(t, log, 120, 60)
	stopped.then(time.Now().UTC(), events.BatchEnded{BatchFigures: stopped.now(time.Minute, 120), Status: events.StatusSuspended, Reason: "stopped from the dashboard", Left: 60})
	require.NoError(t, log.Release(t.Context(), stopped.key, stopped.epoch))
	return stopped
}

// tellDesk tells of a conversation in which a person is asked to decide.
func tellDesk(t testing.TB, log events.Log) events.ThreadID {
	t.Helper()
	desk := tellSupport(t, log)
	desk.hears("I want to talk to a person", events.MessageRouted{Agent: "billing", Tier: events.TierHandoff, Rule: "h1"})
	desk.by("billing", "h1", events.InputRequested{InputID: "i1", For: events.InputQuestion, Question: "Refund the second charge of €39.00?", Choices: []string{"Yes, refund it", "No"}})
	desk.add(events.RunSuspended{AwaitingInput: true})
	require.NoError(t, log.Release(t.Context(), desk.key, desk.epoch))
	return desk.key.Thread
}
