// One batch, live or looked back on: how far it is, what it does now, why rows failed,
// how it went over time, and its rows.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { runLink, setParams } from "./address";
import { onePath } from "./paths";
import { postJSON } from "./api";
import type { Batch } from "./batch";
import type { BatchView, Held } from "./batchview";
import { ChartPane } from "./chartpane";
import { tick } from "./clock";
import type { BatchCause, BatchLimiter, BatchRowUnderWay, BatchSummary } from "./events";
import { count, duration, exact, line, money, plural, rate, rowName, status, tokens } from "./format";
import { batchName, ConnectionNotice, Parts, rowsDone, StatusMark } from "./parts";
import { Rows } from "./rowspane";
import { Scrubber } from "./scrubber";
import { heldStatus } from "./states";
import { VirtualList } from "./virtual";

// askTicks is how many seconds pass between two looks at who drives the batch.
const askTicks = 5;

export function BatchPage({ view }: { view: BatchView }) {
  view.watch();
  useEffect(() => void view.ask(), [view, view.head.calls.length, view.running()]);
  useEffect(() => {
    if (view.running() && tick.value % askTicks === 0) void view.ask();
  }, [view, tick.value]);
  const batch = view.shown();
  if (batch.calls.length === 0) {
    return (
      <main id="main" tabIndex={-1} class="message">
        {view.failure.value ? <><h1>This log cannot be shown</h1><p>{view.failure.value}</p></> : <p>Loading the batch …</p>}
      </main>
    );
  }
  const is = heldStatus(batch.summary, view.interrupted());
  document.title = `${is.sign} ${line(batchName(batch.summary), 60)} · convene`;
  return (
    <main id="main" tabIndex={-1} class="batch">
      <Head view={view} batch={batch} />
      <ChartPane view={view} />
      <div class="side">
        {batch.summary.status === "running" && <UnderWay view={view} batch={batch} />}
        {batch.summary.status === "running" && !view.interrupted() && <Limiters view={view} limiters={batch.summary.limiters ?? []} />}
        <Causes batch={batch} />
        {batch.rejected.length > 0 && <RejectedRows batch={batch} />}
      </div>
      <Rows view={view} />
      <section class="pane timeline" aria-label="Moment"><Scrubber view={view} offset={Date.parse(batch.summary.updated_at) - Date.parse(batch.summary.started_at)} /></section>
    </main>
  );
}

function Head({ view, batch }: { view: BatchView; batch: Batch }) {
  view.watch();
  tick.value;
  const s = batch.summary;
  const call = batch.call!.data;
  const going = view.ticking() && s.status === "running";
  const since = going ? view.since() : 0;
  const models = (s.models ?? []).join(", ");
  const retry = call.attempt ? `, retry ${call.attempt}` : "";
  return (
    <section class="head" aria-label="The batch">
      <h1 title={[s.input, s.output].filter(Boolean).join(" → ") || s.batch_id}>{batchName(s)}</h1>
      <div class="facts num">
        <StatusMark is={heldStatus(s, view.interrupted())} live />
        <span class="done">{rowsDone(s)}</span>
        <span class="rate">{rate(s.rows_per_second)}</span>
        {s.status === "running" && !view.interrupted() && <span class="left">{s.left_ms ? `${duration(Math.max(0, s.left_ms - since))} left` : "time left unknown"}</span>}
        <time class="elapsed" title={`this call; the batch began ${exact(s.started_at)}`} dateTime={s.started_at}>{duration(s.elapsed_ms + since)}{s.status === "running" && !view.interrupted() ? " elapsed" : ""}</time>
        <span class="tokens">{tokens(s.tokens)}{call.max_tokens ? ` of ${tokens(call.max_tokens)}` : ""}</span>
        {s.uncached_input_share ? <span class="uncached" title="input that came from no cache of the provider">{Math.round(100 * s.uncached_input_share)}% of input uncached</span> : null}
        <Cost batch={batch} />
      </div>
      <Parts s={s} lost={view.interrupted()} />
      <div class="facts num">
        <span>{line(s.team, 60)}{s.solo ? ", solo" : ""}</span>
        {models && <span class="models" title={models}>{line(models, 60)}</span>}
        <span>{plural(call.concurrency, "row")} at once</span>
        {call.max_failures && <span>stops at {line(call.max_failures, 20)} failed</span>}
        {(batch.calls.length > 1 || retry) && <span>{`call ${batch.calls.length}${retry}`}</span>}
        {s.status === "running" && view.held.value?.held_by && <span title={view.held.value.held_since && "since " + exact(view.held.value.held_since)}>held by {line(view.held.value.held_by, 60)}</span>}
        {s.simulated && <em class="simulated" title="No real model was called: the answers are made up by the simulation">simulated model</em>}
      </div>
      <Actions view={view} />
      <ConnectionNotice view={view}><Notice view={view} batch={batch} /></ConnectionNotice>
    </section>
  );
}

