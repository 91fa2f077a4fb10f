// What an event says, in a line; and the groups that the log can be narrowed to.

import type { Envelope, ModelCallFailed, ModelCalled, Spent } from "./events";
import { duration, line, money, plural, precise } from "./format";

export type Group = "run" | "plan" | "document" | "agents" | "model" | "tools" | "trouble";

export const groups: { id: Group; label: string }[] = [
  { id: "run", label: "run" },
  { id: "plan", label: "plan" },
  { id: "document", label: "document" },
  { id: "agents", label: "agents" },
  { id: "model", label: "model calls" },
  { id: "tools", label: "tools" },
  { id: "trouble", label: "trouble" },
];

const groupOf: Record<string, Group> = {
  tasks_created: "plan", task_updated: "plan", document_updated: "document",
  agent_started: "agents", agent_message: "agents", agent_finished: "agents", facilitator_message: "agents", user_message: "agents",
  message_routed: "agents", handoff_requested: "agents", handoff_accepted: "agents", handoff_rejected: "trouble", handoff_exit_requested: "agents",
  handoff_returned: "agents", workflow_state_changed: "agents", handoff_resumed: "agents", input_requested: "agents", phase_changed: "agents",
  values_replaced: "agents", evidence_refused: "trouble", transition_rolled_back: "trouble", permission_denied: "trouble",
  model_called: "model", model_call_failed: "trouble", history_compacted: "model", tool_started: "tools", tool_call: "tools", artifact_created: "tools",
  warning: "trouble", limit_reached: "trouble", error: "trouble", dispatch_refused: "trouble", outage_began: "trouble", outage_ended: "trouble",
};

// flags are the bounds that the command line sets, by the flag that people give.
const flags: Record<string, string> = {
  max_tasks: "--max-tasks", max_tokens: "--max-tokens", max_cost_usd: "--max-cost", max_time: "--timeout",
  shared_max_tokens: "--max-tokens", shared_max_cost_usd: "--max-cost",
};

export function group(env: Envelope): Group {
  return groupOf[env.type] ?? "run";
}

// named are the kinds whose names say less than other words do.
const named: Record<string, string> = {
  workflow_started: "run started", workflow_finished: "run ended", final_answer: "answer", model_called: "model call", model_call_failed: "model call failed",
  tool_call: "tool result", tasks_created: "tasks planned", task_updated: "task", document_updated: "text written", agent_started: "specialist began",
  agent_finished: "specialist ended", agent_message: "specialist says", facilitator_message: "facilitator says", user_message: "user says",
  dispatch_refused: "refused", artifact_created: "file kept", evidence_refused: "text refused", values_replaced: "placeholders set", history_compacted: "history summarised",
};

// kindWords is what an event is called.
export function kindWords(env: Envelope): string {
  return named[env.type] ?? env.type.replace(/_/g, " ");
}

