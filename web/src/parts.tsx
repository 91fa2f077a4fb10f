// Small parts that several views show alike.

import type { ComponentChildren } from "preact";
import { link } from "./address";
import type { BatchRow, BatchSummary } from "./events";
import { count, exact, fileName, line, plural, rowName, type StatusWord } from "./format";
import type { ThreadView } from "./threadview";

export function StatusMark({ is, live }: { is: StatusWord; live?: boolean }) {
  return <span class={"status " + is.tone} role={live ? "status" : undefined}><span aria-hidden="true">{is.sign}</span> {is.word}</span>;
}

// ConnectionNotice says what the connection, or a moment of the past, asks of the
// reader; other words are shown where there is nothing of that kind to say.
export function ConnectionNotice({ view, children }: { view: ThreadView; children: ComponentChildren }) {
  view.watch();
  const heard = view.events.length ? exact(view.events[view.events.length - 1].time) : "";
  if (view.state.value === "broken") return <p class="notice failure" role="alert">The log is inconsistent: {view.failure.value}. Only what comes before the damage is shown.</p>;
  if (view.state.value === "lost") return <p class="notice person" role="status">Connection to the server lost. Last event {heard}. The page reconnects by itself.</p>;
  if (!view.following.value) return <p class="notice" role="status">Event {view.at.value} of {view.last}: this is how it was then. End goes back to the newest.</p>;
  return <>{children}</>;
}

// BatchOf says which row of which batch a run works on.
export function BatchOf({ row, file }: { row: BatchRow; file?: boolean }) {
  const name = "batch " + line(row.batch_id.slice(0, 13));
  return (
    <span class="of">
      {row.line ? "" : "row "}{rowName(row)}{row.attempt ? `, retry ${row.attempt}` : ""} of {file ? name : <a href={link("batch", row.batch_id)} title={row.batch_id}>{name}</a>}
    </span>
  );
}

// batchName is what people call a batch: by its files, or else by its id.
export function batchName(s: BatchSummary): string {
  if (!s.input && !s.output) return "batch " + s.batch_id.slice(0, 13);
  const name = (path: string | undefined, dash: string, none: string) => (path === "-" ? dash : path ? fileName(path) : none);
  return line(name(s.input, "standard input", "rows of a program") + " → " + name(s.output, "standard output", "a program"), 200);
}

// Parts is a bar of the rows: those done by how they ended, and those under way, or
// left where they stood by a process that is gone.
export function Parts({ s, lost }: { s: BatchSummary; lost: boolean }) {
  const total = Math.max(s.rows, s.done + s.running, 1);
  const parts: [string, number, string][] = [
    ["completed", s.completed, "completed"], ["degraded", s.degraded, "degraded"], ["failed", s.failed, "failed"], [lost ? "under lost" : "under", s.running, lost ? "interrupted" : "under way"],
  ];
  const words = parts.filter(([, n]) => n > 0).map(([, n, word]) => `${count(n)} ${word}`).join(", ");
  return (
    <span
      class="parts" role="progressbar" aria-label="Rows done" aria-valuemin={0} aria-valuemax={total} aria-valuenow={s.done}
      aria-valuetext={`${count(s.done)} of ${s.rows ? plural(s.rows, "row") : "unknown rows"}${words && ": " + words}`} title={words}
    >
      {parts.map(([name, n]) => <span key={name} class={name} style={{ width: `${(n / total) * 100}%` }} />)}
    </span>
  );
}

// rowsDone tells how many rows are done, of how many if that is known.
export function rowsDone(s: BatchSummary): string {
  return s.rows ? `${count(s.done)}/${count(s.rows)} rows` : `${count(s.done)} ${s.done === 1 ? "row" : "rows"}`;
}
