// The run that is shown: its events as they come, the state at the head, and the
// state at the moment that the reader has chosen.

import { signal } from "@preact/signals";
import { onePath } from "./paths";
import { getJSON } from "./api";
import type { Live, LiveAgent } from "./connection";
import type { Envelope } from "./events";
import { Run, Thread } from "./fold";
import { Lanes } from "./lanes";
import { LogFilter } from "./filter";
import type { HeldRun } from "./states";
import { Stream } from "./stream";
import { ThreadView } from "./threadview";

// arrivedMs is how long a text that has just come is marked.
const arrivedMs = 3000;

// liveKey tells agents at work apart: one may work on several dispatches.
export function liveKey(a: LiveAgent): string {
  return a.agent + "/" + (a.dispatch_id ?? "");
}

export class RunView extends ThreadView {
  readonly place = "run";
  readonly head = new Thread();
  readonly lanes = new Lanes();
  readonly filter = new LogFilter(this.events, this.id);
  // arrivals are the entries that came while the reader looked on.
  readonly arrivals = new Map<number, number>();
  // streams are what the agents at work write in their calls under way.
  readonly streams = new Map<string, Stream>();
  // held is who drives the run; null until the server has said.
  readonly held = signal<HeldRun | null>(null);
  private readonly opened = Date.now();
  private past?: Thread;
  // checkpoints are states on the way, so that a step back refolds only a few events.
  private readonly checkpoints: Thread[] = [];

  protected fold(env: Envelope): void {
    this.head.apply(env);
    if (env.seq % checkpointEvents === 0) this.checkpoints.push(this.head.clone());
    if (env.run_id === this.id) this.lanes.add(env);
    if (env.type === "document_updated" && this.settled && this.lastHeard - this.opened > 500) this.arrivals.set(env.data.entry_id, this.lastHeard);
  }

  // hear takes up what the agents have written, and forgets those who are gone.
  protected override hear(live: Live): void {
    const gone = new Set(this.streams.keys());
    for (const a of live.agents) {
      const key = liveKey(a);
      gone.delete(key);
      let stream = this.streams.get(key);
      if (!stream) this.streams.set(key, (stream = new Stream()));
      stream.take(a);
    }
    for (const key of gone) this.streams.delete(key);
  }

  arrived(entry: number): boolean {
    const at = this.arrivals.get(entry);
    return at !== undefined && Date.now() - at < arrivedMs;
  }

  // first and last are the run's stretch of the thread.
  get first(): number {
    return this.head.run(this.id)?.summary.first_seq ?? 1;
  }

  get last(): number {
    return this.head.run(this.id)?.summary.last_seq ?? 1;
  }

  // shown is the run as it was at that moment.
  shown(): Run | undefined {
    if (this.following.value || this.at.value >= this.head.seq) return this.head.run(this.id);
    return this.rebuilt(this.at.value).run(this.id);
  }

  // rebuilt folds the log up to a moment: from where it was folded last, or from a
  // checkpoint that lies nearer before it.
  private rebuilt(seq: number): Thread {
    const nearest = this.checkpoints.findLast((thread) => thread.seq <= seq);
    if (!this.past || this.past.seq > seq || (nearest && nearest.seq > this.past.seq)) this.past = nearest?.clone() ?? new Thread();
    const past: Thread = this.past;
    while (past.seq < seq && past.seq < this.events.length) {
      past.apply(this.events[past.seq]);
    }
    return past;
  }

  // ask looks at who drives the run: no event tells that a process has died.
  ask = async (): Promise<void> => {
    try {
      this.held.value = await getJSON<HeldRun>(onePath("run", this.id));
    } catch {
      // The connection says that the server is lost, and this is asked again.
    }
  };

  // interrupted says that the run runs by its log, but its process is gone.
  interrupted(): boolean {
    return this.following.value && this.running() && !this.live.value?.driven && this.held.value?.interrupted === true;
  }

  // ticking says that times go on counting between the events.
  ticking(): boolean {
    return this.following.value && this.running() && !this.interrupted() && this.state.value === "open";
  }

  // clock is the time of what is shown: now where the run goes on, and somebody can tell.
  clock(): number {
    return this.ticking() ? Date.now() + this.skew : this.following.value ? this.heardTime() : this.momentTime();
  }

  // heardTime is the last moment of the run that is known of.
  private heardTime(): number {
    return Math.max(this.momentTime(), this.running() && this.state.value === "lost" ? this.lastHeard + this.skew : 0);
  }

  // running says that the run is under way by its log.
  running(): boolean {
    return this.head.run(this.id)?.summary.status === "running";
  }
}

// checkpointEvents is how many events are folded in a few milliseconds.
const checkpointEvents = 10_000;
