//go:build browser

package web_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// title is what the pointer is told at a place of the canvas: so far along the
// scale, on a lane that is seen.
func (b *tab) title(along float64, lane int) string {
	b.t.Helper()
	b.wait(`document.querySelector('.canvas')`)
	at := js[[]float64](b, fmt.Sprintf(`(() => { const r = document.querySelector('.canvas').getBoundingClientRect(); return [r.x + %g * r.width, r.y + 18 + %d * 20 + 10]; })()`, along, lane))
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.MouseEvent(chromedp.MouseMoved, at[0], at[1])))
	return js[string](b, `document.querySelector('.canvas').title`)
}

// painted is the colour of the canvas at such a place, so far down the lane.
func (b *tab) painted(along float64, lane int, down float64) string {
	b.t.Helper()
	return js[string](b, fmt.Sprintf(`(() => {
		const c = document.querySelector('.canvas'), k = c.width / c.clientWidth;
		return [...c.getContext('2d').getImageData(Math.round(%g * c.width), Math.round((18 + (%d + %g) * 20) * k), 1, 1).data].join();
	})()`, along, lane, down))
}

// Proves R71: the timeline of a run with trouble, to the eye and to the pointer.
func TestTimelineShowsFailedAttempts(t *testing.T) {
	t.Parallel()
	log, s := troubled(t)
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/runs/" + string(s.run)))
	b.wait(`document.querySelectorAll('#log-rows .row').length > 3`)
	for _, want := range []struct {
		ms    float64
		lane  int
		title string
	}{
		{2500, 1, "waiting for the limiter d1.1, 1.0 s"},
		{3100, 1, "attempt that failed d1.1 try 1: HTTP 429, slow down <b>, 200 ms"},
		{3200, 1, "✗ d1.1 try 1: HTTP 429, slow down <b>"},
		{4500, 1, "waiting to retry after d1.1 try 1: HTTP 429, slow down <b>, 2.0 s"},
		{6000, 1, "attempt that failed d1.1 try 2: broken stream, the connection broke in mid-reply, 1.8 s"},
		{11_500, 1, "to the first token d1.1, 1.0 s"},
		{13_000, 1, "tokens d1.1, 2.0 s"},
		{16_000, 1, "tool search, 1.0 s"},
		{10_000, 0, "waits for specialists, 12.0 s"},
		{4750, 0, "tokens f.1r (the rest of f.1), 500 ms"},
		{10_000, 2, "waiting to retry d2.1, 2.0 s"},
	} {
		require.Equal(t, want.title, b.title(want.ms/20_000, want.lane))
	}
	ground := b.painted(0.99, 2, 0.1)
	seen := map[string]string{}
	for name, colour := range map[string]string{
		"failed": b.painted(6100.0/20_000, 1, 0.3), "retry": b.painted(10_000.0/20_000, 1, 0.5), "first": b.painted(11_500.0/20_000, 1, 0.3),
		"tokens": b.painted(13_000.0/20_000, 1, 0.3), "tool": b.painted(16_000.0/20_000, 1, 0.3), "waits": b.painted(14_000.0/20_000, 0, 0.5),
	} {
		require.NotEqual(t, ground, colour, name)
		require.Empty(t, seen[colour], "%s looks as %s does", name, seen[colour])
		seen[colour] = name
	}
	require.Equal(t, ground, b.painted(14_000.0/20_000, 0, 0.3), "waiting is light")
	require.Contains(t, b.text(".signs"), "attempt that failed")
	b.shot("timeline-retries")
	light := b.painted(13_000.0/20_000, 1, 0.3)
	b.scheme("dark")
	for end := time.Now().Add(patience); b.painted(13_000.0/20_000, 1, 0.3) == light; time.Sleep(25 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "the lanes stay light in the dark")
	}
	b.shot("timeline-retries-dark")
	b.size(390, 844, true)
	js[bool](b, `(document.querySelector('.timeline').scrollIntoView(), true)`)
	require.Equal(t, "✗ d1.1 try 1: HTTP 429, slow down <b>", b.title(3200.0/20_000, 1))
	require.LessOrEqual(t, js[float64](b, `document.documentElement.scrollWidth`), 390.0, "nothing scrolls sideways")
	b.shot("timeline-retries-phone")
	b.clean()
}

