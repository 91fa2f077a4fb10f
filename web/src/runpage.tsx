// One run, live or replayed: header, plan, document, what goes on now, the log,
// and the timeline below.

import { ValuesButton } from "./valuesbutton";
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { onePath } from "./paths";
import { address, go, link, param, runLink, setParams } from "./address";
import { postJSON } from "./api";
import { tick } from "./clock";
import { Costs } from "./callpane";
import { Document } from "./documentpane";
import type { ForkOrigin } from "./events";
import { Files } from "./files";
import type { Run } from "./fold";
import { heldStatus, over, parked } from "./states";
import { duration, exact, line, plural, status, tokens, uncached } from "./format";
import { Log } from "./logpane";
import { Now } from "./nowpane";
import { BatchOf, ConnectionNotice, StatusMark } from "./parts";
import { Plan } from "./planpane";
import { painted } from "./painted";
import type { RunView } from "./run";
import { Timeline, timelineHeight } from "./timeline";

// askTicks is how many seconds pass between two looks at who drives the run.
const askTicks = 5;

export function RunPage({ view, file }: { view: RunView; file: boolean }) {
  view.changed.value;
  const run = view.shown();
  useEffect(() => {
    // A link may say to play: `convene replay FILE --open` does.
    if (param("play") && view.events.length > 0 && !view.playing.peek()) {
      setParams({ play: "" });
      view.play();
    }
  }, [view.changed.value]);
  const asked = view.running() && !file && view.live.value?.driven !== true;
  useEffect(() => {
    if (asked && tick.value % askTicks === 0) void view.ask();
  }, [view, tick.value]);
  useEffect(() => {
    if (asked) void view.ask();
  }, [view, asked]);
  const later = useLater(run !== undefined);
  if (!run) {
    return (
      <main id="main" tabIndex={-1} class="message">
        {view.failure.value ? <><h1>This log cannot be shown</h1><p>{view.failure.value}</p></> : <p>Loading the run …</p>}
      </main>
    );
  }
  document.title = `${heldStatus(run.summary, view.interrupted()).sign} ${line(run.started.message, 60)} · convene`;
  return (
    <main id="main" tabIndex={-1} class="run" style={{ "--agents": over(run.summary.status) ? 1 : run.started.agents?.length ?? 1 }}>
      <Head view={view} run={run} file={file} />
      <Plan view={view} run={run} />
      <Document view={view} run={run} />
      <Now view={view} run={run} />
      {later ? <Log view={view} run={run} /> : <section class="pane log" aria-hidden="true" />}
      {later ? <Timeline view={view} run={run} /> : <section class="pane timeline" aria-hidden="true" style={{ height: timelineHeight(run.started.agents?.length ?? 1) + "px" }} />}
    </main>
  );
}