const busy = signal("");
// refused is what the server said against the last action, of the batch that it was for.
const refused = signal<{ batch: string; why: string } | null>(null);

async function act(name: string, view: BatchView): Promise<void> {
  if (busy.peek()) return; // what costs money happens once
  busy.value = name;
  refused.value = null;
  try {
    view.held.value = await postJSON<Held>(onePath("batch", view.id) + "/" + name, {});
  } catch (err) {
    refused.value = { batch: view.id, why: (err as Error).message };
  } finally {
    busy.value = "";
  }
}

// Actions stop a batch, and continue it: here if the process that has its files serves this
// page, else by its command.
function Actions({ view }: { view: BatchView }) {
  view.watch();
  const s = view.head.summary;
  const going = view.running() && !view.interrupted();
  const left = !going && s.status !== "cancelled" && (s.rows === 0 || s.done < s.rows);
  const bad = s.failed + s.degraded;
  const command = continuing(s, !left && bad > 0);
  const button = (name: string, word: string, title: string) => (
    <button type="button" disabled={busy.value !== ""} title={title} onClick={() => void act(name, view)}>{word}</button>
  );
  if (going && s.reason) return null; // it stops already
  return (
    <div class="actions">
      {going && button("stop", "Stop", "Park the batch once the model calls of its rows have ended: it can be continued")}
      {left && button("resume", "Resume", "Continue with the rows that are left")}
      {!going && !left && bad > 0 && button("retry", `Retry ${plural(bad, "row")}`, "Run the failed and degraded rows again, each from where it ended")}
      {!going && (left || bad > 0) && command && (
        <span class="command">
          <code title={command + (s.folder ? `\nin ${s.folder}` : "")}>{line(command, 300)}</code>
          <button type="button" class="plain" onClick={() => void navigator.clipboard?.writeText(command)}>Copy the command</button>
        </span>
      )}
      {refused.value?.batch === view.id && <p class="trouble" role="alert">{refused.value.why}</p>}
    </div>
  );
}

// continuing is the command line that continues a batch, or has its failed and degraded
// rows run again.
function continuing(s: BatchSummary, retry: boolean): string {
  if (!s.command || !retry) return s.command ?? "";
  return s.command + (s.failed ? " --retry-failed" : "") + (s.degraded ? " --retry-degraded" : "");
}

// Cost is what was spent, what all rows will cost at this rate, and the bound.
function Cost({ batch }: { batch: Batch }) {
  const s = batch.summary;
  const bound = batch.call!.data.max_cost_usd;
  const projected = s.status === "running" ? s.projected_cost_usd : 0;
  const beyond = bound && projected && projected > bound;
  return (
    <>
      <span class="cost">{money(s.cost_usd)}{bound ? ` of ${money(bound)}` : ""}</span>
      {projected ? <span class={"projected" + (beyond ? " person" : "")}>≈ {money(projected)} in all{beyond ? ": beyond the bound" : ""}</span> : null}
    </>
  );
}

const again = "Run the same command again to continue.";

// Notice says what the state of the batch asks of the reader.
function Notice({ view, batch }: { view: BatchView; batch: Batch }) {
  view.watch();
  const s = batch.summary;
  const reason = s.reason ? sentence(s.reason) : "";
  if (view.interrupted()) return <p class="notice person" role="status">Interrupted: its process is gone. It was last heard from at {exact(s.updated_at)}. {again}</p>;
  if (s.status === "suspended") return <p class="notice person">{reason || "Suspended."}{batch.ended && batch.ended.left > 0 ? ` ${plural(batch.ended.left, "row is", "rows are")} left.` : ""} {again}</p>;
  if (s.status === "failed" && batch.ended?.left === 0) return <p class="notice failure">Every row failed. The same command with --retry-failed retries them.</p>;
  if (s.status === "failed") return <p class="notice failure">Failed. {reason} {batch.ended?.left ? again : ""}</p>;
  if (s.status === "running" && s.outages?.length) return <p class="notice person">{s.outages.map((o) => `${plural(o.rows, "row waits", "rows wait")} for ${line(o.message, 300)}.`).join(" ")}{s.held ? ` ${plural(s.held, "row is", "rows are")} not begun before.` : ""}</p>;
  if (s.status === "running" && reason) return <p class="notice person">No more rows are started. {reason} Those in progress will finish.</p>;
  if (s.status === "degraded") return <p class="notice person">{reason} {bad(s)} The same command with --retry-failed retries {s.failed + s.degraded === 1 ? "it" : "them"}.</p>;
  return <p class="notice" hidden />;
}

function bad(s: BatchSummary): string {
  const parts = [];
  if (s.failed) parts.push(plural(s.failed, "row") + " failed");
  if (s.degraded) parts.push(plural(s.degraded, "row is", "rows are") + " degraded");
  return parts.join(", ") + ".";
}

function sentence(text: string): string {
  const flat = line(text, 400);
  const begun = flat.charAt(0).toUpperCase() + flat.slice(1);
  return /[.!?…]$/.test(begun) ? begun : begun + ".";
}

