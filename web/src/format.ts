// Numbers, times and statuses as people read them.

import type { Usage } from "./events";

export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const pad = (n: number) => String(n).padStart(2, "0");
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${pad(seconds % 60)}`;
  const hours = Math.floor(seconds / 3600);
  if (hours < 48) return `${hours}:${pad(Math.floor(seconds / 60) % 60)}:${pad(seconds % 60)}`;
  return `${Math.floor(hours / 24)} days`;
}

// precise is for stretches that may be shorter than a second.
export function precise(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return duration(ms);
}

// stamp is a time since the beginning, to the millisecond: events that follow each other
// closely differ.
export function stamp(ms: number): string {
  return `${duration(ms)}.${String(Math.max(0, Math.floor(ms)) % 1000).padStart(3, "0")}`;
}

// rowName is what people call a row of a batch: its id, or the line where one without begins.
export function rowName(row: { row_id: string; line?: number }): string {
  return row.line ? `line ${row.line}` : line(row.row_id, 60);
}

export function tokens(n: number): string {
  if (n < 1000) return `${n} tok`;
  if (n < 999_500) return `${(n / 1000).toFixed(n < 9950 ? 1 : 0)}k tok`;
  return `${(n / 1_000_000).toFixed(1)}M tok`;
}

// uncached says how much of the input came from no cache of the provider.
export function uncached(u: Usage): string {
  if (u.input_tokens === 0) return "";
  return ` (${Math.round(100 * (1 - (u.cached_input_tokens ?? 0) / u.input_tokens))}% uncached)`;
}

export function money(usd: number | null): string {
  if (usd === null) return "cost unknown";
  if (usd === 0) return "$0";
  if (usd < 0.0001) return "< $0.0001";
  return "$" + usd.toFixed(usd < 0.01 ? 4 : usd < 1 ? 3 : 2);
}

export function ago(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return minutes === 1 ? "a minute ago" : `${minutes} minutes ago`;
  const hours = Math.round(minutes / 60);
  if (hours < 24) return hours === 1 ? "an hour ago" : `${hours} hours ago`;
  const days = Math.round(hours / 24);
  return days === 1 ? "yesterday" : `${days} days ago`;
}

// exact is a time to the second, as the reader's clock has it. It is the same in every
// language: the browser's own formats take longer to load than a page to draw.
export function exact(time: string): string {
  const at = new Date(time);
  if (isNaN(at.getTime())) return time;
  const two = (n: number) => String(n).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export interface StatusWord {
  sign: string;
  word: string;
  tone: string;
}

// statuses give each status its sign and word: the terminal view has the same.
export const statuses: Record<string, StatusWord> = {
  queued: { sign: "○", word: "queued", tone: "quiet" },
  running: { sign: "◐", word: "running", tone: "active" },
  suspended: { sign: "‖", word: "suspended", tone: "person" },
  awaiting_input: { sign: "?", word: "awaiting input", tone: "person" },
  completed: { sign: "✓", word: "completed", tone: "quiet" },
  degraded: { sign: "!", word: "degraded", tone: "person" },
  failed: { sign: "✗", word: "failed", tone: "failure" },
  cancelled: { sign: "–", word: "cancelled", tone: "quiet" },
};

// interrupted is what runs by its log, but is driven by nobody.
export const interrupted: StatusWord = { sign: "‖", word: "interrupted", tone: "person" };

// damaged is of which an event cannot be read.
export const damaged: StatusWord = { sign: "✗", word: "damaged", tone: "failure" };

export function status(name: string): StatusWord {
  return Object.hasOwn(statuses, name) ? statuses[name] : { sign: "·", word: name, tone: "quiet" };
}

export function plural(n: number, one: string, many = one + "s"): string {
  return `${n} ${n === 1 ? one : many}`;
}

// line is a text on one line, cut.
export function line(text: string, max = 160): string {
  const flat = text.slice(0, max * 2).replace(/\s+/g, " ").trim();
  return flat.length > max ? flat.slice(0, max - 1) + "…" : flat;
}

// plain is a text without the marks of Markdown, for a line that shows how it begins: lists do
// not load what reads Markdown in full.
export function plain(markdown: string): string {
  return markdown.slice(0, 1000)
    .replace(/^[ \t]*(?:```|~~~|(?:\*[ \t]*){3,}$).*$|^[ \t|:]*-{3,}[-|: \t]*$/gm, "") // fences, rules, the second line of tables
    .replace(/^[ \t]*(?:>[ \t]?)*(?:#{1,6}[ \t]+|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\|[ \t]*)?/gm, "")
    .replace(/!?\[([^\]\n]*)\]\([^)\n]*\)|\[\^[^\]\s]*\]/g, "$1") // links, images, footnotes
    .replace(/\*\*|__|~~|`+|[ \t]*\|[ \t]*$/gm, "")
    .replace(/(^|[\s(])[*_](?=\S)([^*_\n]*[^*_\s])[*_](?![\p{L}\p{N}])/gmu, "$1$2")
    .replace(/\\([!-/:-@[-`{-~])/g, "$1");
}

// rate is a speed, told by the minute or hour where it is slow.
export function rate(perSecond: number): string {
  if (!(perSecond > 0)) return "– rows/s";
  if (perSecond >= 1) return `${perSecond.toFixed(perSecond < 10 ? 1 : 0)} rows/s`;
  if (perSecond * 60 >= 1) return `${(perSecond * 60).toFixed(1)} rows/min`;
  return `${(perSecond * 3600).toFixed(1)} rows/h`;
}

// count is a whole number, its thousands parted. The browser's own formatter takes
// 12 ms to begin with, a third of what drawing a run takes.
export function count(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

// fileName is the last part of a path.
export function fileName(path: string): string {
  return path.split(/[/\\]/).filter(Boolean).pop() ?? path;
}

// size is that of a file, in the unit that reads best.
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
