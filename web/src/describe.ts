// What an event says, in a line; and the groups that the log can be narrowed to.

import type { AgentFinished, Envelope } from "./events";
import { line, money, plural, precise } from "./format";

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
  model_called: "model", history_compacted: "model", tool_started: "tools", tool_call: "tools",
  warning: "trouble", limit_reached: "trouble", error: "trouble", dispatch_refused: "trouble",
};

export function group(env: Envelope): Group {
  return groupOf[env.type] ?? "run";
}

export function describe(env: Envelope): string {
  switch (env.type) {
    case "workflow_started":
      return line(env.data.message);
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
    case "run_resumed":
      return "by " + line(env.data.owner, 60);
    case "tasks_created":
      return plural(env.data.tasks?.length ?? 0, "task") + ": " + line((env.data.tasks ?? []).slice(0, 4).map((t) => t.text).join("; "));
    case "task_updated":
      return `task ${env.data.id} ${env.data.finished ? (env.data.auto_completed ? "auto-completed" : "done") : "changed"}`;
    case "document_updated":
      return `${env.data.section} ${env.data.slot}: ${line(env.data.content, 120)}`;
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
    case "model_called": {
      const d = env.data;
      return `${d.id} ${line(d.model, 40)}, ${d.usage.input_tokens} → ${d.usage.output_tokens} tok, ${precise(d.total_ms)}, ${money(d.cost_usd)}`;
    }
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
      return `${env.data.limit} ${env.data.value}: ${line(env.data.consequence, 120)}`;
  }
}

// tried says how often a model was asked in vain before its agent ended.
function tried(d: AgentFinished): string {
  const attempts = (d.attempts?.length ?? 0) + (d.earlier_attempts ?? 0);
  return attempts ? `, ${plural(attempts, "attempt")} of ${d.model_call_id}` : "";
}
