// Where the sentence under the pointer comes from: entry, specialist, task and model
// call; of the answer what the log proves of it.

import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { param, setParams } from "./address";
import { answerOrigin, sourceOf, type AnswerOrigin } from "./answer";
import { segmentAt, type Entry } from "./document";
import type { Call, Run } from "./fold";
import { line, money, plural, tokens } from "./format";
import type { RunView } from "./run";

// pointed is the sentence under the pointer or the focus: an entry of a run and a place in it.
export const pointed = signal<{ run: string; entry: number; at: number } | null>(null);

// choose keeps a sentence in the address, so that a link leads to it.
export function choose({ entry, at }: { entry: number; at: number }): void {
  setParams({ s: `${entry}.${at}` });
}

// chosen is the sentence that the address names.
export function chosen(): { entry: number; at: number } | null {
  const match = /^(\d{1,9})\.(\d{1,9})$/.exec(param("s"));
  return match && { entry: Number(match[1]), at: Number(match[2]) };
}

// sentenceOf finds a sentence among those that are drawn.
export function sentenceOf(box: HTMLElement, { entry, at }: { entry: number; at: number }): HTMLElement | null {
  return box.querySelector<HTMLElement>(`[data-entry="${entry}"] .s[data-at="${at}"]`);
}

// answerText stands for the answer where an entry is pointed at; entries count from 1.
export const answerText = 0;

// Provenance takes room only once a sentence was pointed at.
export function Provenance({ view, run }: { view: RunView; run: Run }) {
  view.watch();
  const p = pointed.value?.run === run.id ? pointed.value : null;
  if (p?.entry === answerText && run.answer) return <AnswerProvenance view={view} run={run} at={p.at} />;
  const entry = p ? run.document.entries[p.entry - 1] : undefined;
  if (!p || !entry) return null;
  return <div class="provenance" aria-live="polite"><Sources view={view} run={run} entry={entry} at={p.at} /></div>;
}

// AnswerProvenance says who wrote the answer and from what. What cannot be proved of
// a sentence it does not say.
function AnswerProvenance({ view, run, at }: { view: RunView; run: Run; at: number }) {
  const answer = run.answer!;
  const origin = useMemo(() => answerOrigin(view.events, run), [run.id, answer.seq]);
  const found = useMemo(() => sourceOf(run, origin.shown, answer.content, at), [origin, at]);
  const entry = found && run.document.entries[found.entry - 1];
  return (
    <div class="provenance" aria-live="polite">
      <p class="source">
        <button type="button" class="link" onClick={() => setParams({ sel: "event:" + answer.seq })}>answer</button>
        {origin.call ? (
          <>
            {" "}<span class="from">←</span> written by <Tag run={run} agent={origin.call.agent} /> <CallLink view={view} call={origin.call} />
          </>
        ) : answer.fallback ? (
          " assembled from the document by the engine: no model wrote it"
        ) : (
          ": the log does not say which call wrote it"
        )}
      </p>
      {entry && found ? <Sources view={view} run={run} entry={entry} at={found.at} before={found.reference ? "it refers to" : "word for word in"} /> : <p class="via">{seen(origin, answer.fallback)}</p>}
    </div>
  );
}

// seen says what the writer of the answer had before it.
function seen(origin: AnswerOrigin, fallback = false): string {
  const { shown, summarised } = origin;
  if (fallback) return shown.length === 0 ? "There was no entry." : `The document had ${plural(shown.length, "entry", "entries")}: ${ranges(shown)}.`;
  const who = origin.call ? "It" : "Before it the facilitator";
  if (shown.length === 0) return who + " had been shown no entry of the document.";
  return `${who} had been shown ${plural(shown.length, "entry", "entries")}: ${ranges(shown)}${summarised ? ", some of them only in a summary" : ""}.`;
}

// ranges writes ids in order, those that follow each other as one: 1–6, 9.
export function ranges(ids: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < ids.length; ) {
    let j = i;
    while (ids[j + 1] === ids[j] + 1) j++;
    parts.push(j > i ? `${ids[i]}–${ids[j]}` : String(ids[i]));
    i = j + 1;
  }
  return parts.join(", ");
}

// Sources are the entries that a place of an entry comes from.
function Sources({ view, run, entry, at, before }: { view: RunView; run: Run; entry: Entry; at: number; before?: string }) {
  const segment = segmentAt(run.document.trace(entry.id), at) ?? { entries: [entry.id] };
  const [nearest, ...rewritten] = segment.entries;
  return (
    <>
      <Source view={view} run={run} entry={run.document.entries[nearest - 1]} before={before} />
      {entry.id !== nearest && <p class="via">repeated by reference in entry {entry.id} by {run.name(entry.author)}</p>}
      {rewritten.length > 0 && (
        <ul aria-label="Entries that it rewrote">
          {rewritten.map((id) => <li key={id}><Source view={view} run={run} entry={run.document.entries[id - 1]} /></li>)}
        </ul>
      )}
    </>
  );
}

function Source({ view, run, entry, before }: { view: RunView; run: Run; entry: Entry; before?: string }) {
  const writer = run.writer(entry);
  const call = writer.calls.get(entry.modelCall);
  return (
    <p class="source">
      {before && <>{before} </>}
      <button type="button" class="link" onClick={() => setParams({ sel: "event:" + entry.seq })}>entry {entry.id}</button>
      <span class="from">←</span> <Tag run={run} agent={entry.author} />
      {entry.tasks.map((id) => (
        <span key={id}>
          <span class="from">←</span> <button type="button" class="link" title={run.tasks[id - 1]?.text} onClick={() => setParams({ sel: "task:" + id })}>task {id}</button>
        </span>
      ))}
      {call ? (
        <span><span class="from">←</span> <CallLink view={view} call={call} />{writer !== run && ` of run ${writer.id.slice(-8)}`}</span>
      ) : entry.modelCall ? (
        <span><span class="from">←</span> call {entry.modelCall}, still under way</span>
      ) : null}
    </p>
  );
}

function CallLink({ view, call }: { view: RunView; call: Call }) {
  const show = () => {
    setParams({ sel: "event:" + call.seq });
    if (call.seq > view.at.peek()) view.move(call.seq);
  };
  return (
    <>
      <button type="button" class="link" onClick={show}>call {call.data.id}</button>{" "}
      <span class="num">({line(call.data.model, 40)}, {tokens(call.data.usage.input_tokens + call.data.usage.output_tokens)}, {money(call.data.cost_usd)})</span>
    </>
  );
}

// Tag names an agent, in its colour: the place of the agent in the team.
export function Tag({ run, agent }: { run: Run; agent: string }) {
  const at = (run.started.agents ?? []).findIndex((card) => card.id === agent);
  return <span class={"tag hue" + ((at < 0 ? 0 : at) % 8)}>{run.name(agent)}</span>;
}