// useLater is true once what is read first has been painted.
function useLater(begun: boolean): boolean {
  const [later, setLater] = useState(false);
  useEffect(() => {
    if (!begun) return undefined;
    let timer = 0;
    let here = true;
    const frame = requestAnimationFrame(() => (timer = window.setTimeout(() => void painted.then(() => here && setLater(true)))));
    return () => {
      here = false;
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, [begun]);
  return later;
}

function Head({ view, run, file }: { view: RunView; run: Run; file: boolean }) {
  view.watch();
  tick.value;
  const s = run.summary;
  const elapsed = run.drivenUntil(view.clock());
  const models = (s.models ?? []).join(", ");
  return (
    <section class="head" aria-label="The run">
      <h1 title={run.started.message}>{line(run.started.message, 400)}</h1>
      <div class="facts num">
        <StatusMark is={heldStatus(s, view.interrupted())} live />
        <time title={exact(s.started_at)} dateTime={s.started_at}>{duration(elapsed)}</time>
        <span>{s.finished_tasks}/{plural(s.tasks, "task")}</span>
        <span title={`${s.usage.input_tokens} in${uncached(s.usage)}, ${s.usage.output_tokens} out${s.usage.estimated ? ", partly estimated" : ""}`}>{tokens(s.usage.input_tokens + s.usage.output_tokens)}</span>
        <Costs view={view} run={run} />
        <span class="team">{s.team}{s.solo ? ", solo" : ""}</span>
        <a href={link("thread", s.thread_id)}>conversation</a>
        <span class="models" title={models}>{line(models, 40)}</span>
        {s.batch && <BatchOf row={s.batch} file={file} />}
        {s.simulated && <em class="simulated" title="No real model was called: the answers are made up by the simulation">simulated model</em>}
        {run.before && <Before run={run.before} file={file} />}
        {run.started.forked_from && <Origin run={run.id} from={run.started.forked_from} file={file} />}
      </div>
      <Actions view={view} run={run} file={file} />
      <ConnectionNotice view={view}><Notice view={view} run={run} file={file} /></ConnectionNotice>
    </section>
  );
}

// Before says which run a continued one goes on from: its plan and its document are there
// from the beginning.
function Before({ run, file }: { run: Run; file: boolean }) {
  const name = run.id.slice(-8);
  return (
    <span class="origin" title={`run ${run.id}: ${status(run.summary.status).word}`}>
      continues {file ? name : <a href={link("run", run.id)}>{name}</a>}
    </span>
  );
}

// Origin says where a forked run comes from and what was changed in it.
function Origin({ run, from, file }: { run: string; from: ForkOrigin; file: boolean }) {
  const name = from.run_id.slice(-8);
  return (
    <span class="origin" title={`run ${from.run_id}, event ${from.seq}${from.instruction ? "\nAdded instruction: " + from.instruction : ""}`}>
      forked from {file ? name : <a href={link("run", from.run_id, { at: String(from.seq) })}>{name}</a>} at event {from.seq}
      {from.model && `, with ${line(from.model, 40)}`}
      {from.instruction && `, told “${line(from.instruction, 60)}”`}
      {!file && <> · <a href={link("compare", "", { a: from.run_id, b: run })}>compare</a></>}
    </span>
  );
}

// Notice says what the state of the run asks of the reader.
function Notice({ view, run, file }: { view: RunView; run: Run; file: boolean }) {
  view.watch();
  const s = run.summary;
  if (s.status === "failed") return <p class="notice failure">Failed: {run.failure?.message ?? s.reason}</p>;
  if (s.status === "degraded" || s.status === "cancelled" || parked(s.status)) return <p class="notice person">{s.reason || status(s.status).word}{s.status === "suspended" && !file ? ". Resume continues where it stopped; no finished model call is repeated." : ""}</p>;
  if (s.status === "running" && file) return <p class="notice person">The file ends while the run was in progress.</p>;
  if (s.status === "running" && run.outage) return <p class="notice person">Waiting for {run.outage.message}. {run.outage.max_wait_ms ? `The run is parked if that lasts ${duration(run.outage.max_wait_ms)}.` : "It continues when the endpoint answers again."}</p>;
  if (view.interrupted()) return <p class="notice person" role="status">Interrupted: its process is gone. It was last heard from at {exact(s.updated_at)}. Resume continues it; no finished model call is repeated.</p>;
  if (s.status === "running" && view.live.value && !view.live.value.driven) return <p class="notice">Another process drives this run{view.held.value?.held_by ? ` (${line(view.held.value.held_by, 60)})` : ""}: its events appear as they are stored, but its tokens cannot be streamed here.</p>;
  return <p class="notice" hidden />;
}

const busy = signal("");
// refused is what the server said against the last action, of the run that it was for.
const refused = signal<{ run: string; why: string } | null>(null);

async function act(name: string, run: string, body: unknown): Promise<{ run_id: string } | null> {
  if (busy.peek()) return null;
  busy.value = name;
  refused.value = null;
  try {
    return await postJSON<{ run_id: string }>(onePath("run", run) + "/" + name, body);
  } catch (err) {
    refused.value = { run, why: (err as Error).message };
    return null;
  } finally {
    busy.value = "";
  }
}

// opened is the form that is open, of the run that it is for.
const opened = signal<{ run: string; form: "fork" | "cancel" } | null>(null);

function Actions({ view, run, file }: { view: RunView; run: Run; file: boolean }) {
  view.watch();
  const path = onePath("run", run.id);
  const head = view.head.run(run.id)!;
  const status = head.summary.status;
  const driven = view.live.value?.driven ?? false;
  const form = opened.value?.run === run.id ? opened.value.form : "";
  const toggle = (name: "fork" | "cancel") => (opened.value = form === name ? null : { run: run.id, form: name });
  useLayoutEffect(() => {
    const close = (event: KeyboardEvent) => {
      if (event.key === "Escape") opened.value = null;
    };
    document.addEventListener("keydown", close);
    return () => document.removeEventListener("keydown", close);
  }, []);
  if (file) return view.replaced.size > 0 ? <div class="actions"><ValuesButton view={view} file /></div> : null;
  return (
    <div class="actions">
      <ValuesButton view={view} file={false} />
      {driven && !parked(status) && !over(status) && (
        <button type="button" disabled={busy.value !== "" || stopping.value === run.id} title="Park the run: it can be resumed" onClick={() => void stop(run.id)}>
          {stopping.value === run.id ? "Stopping …" : "Stop"}
        </button>
      )}
      {!over(status) && !driven && (parked(status) || view.interrupted()) && <button type="button" disabled={busy.value !== ""} onClick={() => void act("resume", run.id, {})}>Resume</button>}
      {!over(status) && (
        <button type="button" aria-expanded={form === "cancel"} disabled={head.cancelRequested || head.cancelled} onClick={() => toggle("cancel")}>
          {head.cancelRequested || head.cancelled ? "Cancelling …" : "Cancel …"}
        </button>
      )}
      {over(status) && <button type="button" disabled={busy.value !== ""} title="A new run of the same request, with the same team and models" onClick={() => void again(view)}>Run again</button>}
      <button type="button" aria-expanded={form === "fork"} onClick={() => toggle("fork")}>Fork …</button>
      <details class="menu">
        <summary>Export</summary>
        <div>
          <a href={path + "/export?format=html"} download>One HTML file</a>
          <a href={path + "/export?format=jsonl"} download>The log as JSONL</a>
          <a href={runLink(run.id)} onClick={(e) => { e.preventDefault(); void navigator.clipboard?.writeText(location.href); }}>Copy a link to this moment</a>
        </div>
      </details>
      <Files run={run} />
      {form === "fork" && <ForkForm view={view} />}
      {form === "cancel" && <CancelForm run={run.id} />}
      {refused.value?.run === run.id && <p class="trouble" role="alert">{refused.value.why}</p>}
    </div>
  );
}

// stopping is the run that is being parked: its calls under way end first.
const stopping = signal("");

async function stop(run: string): Promise<void> {
  if (await act("stop", run, {})) stopping.value = run;
}

// again starts the run anew: a fork at its first event, which holds all that it was
// started with, team files too.
async function again(view: RunView): Promise<void> {
  const begun = await act("fork", view.id, { at: view.first });
  if (begun && address.peek().id === view.id) go("run", begun.run_id);
}

// CancelForm asks before what cannot be undone.
function CancelForm({ run }: { run: string }) {
  const yes = useRef<HTMLButtonElement>(null);
  useEffect(() => yes.current?.focus(), []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (await act("cancel", run, {})) opened.value = null;
  };
  return (
    <form class="fork" onSubmit={submit} aria-label="Cancel the run">
      <p>Cancelling ends this run for good: it cannot be resumed. Stop parks it instead.</p>
      <button ref={yes} type="submit" disabled={busy.value !== ""}>Cancel the run</button>
      <button type="button" onClick={() => (opened.value = null)}>Keep it</button>
    </form>
  );
}

// forkPoint is the last event, up to the moment that is shown, at which the run was open.
// Where the run ended, that lies before the call that ended it: it is asked anew.
function forkPoint(view: RunView): number {
  const at = view.at.value;
  const ending = view.events.findIndex((env) => env.run_id === view.id && endings.has(env.type));
  if (ending < 0 || ending >= at) return at;
  let seq = ending; // the event before it
  while (seq > view.first && closings.has(view.events[seq - 1].type)) seq--;
  return seq;
}

const endings: ReadonlySet<string> = new Set(["final_answer", "error", "cancel_requested", "run_cancelled", "workflow_finished"]);
const closings: ReadonlySet<string> = new Set(["agent_finished", "model_called", "model_call_failed"]);

function ForkForm({ view }: { view: RunView }) {
  view.watch();
  const at = forkPoint(view);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const begun = await act("fork", view.id, {
      at, model: data.get("model") || undefined, instruction: data.get("instruction") || undefined,
    });
    if (begun) {
      opened.value = null;
      if (address.peek().id === view.id) go("run", begun.run_id);
    }
  };
  return (
    <form class="fork" onSubmit={submit} aria-label="Fork the run">
      <p>A new run with the facts up to event {at}{at < view.at.value ? ", before the run ended" : ""}; calls already paid for are not repeated.</p>
      <label><span>Other model</span><input name="model" placeholder="as before" autoComplete="off" /></label>
      <label><span>Added instruction</span><input name="instruction" placeholder="none" autoComplete="off" /></label>
      <button type="submit" disabled={busy.value !== ""}>Start the fork</button>
    </form>
  );
}
