// What the states of runs mean: which are over, and what each is called. Lists need no
// more than this of a run.

import type { Damage, RunSummary } from "./events";
import { damaged, interrupted, status, type StatusWord } from "./format";

// HeldRun is a run as the API gives it.
export interface HeldRun extends RunSummary {
  held_by?: string;
  // interrupted is set where the run runs by its log, but its process is gone.
  interrupted?: boolean;
}

// parked reports whether nobody drives a run that is not over.
export function parked(status: string): boolean {
  return status === "suspended" || status === "awaiting_input";
}

export function over(status: string): boolean {
  return status === "completed" || status === "degraded" || status === "failed" || status === "cancelled";
}

// heldStatus is that of a run or a batch; lost says that nobody drives it any more.
export function heldStatus(summary: { status: string; damaged?: Damage }, lost: boolean): StatusWord {
  if (summary.damaged) return damaged;
  return summary.status === "running" && lost ? interrupted : status(summary.status);
}

// damage says what cannot be read of a run or a batch, and what to do about it.
export function damage(of: Damage): string {
  if (of.seq === 0) return `It cannot be read: ${of.problem}; convene store check tells more.`;
  if ((of.through_seq ?? 0) > of.seq) {
    return `Events ${of.seq} to ${of.through_seq} of its log are damaged: ${of.problem}. What is shown is as of the one before them; convene store check tells more.`;
  }
  return `Event ${of.seq} of its log is damaged: ${of.problem}. What is shown is as of the one before; convene store check tells more.`;
}

// lostRequest stands for the request of a run of which the first event cannot be read.
export const lostRequest = "Its request cannot be read";

// drivenFor is how long processes have driven a run, up to now while one does. Summaries of
// earlier versions do not tell of runs under way: of those it is the time since the start.
export function drivenFor(run: HeldRun, going: boolean): number {
  if (!run.driven_to) return run.driven_ms ?? Date.parse(run.updated_at) - Date.parse(run.started_at);
  return (run.driven_ms ?? 0) + (going ? Math.max(0, Date.now() - Date.parse(run.driven_to)) : 0);
}
