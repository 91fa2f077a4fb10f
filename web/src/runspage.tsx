// The list of runs: what there is, how it goes, and the form that starts one.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { address, go, link, param, runLink, setParams } from "./address";
import { totalsPath } from "./paths";
import { getJSON, postJSON } from "./api";
import { tick } from "./clock";
import { ago, duration, exact, line, money, plural, tokens } from "./format";
import { damage, drivenFor, type HeldRun, heldStatus, lostRequest, over, parked } from "./states";
import { batches, Row as BatchLine } from "./batchespage";
import type { Held } from "./batchview";
import { Coming, Filters, Listing, useRoom } from "./listing";
import { BatchOf, StatusMark } from "./parts";
import { painted } from "./painted";
import { asked, askServer, server, type Team } from "./serverinfo";

const runs = new Listing<HeldRun>("runs", (run) => run.run_id, (run) => !over(run.status));

// loadRuns asks for all that the page shows.
export function loadRuns(): void {
  void runs.load();
  void batches.load();
  void askServer();
}

// runsThere says that the list can be read, and nothing will come above it.
export function runsThere(): boolean {
  const both = runs.items.value !== null && (batches.items.value !== null || batches.trouble.value !== "");
  return runs.trouble.value !== "" || (both && asked.value);
}

export function RunsPage() {
  runs.use();
  batches.use();
  useEffect(() => {
    if (!server.peek()) void askServer();
    document.title = "Runs · convene";
  }, []);
  if (!runsThere()) return <Coming what="Runs" />;
  return (
    <main id="main" tabIndex={-1} class="list">
      <h1>Runs</h1>
      {server.value?.can_start && <StartForm teams={server.value.teams} />}
      <Filters what="Search requests and answers">
        <Choice name="team" label="Team" all="all" options={(server.value?.teams ?? []).map((team) => [team.name, team.name])} />
        <label><span>Model</span><input class="model" type="search" value={param("model")} placeholder="any" maxLength={200} onInput={(e) => setParams({ model: e.currentTarget.value })} /></label>
        <Choice name="min_cost" label="Cost" all="any" options={[["0.01", "$0.01 or more"], ["0.1", "$0.10 or more"], ["1", "$1 or more"], ["10", "$10 or more"]]} />
        <Choice name="hours" label="Started" all="at any time" options={[["1", "in the last hour"], ["24", "in the last day"], ["168", "in the last week"], ["720", "in the last 30 days"]]} />
        <Choice name="rows" label="Batches" all="one line" options={[["1", "every row"]]} />
      </Filters>
      <p><a href={link("compare")}>Compare two runs</a></p>
      {runs.trouble.value && <p class="trouble" role="status">{runs.trouble.value}</p>}
      <Table />
    </main>
  );
}

// Choice narrows the list by a part of the address.
function Choice({ name, label, all, options }: { name: string; label: string; all: string; options: [string, string][] }) {
  const chosen = param(name);
  return (
    <label>
      <span>{label}</span>
      <select value={chosen} onChange={(e) => setParams({ [name]: e.currentTarget.value })}>
        <option value="">{all}</option>
        {chosen && !options.some(([value]) => value === chosen) && <option value={chosen}>{line(chosen, 40)}</option>}
        {options.map(([value, word]) => <option key={value} value={value}>{word}</option>)}
      </select>
    </label>
  );
}

// narrowings are the parts of the address that leave runs out.
const narrowings = ["q", "status", "team", "model", "hours", "min_cost"];

function isNarrowed(): boolean {
  return narrowings.some((name) => param(name));
}

// Line is a run, or a batch in the place of its rows.
type Line = { at: number; run: HeldRun } | { at: number; batch: Held };

// lines are the runs with the batches between them, newest first: those batches that
// started within the time of the runs that are loaded.
function lines(list: HeldRun[]): Line[] {
  const all: Line[] = list.map((run) => ({ at: Date.parse(run.started_at), run }));
  if (param("rows") || isNarrowed()) return all;
  const oldest = runs.more.value && all.length > 0 ? all[all.length - 1].at : -Infinity;
  for (const batch of batches.items.value ?? []) {
    const at = Date.parse(batch.started_at);
    if (at >= oldest) all.push({ at, batch });
  }
  return all.sort((a, b) => b.at - a.at);
}

interface RunTotals {
  runs: number;
  rows: number;
  tokens: number;
  cost_usd: number;
  unpriced: number;
}

// totals are those of all runs that match, also of those that are not loaded; narrowed is
// how the list was narrowed when they were asked for.
const totals = signal<{ narrowed: string; sum: RunTotals } | null>(null);

// totalTicks is how many seconds pass between two looks at the totals.
const totalTicks = 10;

async function askTotals(): Promise<void> {
  const narrowed = runs.narrowed();
  try {
    const sum = await getJSON<RunTotals>(totalsPath(address.peek().params, !isNarrowed()));
    if (narrowed === runs.narrowed()) totals.value = { narrowed, sum };
  } catch {
    // The list says that the server does not answer.
  }
}

