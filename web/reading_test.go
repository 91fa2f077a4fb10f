//go:build browser

package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

const readText = `Water is H<sub>2</sub>O, and 10<sup>3</sup> is much.[^a] <sub onclick="boom()">Not lowered</sub> and <sub>not closed.

| Step | What is to be done about it | Installation | Configuration | Responsibilities |
|---:|---|---|---|---|
| 1 | first<br>second | Installation | Configuration | Responsibilities |

שלום לכולם.

` + "```go\nfunc main() { println(\"hello\") }\n```" + `

[^a]: Says *everybody*.
`

// Proves R71: the document reads as its writers meant it, on a phone too: words in tables
// stay whole, scripts run their way, code is copied, a sentence has an address, and paper
// gets the text alone. A table of 4,000 cells stops the page for nothing.
func TestReading(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("To be read")
	cells := "| a | b | c | d |\n|---|---|---|---|\n" + strings.Repeat("| one cell | another **cell** | a third | and one more |\n", 1000)
	for i, text := range []string{readText, cells} {
		s.add(events.DocumentUpdated{Version: i + 1, EntryID: events.EntryID(i + 1), Author: "food", Section: "Guide", Slot: "main", Content: text, ChangeDescription: "written"})
	}
	s.add(events.FinalAnswer{Content: "This is the answer. It has two sentences."}, events.WorkflowFinished{Status: events.StatusCompleted})
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.before(`Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { window.copied = text; }}}); window.boom = () => { throw new Error('boom'); };`)
	b.open(server.url("/"))
	b.wait(`document.querySelector('.runs a')`)
	b.atOnce("4,000 cells", 3, func() {
		js[bool](b, `(location.hash = '#/', true)`)
		b.wait(`document.querySelector('.runs a')`)
		js[bool](b, fmt.Sprintf(`(location.hash = '#/runs/%s', true)`, s.run))
		b.wait(`document.querySelectorAll('#document td').length === 4005`)
	})

	require.Empty(t, b.text(".provenance"))
	entry := func(selector string) string { return `[data-entry="1"] ` + selector }
	for selector, want := range map[string]string{
		"sub": "2", "sup": "3", "sup button": "a", ".note": "a\n\nSays everybody.", ".code-bar > span": "go",
		"td:nth-child(2)": "first\nsecond", "pre": `func main() { println("hello") }`,
	} {
		require.Equal(t, want, strings.TrimSpace(b.text(entry(selector))), selector)
	}
	require.Contains(t, b.text(entry("p")), `<sub onclick="boom()">Not lowered</sub> and <sub>not closed.`)
	require.Equal(t, "rtl", js[string](b, `getComputedStyle([...document.querySelectorAll('#document p')].find((p) => p.innerText.startsWith('שלום'))).direction`))
	b.click(entry(".copy"))
	b.wait(`window.copied === 'func main() { println("hello") }'`)
	js[bool](b, `(document.querySelector('.takeaway').open = true)`)
	b.click(".takeaway button:nth-of-type(2)")
	b.wait(`window.copied.startsWith('## Guide\n\nWater is H<sub>2') && document.querySelector('.takeaway p').innerText.includes('is copied')`)
	js[bool](b, `(document.querySelector('.takeaway').open = false, true)`)

	b.click(".answer p .s:nth-child(2)")
	b.wait(`location.search.includes('s=0.20') && /answer/.test(document.querySelector('.provenance').innerText)`)
	b.reload()
	b.wait(`document.activeElement.matches('.answer .s') && document.activeElement.innerText === 'It has two sentences.'`)

	b.size(390, 844, true)
	lines := js[[]int](b, `[...document.querySelectorAll('[data-entry="1"] table .s')].filter((s) => /^(Installation|Configuration|Responsibilities)$/.test(s.innerText)).map((s) => s.getClientRects().length)`)
	require.Equal(t, []int{1, 1, 1, 1, 1, 1}, lines, "words of a table stay whole")
	require.True(t, js[bool](b, `(() => { const e = document.querySelector('[data-entry="1"] .table'); return e.scrollWidth > e.clientWidth; })()`), "the table scrolls")
	require.LessOrEqual(t, js[float64](b, `document.documentElement.scrollWidth`), 390.0, "the page does not")
	b.shot("reading-phone")
	b.size(1440, 900, false)
	b.shot("reading")
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	require.NoError(t, err)
	b.wait(`document.querySelector('.answer').checkVisibility() && ![...document.querySelectorAll('.top, .actions, .log, .timeline, .plan')].some((e) => e.checkVisibility())`)
	require.True(t, js[bool](b, `(() => { const e = document.querySelector('#document'); return e.scrollHeight === e.clientHeight; })()`), "all of it is on paper")
	b.shot("reading-paper")
	b.clean()
}

// Proves R71: code has the colours of its language, in sentences that keep their places; what
// knows the languages is loaded when the first code is met.
func TestCodeHasColours(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	tell := func(text string) events.RunID {
		s := newScript(t, log)
		s.start("To be read")
		s.add(events.DocumentUpdated{Version: 1, EntryID: 1, Author: "food", Section: "Guide", Slot: "main", Content: text, ChangeDescription: "written"},
			events.FinalAnswer{Content: "Here it is."}, events.WorkflowFinished{Status: events.StatusCompleted})
		return s.run
	}
	words := tell("Only words.")
	code := tell("```go\n// Greets all. Even you.\nfunc main() { println(\"hello\", 42) }\n```\n\n```klingon\nfunc qapla\n```\n\n```diff\n-old\n+new\n```\n")
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	loaded := func() bool {
		return slices.ContainsFunc(b.requested(), func(url string) bool { return strings.Contains(url, "/highlight-") })
	}
	coloured := func(kind string) string {
		return fmt.Sprintf(`[...(CSS.highlights.get('code-%s') ?? [])].map((r) => r.startContainer.data.slice(r.startOffset, r.endOffset)).join('|')`, kind)
	}
	b.open(server.url("/"))
	b.wait(`document.querySelector('.runs a')`)
	b.open(server.url("/runs/" + string(words)))
	b.wait(`document.querySelector('#document .entry')`)
	b.rest()
	require.False(t, loaded(), "no code, no colours")
	b.open(server.url("/runs/" + string(code)))
	b.wait(coloured("added") + ` === '+new'`)
	require.True(t, loaded())
	require.Equal(t, []string{"func", "// Greets all. |Even you.", `"hello"`, "42", "-old"}, js[[]string](b, fmt.Sprintf("[%s, %s, %s, %s, %s]",
		coloured("keyword"), coloured("comment"), coloured("text"), coloured("number"), coloured("removed"))))
	colour := func() string {
		return js[string](b, `getComputedStyle(document.querySelector('#document code'), '::highlight(code-keyword)').color`)
	}
	light := colour()
	b.shot("code")
	b.scheme("dark")
	require.NotEqual(t, light, colour())
	b.shot("code-dark")
	js[bool](b, fmt.Sprintf(`(location.hash = '#/runs/%s', true)`, words))
	b.wait(coloured("keyword") + ` === ''`)
	b.clean()
}
