// What an agent writes in its call under way, as it streams: texts as they are, the
// arguments of tool calls as text that people read. It is not in the log; what the
// page has missed shows as "…".

import type { LiveAgent } from "./connection";
import { byteLength, byteOffsets } from "./document";
import type { Layout, Place } from "./layout";

// maxChars bounds what is kept of one stream: a long document.
const maxChars = 100_000;

// Draft is a text that a tool call under way writes into the document.
export interface Draft extends Place {
  content: string;
}

export class Stream {
  // text is what is shown; dropped counts the characters that once stood before it.
  text = "";
  dropped = 0;
  // generation counts the calls: each starts over.
  generation = 0;
  private call = "";
  // seen is the place, in bytes, up to which the stream is known.
  private seen = 0;
  private reader: Arguments | null = null;
  // part is where the newest text or call begins in all that was shown.
  private part = 0;
  // raw are the arguments of the calls so far, each as it came; undefined where some of
  // them were missed.
  private raw: (string | undefined)[] = [];

  // Where it is spoken only, what belongs to tool calls is left out.
  constructor(private readonly spoken = false) {}

  // id is the model call that streams.
  get id(): string {
    return this.call.slice(0, this.call.lastIndexOf("/"));
  }

  // settled says that the call which streamed is one of those that have come back.
  settled(calls: ReadonlyMap<string, unknown>): boolean {
    return calls.has(this.id);
  }

  // drafts are the texts for the document, in the order in which they are written.
  drafts(layout: Layout): Draft[] {
    return this.raw.flatMap((raw) => draftOf(raw, layout) ?? []);
  }

  take(a: LiveAgent): void {
    const call = `${a.model_call_id}/${a.attempt}`;
    for (const piece of a.stream ?? []) {
      if (call !== this.call) this.begin(call);
      if (this.spoken && piece.in_call) {
        this.seen = Math.max(this.seen, piece.from + byteLength(piece.text));
        continue;
      }
      const known = this.seen - piece.from;
      const fresh = known > 0 ? dropBytes(piece.text, known) : piece.text;
      if (!fresh) continue;
      if (known < 0) {
        this.part = this.dropped + this.text.length;
        this.show("…");
        this.reader = piece.in_call ? new Arguments(true) : null;
        this.raw.push(undefined);
      }
      if (piece.begins && known <= 0) {
        if (this.text) this.show("\n\n");
        this.part = this.dropped + this.text.length;
        this.reader = piece.in_call ? new Arguments() : null;
        if (piece.in_call) this.raw.push("");
      }
      if (piece.in_call) this.keep(fresh);
      this.show(this.reader ? this.reader.read(fresh) : fresh);
      this.seen = piece.from + byteLength(piece.text);
    }
  }

  // line is the end of what is being written, on one line.
  get line(): string {
    const from = Math.max(0, this.part - this.dropped, this.text.length - lineChars);
    const flat = this.text.slice(from).replace(/\s+/g, " ").trim();
    return from > this.part - this.dropped ? "…" + flat : flat;
  }

  private begin(call: string): void {
    this.call = call;
    this.text = "";
    this.dropped = this.seen = this.part = 0;
    this.reader = null;
    this.raw = [];
    this.generation++;
  }

  private keep(fresh: string): void {
    const last = this.raw.length - 1;
    const raw = this.raw[last];
    if (raw !== undefined && raw.length < maxChars) this.raw[last] = raw + fresh;
  }

  private show(text: string): void {
    this.text += text;
    const over = this.text.length - maxChars;
    if (over <= 0) return;
    const cut = Math.min(this.text.length, over + maxChars / 4); // seldom, and much
    this.text = this.text.slice(cut);
    this.dropped += cut;
  }
}

const lineChars = 160;

// dropBytes gives a text without its first bytes.
function dropBytes(text: string, bytes: number): string {
  const at = byteOffsets(text);
  let low = 0;
  let high = text.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (at(mid) < bytes) low = mid + 1;
    else high = mid;
  }
  return text.slice(low);
}

