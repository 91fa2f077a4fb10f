// The state of a thread as a fold over its events: the same that packages thread,
// board and document of the Go sources compute. A test compares the two after
// every event.

import type {
  ArtifactCreated,  AgentFinished, AgentStarted, Envelope, FinalAnswer, LimitReached, ModelCalled, OutageBegan, RunSummary, Spent, Task, Usage, WorkflowFinished, WorkflowStarted,
} from "./events";
import { closing, posted } from "./events";
import { Handoffs } from "./handoff";
import { Inbox } from "./inbox";
import { SharedDocument } from "./document";
import { Layout } from "./layout";
import { over, parked } from "./states";

export interface Dispatch {
  id: string;
  seq: number;
  start: AgentStarted;
  started: string;
  finish?: AgentFinished;
  finished?: string;
  progress: number;
}

export interface Call {
  seq: number;
  time: string;
  agent: string;
  dispatch: string;
  data: ModelCalled;
}

export class Run {
  readonly id: string;
  tasks: Task[] = [];
  auto = new Set<number>();
  // replaced has for a declined task the first that was created in its place.
  replaced = new Map<number, number>();
  document: SharedDocument;
  dispatches: Dispatch[] = [];
  byID = new Map<string, Dispatch>();
  calls = new Map<string, Call>();
  limits: LimitReached[] = [];
  // files came with the run or into being in it.
  files: ArtifactCreated[] = [];
  readonly names = new Map<string, string>();
  summary: RunSummary;
  answer?: FinalAnswer & { seq: number };
  failure?: { message: string; code?: string };
  finished?: WorkflowFinished;
  cancelRequested = false;
  cancelled = false;
  // outage is set while calls wait for an endpoint.
  outage?: OutageBegan;
  // driven is the time that processes drove the run, up to its newest event, in
  // milliseconds. last is the newest event of who drove it, posted that of somebody else.
  driven = 0;
  private last: number;
  private posted = "";

  // before is the run that this one continues, as that one ended.
  constructor(env: Envelope, readonly started: WorkflowStarted, readonly before?: Run) {
    this.id = env.run_id;
    this.last = Date.parse(env.time);
    this.document = before ? before.document.clone() : new SharedDocument(new Layout(started.layout));
    if (before) {
      this.tasks = before.tasks.slice();
      this.auto = new Set(before.auto);
      this.replaced = new Map(before.replaced);
    }
    const models: string[] = [];
    for (const card of started.agents ?? []) {
      this.names.set(card.id, card.display_name || card.id);
      for (const model of card.models ?? []) if (!models.includes(model)) models.push(model);
    }
    this.summary = {
      tenant_id: env.tenant_id, thread_id: env.thread_id, run_id: env.run_id, team: started.team, status: "running",
      started_at: env.time, updated_at: env.time, request: started.message,
      tasks: started.tasks_before ?? 0, finished_tasks: started.finished_before ?? 0,
      usage: { input_tokens: 0, output_tokens: 0 }, cost_usd: 0, model_calls: 0, first_seq: env.seq, last_seq: env.seq,
      models, solo: started.solo, simulated: started.simulated, batch: started.batch,
    };
  }

  // clone gives a run of its own in the same state. What no event changes is shared.
  clone(): Run {
    const copy = Object.assign(Object.create(Run.prototype) as Run, this);
    copy.summary = { ...this.summary };
    copy.tasks = this.tasks.slice();
    copy.auto = new Set(this.auto);
    copy.replaced = new Map(this.replaced);
    copy.document = this.document.clone();
    copy.dispatches = this.dispatches.map((d) => ({ ...d }));
    copy.byID = new Map(copy.dispatches.map((d) => [d.id, d]));
    copy.calls = new Map(this.calls);
    copy.limits = this.limits.slice();
    copy.files = this.files.slice();
    return copy;
  }

