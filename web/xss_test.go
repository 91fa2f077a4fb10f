//go:build browser

package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/web"
)

// watchHostile runs before the page's own script. Whatever is put into the document,
// for however short, is looked at: elements that load or run, handlers, addresses,
// styles; and what a payload that runs would call is counted.
const watchHostile = `
window.booms = 0;
window.bad = [];
for (const name of ["boom", "alert", "confirm", "prompt", "open", "print"]) window[name] = () => { window.booms++; };
document.addEventListener("securitypolicyviolation", (e) => window.bad.push("policy: " + e.violatedDirective + " " + e.blockedURI + " " + e.sample));
window.addEventListener("error", (e) => window.bad.push("error: " + e.message));
window.addEventListener("unhandledrejection", (e) => window.bad.push("rejected: " + (e.reason?.stack ?? e.reason)));
// waiting are those who look again after each change of the document.
const waiting = new Set();
(() => {
	const tags = new Set(("html head body div main header nav section article h1 h2 h3 h4 h5 h6 p span a button ul ol li dl dt dd table caption colgroup col thead tbody tfoot tr th td " +
		"input select option optgroup label textarea details summary canvas pre code kbd samp strong em b i s del ins br hr blockquote time progress meter small sub sup dialog form output fieldset legend mark wbr aside q").split(" "));
	const own = new Set("script style link meta title base noscript".split(" "));
	const loads = new Set("src srcset srcdoc data poster background ping action formaction xlink:href cite manifest codebase classid usemap longdesc icon lowsrc dynsrc archive profile http-equiv".split(" "));
	const look = (el) => {
		const tag = el.localName;
		if (el.namespaceURI !== "http://www.w3.org/1999/xhtml") window.bad.push("not HTML: " + tag);
		const first = !el.closest("#app") && (document.readyState === "loading" || !document.querySelector("main") ||
			(tag === "link" && el.parentNode === document.head && (/^(modulepreload|icon)$/.test(el.rel) && el.href.startsWith(location.origin + "/") ||
				el.rel === "stylesheet" && /^\/app-[0-9a-f]{8}\.css$/.test(el.getAttribute("href")))) || // of the page's script
			(tag === "noscript" && el.parentNode === document.body)); // of the page, below the frame
		if (!tags.has(tag) && !(first && own.has(tag))) window.bad.push("element: " + el.outerHTML.slice(0, 200));
		if (first && own.has(tag)) return;
		for (const { name, value } of el.attributes) {
			const link = name === "href" && tag === "a" && (/^(#(\/|main$)|\/api\/v1\/|\/((runs|threads|batches)(\/[^\/]+)?|compare)?(\?|$))/.test(value) ||
				(["http:", "https:", "mailto:"].includes(el.protocol) && el.target === "_blank" && /noopener.*noreferrer/.test(el.rel)));
			if (name.startsWith("on") || loads.has(name) || (name === "href" && !link) || (name === "style" && /url|import|expression|image|javascript/i.test(value))) {
				window.bad.push("attribute: " + name + "=" + value.slice(0, 200) + " of " + tag);
			}
		}
	};
	new MutationObserver((changes) => {
		for (const change of changes) {
			if (change.type === "attributes") look(change.target);
			for (const node of change.addedNodes) {
				if (node.nodeType !== Node.ELEMENT_NODE) continue;
				look(node);
				for (const el of node.querySelectorAll("*")) look(el);
			}
		}
		for (const wake of waiting) wake();
		waiting.clear();
	}).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
})();
window.turn = () => new Promise((done) => { const c = new MessageChannel(); c.port1.onmessage = () => done(); c.port2.postMessage(0); });
// until waits for what comes with a change of the document: to look again and again would
// take the processor from what it waits for.
window.until = async (what, test) => {
	for (const end = performance.now() + 180_000; !test(); ) {
		if (performance.now() > end) throw new Error(what + " never came: " + location.href + "\n" + document.body.innerText.slice(0, 2000));
		await new Promise((changed) => {
			const late = setTimeout(changed, 50); // of an input's value no observer hears
			waiting.add(() => { clearTimeout(late); changed(); });
		});
	}
};
window.goto = async (path) => {
	if (document.getElementById("log")) location.hash = path; // a page from disk
	else history.pushState(null, "", path);
	dispatchEvent(new PopStateEvent("popstate"));
	await turn();
	await turn();
};
// What is not seen need not be painted, which is much of the work.
addEventListener("DOMContentLoaded", () => { document.documentElement.style.opacity = "0"; });
// Each change of the address is work for the whole browser, and there are thousands.
history.replaceState = () => {};
window.press = (selector) => { document.querySelector(selector).click(); return turn(); };
// walk looks at a run in every way that the page has, and gives the JSON of the events
// as the page shows it, and the titles of the timeline.
window.walk = async (id, seqs, moments, opened) => {
	const run = "/runs/" + encodeURIComponent(id);
	const words = encodeURIComponent(id);
	await goto(run);
	await until("the log", () => document.querySelectorAll("#log-rows .row").length >= seqs.length);
	await until("the document", () => document.querySelectorAll("#document .entry").length >= 2);
	for (const who of document.querySelectorAll(".now button.who")) {
		who.click();
		await turn();
	}
	const [tags, changes] = [".document .bar button:nth-of-type(1)", ".document .bar button:nth-of-type(2)"];
	await press(tags);
	for (const s of document.querySelectorAll("#document .s")) s.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
	for (const entry of document.querySelectorAll("#document .entry, #document .answer")) {
		entry.querySelector(".s")?.focus();
		await turn();
	}
	const titles = new Set();
	const canvas = document.querySelector("canvas");
	const box = canvas.getBoundingClientRect();
	for (let y = 28; y < box.height; y += 20) {
		for (let x = 1; x < box.width; x += box.width / 20) {
			canvas.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: box.left + x, clientY: box.top + y }));
			titles.add(canvas.title);
		}
	}
	await press(changes);
	await press(tags);
	const since = document.querySelector(".document .bar label:last-child select");
	since.value = "0";
	since.dispatchEvent(new Event("change", { bubbles: true }));
	await until("the changes", () => document.querySelector("#document .gone"));
	await press(changes);
	await press("#plan-rows .row:last-child");
	for (const seq of moments) {
		const scrubber = document.querySelector(".scrubber input");
		scrubber.value = seq;
		scrubber.dispatchEvent(new InputEvent("input", { bubbles: true }));
		await until("moment " + seq, () => document.querySelector(".scrubber .moment").textContent.startsWith("seq " + seq + " "));
	}
	await press(".scrubber .live");
	const shown = [];
	let key = "Home";
	// Every row was there, and every pane: the rows that are chosen are enough, and draw faster.
	const list = document.getElementById("log-rows");
	const others = document.querySelectorAll(".run > .pane:not(.log)");
	list.style.maxHeight = "100px";
	for (const pane of others) pane.style.display = "none";
	await until("few rows", () => !opened || list.querySelectorAll(".row").length < 30);
	for (const seq of opened ? seqs : []) {
		list.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
		key = "ArrowDown";
		await until("event " + seq, () => document.querySelector(".detail h3")?.textContent === "Event " + seq);
		shown.push(document.querySelector(".detail pre").textContent);
	}
	list.style.maxHeight = "";
	for (const pane of others) pane.style.display = "";
	await goto(run + "?find=" + words + "&agent=" + words + "&hide=" + words + "&zoom=" + words + "&speed=" + words + "&sel=" + words + "&base=" + words);
	return JSON.stringify({ shown, titles: [...titles] });
};
`

