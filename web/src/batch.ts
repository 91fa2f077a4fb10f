// The state of a batch as a fold over the events of its thread: the summary that
// package events of the Go sources keeps, compared by a test after every event, and
// what the page shows besides.

import type { BatchEnded, BatchProgress, BatchRowRejected, BatchStarted, BatchSummary, Envelope } from "./events";

// Call is one call of the batch: a process that took it up.
export interface Call {
  seq: number;
  time: string;
  data: BatchStarted;
  // begun is how long earlier calls drove the batch, in milliseconds.
  begun: number;
}

// Sample is where the batch stood at a moment.
export interface Sample {
  seq: number;
  // at is how long the batch had been driven, all calls together, in milliseconds.
  at: number;
  // call counts the calls from 0.
  call: number;
  completed: number;
  degraded: number;
  failed: number;
  tokens: number;
  cost: number | null;
}

export interface Rejected extends BatchRowRejected {
  seq: number;
}

type Figures = Omit<BatchProgress, "stopping">;

function figures(d: BatchProgress | BatchEnded): Figures {
  return {
    done: d.done, completed: d.completed, degraded: d.degraded, failed: d.failed, running: d.running, tokens: d.tokens, cost_usd: d.cost_usd,
    uncached_input_share: d.uncached_input_share, elapsed_ms: d.elapsed_ms, rows_per_second: d.rows_per_second, left_ms: d.left_ms, projected_cost_usd: d.projected_cost_usd,
    causes: d.causes, slowest: d.slowest, limiters: d.limiters, outages: d.outages, held: d.held,
  };
}

// zeroTime is that of Go.
const zeroTime = "0001-01-01T00:00:00Z";

export class Batch {
  seq = 0;
  summary: BatchSummary = {
    tenant_id: "", batch_id: "", team: "", rows: 0, status: "", started_at: zeroTime, updated_at: zeroTime, done: 0, completed: 0, degraded: 0, failed: 0,
    running: 0, tokens: 0, cost_usd: null, elapsed_ms: 0, rows_per_second: 0, last_seq: 0,
  };
  calls: Call[] = [];
  samples: Sample[] = [];
  rejected: Rejected[] = [];
  ended?: BatchEnded;

  // call is the newest call.
  get call(): Call | undefined {
    return this.calls[this.calls.length - 1];
  }

  apply(env: Envelope): void {
    if (env.seq !== this.seq + 1) throw new Error(`event ${env.seq} after event ${this.seq}`);
    this.seq = env.seq;
    // What stands before the first call, or belongs to a run, is none of the batch's.
    if (env.run_id !== "" || (this.calls.length === 0 && env.type !== "batch_started")) return;
    switch (env.type) {
      case "batch_started":
        this.start(env, env.seq, env.data);
        break;
      case "batch_progress":
        Object.assign(this.summary, figures(env.data), { reason: env.data.stopping });
        this.sample(env.seq, env.data.elapsed_ms);
        break;
      case "batch_row_rejected":
        this.rejected.push({ seq: env.seq, ...env.data });
        break;
      case "batch_ended":
        this.ended = env.data;
        Object.assign(this.summary, figures(env.data), { status: env.data.status, reason: env.data.reason });
        this.sample(env.seq, env.data.elapsed_ms);
        break;
    }
    this.summary.last_seq = env.seq;
    this.summary.updated_at = env.time;
  }

  private start(env: { tenant_id: string; thread_id: string; time: string }, seq: number, data: BatchStarted): void {
    const s = this.summary;
    if (this.calls.length === 0) {
      Object.assign(s, { tenant_id: env.tenant_id, batch_id: env.thread_id, started_at: env.time, cost_usd: 0 });
    }
    Object.assign(s, {
      input: data.input, output: data.output, command: data.command, folder: data.folder, team: data.team, models: data.models ?? undefined, solo: data.solo, simulated: data.simulated,
      rows: data.rows, status: "running", reason: undefined,
      // What is of the call before, and not of the whole batch.
      running: 0, elapsed_ms: 0, rows_per_second: 0, left_ms: undefined, slowest: undefined, limiters: undefined, outages: undefined, held: undefined,
    });
    this.ended = undefined;
    const begun = this.samples[this.samples.length - 1]?.at ?? 0;
    this.calls.push({ seq, time: env.time, data, begun });
    this.sample(seq, 0);
  }

  private sample(seq: number, elapsed: number): void {
    const s = this.summary;
    const before = this.samples[this.samples.length - 1]?.at ?? 0;
    this.samples.push({
      seq, at: Math.max(before, (this.call?.begun ?? 0) + elapsed), call: Math.max(0, this.calls.length - 1),
      completed: s.completed, degraded: s.degraded, failed: s.failed, tokens: s.tokens, cost: s.cost_usd,
    });
  }
}
