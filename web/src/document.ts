// The shared document of one run, as package document of the Go sources folds it.

import type { Citation, DocumentUpdated, Span } from "./events";
import { Layout, type Place } from "./layout";

export interface Entry extends Place {
  id: number;
  seq: number;
  author: string;
  content: string;
  time: string;
  change: string;
  tasks: number[];
  modelCall: string;
  replaced: number[];
  merged: number[];
  spans: Span[];
  sources: Citation[];
  unsupported: boolean;
  replacedBy: number;
}

// Segment is a stretch of an entry's text, in bytes of UTF-8, with the entries that
// it comes from, the nearest first.
export interface Segment {
  start: number;
  end: number;
  entries: number[];
}

// Footnote is a passage that a stretch of an entry's text rests on: the entry that named it,
// and where the stretch ends, in bytes.
export interface Footnote {
  cited: Citation;
  entry: number;
  end: number;
}

// segmentAt is the segment that holds a byte.
export function segmentAt(trace: Segment[], at: number): Segment | undefined {
  return trace.find((segment) => at >= segment.start && at < segment.end);
}

export class SharedDocument {
  readonly entries: Entry[] = [];
  private readonly slots = new Map<string, { place: Place; live: number[] }>();
  private readonly firstUse: Place[] = [];
  private readonly spelling = new Map<string, string>();

  constructor(readonly layout: Layout) {}

  get version(): number {
    return this.entries.length;
  }

  // clone gives a document of its own in the same state.
  clone(): SharedDocument {
    const copy = new SharedDocument(this.layout);
    for (const entry of this.entries) copy.entries.push({ ...entry });
    for (const [key, slot] of this.slots) copy.slots.set(key, { place: slot.place, live: slot.live.slice() });
    for (const place of this.firstUse) copy.firstUse.push(place);
    for (const [key, spelling] of this.spelling) copy.spelling.set(key, spelling);
    return copy;
  }

  apply(seq: number, time: string, e: DocumentUpdated): void {
    const next = this.entries.length + 1;
    if (e.version !== next || e.entry_id !== next) {
      throw new Error(`entry ${e.entry_id} where entry ${next} is next`);
    }
    const slot = this.slot({ section: e.section, slot: e.slot });
    const entry: Entry = {
      ...slot.place, id: next, seq, time, author: e.author, content: e.content, change: e.change_description,
      tasks: e.task_ids ?? [], modelCall: e.model_call_id ?? "",
      replaced: e.replaced ?? [], merged: e.merged ?? [], spans: e.spans ?? [],
      sources: e.sources ?? [], unsupported: e.unsupported ?? false, replacedBy: 0,
    };
    for (const id of entry.replaced) {
      const old = this.entries[id - 1];
      if (!old || old.replacedBy) throw new Error(`entry ${id} cannot be replaced`);
      old.replacedBy = next;
    }
    if (entry.replaced.length > 0) {
      slot.live = slot.live.filter((id) => this.entries[id - 1].replacedBy === 0);
    }
    this.entries.push(entry);
    slot.live.push(next);
  }

  private slot(place: Place): { place: Place; live: number[] } {
    const key = this.layout.key(place);
    let slot = this.slots.get(key);
    if (!slot) {
      const section = this.layout.sectionKey(place.section);
      if (!this.spelling.has(section)) this.spelling.set(section, place.section);
      slot = { place: { section: this.spelling.get(section)!, slot: place.slot }, live: [] };
      this.slots.set(key, slot);
      this.firstUse.push(slot.place);
    }
    return slot;
  }

  // places are the slots that hold text, and those where text is to come, in the layout's
  // order.
  places(coming: readonly Place[] = []): Place[] {
    const fresh = new Map(coming.map((place) => [this.layout.key(place), { section: place.section, slot: place.slot }]));
    for (const key of this.slots.keys()) fresh.delete(key);
    return this.layout.order([...this.firstUse, ...fresh.values()]);
  }

