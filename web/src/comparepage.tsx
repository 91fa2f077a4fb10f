// Two runs side by side: what each cost, how long it took, its answer and its document.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { link, param, runLink, setParams } from "./address";
import { onePath } from "./paths";
import { getJSON } from "./api";
import { tick } from "./clock";
import { count, exact, line, money, tokens, precise } from "./format";
import { Markdown } from "./markdown";
import { StatusMark } from "./parts";
import { drivenFor, type HeldRun, heldStatus, over, parked } from "./states";

// offered is how many runs there are to choose from: others are reached by their address.
const offered = 200;

// againTicks is how many seconds pass between two looks at runs that are not over.
const againTicks = 5;

// Side is one of the runs: null while it loads, a text where it cannot be shown.
type Side = { run: HeldRun; answer: string; document: string } | string | null;

const choices = signal<HeldRun[]>([]);

export function ComparePage() {
  const sides = [useSide("a"), useSide("b")];
  useEffect(() => {
    document.title = "Two runs · convene";
    getJSON<{ runs: HeldRun[] }>(`/api/v1/runs?own=true&limit=${offered}`).then((list) => (choices.value = list.runs), () => undefined);
  }, []);
  const both = sides.filter((side) => side !== null && typeof side === "object");
  return (
    <main id="main" tabIndex={-1} class="list compare">
      <h1>Two runs</h1>
      <div class="filters">
        <Choice name="a" label="First run" />
        <Choice name="b" label="Second run" />
      </div>
      {both.length === 2 && <Figures a={both[0].run} b={both[1].run} />}
      <div class="sides">
        {sides.map((side, i) => <Column key={i} side={side} />)}
      </div>
    </main>
  );
}

// useSide is the run that a part of the address names, looked at again until it is over.
function useSide(name: string): Side {
  const id = param(name);
  const [side, setSide] = useState<{ id: string; side: Side }>({ id: "", side: null });
  const shown = side.id === id ? side.side : null;
  const changes = shown !== null && typeof shown === "object" && !over(shown.run.status);
  const round = changes ? Math.floor(tick.value / againTicks) : 0;
  useEffect(() => {
    if (!id) return undefined;
    let wanted = true;
    const path = onePath("run", id);
    Promise.all([getJSON<HeldRun>(path), getJSON<{ answer?: string; document: string }>(path + "/result")]).then(
      ([run, result]) => wanted && setSide({ id, side: { run, answer: result.answer ?? "", document: result.document } }),
      (err: Error) => wanted && setSide({ id, side: err instanceof TypeError ? "The server does not answer." : err.message }),
    );
    return () => {
      wanted = false;
    };
  }, [id, round]);
  return id ? shown : "Choose a run above.";
}

function Choice({ name, label }: { name: string; label: string }) {
  const chosen = param(name);
  const known = choices.value.some((run) => run.run_id === chosen);
  return (
    <label>
      <span>{label}</span>
      <select value={chosen} onChange={(e) => setParams({ [name]: e.currentTarget.value })}>
        <option value="">none</option>
        {chosen && !known && <option value={chosen}>{line(chosen, 40)}</option>}
        {choices.value.map((run) => <option key={run.run_id} value={run.run_id}>{nameOf(run)}</option>)}
      </select>
    </label>
  );
}

function nameOf(run: HeldRun): string {
  return `${line(run.request, 60)} · ${line(run.team, 30)}${run.solo ? ", solo" : ""} · ${exact(run.started_at)}`;
}

// Figures are compared in a table: words, and how far the second is from the first.
function Figures({ a, b }: { a: HeldRun; b: HeldRun }) {
  const used = (run: HeldRun) => run.usage.input_tokens + run.usage.output_tokens;
  const took = (run: HeldRun) => drivenFor(run, !(over(run.status) || parked(run.status) || run.interrupted));
  const rows: [string, string, string, string][] = [
    ["Time", precise(took(a)), precise(took(b)), change(took(a), took(b))],
    ["Cost", money(a.cost_usd), money(b.cost_usd), change(a.cost_usd, b.cost_usd)],
    ["Tokens", tokens(used(a)), tokens(used(b)), change(used(a), used(b))],
    ["Model calls", count(a.model_calls), count(b.model_calls), change(a.model_calls, b.model_calls)],
    ["Tasks done", `${a.finished_tasks}/${a.tasks}`, `${b.finished_tasks}/${b.tasks}`, ""],
    ["Team", teamOf(a), teamOf(b), ""],
    ["Models", line((a.models ?? []).join(", "), 80), line((b.models ?? []).join(", "), 80), ""],
  ];
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="Figures">
      <table class="figures num">
        <thead><tr><th scope="col"><span class="sr">Figure</span></th><th scope="col">First run</th><th scope="col">Second run</th><th scope="col">Change</th></tr></thead>
        <tbody>{rows.map(([what, first, second, by]) => <tr key={what}><th scope="row">{what}</th><td>{first}</td><td>{second}</td><td>{by}</td></tr>)}</tbody>
      </table>
    </div>
  );
}

function teamOf(run: HeldRun): string {
  return `${line(run.team, 60)}${run.solo ? ", solo" : ""}${run.simulated ? ", simulated" : ""}`;
}

// change is how much larger the second figure is, in parts of the first.
function change(a: number | null, b: number | null): string {
  if (a === null || b === null || a <= 0) return "";
  const percent = Math.round((100 * (b - a)) / a);
  return percent === 0 ? "same" : `${percent > 0 ? "+" : "−"}${Math.abs(percent)}%`;
}

function Column({ side }: { side: Side }) {
  if (side === null) return <section class="side-run"><p class="empty">Loading …</p></section>;
  if (typeof side === "string") return <section class="side-run"><p class="empty">{side}</p></section>;
  const { run } = side;
  return (
    <section class="side-run" aria-label={nameOf(run)}>
      <h2><a href={runLink(run.run_id)}>{line(run.request, 120)}</a></h2>
      <p class="facts"><StatusMark is={heldStatus(run, run.interrupted === true)} /> <a href={link("thread", run.thread_id)}>conversation</a></p>
      <Text what="Answer" text={side.answer} />
      <Text what="Document" text={side.document} />
    </section>
  );
}

function Text({ what, text }: { what: string; text: string }) {
  const shown: ComponentChildren = text ? <Markdown text={text} shift={3} /> : <p class="empty">None.</p>;
  return <><h3>{what}</h3><div class="body">{shown}</div></>;
}
