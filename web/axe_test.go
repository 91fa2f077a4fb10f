//go:build browser

package web_test

import (
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/web"
)

// Options of axe-core: what can be wrong in one look alone.
const (
	allRules   = `{}`
	colours    = `{runOnly: ['color-contrast']}`
	allButThem = `{rules: {'color-contrast': {enabled: false}}}`
)

// violations are what axe-core finds wrong with the page as it is.
func violations(b *tab, options string) string {
	b.t.Helper()
	source, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	require.NoError(b.t, err)
	js[bool](b, "(() => { if (!window.axe) {"+string(source)+"\n} return true; })()")
	return js[string](b, `axe.run(document, {resultTypes: ['violations'], ...`+options+`}).then((r) => JSON.stringify(
		r.violations.map((v) => [v.id, v.help, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + n.failureSummary)]), null, 1))`)
}

// Proves R71: axe-core finds nothing wrong, in light and dark, wide and on a phone.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("node_modules/axe-core"); err != nil {
		t.Skip("web/node_modules is not there: `npm ci` in web brings axe-core")
	}
	if race.Enabled {
		t.Skip("the page is what is looked at, and it knows no race detector")
	}
	log, run := simulated(t, "trip", sim.Options{})
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	b := browse(t)
	accessible(b, server, []pageView{
		{"list", "/", `document.querySelector('.runs a')`, nil},
		{"list-nothing", "/?q=nothing+like+it", `document.querySelector('.empty')`, nil},
		{"run", "/runs/" + string(run.Run), statusOver, nil},
		{"run-looked-into", "/runs/" + string(run.Run) + "?tags=1&changes=1&base=3&sel=event:9&at=60", `document.querySelector('.detail')`, []string{"j", "j"}},
		{"run-filtered", "/runs/" + string(run.Run) + "?find=nothing&at=1", `document.querySelector('.log .empty')`, nil},
		{"run-unknown", "/runs/none", `document.querySelector('main h1')`, nil},
		{"help", "/", `document.querySelector('.runs a')`, []string{"?"}},
	})
	b.open("about:blank")
	b.open(server.url("/runs/" + string(run.Run)))
	b.wait(statusOver)
	js[bool](b, `(document.querySelector('main').append(document.createElement('img')), true)`)
	require.Contains(t, violations(b, allRules), "image-alt", "what is wrong is found")
}

// pageView is something that the page shows, once ready is true and keys are pressed.
type pageView struct {
	name, hash, ready string
	keys              []string
}

// accessible looks at views in light and dark, wide and on a phone, with axe-core, and
// at whether they fit the screen. Each is opened once: the page follows its window.
func accessible(b *tab, server *served, views []pageView) {
	b.t.Helper()
	for _, view := range views {
		b.size(1440, 900, false)
		b.scheme("light")
		b.open("about:blank")
		b.open(server.url("/#" + view.hash))
		b.wait(view.ready)
		b.press(view.keys...)
		// A phone has the colours of the wide page, the dark page the places of the light one.
		for _, look := range []struct {
			name, scheme  string
			width, height int64
			rules         string
		}{
			{"wide-light", "light", 1440, 900, allRules},
			{"wide-dark", "dark", 1440, 900, colours},
			{"phone-light", "light", 390, 844, allButThem},
		} {
			b.size(look.width, look.height, look.width < 600)
			b.scheme(look.scheme)
			b.frames(2)
			name := view.name + "-" + look.name
			b.shot(name)
			require.Equal(b.t, "[]", violations(b, look.rules), name)
			wide := js[bool](b, `document.documentElement.scrollWidth > innerWidth`)
			require.False(b.t, wide, "%s: nothing scrolls sideways", name)
		}
	}
}

