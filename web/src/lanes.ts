// The timeline: for each agent the stretches of what it did, read from the events
// as they come.

import { callName } from "./describe";
import type { AgentFinished, Envelope, FailedAttempt, ModelCalled } from "./events";
import { line } from "./format";
import { Scale } from "./scale";

// Work is what a stretch is of. "failed" is an attempt of a model call that failed,
// "retry" the wait for the next one; "cancelled" a call that was cut off and
// has no reply; "refused" is a moment, not a stretch.
export type Work = "waits" | "dispatch" | "waiting" | "failed" | "retry" | "first" | "tokens" | "tool" | "refused" | "cancelled";

// FailedCall are the members of an event that tell of a call that failed for good.
type FailedCall = Pick<AgentFinished, "model_call_id" | "attempts" | "earlier_attempts">;

export interface Stretch {
  work: Work;
  start: number;
  // end is 0 while it is under way.
  end: number;
  // seq is the event that tells of it, 0 where none does yet.
  seq: number;
  label: string;
}

export interface Lane {
  agent: string;
  stretches: Stretch[];
  calls: number;
}

export class Lanes {
  readonly lanes: Lane[] = [];
  start = 0;
  end = 0;
  private readonly byAgent = new Map<string, Lane>();
  private readonly open = new Map<string, Stretch>();
  // facilitator is who waits while dispatches are open; dispatches are those.
  private facilitator = "";
  private readonly dispatches = new Set<string>();
  // busy are the stretches in which anybody did something, joined, in order.
  private busy: [number, number][] = [];
  private changes = 0;
  private scaled?: { key: string; scale: Scale };

  add(env: Envelope): void {
    const at = Date.parse(env.time);
    if (!this.start) {
      this.start = at;
      this.busy = [[at, at]];
    }
    this.end = Math.max(this.end, at);
    this.occupy(at, at);
    const agent = env.agent ?? "";
    const dispatch = env.dispatch_id ?? "";
    switch (env.type) {
      case "workflow_started":
        for (const card of env.data.agents ?? []) this.lane(card.id);
        this.facilitator = env.data.agents?.[0]?.id ?? "";
        break;
      case "agent_started":
        if (this.dispatches.size === 0 && this.facilitator) this.begin(waits, this.facilitator, "waits", at, env.seq, "");
        this.dispatches.add(dispatch);
        this.begin(dispatch, env.data.agent, "dispatch", at, env.seq, dispatch);
        break;
      case "agent_finished":
        this.attempted(env.data, agent, at, env.seq);
        if (env.data.status === "cancelled" || env.data.status === "timed_out") this.cutOff(this.lane(agent || env.data.agent), at, env.seq);
        this.close(dispatch, at);
        this.dispatches.delete(dispatch);
        if (this.dispatches.size === 0) this.close(waits, at);
        break;
      case "error":
      case "model_call_failed":
        this.attempted(env.data, agent, at, env.seq);
        break;
      case "dispatch_refused":
        this.mark(agent, at, env.seq, "refused: " + line(env.data.result));
        break;
      case "model_called":
        this.called(env.data, this.lane(agent), at, env.seq);
        // Specialists may start while the call that asks for them still streams.
        if (agent === this.facilitator) this.moveStart(waits, at);
        break;
      case "tool_started":
        this.begin(env.data.model_call_id + "/" + env.data.index, agent, "tool", at, env.seq, env.data.tool);
        break;
      case "tool_call":
        this.close(env.data.model_call_id + "/" + env.data.index, at);
        break;
      case "run_cancelled":
        if (this.facilitator && this.dispatches.size === 0) this.cutOff(this.lane(this.facilitator), at, env.seq);
        break;
      case "workflow_finished":
        for (const key of [...this.open.keys()]) this.close(key, at);
        break;
    }
  }

  // called adds the stretches of a finished model call: each attempt and each wait.
  private called(d: ModelCalled, lane: Lane, at: number, seq: number): void {
    const retries = d.retries ?? [];
    const newest = retries[retries.length - 1];
    const sent = at - d.total_ms;
    const name = callName(d);
    const begun = sent - (newest ? newest.start_ms + newest.ran_ms + newest.wait_ms : d.queued_ms + (d.retried_ms ?? 0));
    lane.calls++;
    if (!newest) {
      // Logs of before attempts were recorded have their waits as one.
      push(lane, "waiting", begun, begun + d.queued_ms, seq, name);
      push(lane, "retry", begun + d.queued_ms, sent, seq, name);
    } else {
      this.tries(name, retries, Math.max(0, d.attempts - 1 - retries.length), lane, begun, seq);
    }
    push(lane, "first", sent, sent + d.first_token_ms, seq, name);
    push(lane, "tokens", sent + d.first_token_ms, at, seq, name);
    if (d.interrupted) this.mark(lane.agent, at, seq, d.purpose ? name : `${d.id} broke off; the calls that it had started stand`);
    this.occupy(begun, at);
  }

