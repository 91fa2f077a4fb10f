// What placeholders such as [EMAIL_1] stand for, shown in their place to readers who may know
// and who ask for it.

import { signal } from "@preact/signals";
import { getJSON, Problem } from "./api";
import type { ReplacedValue } from "./events";

// values are those that are shown; null while placeholders are.
export const values = signal<ReadonlyMap<string, string> | null>(null);

// refusal says why they cannot be shown.
export const refusal = signal("");

// shape is that of every placeholder.
const shape = /\[[A-Z][A-Z0-9_]{0,30}_[1-9][0-9]{0,8}\]/g;

// restored puts the values into a text, where they are shown.
export function restored(text: string): string {
  const known = values.value;
  return known && text.includes("[") ? text.replace(shape, (name) => known.get(name) || name) : text;
}

// asked counts what was asked for: an answer that somebody waits for no more is dropped.
let asked = 0;

export function hideValues(): void {
  asked++;
  values.value = null;
  refusal.value = "";
}

// showValues asks the server for those of a thread.
export async function showValues(thread: string): Promise<void> {
  const mine = ++asked;
  try {
    const found = await getJSON<{ values: ReplacedValue[] }>(`/api/v1/threads/${encodeURIComponent(thread)}/values`);
    if (mine !== asked) return;
    values.value = new Map(found.values.map((v) => [v.placeholder, v.original]));
    refusal.value = "";
  } catch (err) {
    if (mine !== asked) return;
    hideValues();
    refusal.value = err instanceof Problem ? err.message : "The server does not answer.";
  }
}
