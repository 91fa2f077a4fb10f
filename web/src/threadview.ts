// A thread that is shown, of a run or of a batch: its events as they come, and the
// moment that the reader has chosen.

import { computed, signal } from "@preact/signals";
import { address, param, setParams } from "./address";
import { Connection, type Live } from "./connection";
import type { Envelope } from "./events";

export type State = "loading" | "connecting" | "open" | "lost" | "file" | "broken";

export abstract class ThreadView {
  // place is where the page shows it.
  abstract readonly place: "run" | "thread" | "batch";
  readonly events: Envelope[] = [];
  // changed counts what has come, at most once for each frame drawn.
  readonly changed = signal(0);
  readonly state = signal<State>("loading");
  readonly live = signal<Live | null>(null);
  readonly failure = signal("");
  readonly playing = signal(false);
  // replaced are the placeholders that there are, with what they stand for where the log says so.
  readonly replaced = new Map<string, string>();
  // thread is the thread that is followed; "" for a file.
  thread = "";
  // skew is how far the server's clock is ahead of the reader's.
  skew = 0;
  lastHeard = 0;
  // settled is set once what was there before the reader came is here.
  protected settled = false;
  private connection?: Connection;
  private frame = 0;

  constructor(readonly id: string) {}

  // fold takes an event into the state at the head.
  protected abstract fold(env: Envelope): void;
  // hear takes a present moment, before it is shown.
  protected hear(_: Live): void {}
  // first and last are the stretch of the thread that is shown.
  abstract get first(): number;
  abstract get last(): number;
  // running says that what is shown is under way by its log.
  abstract running(): boolean;
  // ticking says that times go on counting between the events.
  abstract ticking(): boolean;

  // follow begins with the events that are here already.
  follow(thread: string, begun: Envelope[]): void {
    this.thread = thread;
    if (begun.length > 0) this.take(begun);
    this.connection = new Connection(thread, begun[begun.length - 1]?.seq ?? 0, {
      events: (batch) => this.take(batch),
      live: (live) => {
        this.skew = Date.parse(live.now) - Date.now();
        this.lastHeard = Date.now();
        this.hear(live);
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
    this.lastHeard = Date.now();
    try {
      for (const env of batch) {
        this.fold(env);
        this.events.push(env);
        if (env.type === "values_replaced") for (const v of env.data.values ?? []) this.replaced.set(v.placeholder, v.original);
      }
    } catch (err) {
      this.failure.value = String(err instanceof Error ? err.message : err);
      this.state.value = "broken";
      this.connection?.close();
    }
    this.schedule();
  }

  // schedule waits for no frame with what comes first.
  private schedule(): void {
    if (this.frame) return;
    if (this.changed.peek() === 0) {
      this.changed.value++;
      return;
    }
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.changed.value++;
    });
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

  // momentTime is when the event of the moment was written.
  momentTime(): number {
    return Date.parse(this.events[this.at.value - 1]?.time ?? "") || 0;
  }

  // seqAt is the last event that is shown up to a time.
  seqAt(time: number): number {
    let low = this.first;
    let high = this.last;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (Date.parse(this.events[mid - 1].time) <= time) low = mid;
      else high = mid - 1;
    }
    return low;
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
      if (!this.playing.peek() || address.peek().id !== this.id) return;
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

// maxPauseMs keeps a replay from standing still where the run did.
const maxPauseMs = 3000;
