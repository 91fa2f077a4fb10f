// What an agent writes in its call under way, as it streams: texts as they are, the
// arguments of tool calls as text that people read. It is not in the log; what the
// page has missed shows as "…".

import type { LiveAgent } from "./connection";
import { byteLength, byteOffsets } from "./document";

// maxChars bounds what is kept of one stream: a long document.
const maxChars = 100_000;

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

  // Where it is spoken only, what belongs to tool calls is left out.
  constructor(private readonly spoken = false) {}

  // settled says that the call which streamed is one of those that have come back.
  settled(calls: ReadonlyMap<string, unknown>): boolean {
    return calls.has(this.call.slice(0, this.call.lastIndexOf("/")));
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
      }
      if (piece.begins && known <= 0) {
        if (this.text) this.show("\n\n");
        this.part = this.dropped + this.text.length;
        this.reader = piece.in_call ? new Arguments() : null;
      }
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
    this.generation++;
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
