// The batch that is shown: its events as they come, who holds it, its rows, and its
// figures at the moment that the reader has chosen.

import { signal } from "@preact/signals";
import { onePath } from "./paths";
import { getJSON } from "./api";
import { Batch } from "./batch";
import { BatchRows } from "./batchrows";
import type { BatchSummary, Envelope } from "./events";
import { ThreadView } from "./threadview";

// Held is a batch as the API gives it.
export interface Held extends BatchSummary {
  held_by?: string;
  held_since?: string;
  // interrupted is set where the batch runs by its log, but its process is gone.
  interrupted?: boolean;
}

export class BatchView extends ThreadView {
  readonly place = "batch";
  readonly head = new Batch();
  readonly rows = new BatchRows(this.id);
  // held is who drives the batch; null until the server has said.
  readonly held = signal<Held | null>(null);
  private past?: Batch;

  protected fold(env: Envelope): void {
    this.head.apply(env);
  }

  get first(): number {
    return this.head.calls[0]?.seq ?? 1;
  }

  get last(): number {
    return Math.max(this.first, this.head.seq);
  }

  running(): boolean {
    return this.head.summary.status === "running";
  }

  // interrupted says that the batch runs by its log, but its process is gone.
  interrupted(): boolean {
    return this.following.value && this.abandoned();
  }

  // abandoned says the same of the rows, which are those of now at a past moment too.
  abandoned(): boolean {
    return this.running() && this.held.value?.interrupted === true;
  }

  // ask looks at who drives the batch: no event tells that a process has died.
  ask = async (): Promise<void> => {
    try {
      this.held.value = await getJSON<Held>(onePath("batch", this.id));
    } catch {
      // The connection says that the server is lost, and this is asked again.
    }
  };

  // shown is the batch as it was at that moment.
  shown(): Batch {
    const seq = this.at.value;
    if (this.following.value || seq >= this.head.seq) return this.head;
    if (!this.past || this.past.seq > seq) this.past = new Batch();
    while (this.past.seq < seq) this.past.apply(this.events[this.past.seq]);
    return this.past;
  }

  // ticking says that times go on counting between the events.
  ticking(): boolean {
    return this.following.value && this.running() && !this.interrupted() && this.state.value === "open";
  }

  // since is how long ago the newest event was written, 0 where time stands still.
  since(): number {
    return this.ticking() ? Math.max(0, Date.now() + this.skew - Date.parse(this.head.summary.updated_at)) : 0;
  }
}
