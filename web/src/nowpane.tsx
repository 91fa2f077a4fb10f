// What goes on now: a line for each agent at work, doing what, for how long.

import type { LiveAgent } from "./connection";
import { tick } from "./clock";
import { over, type Run } from "./fold";
import { duration, line, plural } from "./format";
import type { RunView } from "./run";

const words: Record<string, string> = {
  queued: "waiting for a slot", waiting: "waiting for the first token", thinking: "thinking", writing: "writing",
  retrying: "retry", tools: "waiting for tools", finished: "finishing",
};

interface Line {
  key: string;
  agent: string;
  doing: string;
  since: number;
  tail: string;
  tone: string;
}

export function Now({ view, run }: { view: RunView; run: Run }) {
  view.watch();
  tick.value;
  const now = view.clock();
  const live = view.following.value ? view.live.value : null;
  const lines = live?.driven ? live.agents.filter((a) => a.phase !== "finished").map((a) => fromLive(a, run, now)) : fromFacts(run);
  return (
    <section class="pane now" aria-labelledby="now-title">
      <h2 id="now-title">Now</h2>
      {lines.length === 0 ? (
        <p class="empty">{over(run.summary.status) ? `Nothing more: the run is over, after ${plural(run.summary.model_calls, "model call")}.` : "Nobody is at work."}</p>
      ) : (
        <ul>
          {lines.map((l) => (
            <li key={l.key} class={l.tone}>
              <span class="who">{run.name(l.agent)}</span>
              <span class="doing">{l.doing}</span>
              <span class="num">{l.since > 0 ? duration(now - l.since) : ""}</span>
              <span class="tail">{l.tail}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function fromLive(a: LiveAgent, run: Run, now: number): Line {
  const tone = a.phase === "retrying" ? "failure" : a.phase === "writing" || a.phase === "thinking" ? "active" : "quiet";
  let doing = words[a.phase] ?? a.phase;
  if (a.phase === "retrying" && a.retry_at) doing = `retry in ${duration(Date.parse(a.retry_at) - now)}` + (a.retry_reason ? `: ${line(a.retry_reason, 80)}` : "");
  if (a.phase === "tools" && a.agent === run.started.agents?.[0]?.id) doing = "waiting for the specialists";
  if ((a.attempt ?? 1) > 1 && a.phase !== "retrying") doing += ` (try ${a.attempt})`;
  return { key: a.agent + "/" + (a.dispatch_id ?? ""), agent: a.agent, doing, since: Date.parse(a.since), tail: a.phase === "tools" || a.phase === "queued" ? "" : tailOf(a.tail ?? "", a.in_call ?? false), tone };
}

// tailOf is the end of a text on a line. Of the arguments of a call it shows the value
// that is being written, as text.
function tailOf(text: string, inCall: boolean): string {
  if (inCall) {
    const value = text.lastIndexOf('":"');
    if (value >= 0) text = text.slice(value + 3);
    text = text.replace(/\\n/g, " ").replace(/\\"/g, '"').replace(/["}\]]+$/, "");
  }
  const flat = text.replace(/\s+/g, " ").trim();
  return flat.length > 160 ? "…" + flat.slice(-160) : flat;
}

// fromFacts is what the log says of who is at work: for replays and runs that
// another process drives.
function fromFacts(run: Run): Line[] {
  if (over(run.summary.status) || run.summary.status === "suspended") return [];
  const open = run.dispatches.filter((d) => !d.finish);
  const facilitator = run.started.agents?.[0]?.id ?? "facilitator";
  const lines: Line[] = [{
    key: facilitator, agent: facilitator, doing: open.length > 0 ? "waiting for the specialists" : "at work",
    since: open.length > 0 ? Date.parse(open[0].started) : Date.parse(run.summary.updated_at), tail: "", tone: open.length > 0 ? "quiet" : "active",
  }];
  for (const d of open) {
    lines.push({
      key: d.id, agent: d.start.agent, doing: `on ${plural(d.start.task_ids?.length ?? 0, "task")} ${(d.start.task_ids ?? []).join(", ")}`,
      since: Date.parse(d.started), tail: line(d.start.message, 160), tone: "active",
    });
  }
  return lines;
}