function UnderWay({ view, batch }: { view: BatchView; batch: Batch }) {
  view.watch();
  tick.value;
  const since = view.since();
  const slowest = batch.summary.slowest ?? [];
  return (
    <section class="pane under-way" aria-labelledby="under-way-title">
      <h2 id="under-way-title">{view.interrupted() ? "Were under way" : "Longest under way"} <span class="num">of {count(batch.summary.running)}</span></h2>
      {slowest.length === 0 ? <p class="empty">No row is under way.</p> : <ul>{slowest.map((row) => <RowUnderWay key={row.run_id} row={row} since={since} />)}</ul>}
    </section>
  );
}

function RowUnderWay({ row, since }: { row: BatchRowUnderWay; since: number }) {
  return (
    <li>
      <a href={runLink(row.run_id)}>{rowName(row)}</a>
      <span class="num">{duration(row.elapsed_ms + since)}</span>
      <span class="doing" title={row.doing}>{line(row.doing ?? "", 160)}</span>
    </li>
  );
}

function Causes({ batch }: { batch: Batch }) {
  const causes = batch.summary.causes ?? [];
  const of = batch.summary.failed + batch.summary.degraded;
  return (
    <section class="pane causes" aria-labelledby="causes-title">
      <h2 id="causes-title">Failures by cause <span class="num">{of ? count(of) : ""}</span></h2>
      {causes.length === 0 ? <p class="empty">{batch.summary.done ? "None: every finished row is good." : "None so far."}</p> : <ul>{causes.map((cause) => <Cause key={cause.status + " " + cause.code} cause={cause} />)}</ul>}
    </section>
  );
}

// Cause is one kind of failure. Rows that never had a run are not among those that can
// be shown.
function Cause({ cause }: { cause: BatchCause }) {
  const is = status(cause.status);
  const what = <><b class="num">{count(cause.count)}</b> <span aria-hidden="true">{is.sign}</span><span class="sr"> {is.word}: </span> <code>{line(cause.code, 60)}</code></>;
  return (
    <li>
      {cause.run_id ? (
        <button type="button" class={"plain cause " + is.tone} title={`Show the rows that are ${is.word}`} onClick={() => setParams({ status: cause.status, q: "" })}>
          {what}<span class="sr">: show such rows</span>
        </button>
      ) : <span class={"cause " + is.tone}>{what}</span>}
      <span class="first">first {cause.run_id ? <a href={runLink(cause.run_id)}>{rowName(cause)}</a> : rowName(cause)}</span>
      <span class="why" title={line(cause.message, 2000)}>{line(cause.message, 300)}</span>
    </li>
  );
}

function Limiters({ view, limiters }: { view: BatchView; limiters: BatchLimiter[] }) {
  view.watch();
  tick.value;
  return (
    <section class="pane limiters" aria-labelledby="limiters-title">
      <h2 id="limiters-title">Endpoints</h2>
      {limiters.length === 0 ? <p class="empty">No endpoint has reported its limits.</p> : <ul>{limiters.map((l) => <Limiter key={l.endpoint} l={l} since={view.since()} />)}</ul>}
    </section>
  );
}

function Limiter({ l, since }: { l: BatchLimiter; since: number }) {
  const held = (l.held_back_ms ?? 0) - since;
  return (
    <li>
      <b>{line(l.endpoint, 60)}</b>
      <span class="progress num"><progress aria-label="Calls in flight" max={Math.max(1, l.limit)} value={l.in_flight} />{count(l.in_flight)}/{count(l.limit)} in flight</span>
      <span class="facts num">
        <span>{count(l.waiting)} waiting</span>
        {l.requests_per_minute ? <span>{count(l.requests_per_minute)} requests/min</span> : null}
        {l.tokens_per_minute ? <span>{tokens(l.tokens_per_minute)}/min</span> : null}
        {held > 0 ? <span class="failure">held back for {duration(held + 999)}</span> : null}
      </span>
    </li>
  );
}

function RejectedRows({ batch }: { batch: Batch }) {
  const list = batch.rejected;
  const row = (i: number) => (
    <>
      <span class="where num">{list[i].line ? `line ${list[i].line}` : `row ${list[i].index + 1}`}</span> <b>{line(list[i].row_id, 60)}</b>
      <span class="why" title={line(list[i].message, 2000)}>{line(list[i].message, 200)}</span>
    </>
  );
  return (
    <section class="pane rejected" aria-labelledby="rejected-title">
      <h2 id="rejected-title">Rows that cannot be run <span class="num">{count(list.length)}</span></h2>
      <div class="rejected-box" style={{ height: `${Math.min(list.length, 4) * 44}px` }}>
        <VirtualList id="rejected-rows" label="Rows that cannot be run" count={list.length} rowHeight={44} row={row} selected={-1} empty="" />
      </div>
    </section>
  );
}
