// The rows of the log that a filter leaves. A search goes through a hundred thousand
// events, so it works in slices between which the page does everything else, and shows
// what it has found so far.

import { signal } from "@preact/signals";
import { describe, group } from "./describe";
import type { Envelope } from "./events";

// sliceMs is what a search takes at once: half a frame.
const sliceMs = 8;

// showMs is how often what was found so far is shown: each time costs a drawing.
const showMs = 50;

export class LogFilter {
  // found counts changes of what passes.
  readonly found = signal(0);
  // What passes is newer, in order, after older, in reverse: a search that begins at
  // the end adds at both ends.
  private older: number[] = [];
  private newer: number[] = [];
  // The events from low up to high have been looked at.
  private low = 0;
  private high = 0;
  private key = "";
  private hidden = new Set<string>();
  private agent = "";
  private words = "";
  private timer = 0;
  private shown = 0;

  constructor(private readonly events: readonly Envelope[], private readonly run: string) {}

  // set changes what passes: groups that are hidden, an agent, words. A reader who
  // follows the end sees the newest first; another one the oldest, so that nothing
  // moves that is already in view.
  set(hidden: string, agent: string, words: string, newestFirst: boolean): void {
    const key = [hidden, agent, words].join("\u0000");
    if (key !== this.key) {
      this.key = key;
      this.hidden = new Set(hidden.split(",").filter(Boolean));
      this.agent = agent;
      this.words = words.toLowerCase();
      this.older = [];
      this.newer = [];
      this.low = this.high = newestFirst ? this.events.length : 0;
    }
    this.search();
  }

  get count(): number {
    return this.older.length + this.newer.length;
  }

  // seq is the event on a row.
  seq(row: number): number {
    const before = this.older.length;
    return row < before ? this.older[before - 1 - row] : this.newer[row - before];
  }

  // upTo counts the rows with a seq up to that one.
  upTo(seq: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.seq(mid) <= seq) low = mid + 1;
      else high = mid;
    }
    return low;
  }

  get done(): boolean {
    return this.low === 0 && this.high >= this.events.length;
  }

  // search goes on for a slice: first with what is new, then backwards.
  private search(): void {
    const end = performance.now() + sliceMs;
    const all = this.events;
    for (let n = 1; !this.done && (n % 16 !== 0 || performance.now() < end); n++) {
      if (this.high < all.length) this.look(all[this.high++], this.newer);
      else this.look(all[--this.low], this.older);
    }
    if (this.done || this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.search();
      const now = performance.now();
      if (!this.done && now - this.shown < showMs) return;
      this.shown = now;
      this.found.value++;
    });
  }

  private look(env: Envelope, into: number[]): void {
    if (this.passes(env)) into.push(env.seq);
  }

  private passes(env: Envelope): boolean {
    if (env.run_id !== this.run) return false;
    if (this.hidden.size > 0 && this.hidden.has(group(env))) return false;
    if (this.agent && (env.agent ?? "") !== this.agent) return false;
    return !this.words || `${env.seq} ${env.type} ${env.agent ?? ""} ${describe(env)}`.toLowerCase().includes(this.words);
  }
}
