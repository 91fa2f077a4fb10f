// What the states of runs mean: which are over, and what each is called. Lists need no
// more than this of a run.

import type { RunSummary } from "./events";
import { interrupted, status, type StatusWord } from "./format";

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
export function heldStatus(summary: { status: string }, lost: boolean): StatusWord {
  return summary.status === "running" && lost ? interrupted : status(summary.status);
}