export function describe(env: Envelope): string {
  switch (env.type) {
    case "workflow_started":
      return (env.data.continues ? `continues ${env.data.continues.slice(-8)}: ` : "") + line(env.data.message);
    case "workflow_finished":
      return [env.data.status, env.data.reason].filter(Boolean).join(": ");
    case "final_answer":
      return line(env.data.content);
    case "error":
    case "warning":
      return line(env.data.message);
    case "cancel_requested":
    case "run_cancelled":
    case "run_suspended":
      return line(env.data.reason ?? "");
    case "outage_began":
      return "waiting for " + line(env.data.message) + (env.data.max_wait_ms ? `, at most ${duration(env.data.max_wait_ms)}` : "");
    case "artifact_created":
      return [env.data.name, env.data.media_type, env.data.pages ? plural(env.data.pages, "page") : "", env.data.note ?? ""].filter(Boolean).map(line).join(", ");
    case "outage_ended":
      return "waited " + duration(env.data.waited_ms);
    case "run_resumed":
      return "by " + line(env.data.owner, 60);
    case "tasks_created":
      return plural(env.data.tasks?.length ?? 0, "task") + ": " + line((env.data.tasks ?? []).slice(0, 4).map((t) => t.text).join("; "));
    case "task_updated":
      if (env.data.declined) return `task ${env.data.id} declined: ${line(env.data.declined, 120)}`;
      return `task ${env.data.id} ${env.data.finished ? (env.data.auto_completed ? "auto-completed" : "done") : "changed"}`;
    case "document_updated":
      return `${env.data.section} ${env.data.slot}: ${line(env.data.content, 120)}`;
    case "values_replaced":
      return (env.data.values ?? []).map((value) => value.placeholder).join(", ");
    case "audited":
      return [env.data.action.replace(/_/g, " "), line(env.data.what ?? "", 120)].filter(Boolean).join(": ");
    case "evidence_refused":
      return `${env.data.section} ${env.data.slot}: ` + (env.data.reason === "missing" ? "it names no source" : (env.data.sources ?? []).filter((s) => !s.found).map((s) => `“${line(s.quote, 80)}” is not in its source`).join(", "));
    case "agent_started":
      return `${plural(env.data.task_ids?.length ?? 0, "task")} ${(env.data.task_ids ?? []).join(", ")}: ${line(env.data.message, 120)}`;
    case "agent_finished":
      return `${env.data.status} after ${precise(env.data.elapsed_ms)}` + tried(env.data) + (env.data.error ? ": " + line(env.data.error, 100) : "");
    case "agent_message":
    case "facilitator_message":
    case "user_message":
      return line(env.data.content);
    case "dispatch_refused":
      return line(env.data.result);
    case "message_routed":
      return `${line(env.data.agent, 60)} answers (${env.data.tier}${env.data.rule ? ": " + line(env.data.rule, 60) : ""})`;
    case "handoff_requested":
      return `${env.data.handoff_id} to ${line(env.data.target_agent_id, 60)}: ${line(env.data.context_summary, 120)}`;
    case "handoff_accepted":
      return env.data.handoff_id;
    case "handoff_rejected":
      return `${env.data.handoff_id} ${env.data.code}: ${line(env.data.rejection_reason, 120)}`;
    case "handoff_exit_requested":
      return `${env.data.handoff_id} by ${line(env.data.by, 60)}`;
    case "handoff_resumed":
      return `${env.data.handoff_id} by ${line(env.data.by, 60)}`;
    case "input_requested":
      return `${env.data.input_id}: ${line(env.data.question, 120)}`;
    case "phase_changed":
      return `${line(env.data.from_phase ?? "", 40)} → ${line(env.data.to_phase, 40)}: ${line(env.data.reason, 120)}`;
    case "transition_rolled_back":
      return `to event ${env.data.to_seq}: ${line(env.data.reason, 120)}`;
    case "permission_denied":
      return `${line(env.data.permission, 60)}: ${line(env.data.what, 120)}`;
    case "handoff_returned":
      return `${env.data.handoff_id} ${env.data.completion_status}: ${line(env.data.result_summary, 120)}`;
    case "workflow_state_changed":
      return `step ${env.data.step} of ${env.data.steps}: ${line(env.data.to, 60)}`;
    case "model_called": {
      const d = env.data;
      return `${callName(d)} ${line(d.model, 40)}, ${d.usage.input_tokens} → ${d.usage.output_tokens} tok, ${precise(d.total_ms)}, ${money(d.cost_usd)}` + lost(d.lost);
    }
    case "model_call_failed":
      return `${env.data.model_call_id} got no reply` + tried(env.data) + lost(env.data.lost);
    case "tool_started":
    case "tool_call":
      return env.data.tool + " " + line(env.type === "tool_call" ? env.data.result : env.data.arguments, 120);
    case "history_compacted":
      return line(env.data.summary);
    case "batch_started":
      return [env.data.input, plural(env.data.rows, "row")].filter(Boolean).map((s) => line(s!)).join(": ");
    case "batch_progress":
      return [plural(env.data.done, "row") + " done", line(env.data.stopping ?? "")].filter(Boolean).join(": ");
    case "batch_row_rejected":
      return `row ${line(env.data.row_id, 60)}: ${line(env.data.message, 120)}`;
    case "batch_ended":
      return [env.data.status, line(env.data.reason ?? "")].filter(Boolean).join(": ");
    case "limit_reached":
      return `${flags[env.data.limit] ?? env.data.limit} ${env.data.value}: ${line(env.data.consequence, 120)}`;
  }
}

// callName is the id of a model call, and what it was for where it was no turn.
export function callName(d: ModelCalled): string {
  switch (d.purpose) {
    case "rest":
      return `${d.id} (the rest of ${d.id.replace(/r$/, "")}${d.interrupted ? ", which did not come" : ""})`;
    case "compact":
      return d.id + " (a summary)";
  }
  return d.id;
}

// tried says how often a model was asked in vain before its agent ended.
function tried(d: ModelCallFailed): string {
  const attempts = (d.attempts?.length ?? 0) + (d.earlier_attempts ?? 0);
  return attempts ? `, ${plural(attempts, "attempt")} of ${d.model_call_id}` : "";
}

// lost says what failed attempts used.
function lost(d: Spent | undefined): string {
  return d ? `; failed attempts ${d.usage.input_tokens} → ${d.usage.output_tokens} tok, ${money(d.cost_usd)}` : "";
}
