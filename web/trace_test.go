//go:build browser

package web_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// traced is one event of the browser's own trace, with times in microseconds.
type traced struct {
	Name    string  `json:"name"`
	Process int     `json:"pid"`
	Thread  int     `json:"tid"`
	Start   float64 `json:"ts"`
	Elapsed float64 `json:"dur"`
	CPU     float64 `json:"tdur"`
}

func (e traced) String() string {
	return fmt.Sprintf("%s %.0f ms (%.0f ms of the processor)", e.Name, e.Elapsed/1000, e.CPU/1000)
}

// trace records what the browser does meanwhile.
func (b *tab) trace(do func(), categories ...string) []traced {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	var batches []*tracing.EventDataCollected // all come before the end
	complete := make(chan struct{})
	require.NoError(b.t, chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *tracing.EventDataCollected:
			batches = append(batches, e)
		case *tracing.EventTracingComplete:
			close(complete)
		}
	}))
	_, err := chromedp.Call(b.ctx, tracing.Start, tracing.StartParams{TraceConfig: &tracing.TraceConfig{IncludedCategories: categories}})
	require.NoError(b.t, err)
	do()
	_, err = chromedp.Call(b.ctx, tracing.End, cdp.Empty{})
	require.NoError(b.t, err)
	select {
	case <-complete:
	case <-time.After(patience):
		require.FailNow(b.t, "the browser gives no trace")
	}
	var all []traced
	for _, batch := range batches {
		for _, value := range batch.Value {
			var e traced
			if json.Unmarshal(value, &e) == nil { // others have other shapes
				all = append(all, e)
			}
		}
	}
	return all
}

// task is a stretch in which a page can do nothing else.
type task struct {
	traced
	// parts are what took most of it.
	parts []traced
}

func (t task) String() string {
	text := t.traced.String()
	for _, part := range t.parts {
		text += "\n\t\t" + part.String()
	}
	return text
}

// tasks gives the tasks of the page's main thread meanwhile, the longest first by the
// time of the processor that they took: that is the same on a machine that has much
// else to do.
func (b *tab) tasks(do func()) []task {
	b.t.Helper()
	const mark = "this is the page"
	all := b.trace(func() {
		js[bool](b, fmt.Sprintf(`(performance.mark(%q), true)`, mark))
		do()
		b.rest()
	}, "blink.user_timing", "devtools.timeline", "disabled-by-default-devtools.timeline", "v8")
	at := slices.IndexFunc(all, func(e traced) bool { return e.Name == mark })
	require.NotEqual(b.t, -1, at, "the mark is in the trace")
	all = slices.DeleteFunc(all, func(e traced) bool {
		return e.Process != all[at].Process || e.Thread != all[at].Thread || e.Elapsed == 0
	})
	var tasks []task
	for _, e := range all {
		if e.Name == "RunTask" {
			tasks = append(tasks, task{traced: e})
		}
	}
	require.NotEmpty(b.t, tasks)
	slices.SortFunc(tasks, func(a, b task) int { return cmp.Compare(b.CPU, a.CPU) })
	for i := range tasks[:min(3, len(tasks))] {
		t := &tasks[i]
		for _, e := range all {
			if e.Name != "RunTask" && e.Start >= t.Start && e.Start <= t.Start+t.Elapsed && e.CPU > t.CPU/5 && !strings.HasPrefix(e.Name, "v8.") {
				t.parts = append(t.parts, e)
			}
		}
	}
	return tasks
}

// longestTaskMS is what a reader takes for at once. On a machine on which the
// processor itself is slow at this time, by its sisters or by heat, it is
// longestTaskPaces times a piece of work that takes 35 ms on a calm one.
const (
	longestTaskMS    = 100.0
	longestTaskPaces = 3.0
)

// atOnce checks that no task stops the page while it does something. The machine's other
// work only adds to what a task takes: where a try takes too long, and the same can be done
// once more, it is, up to tries times.
func (b *tab) atOnce(what string, tries int, do func()) {
	b.t.Helper()
	for try := 1; ; try++ {
		pace := b.tasks(func() {
			js[float64](b, `(() => { let x = 0; for (let i = 0; i < 5e6; i++) x += Math.sqrt(i % 1000) * Math.random(); return x; })()`)
		})[0]
		longest := b.tasks(do)[0]
		b.t.Logf("%s: the longest task %v; pace %v", what, longest, pace.traced)
		bound := max(longestTaskMS, longestTaskPaces*pace.CPU/1000)
		if longest.CPU/1000 >= bound && try < tries {
			continue
		}
		require.Less(b.t, longest.CPU/1000, bound, "a task that stops the page: %s", what)
		return
	}
}

// rest lets the task under way end: the trace tells of a task when it has ended.
func (b *tab) rest() {
	b.t.Helper()
	js[bool](b, `new Promise((done) => setTimeout(() => done(true), 50))`)
}
