// The log: every event on a line, filters that hide, and the chosen event as JSON.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { param, setParams } from "./address";
import { CallDetail } from "./callpane";
import { describe, group, groups, kindWords } from "./describe";
import type { Envelope } from "./events";
import type { Run } from "./fold";
import { exact, plural, stamp } from "./format";
import type { RunView } from "./run";
import { VirtualList } from "./virtual";

// maxShownChars bounds the JSON of one event on the page; the export has it whole.
const maxShownChars = 200_000;

// typed is what is being written into the filter; it filters once the writer pauses.
const typed = signal<string | null>(null);
const pauseMs = 120;
let timer = 0;

function type(text: string): void {
  typed.value = text;
  clearTimeout(timer);
  timer = window.setTimeout(() => {
    typed.value = null;
    setParams({ find: text });
  }, pauseMs);
}

export function Log({ view, run }: { view: RunView; run: Run }) {
  view.watch();
  const filter = view.filter;
  filter.found.value;
  const hidden = param("hide");
  const agent = param("agent");
  const words = param("find");
  const kinds = param("kinds") !== "";
  filter.set(hidden, agent, words, view.following.value);
  const count = view.following.value ? filter.count : filter.upTo(view.at.value);
  const selected = /^event:(\d+)$/.exec(param("sel"));
  const seq = selected ? Number(selected[1]) : 0;
  const index = seq ? filter.upTo(seq) - 1 : -1;
  const start = Date.parse(run.summary.started_at);
  const row = (i: number) => {
    const env = view.events[filter.seq(i) - 1];
    return (
      <>
        <span class="seq num">{env.seq}</span>
        <span class={kinds ? "kind" : "kind words"}><b class={"dot " + group(env)} aria-hidden="true" />{kinds ? env.type : kindWords(env)}</span>
        <span class="who">{env.agent ? run.name(env.agent) : ""}</span>
        <span class="num when" title={exact(env.time)}>{stamp(Date.parse(env.time) - start)}</span>
        <span class="text">{describe(env)}</span>
      </>
    );
  };
  const hiddenSet = new Set(hidden.split(",").filter(Boolean));
  const toggle = (id: string) => {
    if (hiddenSet.has(id)) hiddenSet.delete(id);
    else hiddenSet.add(id);
    setParams({ hide: [...hiddenSet].join(",") });
  };
  return (
    <section class="pane log" aria-labelledby="log-title">
      <div class="bar">
        <h2 id="log-title">Log <span class="num">{count}{count !== view.events.length ? ` of ${view.events.length}` : ""}</span></h2>
        <details class="menu">
          <summary>{hiddenSet.size ? plural(hiddenSet.size, "group") + " hidden" : "all kinds"}</summary>
          <div>{groups.map((g) => <label key={g.id}><input type="checkbox" checked={!hiddenSet.has(g.id)} onChange={() => toggle(g.id)} /> {g.label}</label>)}<label class="apart"><input type="checkbox" checked={kinds} onChange={() => setParams({ kinds: kinds ? "" : "1" })} /> names of kinds</label></div>
        </details>
        <label>
          <span class="sr">Agent</span>
          <select value={agent} onChange={(e) => setParams({ agent: e.currentTarget.value })}>
            <option value="">all agents</option>
            {(run.started.agents ?? []).map((card) => <option key={card.id} value={card.id}>{run.name(card.id)}</option>)}
          </select>
        </label>
        <label class="search">
          <span class="sr">Filter the log</span>
          <input data-search type="search" placeholder="filter" value={typed.value ?? words} onInput={(e) => type(e.currentTarget.value)} />
        </label>
      </div>
      <VirtualList
        id="log-rows" label="Events" count={count} rowHeight={44} row={row} selected={index >= 0 && filter.seq(index) === seq && index < count ? index : -1}
        onSelect={(i) => setParams({ sel: "event:" + filter.seq(i) })} follow={view.following.value && !seq} shown={view.following.value || seq ? undefined : count - 1}
        empty={filter.done ? "No event matches. Change the filter." : "Searching …"}
      />
      {seq > 0 && <Detail view={view} run={run} seq={seq} />}
    </section>
  );
}

// asJSON is an event as the log has it.
function asJSON(env: Envelope): string {
  const json = JSON.stringify(env, null, 2);
  return json.length > maxShownChars ? json.slice(0, maxShownChars) + "\n… the export contains all of it" : json;
}

function Detail({ view, run, seq }: { view: RunView; run: Run; seq: number }) {
  const env = view.events[seq - 1];
  useEffect(() => {
    const close = (event: KeyboardEvent) => {
      if (event.key === "Escape") document.getElementById("log-rows")?.focus();
    };
    document.addEventListener("keydown", close);
    return () => document.removeEventListener("keydown", close);
  }, []);
  if (!env) return null;
  const call = env.type === "model_called" && env.run_id === run.id ? env.data : null;
  const json = <pre tabIndex={0} aria-label={`Event ${seq} as JSON`} role="region">{asJSON(env)}</pre>;
  return (
    <div class="detail">
      <div class="bar">
        <h3>Event {seq}</h3>
        <button type="button" class="plain" onClick={() => view.move(seq)}>Show this moment</button>
        <button type="button" class="plain" onClick={() => void navigator.clipboard?.writeText(JSON.stringify(env))}>Copy</button>
        <button type="button" class="plain" aria-label="Close the event" onClick={() => setParams({ sel: "" })}>✕</button>
      </div>
      {call ? (
        <div class="call" tabIndex={0} role="region" aria-label={"Model call " + call.id}>
          <details><summary>As JSON</summary>{json}</details>
          <CallDetail view={view} run={run} seq={seq} call={call} />
        </div>
      ) : json}
    </div>
  );
}
