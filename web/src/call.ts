// A model call as people read it: what was sent for it, as far as the log tells, what the
// model was allowed to do, and what came back.

import type { Envelope, ModelCalled, Reply, ToolCallDone } from "./events";
import type { Run } from "./fold";
import { type Offered, offeredTo } from "./offered";

// Message is a part of the conversation that was sent.
export interface Message {
  role: "asked" | "user" | "model" | "tool" | "summary";
  // of is the call that wrote it, or the tool.
  of: string;
  text: string;
  reply?: Reply;
  failed?: boolean;
}

// Sent is the conversation of an agent before a call: first what its earlier call had
// been sent too, then what is new.
export interface Sent extends Offered {
  repeated: Message[];
  // earlier is the call that had been sent the repeated part.
  earlier: string;
  fresh: Message[];
}

// sentFor reads from the log what was sent for a call.
export function sentFor(events: readonly Envelope[], run: Run, seq: number): Sent {
  const env = events[seq - 1];
  const dispatch = env?.dispatch_id ?? "";
  const sent: Sent = { ...offeredTo(run, env?.agent ?? "", dispatch), repeated: [], earlier: "", fresh: [] };
  if (env?.type === "model_called" && env.data.purpose === "compact") sent.tools = [];
  sent.fresh.push({ role: "asked", of: "", text: run.byID.get(dispatch)?.start.message ?? run.started.prompt ?? run.started.message });
  for (let i = run.summary.first_seq; i < seq - 1; i++) {
    const before = events[i];
    if (before.run_id === run.id && (before.dispatch_id ?? "") === dispatch) take(sent, before);
  }
  return sent;
}

function take(sent: Sent, env: Envelope): void {
  switch (env.type) {
    case "model_called":
      if (env.data.purpose === "compact") return;
      sent.repeated.push(...sent.fresh);
      sent.earlier = env.data.id;
      sent.fresh = [{ role: "model", of: env.data.id, text: env.data.reply.text ?? "", reply: env.data.reply }];
      return;
    case "tool_call":
      sent.fresh.push(result(env.data));
      return;
    case "user_message":
      sent.fresh.push({ role: "user", of: env.data.user_id ?? "", text: env.data.content });
      return;
    case "history_compacted":
      if (env.data.covered_bytes) return; // a stretch of one result
      sent.repeated = [];
      sent.fresh = [{ role: "summary", of: env.data.through_turn, text: env.data.summary }];
  }
}

function result(d: ToolCallDone): Message {
  return { role: "tool", of: d.tool, text: d.result, failed: d.failed };
}

// argumentsOf gives the arguments of a tool call by name; as they stand where they are no
// object.
export function argumentsOf(text: string): [string, string][] {
  try {
    const value: unknown = JSON.parse(text);
    if (value && typeof value === "object" && !Array.isArray(value)) return Object.entries(value).map(([name, v]) => [name, typeof v === "string" ? v : JSON.stringify(v, null, 1)]);
  } catch {
    // A reply may have been cut.
  }
  return text === "" ? [] : [["", text]];
}

// Cost is what an agent has used.
export interface Cost {
  agent: string;
  calls: number;
  input: number;
  output: number;
  // usd is null where the price of a call is not known.
  usd: number | null;
}

// costs are those of each agent, in the order of the team. What failed attempts cost is in
// the run's total alone.
export function costs(run: Run): Cost[] {
  const all = new Map<string, Cost>();
  for (const card of run.started.agents ?? []) all.set(card.id, { agent: card.id, calls: 0, input: 0, output: 0, usd: 0 });
  for (const { agent, data } of run.calls.values()) {
    const cost = all.get(agent) ?? { agent, calls: 0, input: 0, output: 0, usd: 0 };
    all.set(agent, cost);
    add(cost, data);
  }
  return [...all.values()].filter((cost) => cost.calls > 0);
}

function add(cost: Cost, d: ModelCalled): void {
  cost.calls++;
  cost.input += d.usage.input_tokens;
  cost.output += d.usage.output_tokens;
  cost.usd = cost.usd === null || d.cost_usd === null ? null : cost.usd + d.cost_usd;
}
