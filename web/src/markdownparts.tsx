// Parts of shown Markdown that do something: code that is copied, long tables that come
// piece by piece, marks of footnotes.

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

// saidMs is how long a button says that it has copied.
const saidMs = 1500;

// CopyButton puts a text where it can be pasted, and says so.
export function CopyButton({ text, what }: { text: () => string; what: string }) {
  const [said, setSaid] = useState("");
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    const done = await copied(text());
    setSaid(done ? "Copied" : "Not allowed");
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setSaid(""), saidMs);
  };
  return <button type="button" class="plain copy" aria-label={what} aria-live="polite" onClick={() => void copy()}>{said || "Copy"}</button>;
}

export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // the browser may forbid it, and has no clipboard off https
  }
}

// restMs is how long code has to stay the same before it gets colours: while it streams in,
// what is there already keeps those that it has.
const restMs = 100;

// Code is a block of code, with the language that its writer named.
export function Code({ language, source, children }: { language: string; source: string; children: ComponentChildren }) {
  const code = useRef<HTMLElement>(null);
  const plain = useRef(() => undefined as void);
  useEffect(() => {
    if (!language) return undefined;
    let gone = false;
    const colour = async () => {
      const { highlight } = await import("./highlight");
      if (gone) return;
      plain.current();
      plain.current = highlight(code.current!, language);
    };
    const timer = window.setTimeout(() => void colour().catch(() => undefined), restMs); // it can be read without colours
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [language, source]);
  useEffect(() => () => plain.current(), []);
  return (
    <div class="code" dir="ltr">
      <div class="code-bar">
        <span>{language}</span>
        <CopyButton what="Copy the code" text={() => source} />
      </div>
      <pre tabIndex={0} role="region" aria-label={language ? `Code, ${language}` : "Code"}><code ref={code}>{children}</code></pre>
    </div>
  );
}

// pieceCells is how many cells of a table are added in a frame.
export const pieceCells = 400;

// TableRows are the rows of a table; of a long one those that fill what is in view come
// first, so that no frame has to wait for all of them.
export function TableRows({ columns, rows }: { columns: number; rows: (() => VNode)[] }) {
  const piece = Math.max(1, Math.floor(pieceCells / Math.max(1, columns)));
  const [limit, setLimit] = useState(piece);
  useEffect(() => {
    if (limit >= rows.length) return undefined;
    const frame = requestAnimationFrame(() => setLimit(limit + piece));
    return () => cancelAnimationFrame(frame);
  }, [limit, rows.length]);
  const made = useRef({ of: rows, rows: [] as VNode[] });
  if (made.current.of !== rows) made.current = { of: rows, rows: [] };
  const all = made.current.rows;
  while (all.length < Math.min(limit, rows.length)) all.push(rows[all.length]());
  const parts = [];
  for (let i = 0; i < all.length; i += piece) parts.push(<tbody key={i}>{all.slice(i, i + piece)}</tbody>);
  return <>{parts}</>;
}

// NoteMark refers to a footnote of the same text.
export function NoteMark({ label }: { label: string }) {
  const go = (event: MouseEvent) => {
    const text = (event.currentTarget as HTMLElement).closest("[data-entry], .body") ?? document;
    text.querySelector(`[data-note="${CSS.escape(label)}"]`)?.scrollIntoView({ block: "nearest" });
  };
  return <sup><button type="button" class="link" aria-label={`Footnote ${label}`} onClick={go}>{label}</button></sup>;
}
