// The rows of the log that a filter leaves, found a little at a time, so that a
// hundred thousand events stop nothing.

import { signal } from "@preact/signals";
import { describe, group } from "./describe";
import type { Envelope } from "./events";

// sliceMs is what a search takes of one frame.
const sliceMs = 8;

// Searched is the run whose events are searched.
interface Searched {
  readonly id: string;
  readonly events: readonly Envelope[];
}

export class LogFilter {
  // rows are the seqs that pass, in order; found counts changes of them.
  rows: number[] = [];
  readonly found = signal(0);
  private next = 0;
  private key = "";
  private hidden = new Set<string>();
  private agent = "";
  private words = "";
  private frame = 0;

  constructor(private readonly run: Searched) {}

  // set changes what passes: groups that are hidden, an agent, words.
  set(hidden: string, agent: string, words: string): void {
    const key = [hidden, agent, words].join("\u0000");
    if (key !== this.key) {
      this.key = key;
      this.hidden = new Set(hidden.split(",").filter(Boolean));
      this.agent = agent;
      this.words = words.toLowerCase();
      this.rows = [];
      this.next = 0;
    }
    this.search();
  }

  get done(): boolean {
    return this.next >= this.run.events.length;
  }

  private search = (): void => {
    const end = performance.now() + sliceMs;
    const all = this.run.events;
    const before = this.rows.length;
    while (this.next < all.length) {
      const env = all[this.next++];
      if (this.passes(env)) this.rows.push(env.seq);
      if (this.next % 16 === 0 && performance.now() > end) break;
    }
    if (!this.done && !this.frame) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.search();
        this.found.value++;
      });
    } else if (before !== this.rows.length && this.frame) {
      this.found.value++;
    }
  };

  private passes(env: Envelope): boolean {
    if (env.run_id !== this.run.id) return false;
    if (this.hidden.size > 0 && this.hidden.has(group(env))) return false;
    if (this.agent && (env.agent ?? "") !== this.agent) return false;
    return !this.words || `${env.seq} ${env.type} ${env.agent ?? ""} ${describe(env)}`.toLowerCase().includes(this.words);
  }
}