const escapes: Record<string, string> = { n: "\n", t: "\t", r: "", b: "", f: "" };

// Arguments reads the arguments of a call, JSON that comes in pieces, as lines of
// names and values.
class Arguments {
  private within: string[] = [];
  private string = false;
  private name = false;
  private escape = "";
  private begun = false;

  // Where the beginning was missed it is taken for the inside of a value.
  constructor(private missed = false) {
    if (!missed) return;
    this.begun = true;
    this.within = ["{"];
  }

  read(text: string): string {
    if (this.missed) {
      this.missed = false;
      this.string = !/^\s*("[^"\\]*"\s*)?:/.test(text);
    }
    let out = "";
    for (const c of text) out += this.string ? this.inside(c) : this.between(c);
    return out;
  }

  private inside(c: string): string {
    if (this.escape) {
      this.escape += c;
      if (this.escape[1] !== "u") {
        this.escape = "";
        return escapes[c] ?? c;
      }
      if (this.escape.length < 6) return "";
      const unit = parseInt(this.escape.slice(2), 16);
      this.escape = "";
      return unit >= 0 ? String.fromCharCode(unit) : "";
    }
    if (c === "\\") this.escape = c;
    else if (c === '"') this.string = false;
    else return c;
    return "";
  }

  private between(c: string): string {
    const object = this.within[this.within.length - 1] === "{";
    switch (c) {
      case '"':
        this.string = true;
        return this.name ? this.line() : "";
      case ":":
        this.name = false;
        return ": ";
      case "{":
      case "[":
        this.within.push(c);
        this.name = c === "{";
        return "";
      case "}":
      case "]":
        this.within.pop();
        this.name = false;
        return "";
      case ",":
        this.name = object;
        return object ? "" : ", ";
    }
    return /\s/.test(c) ? "" : c;
  }

  private line(): string {
    const first = !this.begun;
    this.begun = true;
    return first ? "" : "\n";
  }
}

// draftOf is the text that a call writes and its place, as far as both are known: the
// arguments of write_section, whose name does not stream.
function draftOf(raw: string | undefined, layout: Layout): Draft | undefined {
  const read = raw && begun(raw);
  if (!read || typeof read.args.content !== "string" || !read.args.content.trim()) return undefined;
  const place = layout.named(read.args, read.open);
  return place && { ...place, content: read.args.content };
}

// begun reads an object in JSON of which the end may be missing; open is the member that
// is being written, "" for none.
function begun(raw: string): { args: Record<string, unknown>; open: string } | undefined {
  const { end, closers, comma } = scan(raw);
  for (const text of [raw.slice(0, end) + closers, raw.slice(0, comma) + "}"]) {
    try {
      const args = JSON.parse(text) as Record<string, unknown>;
      if (typeof args !== "object" || args === null) return undefined;
      return { args, open: closers ? Object.keys(args).pop() ?? "" : "" };
    } catch {
      // What was being written cannot be read yet: without it, then.
    }
  }
  return undefined;
}

// scan finds what closes a text in JSON: end is where it can be closed, comma the last one
// between members of the outermost object.
function scan(raw: string): { end: number; closers: string; comma: number } {
  const within: string[] = [];
  let string = false;
  let comma = 0;
  let end = raw.length;
  for (let i = 0; i < raw.length; i++) {
    const c = raw[i];
    if (string) {
      const length = c !== "\\" ? 1 : raw[i + 1] === "u" ? 6 : 2;
      if (i + length > raw.length) end = i; // half an escape
      i += length - 1;
      if (c === '"') string = false;
    } else if (c === '"') string = true;
    else if (c === "{" || c === "[") within.push(c === "{" ? "}" : "]");
    else if (c === "}" || c === "]") within.pop();
    else if (c === "," && within.length === 1) comma = i;
  }
  return { end, closers: (string ? '"' : "") + within.reverse().join(""), comma };
}