// Proves R71: nor does it in the views of batches, in every state that one can be in.
func TestAccessibilityOfBatches(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("node_modules/axe-core"); err != nil {
		t.Skip("web/node_modules is not there: `npm ci` in web brings axe-core")
	}
	if race.Enabled {
		t.Skip("the page is what is looked at, and it knows no race detector")
	}
	log := events.NewMemory()
	degraded := tellBatch(t, log, 300, 300)
	now := time.Now().UTC()
	degraded.then(now, events.BatchEnded{BatchFigures: degraded.now(time.Minute, 300), Status: events.StatusDegraded})
	suspended := tellBatch(t, log, 1000, 200)
	suspended.then(now, events.BatchEnded{BatchFigures: suspended.now(time.Minute, 1000), Status: events.StatusSuspended, Reason: "the bound of $1.50 was met", Left: 816})
	interrupted := tellBatch(t, log, 400, 120)
	require.NoError(t, log.Release(t.Context(), interrupted.key, interrupted.epoch))
	running := tellBatch(t, log, 1000, 640)
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	path := func(s *batchStory) string { return "/batches/" + string(s.id) }
	rows := batchRow + ` > 5`
	accessible(b, server, []pageView{
		{"batches", "/batches", `document.querySelectorAll('.batches li').length === 4`, nil},
		{"batch-running", path(running), rows, nil},
		{"batch-looked-into", path(running) + "?at=40&table=1&status=failed", rows, []string{"r", kb.ArrowDown, kb.ArrowDown}},
		{"batch-degraded", path(degraded), rows, nil},
		{"batch-suspended", path(suspended), rows, nil},
		{"batch-interrupted", path(interrupted), rows + ` && document.querySelector('.head .status').innerText.includes('interrupted')`, nil},
		{"batch-filtered", path(running) + "?q=nothing", `document.querySelector('.batch-rows .empty')?.innerText.includes('No row matches')`, nil},
		{"batch-unknown", "/batches/none", `document.querySelector('main h1')?.innerText === 'This batch cannot be shown'`, nil},
		{"compare", "/compare", `document.querySelectorAll(".compare select").length === 2`, nil},
		{"batches-nothing", "/batches?q=nothing", `document.querySelector('.empty')`, nil},
	})
	b.open(server.url("/batches"))
	b.wait(`document.querySelectorAll('.batches li').length === 4`)
	for _, words := range []string{"running", "interrupted", "suspended", "degraded", "the bound of $1.50 was met", "Its process is gone. Run the same command again to continue.", "rows/s", "left"} {
		require.Contains(t, b.text(".batches"), words)
	}
}

// Every status and state of the list, to be looked at and to be read by machines.
func TestEveryStatusInTheList(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	cost := 0.0213
	finish := func(status events.Status, reason string) func(*script) {
		return func(s *script) {
			s.add(events.ModelCalled{ID: "f.1", Model: "gpt-x", Usage: events.Usage{InputTokens: 31_000, OutputTokens: 7000}, CostUSD: &cost})
			s.add(events.WorkflowFinished{Status: status, Reason: reason, CostUSD: &cost})
		}
	}
	for _, c := range []struct {
		request string
		then    func(*script)
	}{
		{"Compare three frameworks for our next service", finish(events.StatusCompleted, "")},
		{"Review the change of the billing module", finish(events.StatusDegraded, "tasks 3 and 5 stayed open: the limit of tokens was met")},
		{"Plan a week on the coast", finish(events.StatusFailed, "authentication failed: the endpoint refused the key")},
		{"Draft the release notes", finish(events.StatusCancelled, "cancelled by the user")},
		{"Research the market for heat pumps in the north", func(s *script) { s.add(events.RunSuspended{Reason: "stopped"}) }},
		{"Plan three days in Kyoto for two: " + longRequest, func(s *script) {
			s.add(events.TasksCreated{Tasks: []events.Task{{ID: 1, Text: "a", AssignedTo: "food"}, {ID: 2, Text: "b", AssignedTo: "food"}}})
			s.add(events.TaskUpdated{Task: events.Task{ID: 1, Text: "a", AssignedTo: "food", Finished: true}})
		}},
	} {
		s := newScript(t, log)
		s.start(c.request)
		c.then(s)
	}
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	b := browse(t)
	b.open(server.url("/"))
	b.wait(`document.querySelectorAll('.runs li').length === 6`)
	for _, word := range []string{"running", "suspended", "cancelled", "failed", "degraded", "completed", "1/2 tasks", "38k tok", "$0.021", "the limit of tokens was met"} {
		require.Contains(t, b.text(".runs"), word)
	}
	b.shot("list-statuses")
	b.size(390, 844, true)
	b.scheme("dark")
	b.shot("list-statuses-phone")
	b.clean()
}

const longRequest = "temples early in the morning, food that a vegetarian can eat, hotels near the river, and all of it by train and on foot, with a day in reserve for rain"
