// What a batch did over the time that it was driven, by intervals.

import type { Sample } from "./batch";

export interface Interval {
  // from and to are in milliseconds of the time that the batch was driven.
  from: number;
  to: number;
  // rows that ended in the interval, by how. Before a sample they are taken to have
  // ended evenly, so these are no whole numbers.
  completed: number;
  degraded: number;
  failed: number;
  tokens: number;
  // cost is what had been spent by the end of the interval, null where that is unknown.
  cost: number | null;
}

export interface Chart {
  widthMs: number;
  intervals: Interval[];
  // slots is how many intervals there is room for: more than there are while the batch
  // goes on, so that not every new one moves all others.
  slots: number;
}

// sampleMs is how often a batch says where it stands while anything changes: what a
// sample tells happened so shortly before it.
const sampleMs = 2000;

const widths = [2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400].map((s) => s * 1000);

// intervals are as narrow as they can be with at most so many of them; going leaves
// room for what comes.
export function intervals(samples: Sample[], most: number, going: boolean): Chart {
  const end = samples[samples.length - 1]?.at ?? 0;
  let widthMs = widths.find((w) => end / w <= most) ?? 0;
  if (widthMs === 0) widthMs = Math.ceil(end / most / 86_400_000) * 86_400_000;
  const list: Interval[] = [];
  for (let from = 0; from < end || from === 0; from += widthMs) {
    list.push({ from, to: from + widthMs, completed: 0, degraded: 0, failed: 0, tokens: 0, cost: null });
  }
  const last = list.length - 1;
  const place = (at: number) => Math.min(last, Math.floor(at / widthMs));
  for (let i = 0; i < samples.length; i++) {
    const b = samples[i];
    const a = samples[i - 1] ?? { ...b, completed: 0, degraded: 0, failed: 0, tokens: 0 };
    const since = Math.max(a.at, b.at - sampleMs);
    for (let at = place(a.at); at < place(since); at++) list[at].cost = a.cost;
    for (let at = place(since); at <= place(b.at); at++) {
      const part = b.at > since ? (Math.min(b.at, list[at].to) - Math.max(since, list[at].from)) / (b.at - since) : at === place(b.at) ? 1 : 0;
      // A retry takes failed rows back: what was counted then is not counted off now.
      list[at].completed += part * Math.max(0, b.completed - a.completed);
      list[at].degraded += part * Math.max(0, b.degraded - a.degraded);
      list[at].failed += part * Math.max(0, b.failed - a.failed);
      list[at].tokens += part * Math.max(0, b.tokens - a.tokens);
      list[at].cost = b.cost;
    }
  }
  const room = [most / 6, most / 3, most / 1.5].map(Math.ceil).find((n) => n > list.length) ?? most;
  return { widthMs, intervals: list, slots: going ? room : list.length };
}

// rowsOf are all rows that ended in an interval.
export function rowsOf(i: Interval): number {
  return i.completed + i.degraded + i.failed;
}
