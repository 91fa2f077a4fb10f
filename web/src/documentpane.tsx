// The document as it grows: sections, slots and texts, who wrote them, what
// changed, and where each sentence comes from.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { param, setParams } from "./address";
import { byteOffsets, segmentAt, type Entry, type Segment, type SharedDocument } from "./document";
import type { Run } from "./fold";
import { over } from "./states";
import { line } from "./format";
import { toggle } from "./keys";
import { Footnotes } from "./footnotes";
import { Markdown } from "./markdown";
import { answerText, choose, chosen, pointed, Provenance, sentenceOf, Tag } from "./provenance";
import { liveKey, type RunView } from "./run";
import type { Draft } from "./stream";
import { Takeaway } from "./takeaway";

export function Document({ view, run }: { view: RunView; run: Run }) {
  view.watch();
  const doc = run.document;
  const tags = param("tags") !== "";
  const changes = param("changes") !== "";
  const chosen = parseInt(param("base"), 10);
  const base = Math.max(0, Math.min(chosen >= 0 ? chosen : doc.version - 1, doc.version));
  return (
    <section class={"pane document" + (tags ? " tagged" : "")} aria-labelledby="document-title">
      <div class="bar">
        <h2 id="document-title">Document</h2>
        <Versions view={view} run={run} />
        <button type="button" aria-pressed={tags} onClick={() => toggle("tags")} title="Who wrote what (t)">tags</button>
        <button type="button" aria-pressed={changes} onClick={() => toggle("changes")} title="What changed (c)">changes</button>
        <Takeaway run={run} />
        {changes && doc.version > 0 && (
          <label>
            <span>since</span>
            <select value={String(base)} onChange={(e) => setParams({ base: e.currentTarget.value })}>
              {Array.from({ length: doc.version }, (_, v) => <option key={v} value={String(v)}>v{v}</option>)}
            </select>
          </label>
        )}
      </div>
      <Texts key={run.id} view={view} run={run} base={changes ? base : -1} />
      <Provenance view={view} run={run} />
    </section>
  );
}

function Versions({ view, run }: { view: RunView; run: Run }) {
  view.watch();
  const entries = view.head.run(view.id)?.document.entries ?? [];
  const options = useMemo(() => entries.map((entry) => <option key={entry.id} value={String(entry.id)}>v{entry.id} {line(entry.change, 60)}</option>), [entries.length]);
  return (
    <label>
      <span class="sr">Version</span>
      <select
        value={String(run.document.version)}
        onChange={(e) => {
          const entry = entries[Number(e.currentTarget.value) - 1];
          if (entry) view.move(Number(e.currentTarget.value) === entries.length ? Infinity : entry.seq);
          else view.move(view.first);
        }}
      >
        {run.document.version === 0 && <option value="0">v0</option>}
        {options}
      </select>
    </label>
  );
}

function Texts({ view, run, base }: { view: RunView; run: Run; base: number }) {
  view.watch();
  const box = useRef<HTMLDivElement>(null);
  const doc = run.document;
  useLayoutEffect(() => {
    const el = box.current!;
    const point = (event: Event) => {
      const s = (event.target as HTMLElement).closest?.<HTMLElement>(".s");
      const text = s?.closest<HTMLElement>("[data-entry]");
      if (!s || !text) return;
      pointed.value = { run: run.id, entry: Number(text.dataset.entry), at: Number(s.dataset.at) };
      if (event.type === "focusin") choose(pointed.value);
    };
    el.addEventListener("pointerover", point);
    el.addEventListener("focusin", point);
    return () => {
      el.removeEventListener("pointerover", point);
      el.removeEventListener("focusin", point);
    };
  }, [run.id]);
  // A long document is built a piece at a time: each piece fits into a frame or two.
  // An answer is read first.
  const begin = run.answer ? 0 : firstPiece;
  const [limit, setLimit] = useState(begin);
  const version = doc.version;
  useEffect(() => {
    if (version === 0) setLimit(begin);
    else if (limit < version) {
      const frame = requestAnimationFrame(() => setLimit(limit + piece));
      return () => cancelAnimationFrame(frame);
    }
    return undefined;
  }, [limit, version]);
  // A link may say which sentence was chosen: it is gone to once, when it is there.
  const linked = useRef(chosen());
  useEffect(() => {
    const el = linked.current && sentenceOf(box.current!, linked.current);
    if (!el) return;
    linked.current = null;
    el.focus({ preventScroll: true });
    el.scrollIntoView({ block: "center" });
  });
  // What is new to a reader who has all of it comes at once: a document that is shorter
  // for a frame would jump.
  const drawn = useRef(0);
  const room0 = drawn.current > 0 && version - drawn.current <= piece ? Math.max(limit, version) : limit;
  useLayoutEffect(() => {
    drawn.current = Math.min(room0, version);
  });
  const coming = drafts(view, run);
  let room = room0;
  let section = "";
  let empty = true;
  const parts = [];
  for (const place of doc.places(coming)) {
    const shown = base >= 0 ? doc.all(place).filter((e) => e.replacedBy === 0 || e.replacedBy > base) : doc.live(place);
    const key = doc.layout.key(place);
    const arriving = coming.filter((draft) => doc.layout.key(draft) === key);
    if (shown.length + arriving.length === 0) continue;
    empty = false;
    if (room <= 0) break;
    if (place.section !== section || parts.length === 0) {
      section = place.section;
      parts.push(<h3 key={"s" + section} class="section">{doc.layout.sectionTitle(section)}</h3>);
    }
    const heading = doc.layout.slotHeading(place);
    if (heading) parts.push(<h4 key={"p" + section + "/" + place.slot} class="slot">{heading}</h4>);
    for (const entry of shown) {
      if (room-- <= 0) break;
      parts.push(
        <Text
          key={entry.id} entry={entry} segments={doc} authors={authors(run, entry).join("\u0000")} run={run} base={base}
          gone={entry.replacedBy > 0} arrived={view.following.value && view.arrived(entry.id)}
        />,
        <Footnotes key={"n" + entry.id} view={view} run={run} entry={entry.id} />,
      );
    }
    for (const draft of arriving) parts.push(<Arriving key={draft.key} run={run} draft={draft} />);
  }
  const answer = run.answer;
  return (
    <div ref={box} id="document" class="texts" tabIndex={0} role="region" aria-label="Text of the document">
      {answer && (
        <article class="answer" aria-label="Answer" data-entry={answerText}>
          <h3 class="section">Answer{answer.fallback ? " (the document itself: no model was able to write one)" : ""}</h3>
          <Answer text={answer.content} />
        </article>
      )}
      {answer && !empty && <h3 class="section divide">The underlying document</h3>}
      {parts}
      {empty && !answer && <p class="empty">{!over(run.summary.status) ? "Nothing has been written yet. Text appears here as the specialists write it." : "Nothing was written."}</p>}
    </div>
  );
}