// Proves R71: bars and what they say are reached by key, the thumb of the scrubber stands
// at its place in time and is moved there, and the signs tell of shortened time.
func TestTimelineByKey(t *testing.T) {
	t.Parallel()
	log, s := troubled(t)
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/runs/" + string(s.run)))
	b.wait(`document.querySelector('.canvas')`)
	js[bool](b, `(document.querySelector('.canvas').focus(), true)`)
	said := func(words string) {
		b.t.Helper()
		b.wait(fmt.Sprintf(`document.querySelector('.bar-told').innerText.includes(%q)`, words))
	}
	b.press(kb.ArrowRight)
	said("Facilitator: ")
	b.press(kb.ArrowDown, kb.ArrowRight)
	said(": attempt that failed d1.1 try 1: HTTP 429, slow down <b>, 200 ms")
	b.press(kb.Enter)
	b.wait(`/sel=event/.test(location.search) && /at=/.test(location.search)`)
	thumb := `Math.abs(document.querySelector('.thumb').getBoundingClientRect().x + 8 - document.querySelector('.moment-line').getBoundingClientRect().x) <= 1`
	b.wait(thumb)
	at := js[[]float64](b, `(() => { const r = document.querySelector('.slide').getBoundingClientRect(); return [r.x + 0.76 * r.width, r.y + r.height / 2]; })()`)
	before := js[string](b, `location.search`)
	require.NoError(t, chromedp.Do(b.ctx, chromedp.MouseClickXY(at[0], at[1])))
	b.wait(fmt.Sprintf(`location.search !== %q`, before))
	b.wait(thumb)
	b.press(kb.Escape)
	b.shot("timeline-keys")
	b.clean()
}

// Proves R71: of many agents each has a lane that is reached by scrolling, names and
// strokes in step, and no more is drawn than is seen.
func TestManyLanes(t *testing.T) {
	t.Parallel()
	const agents = 130
	log := events.NewMemory()
	s := newScript(t, log)
	started := events.WorkflowStarted{Message: "Many hands", Team: "test", Agents: []events.AgentCard{{ID: events.FacilitatorID, DisplayName: "Facilitator", Models: []string{"m"}}}}
	name := func(i int) string { return fmt.Sprintf("agent%03d", i) }
	for i := 1; i < agents; i++ {
		started.Agents = append(started.Agents, events.AgentCard{ID: events.AgentID(name(i)), DisplayName: "A" + name(i), Models: []string{"m"}})
	}
	s.at(0, "", "", started)
	seqs := map[int]events.Seq{}
	for i := 1; i < agents; i++ {
		agent, dispatch := events.AgentID(name(i)), events.DispatchID(fmt.Sprint("d", i))
		s.at(i*100, agent, dispatch, events.AgentStarted{Agent: agent, DisplayName: name(i), CallRef: events.CallRef{ModelCall: "f.1", Index: i, CallID: events.CallID(dispatch)}})
		s.at(i*100+100, agent, dispatch, events.ModelCalled{ID: events.ModelCallID(dispatch) + ".1", Model: "m", Attempts: 1, TotalMS: 100})
		seqs[i] = s.seq
	}
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/runs/" + string(s.run)))
	b.wait(fmt.Sprintf(`document.querySelector('#log-title')?.innerText.includes('%d')`, s.seq))
	b.wait(`document.querySelectorAll('.names span').length > 3`)
	height := js[float64](b, `document.querySelector('.canvas').clientHeight`)
	require.Less(t, height, 200.0)
	require.Less(t, js[int](b, `document.querySelectorAll('.names span').length`), 12, "names of lanes that are not seen")
	reached := map[string]bool{}
	for top := 0; top <= agents*20; top += 137 { // not a multiple of a lane's height
		js[bool](b, fmt.Sprintf(`(() => { document.querySelector('.lanes').scrollTop = %d; return true; })()`, top))
		b.frames(2)
		for _, seen := range js[[]string](b, `[...document.querySelectorAll('.names span')].map((e) => e.innerText)`) {
			reached[seen] = true
		}
	}
	require.Len(t, reached, agents, "every lane is reached")
	// At the end the last lane lies where its name does, and its stroke is hit there.
	b.wait(fmt.Sprintf(`[...document.querySelectorAll('.names span')].pop().innerText === 'A%s'`, name(agents-1)))
	along := (float64(agents-1)*100 + 50) / (float64(agents) * 100)
	at := js[[]float64](b, fmt.Sprintf(`(() => { const n = [...document.querySelectorAll('.names span')].pop().getBoundingClientRect(), r = document.querySelector('.canvas').getBoundingClientRect();
		return [r.x + %g * r.width, n.y + n.height / 2, (n.y + n.height / 2 - r.y) / r.height]; })()`, along))
	require.Less(t, at[2], 1.0, "the name lies within the lanes")
	b.wait(fmt.Sprintf(`(() => { const c = document.querySelector('.canvas'); return c.getContext('2d').getImageData(Math.round(%g * c.width), Math.round(%g * c.height), 1, 1).data[3] > 0; })()`, along, at[2])) // the stroke is drawn beside its name
	require.NoError(t, chromedp.Do(b.ctx, chromedp.MouseClickXY(at[0], at[1])))
	b.wait(fmt.Sprintf(`location.search.includes('sel=event%%3A%d')`, seqs[agents-1]))
	b.shot("timeline-many")
	b.clean()
}