// lookOut opens a tab in which whatever hostile texts achieve is noted.
func lookOut(t *testing.T) (*tab, func()) {
	t.Helper()
	b := browse(t)
	var mu sync.Mutex
	var sockets []string
	ctx, cancel := context.WithCancel(b.ctx)
	heard := make(chan struct{})
	opened := chromedp.Events(ctx, network.WebSocketCreated)
	go func() {
		defer close(heard)
		for event, err := range opened {
			if err != nil {
				return
			}
			mu.Lock()
			sockets = append(sockets, event.URL)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() { cancel(); <-heard })
	b.before(watchHostile)
	// So high that every row of a run is there at once.
	require.NoError(t, chromedp.Do(b.ctx, chromedp.EmulateViewport(1600, 2600, chromedp.EmulateScale(0.2))))
	return b, func() {
		require.Empty(t, js[[]string](b, "[...new Set(bad)].slice(0, 20)"))
		require.Zero(t, js[int](b, "booms"), "a payload ran")
		require.Zero(t, js[int](b, "Object.keys(Object.prototype).length"), "a prototype was touched")
		address := js[string](b, "location.href")
		mu.Lock()
		defer mu.Unlock()
		for _, asked := range append(b.requested(), sockets...) {
			host := func(address string) string {
				u, err := url.Parse(address)
				require.NoError(t, err, address)
				return u.Host
			}
			require.True(t, asked == "about:blank" || host(asked) == host(address), "the page asked for %s", asked)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, message := range b.errors {
			require.Regexp(t, "status of (404|422)", message, "only the server's refusals may be in the console")
		}
	}
}

// walk has the page show a run, and gives the JSON of its events as it is shown.
func (b *tab) walk(envs []events.Envelope, opened bool) []string {
	b.t.Helper()
	var seqs, moments []events.Seq
	for _, env := range envs {
		seqs = append(seqs, env.Seq)
		switch env.Data.Kind() {
		case events.KindAgentStarted, events.KindRunSuspended, events.KindCancelRequested:
			moments = append(moments, env.Seq)
		}
	}
	id := string(envs[0].Run)
	arguments, err := json.Marshal([]any{id, seqs, moments, opened})
	require.NoError(b.t, err)
	var seen struct{ Shown, Titles []string }
	require.NoError(b.t, json.Unmarshal([]byte(js[string](b, fmt.Sprintf("walk(...%s)", arguments))), &seen))
	require.True(b.t, slices.ContainsFunc(seen.Titles, func(title string) bool { return strings.Contains(title, id) }), "%q in %q", id, seen.Titles)
	return seen.Shown
}

// Proves R71: of a hundred hostile texts and more, each in every place of every kind
// of event where a text can stand, nothing runs and nothing is asked for, in any
// view of the page: half of them as it is served, half as it is exported, which is the same
// page over the same events.
func TestHostileTextIsText(t *testing.T) {
	t.Parallel()
	if race.Enabled {
		t.Skip("the page is what is looked at, and it knows no race detector")
	}
	require.GreaterOrEqual(t, len(hostile()), 100)
	log := events.NewMemory()
	runs := map[string][]events.Envelope{}
	for i, vector := range hostile() {
		key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(vector)}
		epoch, err := log.Claim(t.Context(), key, "test", false)
		require.NoError(t, err)
		runs[vector] = hostileRun(t, vector)
		require.NoError(t, log.Append(t.Context(), key, epoch, 0, runs[vector]))
		require.NoError(t, log.Append(t.Context(), key, epoch, events.Seq(len(runs[vector])), failedRun(t, vector, i%2 == 0)))
	}
	server := serve(t, web.Config{Log: log, Runs: hostileServer{}, Version: hostile()[0]})
	served, filed, batches := newAccount(t, half(0)), newAccount(t, half(1)), newAccount(t, hostile())
	t.Run("pages", func(t *testing.T) {
		t.Run("served", func(t *testing.T) {
			t.Parallel()
			showServed(t, server, served, runs, half(0))
		})
		t.Run("filed", func(t *testing.T) {
			t.Parallel()
			showFiled(t, filed, half(1))
		})
		t.Run("list", func(t *testing.T) {
			t.Parallel()
			showList(t)
			showBatches(t, batches)
		})
	})
	// What a placeholder stands for is not told to viewers.
	const replaced = "data.values[].original"
	// The tenant is whose server it is: a served page shows no other.
	served.whole(t, "tenant_id", replaced)
	filed.whole(t, replaced)
	// An event of a batch belongs to no run.
	batches.kinds = maps.Collect(func(yield func(events.Kind, *schema) bool) {
		for kind, schema := range batches.kinds {
			if ofBatch(kind) && !yield(kind, schema) {
				return
			}
		}
	})
	batches.whole(t, "tenant_id", "run_id")
}

// half gives every second of the hostile texts, from the first or the second on.
func half(from int) (texts []string) {
	for i, text := range hostile() {
		if i%2 == from {
			texts = append(texts, text)
		}
	}
	return texts
}

// showServed has the page show the run of each vector, one that failed, and what it
// says where there is none.
func showServed(t *testing.T, server *served, a *account, runs map[string][]events.Envelope, vectors []string) {
	b, harmless := lookOut(t)
	b.open(server.url("/?rows=1"))
	b.wait(`document.querySelector(".runs a")`)
	for _, vector := range vectors {
		for _, body := range b.walk(runs[vector], true) {
			a.book(t, body)
		}
		js[bool](b, fmt.Sprintf(`(async () => {
			await goto("/runs/" + encodeURIComponent(%q));
			await until("the failure", () => document.querySelector(".notice.failure"));
			await goto("/runs/" + encodeURIComponent(%q));
			await until("the refusal", () => document.querySelector("main.message h1"));
			return true;
		})()`, "failed "+vector, "no "+vector))
	}
	harmless()
}

// maxFileRuns keeps a file small: the page reads all of it for each run that it shows.
const maxFileRuns = 12

// showFiled writes the runs to HTML files, opens them from disk and has the page show
// each. What a file holds is what the page finds in it.
func showFiled(t *testing.T, a *account, vectors []string) {
	b, harmless := lookOut(t)
	for part := range slices.Chunk(vectors, maxFileRuns) {
		var runs [][]events.Envelope
		var bodies [][]byte
		for _, vector := range part {
			envs := hostileRun(t, vector)
			for i := range envs {
				envs[i].Tenant, envs[i].Thread, envs[i].Seq = events.TenantID(vector), events.ThreadID(vector), events.Seq(len(bodies)+1)
				body, err := events.Encode(envs[i])
				require.NoError(t, err)
				bodies = append(bodies, body)
			}
			runs = append(runs, envs)
		}
		path := filepath.Join(t.TempDir(), "hostile.html")
		file, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, web.WriteHTML(file, events.RunSummary{Request: part[0]}, func(yield func([]byte, error) bool) {
			for _, body := range bodies {
				if !yield(body, nil) {
					return
				}
			}
		}, false))
		require.NoError(t, file.Close())
		b.open("about:blank")
		b.open((&url.URL{Scheme: "file", Path: path}).String())
		b.wait(`document.querySelectorAll("#log-rows .row").length > 0`)
		for _, body := range strings.Split(strings.TrimSpace(js[string](b, `document.getElementById("log").textContent`)), "\n") {
			a.book(t, body)
		}
		for _, envs := range runs {
			b.walk(envs, false)
		}
		harmless()
	}
}