  // writer is the run that wrote an entry: this one, or one that it goes back to. Ids of
  // facilitators' model calls are of the run that made them.
  writer(entry: { id: number }): Run {
    return this.before && entry.id <= this.before.document.version ? this.before.writer(entry) : this;
  }

  name(agent: string): string {
    return this.names.get(agent) ?? agent;
  }

  // working is the dispatch that works on a task now.
  working(task: number): Dispatch | undefined {
    return this.dispatches.find((d) => !d.finish && d.start.task_ids?.includes(task));
  }

  // drivenUntil is driven with the time since the last event, while the run is driven.
  drivenUntil(now: number): number {
    return this.summary.status === "running" && !this.outage ? this.driven + Math.max(0, now - this.last) : this.driven;
  }

  // drive counts the time up to an event. What others post says nothing about who drove
  // the run, and nobody drives one that is suspended. An event at just the time of what
  // was posted comes of a clock that was behind that.
  private drive(env: Envelope): void {
    if (posted(env)) {
      this.posted = env.time;
      return;
    }
    const time = Date.parse(env.time);
    if (env.type !== "run_resumed" && !parked(this.summary.status) && env.time !== this.posted && !this.outage) {
      this.driven += Math.max(0, time - this.last);
    }
    this.last = time;
  }

  apply(env: Envelope): void {
    const summary = this.summary;
    if (this.cancelled && !closing(env) && !posted(env)) throw new Error("the run is cancelled");
    this.drive(env);
    summary.last_seq = env.seq;
    summary.updated_at = env.time;
    const lost = lostIn(env);
    if (lost) {
      summary.usage = addUsage(summary.usage, lost.usage);
      summary.cost_usd = addCost(summary.cost_usd, lost.cost_usd);
    }
    const dispatch = env.dispatch_id ? this.byID.get(env.dispatch_id) : undefined;
    switch (env.type) {
      case "tasks_created":
        for (const task of env.data.tasks ?? []) {
          if (task.id !== this.tasks.length + 1) throw new Error(`task ${task.id} where task ${this.tasks.length + 1} is next`);
          this.tasks.push(task);
          summary.tasks++;
          for (const id of task.replaces ?? []) {
            if (!this.replaced.has(id)) summary.tasks--;
            this.replaced.set(id, this.replaced.get(id) ?? task.id);
          }
        }
        break;
      case "task_updated": {
        const { auto_completed, ...task } = env.data;
        const old = this.tasks[task.id - 1];
        if (!old || old.finished) throw new Error(`task ${task.id} cannot be updated`);
        this.tasks[task.id - 1] = task;
        if (auto_completed) this.auto.add(task.id);
        else if (dispatch && task.finished) dispatch.progress++;
        if (task.finished) summary.finished_tasks++;
        break;
      }
      case "document_updated":
        this.document.apply(env.seq, env.time, env.data);
        if (dispatch) dispatch.progress++;
        break;
      case "agent_started": {
        const opened: Dispatch = { id: env.dispatch_id!, seq: env.seq, start: env.data, started: env.time, progress: 0 };
        this.dispatches.push(opened);
        this.byID.set(opened.id, opened);
        break;
      }
      case "agent_finished":
        if (!dispatch || dispatch.finish) throw new Error(`dispatch ${env.dispatch_id} is not under way`);
        dispatch.finish = env.data;
        dispatch.finished = env.time;
        break;
      case "model_called":
        summary.model_calls++;
        summary.usage = addUsage(summary.usage, env.data.usage);
        summary.cost_usd = addCost(summary.cost_usd, env.data.cost_usd);
        this.calls.set(env.data.id, { seq: env.seq, time: env.time, agent: env.agent ?? "", dispatch: env.dispatch_id ?? "", data: env.data });
        break;
      case "artifact_created":
        this.files.push(env.data);
        break;
      case "limit_reached":
        this.limits.push(env.data);
        break;
      case "final_answer":
        this.answer = { ...env.data, seq: env.seq };
        break;
      case "error":
        this.failure = env.data;
        break;
      case "cancel_requested":
        this.cancelRequested = true;
        break;
      case "run_cancelled":
        this.cancelled = true;
        this.outage = undefined;
        break;
      case "outage_began":
        this.outage = env.data;
        summary.reason = "waits for " + env.data.message;
        break;
      case "outage_ended":
        this.outage = undefined;
        summary.reason = undefined;
        break;
      case "run_suspended":
        this.outage = undefined;
        summary.status = env.data.awaiting_input ? "awaiting_input" : "suspended";
        summary.reason = env.data.reason;
        summary.limit = env.data.limit;
        break;
      case "run_resumed":
        this.outage = undefined;
        summary.status = "running";
        summary.reason = undefined;
        summary.limit = undefined;
        break;
      case "workflow_finished":
        summary.status = env.data.status;
        summary.reason = env.data.reason;
        summary.limit = env.data.limit;
        this.finished = env.data;
        break;
    }
  }
}

