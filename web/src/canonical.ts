// The part of the state that the Go folds have too, in the form that both can
// write: the same JSON for the same state.

import { Batch } from "./batch";
import { cited } from "./cited";
import type { Envelope } from "./events";
import { Thread, type Run } from "./fold";
import type { Handoffs } from "./handoff";
import type { Inbox } from "./inbox";
import { lanesOf } from "./lanes";
import { offeredTo } from "./offered";
import { Talk } from "./talk";

function runState(run: Run): unknown {
  const s = run.summary;
  const document = run.document;
  return {
    run_id: run.id, team: s.team, status: s.status, reason: s.reason ?? "", limit: s.limit ?? "",
    started_at: s.started_at, updated_at: s.updated_at, first_seq: s.first_seq, last_seq: s.last_seq,
    forked_from: run.started.forked_from ?? null, models: s.models ?? [], tasks: s.tasks, finished_tasks: s.finished_tasks, model_calls: s.model_calls,
    cost_usd: s.cost_usd,
    input_tokens: s.usage.input_tokens, cached_input_tokens: s.usage.cached_input_tokens ?? 0,
    cache_write_input_tokens: s.usage.cache_write_input_tokens ?? 0, cache_write_1h_input_tokens: s.usage.cache_write_1h_input_tokens ?? 0,
    output_tokens: s.usage.output_tokens, reasoning_tokens: s.usage.reasoning_tokens ?? 0,
    board: run.tasks.map((task) => ({
      id: task.id, text: task.text, assigned_to: task.assigned_to, finished: task.finished, auto: run.auto.has(task.id), declined: task.declined ?? "",
      replaced_by: run.replaced.get(task.id) ?? 0,
    })),
    document: document.clean(), cited: cited(document),
    places: document.places().map((place) => ({
      section: place.section, slot: place.slot, live: document.live(place).map((entry) => entry.id),
    })),
    entries: document.entries.map((entry) => ({
      id: entry.id, section: entry.section, slot: entry.slot, agent: entry.author, replaced_by: entry.replacedBy,
      trace: document.trace(entry.id).map((t) => [t.start, t.end, ...t.entries]),
      footnotes: document.footnotes(entry.id).map((note) => `${note.entry} ${note.end} ${note.cited.found} ${note.cited.quote}`),
      unsupported: document.unsupported(entry.id),
    })),
    dispatches: run.dispatches.map((d) => ({
      id: d.id, agent: d.start.agent, tasks: d.start.task_ids ?? [], outcome: d.finish?.status ?? "", progress: d.progress, started: d.started,
    })),
    answer: run.answer?.content ?? "", failure: run.failure?.message ?? "",
    limits: run.limits.map((l) => l.limit), driven_ms: run.driven, cancel_requested: run.cancelRequested, cancelled: run.cancelled, outage: run.outage?.code ?? "",
  };
}

function handoffState(handoffs: Handoffs): unknown {
  return {
    active: handoffs.active?.id ?? "", person: handoffs.person?.id ?? "", routed: handoffs.routed ?? null, progress: handoffs.progress,
    sessions: handoffs.sessions.map((s) => ({
      id: s.id, target: s.request.target_agent_id, status: s.status, started: s.started, ended: s.ended, result: s.result, artifacts: s.artifacts,
      state: s.state, step: s.step, steps: s.steps, metadata: s.metadata,
    })),
  };
}

function inboxState(inbox: Inbox): unknown {
  return {
    queue: inbox.queue.map((q) => ({ id: q.message.message_id, content: q.message.content, time: q.time })),
    inputs: inbox.inputs.map((i) => ({
      id: i.asked.input_id, run_id: i.run, agent: i.agent, kind: i.asked.kind, question: i.asked.question, choices: i.asked.choices ?? [],
      answer: i.answer?.content ?? null, settled: i.settled,
    })),
  };
}

function messagesOf(talk: Talk): unknown {
  return talk.messages.map((m) => ({
    seq: m.seq, run: m.run, id: m.id, role: m.role, agent: m.agent, user: m.user, content: m.content, time: m.time, interim: m.interim, delivery: m.delivery, input: m.input,
  }));
}

// states folds a log, a line for each event, and gives the state after each.
export function states(log: string): string[] {
  const thread = new Thread();
  const talk = new Talk();
  const fold = {
    apply(env: Envelope) {
      thread.apply(env);
      talk.apply(env, thread);
    },
  };
  return after(log, fold, () => stable({ seq: thread.seq, runs: thread.runs.map(runState), handoffs: handoffState(thread.handoffs), inbox: inboxState(thread.inbox), messages: messagesOf(talk) }));
}

// batchStates does so for the log of a batch: its summary, with nothing left out that
// is zero.
export function batchStates(log: string): string[] {
  const batch = new Batch();
  return after(log, batch, () => stable(batchState(batch)));
}

function after(log: string, fold: { apply(env: Envelope): void }, state: () => string): string[] {
  return log.split("\n").filter(Boolean).map((line) => {
    fold.apply(JSON.parse(line) as Envelope);
    return state();
  });
}

function batchState(batch: Batch): unknown {
  const s = batch.summary;
  return {
    ...s, input: s.input ?? "", output: s.output ?? "", command: s.command ?? "", folder: s.folder ?? "", models: s.models ?? [], solo: s.solo ?? false, simulated: s.simulated ?? false, reason: s.reason ?? "",
    left_ms: s.left_ms ?? 0, projected_cost_usd: s.projected_cost_usd ?? 0, uncached_input_share: s.uncached_input_share ?? 0, causes: s.causes ?? [], slowest: s.slowest ?? [], limiters: s.limiters ?? [], outages: s.outages ?? [], held: s.held ?? 0,
  };
}

// stable writes JSON with the members of objects sorted by name.
function stable(value: unknown): string {
  if (Array.isArray(value)) return "[" + value.map(stable).join(",") + "]";
  if (value !== null && typeof value === "object") {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return "{" + members.map(([name, member]) => JSON.stringify(name) + ":" + stable(member)).join(",") + "}";
  }
  return JSON.stringify(value);
}

// offers tells of each model call of a log what was sent beside the conversation.
export function offers(log: string): string[] {
  const thread = new Thread();
  return log.split("\n").filter(Boolean).flatMap((line) => {
    const env = JSON.parse(line) as Envelope;
    thread.apply(env);
    return env.type === "model_called" ? [stable(offeredTo(thread.run(env.run_id)!, env.agent ?? "", env.dispatch_id ?? ""))] : [];
  });
}

// lanes gives the timeline of a log, for tests.
export function lanes(log: string): string {
  return JSON.stringify(lanesOf(log));
}
