// What goes on now: a line for each agent at work, doing what, for how long.

import { useLayoutEffect, useRef } from "preact/hooks";
import { param, setParams } from "./address";
import type { LiveAgent } from "./connection";
import { tick } from "./clock";
import type { Run } from "./fold";
import { over, parked } from "./states";
import { duration, line, plural } from "./format";
import { liveKey, type RunView } from "./run";
import type { Stream } from "./stream";

const words: Record<string, string> = {
  queued: "waiting for a slot", waiting: "waiting for the first token", thinking: "thinking", writing: "writing",
  retrying: "retry", away: "waiting for the endpoint", tools: "waiting for tools", finished: "finishing",
};

interface Line {
  key: string;
  agent: string;
  doing: string;
  since: number;
  tail: string;
  // why is what holds the agent up, or how far its tool says that it is; it then stands in the place of the tail.
  why?: string;
  tone: string;
  // stream is what the agent writes, where that can be seen.
  stream?: Stream;
}

export function Now({ view, run }: { view: RunView; run: Run }) {
  view.watch();
  tick.value;
  const now = view.clock();
  const live = view.following.value ? view.live.value : null;
  const lines = live?.driven ? live.agents.filter((a) => a.phase !== "finished").map((a) => fromLive(a, view.streams.get(liveKey(a)), run, now)) : view.interrupted() ? [] : fromFacts(run);
  const open = param("stream").split(",").filter(Boolean);
  return (
    <section class="pane now" tabIndex={0} aria-labelledby="now-title">
      <h2 id="now-title">Now</h2>
      {lines.length === 0 ? (
        <p class="empty">{over(run.summary.status) ? `The run is over, after ${plural(run.summary.model_calls, "model call")}.` : view.interrupted() ? "No agent is working: the process is gone." : "No agent is working."}</p>
      ) : (
        <ul>
          {lines.map((l) => (
            <li key={l.key} class={l.tone}>
              <Who line={l} name={run.name(l.agent)} open={open.includes(l.agent)} />
              <span class="doing">{l.doing}</span>
              <span class="num">{l.since > 0 ? duration(now - l.since) : ""}</span>
              {l.why && <span class="tail why" title={l.why}>{l.why}</span>}
              {l.stream && open.includes(l.agent) ? <Streaming stream={l.stream} name={run.name(l.agent)} /> : !l.why && <span class="tail">{l.tail}</span>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

// Who names the agent; where what it writes can be seen, that is a click away.
function Who({ line: l, name, open }: { line: Line; name: string; open: boolean }) {
  if (!l.stream) return <span class="who">{name}</span>;
  const toggle = () => {
    const others = param("stream").split(",").filter((agent) => agent && agent !== l.agent);
    setParams({ stream: (open ? others : [...others, l.agent]).join(",") });
  };
  return (
    <button type="button" class="who" aria-expanded={open} title={open ? "Show one line" : "Show everything it writes"} onClick={toggle}>
      <span aria-hidden="true">{open ? "▾" : "▸"}</span> {name}
    </button>
  );
}

// Streaming is all that an agent writes in its call under way. It follows the end until
// the reader scrolls up, and again once the reader is back there.
function Streaming({ stream, name }: { stream: Stream; name: string }) {
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  const drawn = useRef({ generation: 0, upTo: 0 });
  useLayoutEffect(() => {
    const el = box.current!;
    const text = (el.firstChild ?? el.appendChild(document.createTextNode(""))) as Text;
    const d = drawn.current;
    const have = d.upTo - text.length; // the place of the first character that is drawn
    if (d.generation !== stream.generation || d.upTo < stream.dropped) {
      text.data = stream.text;
    } else {
      if (have < stream.dropped) text.deleteData(0, stream.dropped - have);
      text.appendData(stream.text.slice(d.upTo - stream.dropped));
    }
    drawn.current = { generation: stream.generation, upTo: stream.dropped + stream.text.length };
    if (atEnd.current) el.scrollTop = el.scrollHeight;
  });
  return (
    <pre
      ref={box} class="stream" tabIndex={0} role="region" aria-label={`What ${name} writes`}
      onScroll={(e) => (atEnd.current = e.currentTarget.scrollTop + e.currentTarget.clientHeight >= e.currentTarget.scrollHeight - 8)}
    />
  );
}

function fromLive(a: LiveAgent, stream: Stream | undefined, run: Run, now: number): Line {
  const held = a.phase === "retrying" || a.phase === "away";
  const tone = held ? "failure" : a.phase === "writing" || a.phase === "thinking" ? "active" : "quiet";
  let doing = Object.hasOwn(words, a.phase) ? words[a.phase] : a.phase;
  if (a.phase === "retrying" && a.retry_at) doing = `retry in ${duration(Date.parse(a.retry_at) - now)}`;
  if (a.phase === "away" && a.give_up_at) doing += `, gives up in ${duration(Date.parse(a.give_up_at) - now)}`;
  if (a.phase === "tools" && a.agent === run.started.agents?.[0]?.id) doing = "waiting for the specialists";
  if ((a.attempt ?? 1) > 1 && !held) doing += ` (try ${a.attempt})`;
  const tail = a.stream?.length && a.phase !== "tools" && a.phase !== "queued" ? stream?.line ?? "" : "";
  const why = held ? line(a.retry_reason ?? "", 160) : a.phase === "tools" ? line(a.progress ?? "", 160) : "";
  return { key: liveKey(a), agent: a.agent, doing, since: Date.parse(a.since), tail, why, tone, stream };
}

// fromFacts is what the log says of who is at work: for replays and runs that
// another process drives.
function fromFacts(run: Run): Line[] {
  if (over(run.summary.status) || parked(run.summary.status)) return [];
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