export class Thread {
  seq = 0;
  time = "";
  readonly runs: Run[] = [];
  handoffs = new Handoffs();
  inbox = new Inbox();

  // clone gives a thread of its own in the same state. Runs before the last change no more.
  clone(): Thread {
    const copy = new Thread();
    copy.seq = this.seq;
    copy.time = this.time;
    copy.handoffs = this.handoffs.clone();
    copy.inbox = this.inbox.clone();
    this.runs.forEach((run, i) => copy.runs.push(i < this.runs.length - 1 ? run : run.clone()));
    return copy;
  }

  get current(): Run | undefined {
    return this.runs[this.runs.length - 1];
  }

  run(id: string): Run | undefined {
    return this.runs.find((run) => run.id === id);
  }

  apply(env: Envelope): void {
    if (env.seq !== this.seq + 1) throw new Error(`event ${env.seq} after event ${this.seq}`);
    if (env.type === "workflow_started") {
      const before = env.data.continues ? this.run(env.data.continues) : undefined;
      if (env.data.continues && (!before || !over(before.summary.status))) throw new Error(`no run ${env.data.continues} to continue`);
      this.runs.push(new Run(env, env.data, before));
      if (env.data.message_id) this.inbox.dequeue(env.data.message_id);
    } else {
      const run = this.current;
      const under = run?.id === env.run_id && !over(run.summary.status);
      const deaf = under && run.cancelled; // it hears nothing more
      if (env.type === "user_message" && !env.data.synthetic && (!env.run_id || deaf)) this.inbox.enqueue(env, this.handoffs.person?.id);
      if (under) {
        run.apply(env);
        if (!run.cancelled) this.handoffs.apply(env);
        if (!deaf) this.inbox.apply(env);
      }
      else if (!posted(env)) throw new Error(`no run ${env.run_id} under way`); // what was posted came too late
    }
    this.seq = env.seq;
    this.time = env.time;
  }
}

// lostIn gives what failed attempts used of the model call that an event closes.
function lostIn(env: Envelope): Spent | undefined {
  switch (env.type) {
    case "model_called":
    case "model_call_failed":
    case "agent_finished":
    case "error":
      return env.data.lost;
  }
}

function addCost(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}

function addUsage(a: Usage, b: Usage): Usage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    cached_input_tokens: (a.cached_input_tokens ?? 0) + (b.cached_input_tokens ?? 0),
    cache_write_input_tokens: (a.cache_write_input_tokens ?? 0) + (b.cache_write_input_tokens ?? 0),
    cache_write_1h_input_tokens: (a.cache_write_1h_input_tokens ?? 0) + (b.cache_write_1h_input_tokens ?? 0),
    output_tokens: a.output_tokens + b.output_tokens,
    reasoning_tokens: (a.reasoning_tokens ?? 0) + (b.reasoning_tokens ?? 0),
    web_searches: (a.web_searches ?? 0) + (b.web_searches ?? 0),
    estimated: a.estimated || b.estimated,
  };
}