  // attempted adds what was tried in the model call whose failure ended an agent.
  private attempted(d: FailedCall, agent: string, at: number, seq: number): void {
    const attempts = d.attempts ?? [];
    const last = attempts[attempts.length - 1];
    if (!last) return;
    const begun = at - (last.start_ms + last.ran_ms + last.wait_ms);
    this.tries(d.model_call_id ?? "", attempts, d.earlier_attempts ?? 0, this.lane(agent), begun, seq);
    this.occupy(begun, at);
  }

  // cutOff adds the call that was under way when its agent was stopped: nothing of it came
  // back, so it began at the latest when the last thing before it ended.
  private cutOff(lane: Lane, at: number, seq: number): void {
    if (lane.stretches.some((s) => s.work === "tool" && s.end === 0)) return;
    const begun = Math.max(this.start, ...lane.stretches.slice(-8).map((s) => (s.work === "dispatch" || s.work === "waits" ? (s.end || s.start) : s.end)));
    push(lane, "cancelled", begun, at, seq, "no reply");
    this.occupy(begun, at);
  }

  // tries adds failed attempts and the waits around them. Of a call with more of them
  // than its event holds the first are not known: so many were cut.
  private tries(id: string, attempts: FailedAttempt[], cut: number, lane: Lane, begun: number, seq: number): void {
    push(lane, cut > 0 ? "retry" : "waiting", begun, begun + attempts[0].start_ms, seq, cut > 0 ? `${id}, ${cut} earlier attempts` : id);
    attempts.forEach((attempt, i) => {
      const label = `${id} try ${cut + i + 1}: ${failure(attempt)}`;
      const start = begun + attempt.start_ms;
      const failed = start + attempt.ran_ms;
      push(lane, "failed", start, failed, seq, label);
      push(lane, "retry", failed, failed + attempt.wait_ms, seq, `after ${label}`);
      this.mark(lane.agent, failed, seq, label);
    });
  }

  private begin(key: string, agent: string, work: Work, start: number, seq: number, label: string): void {
    const stretch: Stretch = { work, start, end: 0, seq, label };
    this.lane(agent).stretches.push(stretch);
    this.open.set(key, stretch);
  }

  private moveStart(key: string, start: number): void {
    const stretch = this.open.get(key);
    if (stretch) stretch.start = Math.max(stretch.start, start);
  }

  private mark(agent: string, at: number, seq: number, label: string): void {
    this.lane(agent).stretches.push({ work: "refused", start: at, end: at, seq, label });
  }

  private close(key: string, at: number): void {
    const stretch = this.open.get(key);
    if (!stretch) return;
    stretch.end = at;
    if (stretch.work === "tool") this.occupy(stretch.start, at);
    this.open.delete(key);
  }

  private lane(agent: string): Lane {
    let lane = this.byAgent.get(agent);
    if (!lane) {
      lane = { agent, stretches: [], calls: 0 };
      this.byAgent.set(agent, lane);
      this.lanes.push(lane);
    }
    return lane;
  }

  // occupy joins a stretch with those at the end that it touches.
  private occupy(start: number, end: number): void {
    this.changes++;
    while (this.busy.length > 0 && this.busy[this.busy.length - 1][1] + joinMs >= start) {
      const [from, to] = this.busy.pop()!;
      start = Math.min(start, from);
      end = Math.max(end, to);
    }
    this.busy.push([start, end]);
  }

  // scale maps times to a length from 0 to 1, up to a time that may lie ahead. Where
  // somebody is at work now, the time since the last event is no idle time.
  scale(until: number, working: boolean): Scale {
    const key = [this.changes, this.start, this.end, until, working].join();
    if (this.scaled?.key !== key) {
      const last = Math.max(until, this.end);
      this.scaled = { key, scale: new Scale(this.start, last, working ? [...this.busy, [this.end, last]] : this.busy) };
    }
    return this.scaled.scale;
  }
}

// waits is the key of the facilitator's open stretch; dispatches have others.
const waits = "waits";

// joinMs is a pause too short to be one.
const joinMs = 50;

// push adds a stretch that lasted.
function push(lane: Lane, work: Work, start: number, end: number, seq: number, label: string): void {
  if (end > start) lane.stretches.push({ work, start, end, seq, label });
}

// failure says why an attempt failed, on a line.
function failure(a: FailedAttempt): string {
  const cause = a.status ? `HTTP ${a.status}` : a.error.replace(/_/g, " ");
  return a.message ? `${cause}, ${line(a.message)}` : cause;
}

// lanesOf reads a log, a line for each event, and gives its lanes.
export function lanesOf(log: string): Lane[] {
  const lanes = new Lanes();
  for (const text of log.split("\n")) if (text) lanes.add(JSON.parse(text) as Envelope);
  return lanes.lanes;
}
