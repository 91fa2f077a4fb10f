// The list of runs: what there is, how it goes, and the form that starts one.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { address, go, param, runLink, setParams } from "./address";
import { getJSON, postJSON } from "./api";
import { tick } from "./clock";
import type { RunSummary } from "./events";
import { ago, duration, exact, line, money, plural, status, statuses, tokens } from "./format";
import { over } from "./fold";

interface Team {
  name: string;
  description?: string;
  default?: boolean;
  specialists: string[];
}

interface ServerInfo {
  version: string;
  can_start: boolean;
  teams: Team[];
}

const pageSize = 50;
const server = signal<ServerInfo | null>(null);
const runs = signal<RunSummary[] | null>(null);
const more = signal(false);
const trouble = signal("");
let asked = 0;

// query is the listing that the address asks for.
function query(before = "", limit = pageSize): string {
  const q = new URLSearchParams({ limit: String(limit) });
  if (param("q")) q.set("search", param("q"));
  if (param("status")) q.set("status", param("status"));
  if (before) q.set("before", before);
  return "/api/v1/runs?" + q.toString();
}

async function load(): Promise<void> {
  const mine = ++asked;
  const limit = Math.min(500, Math.max(pageSize, runs.peek()?.length ?? 0));
  try {
    const list = await getJSON<{ runs: RunSummary[]; more: boolean }>(query("", limit));
    if (mine !== asked) return;
    runs.value = list.runs;
    more.value = list.more;
    trouble.value = "";
  } catch (err) {
    if (mine === asked) trouble.value = err instanceof TypeError ? "The server does not answer. This list is as it was; it comes back by itself." : String((err as Error).message);
  }
}

async function loadMore(): Promise<void> {
  const have = runs.peek() ?? [];
  const list = await getJSON<{ runs: RunSummary[]; more: boolean }>(query(have[have.length - 1].run_id));
  runs.value = [...have, ...list.runs];
  more.value = list.more;
}

export function RunsPage() {
  const search = param("q");
  const wanted = param("status");
  useEffect(() => {
    const timer = setTimeout(load, runs.peek() ? 150 : 0);
    return () => clearTimeout(timer);
  }, [search, wanted]);
  useEffect(() => {
    getJSON<ServerInfo>("/api/v1/server").then((info) => (server.value = info), () => undefined);
    document.title = "Runs · convene";
  }, []);
  // Runs that go on are looked at every two seconds, others every ten.
  useEffect(() => {
    const going = (runs.value ?? []).some((run) => !over(run.status));
    if (tick.value % (going ? 2 : 10) === 0) void load();
  }, [tick.value]);
  return (
    <main id="main" tabIndex={-1} class="list">
      <h1>Runs</h1>
      {server.value?.can_start && <StartForm teams={server.value.teams} />}
      <div class="filters">
        <label class="search">
          <span class="sr">Search requests and answers</span>
          <input data-search type="search" placeholder="Search requests and answers" value={search} maxLength={200}
            onInput={(e) => setParams({ q: e.currentTarget.value })} />
        </label>
        <label>
          <span>Status</span>
          <select value={wanted} onChange={(e) => setParams({ status: e.currentTarget.value })}>
            <option value="">all</option>
            {Object.entries(statuses).map(([name, s]) => <option key={name} value={name}>{s.word}</option>)}
          </select>
        </label>
      </div>
      {trouble.value && <p class="trouble" role="status">{trouble.value}</p>}
      <Table />
    </main>
  );
}

function Table() {
  const list = runs.value;
  if (list === null) return <p class="empty">Loading …</p>;
  if (list.length === 0) {
    const filtered = param("q") || param("status");
    return <p class="empty">{filtered ? "No run fits. Change the search or the status." : "There are no runs yet. Start one above, or with: convene run \"…\""}</p>;
  }
  return (
    <>
      <ul class="runs" aria-label="Runs, newest first">{list.map((run) => <Row key={run.run_id} run={run} />)}</ul>
      {more.value && <button type="button" onClick={() => void loadMore()}>Show older runs</button>}
    </>
  );
}

function Row({ run }: { run: RunSummary }) {
  const s = status(run.status);
  const started = Date.parse(run.started_at);
  const end = over(run.status) || run.status === "suspended" ? Date.parse(run.updated_at) : Date.now();
  return (
    <li>
      <a href={runLink(run.run_id)}>
        <span class={"status " + s.tone}><span aria-hidden="true">{s.sign}</span> {s.word}</span>
        <span class="request">{line(run.request, 200)}</span>
        <span class="facts num">
          <span>{run.team}{run.simulated && <em class="simulated">simulated</em>}</span>
          <span class="progress">
            <progress aria-label="Tasks done" max={Math.max(1, run.tasks)} value={run.finished_tasks} />
            {run.finished_tasks}/{plural(run.tasks, "task")}
          </span>
          <span>{duration(end - started)}</span>
          <span>{tokens(run.usage.input_tokens + run.usage.output_tokens)}</span>
          <span>{money(run.cost_usd)}</span>
          <time dateTime={run.started_at} title={exact(run.started_at)}>{ago(Date.now() - started)}</time>
        </span>
        {run.reason && <span class={"reason " + s.tone}>{line(run.reason, 240)}</span>}
      </a>
    </li>
  );
}

const starting = signal(false);
const refused = signal("");

function StartForm({ teams }: { teams: Team[] }) {
  const form = useRef<HTMLFormElement>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
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
        <span>What shall the team do?</span>
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
