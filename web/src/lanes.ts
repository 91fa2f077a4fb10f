// The timeline: for each agent the stretches of what it did, read from the events
// as they come, and a scale that compresses the time in which nobody did anything.

import type { Envelope } from "./events";

export type Work = "dispatch" | "waiting" | "retry" | "first" | "tokens" | "tool" | "refused";

export interface Stretch {
  work: Work;
  start: number;
  end: number;
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
    switch (env.type) {
      case "workflow_started":
        for (const card of env.data.agents ?? []) this.lane(card.id);
        break;
      case "agent_started": {
        const stretch: Stretch = { work: "dispatch", start: at, end: 0, seq: env.seq, label: env.dispatch_id ?? "" };
        this.lane(env.data.agent).stretches.push(stretch);
        this.open.set(env.dispatch_id ?? "", stretch);
        break;
      }
      case "agent_finished":
        this.close(env.dispatch_id ?? "", at);
        break;
      case "dispatch_refused":
        this.lane(agent).stretches.push({ work: "refused", start: at, end: at, seq: env.seq, label: "refused" });
        break;
      case "model_called": {
        const d = env.data;
        const sent = at - d.total_ms;
        const retrying = sent - (d.retried_ms ?? 0);
        const queued = retrying - d.queued_ms;
        const lane = this.lane(agent);
        const push = (work: Work, start: number, end: number) => {
          if (end > start) lane.stretches.push({ work, start, end, seq: env.seq, label: d.id });
        };
        lane.calls++;
        push("waiting", queued, retrying);
        push("retry", retrying, sent);
        push("first", sent, sent + d.first_token_ms);
        push("tokens", sent + d.first_token_ms, at);
        this.occupy(queued, at);
        break;
      }
      case "tool_started": {
        const stretch: Stretch = { work: "tool", start: at, end: 0, seq: env.seq, label: env.data.tool };
        this.lane(agent).stretches.push(stretch);
        this.open.set(env.data.model_call_id + "/" + env.data.index, stretch);
        break;
      }
      case "tool_call":
        this.close(env.data.model_call_id + "/" + env.data.index, at);
        break;
      case "workflow_finished":
        for (const key of [...this.open.keys()]) this.close(key, at);
        break;
    }
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

  // scale maps times to a length from 0 to 1. Each stretch of idle time counts at most idleShare of
  // the busy time. Where somebody is at work now, the time since the last event
  // is no idle time.
  scale(now: number, working: boolean): Scale {
    const key = [this.changes, this.start, this.end, now, working].join();
    if (this.scaled?.key !== key) this.scaled = { key, scale: this.newScale(now, working) };
    return this.scaled.scale;
  }

  private newScale(now: number, working: boolean): Scale {
    const spans = this.busy.map(([a, b]) => [a, b] as [number, number]);
    const last = Math.max(now, this.end);
    if (working) spans.push([this.end, last]);
    let work = 0;
    for (const [a, b] of spans) work += b - a;
    const longest = Math.max(1000, work * idleShare);
    const points: Point[] = [{ time: this.start, at: 0, idle: false }];
    let at = 0;
    let previous = this.start;
    const idle = (until: number) => {
      const gap = until - previous;
      if (gap <= 0) return;
      at += Math.min(gap, longest);
      points.push({ time: until, at, idle: gap > longest });
    };
    for (const [a, b] of spans) {
      const start = Math.max(a, this.start);
      idle(start);
      if (b > start) {
        at += b - start;
        points.push({ time: b, at, idle: false });
      }
      previous = Math.max(previous, b);
    }
    idle(last);
    return new Scale(points);
  }
}

const idleShare = 0.04;

// joinMs is a pause too short to be one.
const joinMs = 50;

interface Point {
  time: number;
  at: number;
  // idle marks the stretch before the point as compressed.
  idle: boolean;
}

export class Scale {
  private readonly length: number;

  constructor(private readonly points: Point[]) {
    this.length = Math.max(1, points[points.length - 1].at);
  }

  at(time: number): number {
    const i = this.find((p) => p.time >= time);
    if (i === 0) return 0;
    if (i === this.points.length) return 1;
    const [a, b] = [this.points[i - 1], this.points[i]];
    return (a.at + ((time - a.time) / Math.max(1, b.time - a.time)) * (b.at - a.at)) / this.length;
  }

  time(at: number): number {
    const want = at * this.length;
    const i = this.find((p) => p.at >= want);
    if (i === 0) return this.points[0].time;
    if (i === this.points.length) return this.points[i - 1].time;
    const [a, b] = [this.points[i - 1], this.points[i]];
    return a.time + ((want - a.at) / Math.max(1, b.at - a.at)) * (b.time - a.time);
  }

  // gaps are the compressed stretches, as places on the scale.
  gaps(): [number, number][] {
    const gaps: [number, number][] = [];
    for (let i = 1; i < this.points.length; i++) {
      if (this.points[i].idle) gaps.push([this.points[i - 1].at / this.length, this.points[i].at / this.length]);
    }
    return gaps;
  }

  private find(test: (p: Point) => boolean): number {
    let low = 0;
    let high = this.points.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (test(this.points[mid])) high = mid;
      else low = mid + 1;
    }
    return low;
  }
}