// Coming is a text that an agent is writing, in a call that has not come back.
interface Coming extends Draft {
  key: string;
  agent: string;
}

// drafts are the texts that stream now, without those that are entries already.
function drafts(view: RunView, run: Run): Coming[] {
  if (!view.following.value) return [];
  return (view.live.value?.agents ?? []).flatMap((a) => {
    const stream = view.streams.get(liveKey(a));
    if (!stream || stream.settled(run.calls)) return [];
    const there = run.document.entries.filter((entry) => entry.modelCall === stream.id && entry.author === a.agent).length;
    return stream.drafts(run.document.layout).map((draft, i) => ({ ...draft, key: `${stream.id} ${i}`, agent: a.agent })).slice(there);
  });
}

// Arriving is a text as it streams, where it will stand.
function Arriving({ run, draft }: { run: Run; draft: Coming }) {
  return (
    <div class="entry arriving" dir="auto">
      <Tag run={run} agent={draft.agent} /> <span class="writing">is writing …</span>
      <Markdown text={draft.content} />
    </div>
  );
}

// Answer is drawn once: it never changes.
function Answer({ text }: { text: string }) {
  return useMemo(() => <Markdown text={text} wrap={(part, at, key) => <span key={key} class="s" data-at={at} tabIndex={-1}>{part}</span>} />, [text]);
}

// piece is how many texts are added in a frame; firstPiece fills what is in view, so
// that the page is there sooner.
const piece = 30;
const firstPiece = 8;

// authors are those whose words an entry stands for: of a merged one the specialists
// whose entries it merged.
function authors(run: Run, entry: Entry): string[] {
  return [...new Set(run.document.leaves(entry.id).map((id) => run.document.entries[id - 1].author))];
}

interface TextProps {
  entry: Entry;
  segments: SharedDocument;
  authors: string;
  run: Run;
  base: number;
  gone: boolean;
  arrived: boolean;
}

// Text is one entry. It is drawn again only when something of it changes: an entry's
// own text never does.
function Text({ entry, segments, authors, run, base, gone, arrived }: TextProps) {
  return useMemo(() => {
    const fresh = base >= 0 && entry.id > base;
    const offsets = byteOffsets(entry.content);
    const trace = segments.trace(entry.id);
    const classes = ["entry", gone ? "gone" : fresh ? "fresh" : "", arrived ? "arrived" : ""].filter(Boolean).join(" ");
    return (
      <div class={classes} data-entry={entry.id}>
        {authors.split("\u0000").map((agent) => <Tag key={agent} run={run} agent={agent} />)}
        {fresh && !gone && <span class="sr">New: </span>}
        {gone && <span class="sr">Replaced: </span>}
        <Markdown
          text={entry.content}
          wrap={(text, at, key) => {
            const kept = fresh && origin(trace, offsets(at)) <= base;
            return <span key={key} class={kept ? "s kept" : "s"} data-at={offsets(at)} tabIndex={-1}>{text}</span>;
          }}
        />
      </div>
    );
  }, [entry, base, gone, arrived, authors]);
}

// origin is the entry that wrote the text at a place.
function origin(trace: Segment[], at: number): number {
  return segmentAt(trace, at)?.entries[0] ?? 0;
}
