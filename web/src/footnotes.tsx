// The passages that an entry rests on, each with the text that it was found in.

import { useEffect, useMemo, useState } from "preact/hooks";
import { sourceName } from "./cited";
import type { ArtifactCreated, Citation, Envelope } from "./events";
import { filePath } from "./files";
import type { Run } from "./fold";
import { line } from "./format";
import type { RunView } from "./run";

// maxAroundChars is how much of a source is shown before and behind a quote.
const maxAroundChars = 5_000;

// maxFileBytes is how much of the text of a file is loaded for a passage.
const maxFileBytes = 16 << 20;

export function Footnotes({ view, run, entry }: { view: RunView; run: Run; entry: number }) {
  const notes = run.document.footnotes(entry);
  const unsupported = run.document.unsupported(entry);
  if (notes.length === 0 && unsupported.length === 0) return null;
  return (
    <aside class="footnotes" aria-label="Sources">
      {notes.length > 0 && <ol>{notes.map((note, i) => <li key={i}><Note view={view} run={run} cited={note.cited} /></li>)}</ol>}
      {unsupported.length > 0 && <p class="failure">unsupported{unsupported.length === 1 && unsupported[0] === entry ? "" : `: what it has of entry ${unsupported.join(", ")}`}</p>}
    </aside>
  );
}

// Note is one passage. Its source is looked for in the log once it is opened.
function Note({ view, run, cited }: { view: RunView; run: Run; cited: Citation }) {
  const [open, setOpen] = useState(false);
  const head = <>{line(sourceName(cited), 200)}: <q>{line(cited.quote, 300)}</q>{!cited.found && <span class="failure"> not found in the source</span>}</>;
  if (!cited.call) return head;
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{head}</summary>
      {open && <Source view={view} run={run} cited={cited} />}
    </details>
  );
}

// Source is the text of the file that a passage is from, or what the call returned that it was
// found in.
function Source({ view, run, cited }: { view: RunView; run: Run; cited: Citation }) {
  const file = useMemo(() => view.state.peek() === "file" ? undefined : named(view.events, run, cited), [cited]);
  const [text, setText] = useState<string | null>(null);
  useEffect(() => {
    if (!file) return;
    void textOf(filePath(run.id, file.text || file.artifact), cited.page).then((whole) => setText(whole !== undefined && place(whole, cited.quote) ? whole : ""));
  }, [file]);
  if (file && text === null) return <p>Loading the file …</p>;
  return (
    <>
      {file && <p class="via">in <a href={filePath(run.id, file.artifact)} download={line(file.name, 200)}>{line(file.name, 80)}</a>{!text && ", as the tool returned it"}</p>}
      <Passage text={text || returned(view.events, run, cited)} quote={cited.quote} />
    </>
  );
}

// named is the file that a passage is from.
function named(events: readonly Envelope[], run: Run, cited: Citation): ArtifactCreated | undefined {
  for (let i = run.summary.last_seq - 1; i >= 0 && cited.artifact; i--) {
    const env = events[i];
    if (env?.type === "artifact_created" && env.data.artifact === cited.artifact) return env.data;
  }
  return undefined;
}

// textOf loads the text of a file, or a page of it.
async function textOf(path: string, page = 0): Promise<string | undefined> {
  try {
    const response = await fetch(path, { headers: { Range: `bytes=0-${maxFileBytes - 1}` } });
    const text = response.ok ? await response.text() : undefined;
    return page > 0 ? text?.split("\f")[page - 1] : text;
  } catch {
    return undefined;
  }
}

// returned is what the call returned that the passage was found in.
function returned(events: readonly Envelope[], run: Run, cited: Citation): string | undefined {
  for (let i = run.summary.last_seq - 1; i >= 0; i--) {
    const env = events[i];
    if (env?.type === "tool_call" && env.data.model_call_id === cited.call?.model_call_id && env.data.index === cited.call.index) return env.data.result;
  }
  return undefined;
}

function Passage({ text, quote }: { text?: string; quote: string }) {
  const at = useMemo(() => text === undefined ? null : place(text, quote), [text, quote]);
  if (text === undefined) return <p>The result is not in this part of the log.</p>;
  if (!at) return <pre class="passage">{text.slice(0, 2 * maxAroundChars)}</pre>;
  const from = Math.max(0, at[0] - maxAroundChars);
  const to = Math.min(text.length, at[1] + maxAroundChars);
  return <pre class="passage">{from > 0 && "… "}{text.slice(from, at[0])}<mark>{text.slice(at[0], at[1])}</mark>{text.slice(at[1], to)}{to < text.length && " …"}</pre>;
}

// place finds a quote in a text: whitespace, case and the kinds of quotation marks and dashes
// aside. What is not found that way is shown without a mark.
function place(text: string, quote: string): [number, number] | null {
  const words = quote.trim().split(/\s+/).map((word) =>
    word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/["“”„‟]/g, '["“”„‟]').replace(/['‘’‚‛]/g, "['‘’‚‛]").replace(/[-‐‑‒–—−]/g, "[-‐‑‒–—−]"));
  const match = new RegExp(words.join("[\\s>]+"), "iu").exec(text);
  return match && [match.index, match.index + match[0].length];
}