// Proves R71: while an agent waits for its next attempt the timeline reaches ahead to
// when that is due, and counts down to it.
func TestTimelineCountsRetriesDown(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	runs := newRuns(t, log, simOverHTTP(t, "429=100%,retry-after=30s"))
	server := serve(t, web.Config{Log: log, Runs: runs})
	started, err := runs.Start(t.Context(), operator, web.Job{Request: "Plan a day"})
	require.NoError(t, err)
	b := browse(t)
	b.open(server.url("/runs/" + string(started.Run)))
	b.wait(`document.querySelector('.now .doing')?.innerText.includes('retry in')`)
	first := b.title(0.6, 0)
	require.Regexp(t, `^retry in 0:[0-3]\d \(429\)$`, first)
	b.shot("timeline-countdown")
	b.wait(fmt.Sprintf(`(() => { const c = document.querySelector('.canvas'), r = c.getBoundingClientRect();
		c.dispatchEvent(new MouseEvent('mousemove', {clientX: r.x + 0.6 * r.width, clientY: r.y + 28})); return c.title.startsWith('retry in') && c.title < %q; })()`, first))
	require.NotEqual(t, b.painted(0.95, 1, 0.5), b.painted(0.95, 0, 0.5), "the stretch is drawn")
	require.Less(t, js[float64](b, `parseFloat(document.querySelector('.moment-line').style.left)`), 90.0, "it reaches ahead of the present")
	runs.stop()
	b.clean()
}

// Proves R71: the timeline and the log of a run that failed, to the eye and to the
// pointer.
func TestTimelineShowsLostCalls(t *testing.T) {
	t.Parallel()
	log, s := lost(t)
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/runs/" + string(s.run)))
	b.wait(`document.querySelectorAll('#log-rows .row').length > 5`)
	for _, want := range []struct {
		ms    float64
		lane  int
		title string
	}{
		{3250, 1, "attempt that failed d1.1 try 1: HTTP 503, busy <b>, 500 ms"},
		{5000, 1, "waiting to retry after d1.1 try 1: HTTP 503, busy <b>, 2.5 s"},
		{7000, 1, "attempt that failed d1.1 try 2: HTTP 401, key <b> refused, 2.0 s"},
		{8000, 1, "✗ d1.1 try 2: HTTP 401, key <b> refused"},
		{4000, 2, "waiting to retry d2.1, 6 earlier attempts, 4.0 s"},
		{19_000, 0, "attempt that failed f.2 try 2: HTTP 503, busy, 2.0 s"},
	} {
		require.Equal(t, want.title, b.title(want.ms/20_000, want.lane))
	}
	require.NotEqual(t, b.painted(15_000.0/20_000, 1, 0.3), b.painted(7000.0/20_000, 1, 0.3), "the last attempt is drawn")
	require.Positive(t, js[int](b, `(() => {
		const c = document.querySelector('.canvas'), k = c.width / c.clientWidth;
		const seen = c.getContext('2d').getImageData(c.width - 12 * k, 18 * k, 11 * k, 20 * k), ink = [];
		for (let i = 0; i < seen.data.length; i += 4) if (seen.data[i] - seen.data[i + 1] > 100) ink.push((i / 4) % seen.width);
		return Math.max(...ink) < seen.width - 1 ? ink.length : 0;
	})()`), "the last mark is whole")
	rows := b.text("#log-rows")
	require.Contains(t, rows, "failed after 6.0 s, 2 attempts of d1.1: HTTP 401: key <b> refused")
	require.Contains(t, rows, "timed_out after 7.0 s, 7 attempts of d2.1: too long")
	b.shot("timeline-lost")
	b.clean()
}