// showList has the page list runs of all vectors, and say what is wrong with a filter.
// The ids of these runs sort, as ids do by which a list is paged.
func showList(t *testing.T) {
	log := events.NewMemory()
	for i, vector := range hostile() {
		key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(vector)}
		epoch, err := log.Claim(t.Context(), key, "test", false)
		require.NoError(t, err)
		envs := hostileRun(t, vector)
		for j := range envs {
			envs[j].Run = events.RunID(fmt.Sprintf("%04d %s", i, vector))
			envs[j].Time = envs[j].Time.Add(time.Duration(i) * time.Hour)
		}
		require.NoError(t, log.Append(t.Context(), key, epoch, 0, envs))
	}
	server := serve(t, web.Config{Log: log, Runs: hostileServer{}, Version: hostile()[0]})
	b, harmless := lookOut(t)
	b.open(server.url("/?rows=1"))
	b.wait(`document.querySelectorAll(".runs > li").length === 50 && document.querySelector(".start option")`)
	for shown := 50; shown < len(hostile()); {
		js[bool](b, `document.querySelector(".runs + button").click() ?? true`)
		shown = min(shown+50, len(hostile()))
		b.wait(fmt.Sprintf(`document.querySelectorAll(".runs > li").length === %d`, shown))
	}
	requests := js[[]string](b, `[...document.querySelectorAll(".runs .request")].map((e) => e.textContent)`)
	offered := js[[]string](b, `[...document.querySelectorAll(".start option")].map((o) => o.value)`)
	for i, vector := range hostile() {
		require.Equal(t, strings.Join(strings.Fields(vector), " "), requests[len(requests)-1-i])
		require.Equal(t, vector, offered[i])
	}
	js[bool](b, fmt.Sprintf(`goto("/?status=" + encodeURIComponent(%q)).then(() => true)`, strings.Join(hostile(), ",")))
	b.wait(`document.querySelector(".trouble")?.textContent.includes("query.status")`)
	js[bool](b, fmt.Sprintf(`goto("/?q=" + encodeURIComponent(%q)).then(() => true)`, hostile()[0]))
	b.wait(`!document.querySelector(".trouble")`)
	js[bool](b, `(document.documentElement.style.opacity = '', true)`)
	b.shot("hostile")
	harmless()
}

