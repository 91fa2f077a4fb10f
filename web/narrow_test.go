//go:build browser

package web_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/web"
)

// Proves R71: at 320 px, which is 1280 px at 400 % zoom, nothing but what scrolls of itself is
// wider than the screen (WCAG 1.4.10).
func TestNothingIsWiderThanANarrowScreen(t *testing.T) {
	t.Parallel()
	log, run := simulated(t, "trip", sim.Options{})
	batch := tellBatch(t, log, 300, 200)
	stopped, desk := tellStopped(t, log), tellDesk(t, log)
	runs := newSimRuns(t, log, sim.Options{})
	server := serve(t, web.Config{Log: log, Runs: runs, Batches: &steer.Batches{Runner: runs.runner}})
	b := browse(t)
	b.size(320, 640, true)
	for hash, ready := range map[string]string{
		"/":                        `document.querySelector('.runs a')`,
		"/?team=trip":              `document.querySelector('.list-totals')`,
		"/runs/" + string(run.Run): statusOver + ` && document.querySelector('.canvas')`,
		"/runs/" + string(run.Run) + "?sel=event:2&tags=1&changes=1&at=60": `document.querySelector('.call')`,
		"/threads":                       `document.querySelector('.threads a')`,
		"/threads/" + string(run.Thread): `document.querySelector('.said')`,
		"/batches":                       `document.querySelector('.batches a')`,
		"/batches/" + string(batch.id):   batchRow + ` > 5`,
		// What a person can do there stands in a row of buttons.
		"/batches/" + string(stopped.id):         `document.querySelector('.head .actions button')`,
		"/threads/" + string(desk) + "?as=human": `document.querySelector('.choices button')`,
		"/compare?a=" + string(run.Run):          `document.querySelectorAll('.compare .sides h3').length === 2`,
	} {
		b.open(server.url("/#" + hash))
		b.wait(ready)
		require.LessOrEqual(t, js[float64](b, `document.documentElement.scrollWidth`), 320.0, hash+js[string](b,
			`[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > 321).map((e) => ' ' + e.localName + '.' + e.className + e.innerText.slice(0, 30)).slice(0, 8).join()`))
	}
}

// Proves R71: where more agents work than there is room for, the keyboard reaches their pane
// and scrolls it.
func TestNowIsReadByKeyboard(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	s := newScript(t, log)
	agents, calls := []events.AgentCard{{ID: events.FacilitatorID, DisplayName: "Facilitator"}}, []events.ToolCall{}
	for i := range 20 {
		id := events.AgentID(fmt.Sprint("agent", i))
		agents, calls = append(agents, events.AgentCard{ID: id, DisplayName: string(id)}), append(calls, events.ToolCall{Name: "call_" + string(id)})
	}
	s.add(events.WorkflowStarted{Message: "Much at once", Team: "test", Agents: agents})
	add := func(agent events.AgentID, dispatch events.DispatchID, fact events.Event) {
		require.NoError(t, log.Append(t.Context(), s.key, s.epoch, s.seq, []events.Envelope{{Run: s.run, Agent: agent, Dispatch: dispatch, Data: fact}}))
		s.seq++
	}
	add(events.FacilitatorID, "", events.ModelCalled{ID: "f.1", Model: "m", Attempts: 1, Reply: events.Reply{ToolCalls: calls}})
	for i, call := range calls {
		add(agents[i+1].ID, events.DispatchID(fmt.Sprint("d", i+1)), events.AgentStarted{Agent: agents[i+1].ID, DisplayName: agents[i+1].DisplayName, TaskIDs: []events.TaskID{}, Tool: call.Name, CallRef: events.CallRef{ModelCall: "f.1", Index: i}})
	}
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/runs/" + string(s.run)))
	b.wait(`document.querySelectorAll('.now li').length > 20 && document.querySelector('.canvas')`)
	require.True(t, js[bool](b, `(() => { const e = document.querySelector('.now'); return e.scrollHeight > e.clientHeight; })()`))
	for range 60 {
		if b.press(kb.Tab); js[bool](b, `document.activeElement.matches('.now')`) {
			break
		}
	}
	require.True(t, js[bool](b, `document.activeElement.matches('.now')`))
	b.press(kb.PageDown)
	b.wait(`document.querySelector('.now').scrollTop > 0`)
	b.shot("now-many")
	b.clean()
}
