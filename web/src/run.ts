// The run that is shown: its events as they come, the state at the head, and the
// state at the moment that the reader has chosen.

import { computed, signal } from "@preact/signals";
import { address, param, setParams } from "./address";
import { Connection, type Live } from "./connection";
import type { Envelope } from "./events";
import { over, Run, Thread } from "./fold";
import { Lanes } from "./lanes";
import { LogFilter } from "./filter";

export type State = "loading" | "connecting" | "open" | "lost" | "file" | "broken";

// arrivedMs is how long a text that has just come is marked.
const arrivedMs = 3000;

export class RunView {
  readonly events: Envelope[] = [];
  readonly head = new Thread();
  readonly lanes = new Lanes();
  readonly filter = new LogFilter(this);
  // changed counts what has come, at most once for each frame drawn.
  readonly changed = signal(0);
  readonly state = signal<State>("loading");
  readonly live = signal<Live | null>(null);
  readonly failure = signal("");
  readonly playing = signal(false);
  // skew is how far the server's clock is ahead of the reader's.
  skew = 0;
  lastHeard = 0;
  // arrivals are the entries that came while the reader looked on.
  readonly arrivals = new Map<number, number>();
  private readonly opened = Date.now();
  private past?: Thread;
  // checkpoints are states on the way, so that a step back folds few events anew.
  private readonly checkpoints: Thread[] = [];
  private connection?: Connection;
  private frame = 0;
  private settled = false;

  constructor(readonly id: string) {}

  follow(thread: string): void {
    this.connection = new Connection(thread, 0, {
      events: (batch) => this.take(batch),
      live: (live) => {
        this.skew = Date.parse(live.now) - Date.now();
        this.lastHeard = Date.now();
        this.live.value = live;
        this.settled = true;
      },
      state: (state) => {
        this.state.value = state === "connecting" && this.state.peek() === "lost" ? "lost" : state;
        if (state === "lost") this.live.value = null;
      },
    });
  }

  load(lines: string[]): void {
    this.state.value = "file";
    const batch: Envelope[] = [];
    for (const text of lines) if (text) batch.push(JSON.parse(text) as Envelope);
    this.take(batch);
  }

  close(): void {
    this.connection?.close();
    cancelAnimationFrame(this.frame);
    this.playing.value = false;
  }

  take(batch: Envelope[]): void {
    const now = Date.now();
    this.lastHeard = now;
    try {
      for (const env of batch) {
        this.head.apply(env);
        this.events.push(env);
        if (env.seq % checkpointEvents === 0) this.checkpoints.push(this.head.clone());
        if (env.run_id === this.id) this.lanes.add(env);
        if (env.type === "document_updated" && this.settled && now - this.opened > 500) this.arrivals.set(env.data.entry_id, now);
      }
    } catch (err) {
      this.failure.value = String(err instanceof Error ? err.message : err);
      this.state.value = "broken";
      this.connection?.close();
    }
    this.schedule();
  }

  private schedule(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.changed.value++;
    });
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

  // at is the moment that is shown, as a seq.
  readonly at = computed(() => {
    this.changed.value;
    const wanted = parseInt(param("at"), 10);
    return wanted > 0 ? Math.max(this.first, Math.min(wanted, this.last)) : this.last;
  });

  // following says that the newest moment is shown, whatever comes.
  readonly following = computed(() => !param("at"));

  // watch has a component drawn again when something came or another moment is chosen:
  // the state is changed in place, so its identity tells nothing.
  watch(): void {
    this.changed.value;
    this.at.value;
  }

  // shown is the run as it was at that moment.
  shown(): Run | undefined {
    if (this.following.value || this.at.value >= this.head.seq) return this.head.run(this.id);
    return this.rebuilt(this.at.value).run(this.id);
  }

  // rebuilt folds the log up to a moment: from where it was folded last if that lies
  // before it, else from the nearest checkpoint.
  private rebuilt(seq: number): Thread {
    if (!this.past || this.past.seq > seq) {
      const nearest = this.checkpoints.filter((thread) => thread.seq <= seq).pop();
      this.past = nearest?.clone() ?? new Thread();
    }
    const past: Thread = this.past;
    while (past.seq < seq && past.seq < this.events.length) {
      past.apply(this.events[past.seq]);
    }
    return past;
  }

  // move shows another moment; beyond the last event it follows.
  move(seq: number): void {
    const to = Math.max(this.first, seq);
    setParams({ at: to >= this.last ? "" : String(to) });
  }

  step(by: number): void {
    this.playing.value = false;
    this.move(this.at.peek() + by);
  }

  // clock is the time of what is shown: now where the run goes on.
  clock(): number {
    const run = this.head.run(this.id);
    if (!this.following.value || !run || over(run.summary.status) || run.summary.status === "suspended" || this.state.value === "file") {
      return Date.parse(this.events[this.at.value - 1]?.time ?? "") || 0;
    }
    return Date.now() + this.skew;
  }

  running(): boolean {
    const status = this.head.run(this.id)?.summary.status;
    return status !== undefined && !over(status);
  }

  // play shows one moment after the other, with the pauses that there were, divided
  // by the speed and cut to maxPauseMs.
  play(): void {
    if (this.playing.peek()) {
      this.playing.value = false;
      return;
    }
    this.playing.value = true;
    if (this.following.peek()) this.move(this.first);
    const tick = () => {
      if (!this.playing.peek() || address.peek().run !== this.id) return;
      const at = this.at.peek();
      if (at >= this.last) {
        this.playing.value = false;
        return;
      }
      const speed = parseFloat(param("speed")) || 1;
      const pause = (Date.parse(this.events[at].time) - Date.parse(this.events[at - 1].time)) / speed;
      if (pause >= 4) {
        setTimeout(() => {
          if (!this.playing.peek()) return;
          this.move(at + 1);
          tick();
        }, Math.min(pause, maxPauseMs));
        return;
      }
      // Several events in a moment too short to see are shown together.
      let to = at + 1;
      const until = Date.parse(this.events[at].time) + 16 * speed;
      while (to < this.last && Date.parse(this.events[to].time) < until) to++;
      setTimeout(() => {
        if (!this.playing.peek()) return;
        this.move(to);
        tick();
      }, 16);
    };
    tick();
  }
}

// checkpointEvents is how many events are folded in a few milliseconds.
const checkpointEvents = 10_000;

// maxPauseMs keeps a replay from standing still where the run did.
const maxPauseMs = 3000;