// showBatches has the page show a batch of each vector, with rows, at every moment, and
// the list of all.
func showBatches(t *testing.T, a *account) {
	log := events.NewMemory()
	for i, vector := range hostile() {
		for thread, envs := range map[string][]events.Envelope{vector: hostileBatch(t, vector), "rows of " + vector: hostileRun(t, vector)} {
			key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(thread)}
			epoch, err := log.Claim(t.Context(), key, "test", false)
			require.NoError(t, err)
			for j := range envs {
				if envs[j].Run != "" {
					envs[j].Run = events.RunID(fmt.Sprintf("%04d %s", i, vector))
				}
			}
			require.NoError(t, log.Append(t.Context(), key, epoch, 0, envs))
		}
	}
	server := serve(t, web.Config{Log: log, Runs: hostileServer{}, Version: hostile()[0]})
	b, harmless := lookOut(t)
	b.open(server.url("/batches"))
	b.wait(`document.querySelectorAll(".runs > li").length === 50`)
	for _, vector := range hostile() {
		key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(vector)}
		bodies := encoded(t, log, key)
		js[bool](b, fmt.Sprintf(`(async (id, last) => {
			await goto("/batches/" + encodeURIComponent(id));
			await until("the batch", () => document.querySelector(".scrubber .moment")?.textContent.startsWith("seq " + last + " "));
			await until("the rows", () => document.querySelector(".batch [role=option]"));
			for (let seq = last; seq > 0; seq--) {
				await until("moment " + seq, () => document.querySelector(".scrubber .moment").textContent.startsWith("seq " + seq + " "));
				document.querySelector(".scrubber button").click();
				await turn();
			}
			await press(".scrubber .live");
			document.querySelector(".batch .causes button")?.click();
			await turn();
			await goto("/batches/no " + encodeURIComponent(id));
			await until("the refusal", () => document.querySelector("main.message h1"));
			return true;
		})(%q, %d)`, vector, len(bodies)))
		for _, body := range bodies {
			a.book(t, body)
		}
	}
	harmless()
}

// Proves R71: what a run says cannot change the markup of its export, which is that
// of any other.
func TestHostileTextIsTextInTheExport(t *testing.T) {
	t.Parallel()
	plain := skeleton(t, "Plan three days in Kyoto")
	require.NotEmpty(t, plain)
	for _, vector := range hostile() {
		require.Equal(t, plain, skeleton(t, vector), vector)
	}
}

// skeleton gives the elements of an export with their attributes, and what is beside
// the log in them.
func skeleton(t *testing.T, text string) []string {
	t.Helper()
	var out bytes.Buffer
	envs := hostileRun(t, text)
	require.NoError(t, web.WriteHTML(&out, events.RunSummary{Run: events.RunID(text), Team: text, Request: text}, func(yield func([]byte, error) bool) {
		for i := range envs {
			envs[i].Tenant, envs[i].Thread, envs[i].Seq = events.TenantID(text), events.ThreadID(text), events.Seq(i+1)
			body, err := events.Encode(envs[i])
			if !yield(body, err) {
				return
			}
		}
	}, false))
	var elements []string
	tokens := html.NewTokenizer(&out)
	for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
		if kind != html.TextToken {
			elements = append(elements, tokens.Token().String())
		}
	}
	return elements
}