  // live are the entries of a slot that nothing replaced.
  live(place: Place): Entry[] {
    return (this.slots.get(this.layout.key(place))?.live ?? []).map((id) => this.entries[id - 1]);
  }

  all(place: Place): Entry[] {
    const key = this.layout.key(place);
    return this.entries.filter((entry) => this.layout.key(entry) === key);
  }

  // trace gives the sources of every byte of an entry's text.
  trace(id: number): Segment[] {
    const segments: Segment[] = [];
    this.traceInto(segments, id, 0);
    return segments;
  }

  private traceInto(segments: Segment[], id: number, base: number): void {
    const entry = this.entries[id - 1];
    const own = [id, ...entry.replaced];
    let at = 0;
    for (const span of entry.spans) {
      if (span.start > at) segments.push({ start: base + at, end: base + span.start, entries: own });
      this.traceInto(segments, span.entry_id, base + span.start);
      at = span.end;
    }
    const length = byteLength(entry.content);
    if (at < length) segments.push({ start: base + at, end: base + length, entries: own });
  }

  // footnotes are the passages that an entry rests on, in the order of its text.
  footnotes(id: number, base = 0): Footnote[] {
    const entry = this.entries[id - 1];
    const end = base + byteLength(entry.content);
    return [
      ...entry.spans.flatMap((span) => this.footnotes(span.entry_id, base + span.start)),
      ...entry.replaced.filter((old) => !entry.merged.includes(old)).flatMap((old) => this.footnotes(old).map((note) => ({ ...note, end }))),
      ...entry.sources.map((cited) => ({ cited, entry: id, end })),
    ];
  }

  // unsupported are the entries without a source among those that an entry stands for.
  unsupported(id: number): number[] {
    const entry = this.entries[id - 1];
    return [...entry.replaced.flatMap((old) => this.unsupported(old)), ...(entry.unsupported ? [id] : [])];
  }

  // leaves are the entries that specialists wrote and that an entry stands for.
  leaves(id: number, into: number[] = []): number[] {
    const entry = this.entries[id - 1];
    for (const old of entry.replaced) this.leaves(old, into);
    if (entry.replaced.length === 0 && !into.includes(id)) into.push(id);
    return into;
  }

  // clean is the document as Markdown. text gives that of an entry.
  clean(text: (entry: Entry) => string = (entry) => entry.content): string {
    let out = "";
    let section: string | undefined;
    let slot: Place | undefined;
    for (const place of this.places()) {
      for (const entry of this.live(place)) {
        if (out) out += "\n";
        if (entry.section !== section) {
          section = entry.section;
          out += "## " + this.layout.sectionTitle(section) + "\n\n";
        }
        if (!slot || slot.section !== entry.section || slot.slot !== entry.slot) {
          slot = place;
          const heading = this.layout.slotHeading(place);
          if (heading) out += "### " + heading + "\n\n";
        }
        out += text(entry) + "\n";
      }
    }
    return out;
  }
}

// byteLength is the length of a text in UTF-8.
export function byteLength(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    bytes += unitBytes(text.charCodeAt(i));
  }
  return bytes;
}

// unitBytes is what a UTF-16 unit adds: each half of a pair brings two of its four.
function unitBytes(unit: number): number {
  if (unit < 0x80) return 1;
  if (unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff)) return 2;
  return 3;
}

// byteOffsets gives for each UTF-16 position of a text its position in bytes.
export function byteOffsets(text: string): (at: number) => number {
  if (byteLength(text) === text.length) return (at) => at;
  const offsets = new Uint32Array(text.length + 1);
  for (let i = 0; i < text.length; i++) offsets[i + 1] = offsets[i] + unitBytes(text.charCodeAt(i));
  return (at) => offsets[at];
}

// unitAt gives for a position in bytes of a text that in UTF-16.
export function unitAt(text: string, bytes: number): number {
  let at = 0;
  for (let passed = 0; at < text.length && passed < bytes; at++) passed += unitBytes(text.charCodeAt(at));
  return at;
}