// Totals tell what all runs come to that the address asks for, the rows of batches that are
// lines among them. They say nothing until the server has answered.
function Totals({ all }: { all: Line[] }) {
  const narrowed = runs.narrowed();
  const list = runs.items.value;
  useEffect(() => void painted.then(askTotals), [narrowed, list?.length, Math.floor(tick.value / totalTicks)]);
  const sum = totals.value?.narrowed === narrowed ? totals.value.sum : null;
  if (!sum) return <p class="list-totals num">&nbsp;</p>;
  const lots = all.filter((one) => "batch" in one).length;
  const going = all.filter((one) => "run" in one ? one.run.status === "running" && !one.run.interrupted : one.batch.status === "running" && !one.batch.interrupted).length;
  const parts = [
    plural(sum.runs - (param("rows") ? 0 : sum.rows), "run"), lots ? plural(lots, "batch", "batches") : "", going ? `${going} running` : "",
    tokens(sum.tokens), money(sum.cost_usd), sum.unpriced ? `${sum.unpriced} of unknown cost` : "",
  ];
  return <p class="list-totals num">{parts.filter(Boolean).join(" · ")}</p>;
}

function Table() {
  const list = runs.items.value;
  const room = useRoom((list?.length ?? 0) + (batches.items.value?.length ?? 0));
  if (list === null) return <p class="empty">Loading …</p>;
  const all = lines(list);
  if (all.length === 0) {
    return <p class="empty">{isNarrowed() ? "No run matches. Change the search or a filter." : "There are no runs yet. Start one above, or with: convene run \"…\""}</p>;
  }
  return (
    <>
      <Totals all={all} />
      <ul class="runs" aria-label="Runs, newest first">
        {all.slice(0, room).map((one) => ("run" in one ? <Row key={one.run.run_id} run={one.run} /> : <BatchLine key={one.batch.batch_id} s={one.batch} />))}
      </ul>
      {runs.more.value && <button type="button" onClick={() => void runs.loadMore()}>Show older runs</button>}
    </>
  );
}

function Row({ run }: { run: HeldRun }) {
  const s = heldStatus(run, run.interrupted === true);
  const started = Date.parse(run.started_at);
  const ended = over(run.status) || parked(run.status) || run.interrupted;
  const elapsed = drivenFor(run, !ended);
  return (
    <li>
      <a href={runLink(run.run_id)}>
        <StatusMark is={s} />
        <span class="request">{line(run.request, 200) || (run.damaged && lostRequest)}</span>
        <span class="facts num">
          <span>{run.team}{run.simulated && <em class="simulated">simulated</em>}</span>
          <span class="progress">
            {run.tasks > 0 && <progress aria-label="Tasks done" max={run.tasks} value={run.finished_tasks} />}
            {run.tasks > 0 && `${run.finished_tasks}/${plural(run.tasks, "task")}`}
          </span>
          <span>{duration(elapsed)}</span>
          <span>{tokens(run.usage.input_tokens + run.usage.output_tokens)}</span>
          <span>{money(run.cost_usd)}</span>
          <time dateTime={run.started_at} title={exact(run.started_at)}>{ago(Date.now() - started)}</time>
        </span>
        {run.damaged ? <span class="reason failure">{damage(run.damaged)}</span> : run.interrupted ? <span class="reason person">Its process is gone. Resume continues it.</span> : run.reason && <span class={"reason " + s.tone}>{line(run.reason, 240)}</span>}
      </a>
      {run.batch && <BatchOf row={run.batch} />}
    </li>
  );
}

const starting = signal(false);
const refused = signal("");

function StartForm({ teams }: { teams: Team[] }) {
  const form = useRef<HTMLFormElement>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (starting.peek()) return; // what costs money happens once
    const data = new FormData(form.current!);
    starting.value = true;
    refused.value = "";
    try {
      const begun = await postJSON<{ run_id: string }>("/api/v1/runs", {
        request: data.get("request"), team: data.get("team") || undefined, model: data.get("model") || undefined,
      });
      form.current?.reset();
      if (!address.peek().id) go("run", begun.run_id);
    } catch (err) {
      refused.value = (err as Error).message;
    } finally {
      starting.value = false;
    }
  };
  return (
    <form ref={form} class="start" onSubmit={submit} aria-label="Start a run">
      <label class="wide">
        <span>What should the team do?</span>
        <textarea id="new-request" name="request" rows={2} required placeholder="Plan three days in Kyoto for two"
          onKeyDown={(e) => {
            if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) form.current?.requestSubmit();
          }} />
      </label>
      <label>
        <span>Team</span>
        <select name="team">
          {teams.map((team) => <option key={team.name} value={team.name} selected={team.default} title={team.description}>{team.name}</option>)}
        </select>
      </label>
      <label>
        <span>Model</span>
        <input name="model" placeholder="the team's own" autoComplete="off" spellcheck={false} />
      </label>
      <button type="submit" disabled={starting.value}>{starting.value ? "Starting …" : "Start"}</button>
      {refused.value && <p class="trouble" role="alert">{refused.value}</p>}
    </form>
  );
}
