// Where the server tells of what an address stands for.

import type { Place } from "./place";

// pageSize is how many items a list begins with.
export const pageSize = 50;

const listOf: Record<Place, string> = { runs: "runs", run: "runs", threads: "threads", thread: "threads", batches: "batches", batch: "batches", compare: "runs" };

// onePath is where the server tells of one run, thread or batch.
export function onePath(place: Place, id: string): string {
  return `/api/v1/${listOf[place]}/${encodeURIComponent(id)}`;
}

// eventsPath is where the server tells of the events of a run's thread, as many as it gives at once.
export function eventsPath(run: string): string {
  return onePath("run", run) + "/events?limit=1000";
}

// serverPath is where the server tells of itself.
export const serverPath = "/api/v1/server";

// listPath is where the server lists them, as an address narrows the list.
export function listPath(name: string, params: Map<string, string>, before: string, limit: number): string {
  const q = narrowing(name, params);
  q.set("limit", String(limit));
  if (before) q.set(name === "threads" ? "cursor" : "before", before);
  return `/api/v1/${name}?${q.toString()}`;
}

// totalsPath is where the server tells what all the runs come to that the list has; rows of
// batches are among them where batches are lines of the list.
export function totalsPath(params: Map<string, string>, batches: boolean): string {
  const q = narrowing("runs", params);
  if (batches) q.delete("own");
  return "/api/v1/runs/totals?" + q.toString();
}

function narrowing(name: string, params: Map<string, string>): URLSearchParams {
  const q = new URLSearchParams();
  if (params.get("q")) q.set("search", params.get("q")!);
  if (params.get("status")) q.set("status", params.get("status")!);
  if (name === "runs") {
    for (const narrow of ["team", "model", "min_cost"]) if (params.get(narrow)) q.set(narrow, params.get(narrow)!);
    if (!params.get("rows")) q.set("own", "true");
    const hours = parseInt(params.get("hours") ?? "", 10);
    if (hours > 0) q.set("since", new Date(Math.floor(Date.now() / 60_000 - hours * 60) * 60_000).toISOString());
  }
  if (name === "threads" && params.get("waiting")) q.set("waiting", params.get("waiting")!);
  return q;
}
