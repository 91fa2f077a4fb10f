// The document with the passages that it rests on, as package document of the Go sources
// writes it: a number behind each stretch of text, and the passages below.

import type { Citation } from "./events";
import { unitAt, type Entry, type SharedDocument } from "./document";

// cited is the document as Markdown, with footnotes where there are any.
export function cited(document: SharedDocument): string {
  const numbers = new Map<string, number>();
  const list: string[] = [];
  for (const entry of document.places().flatMap((place) => document.live(place))) {
    for (const { cited: c } of document.footnotes(entry.id)) {
      if (numbers.has(key(c))) continue;
      numbers.set(key(c), list.length + 1);
      list.push(`${list.length + 1}. ${escaped(noteText(c))}\n`);
    }
  }
  const text = document.clean((entry) => numbered(document, entry, numbers));
  return list.length === 0 ? text : `${text}\n## Sources\n\n${list.join("")}`;
}

// key is equal for passages that tell the same.
function key(c: Citation): string {
  return JSON.stringify([c.url, c.file, c.artifact, c.tool, c.page, c.title, c.quote, c.found]);
}

// numbered is an entry's text with the numbers of its footnotes, each behind the stretch that
// rests on it.
function numbered(document: SharedDocument, entry: Entry, numbers: ReadonlyMap<string, number>): string {
  const marks = new Map<number, Set<number>>();
  for (const note of document.footnotes(entry.id)) {
    marks.set(note.end, (marks.get(note.end) ?? new Set()).add(numbers.get(key(note.cited))!));
  }
  let out = "";
  let at = 0;
  for (const [bytes, of] of marks) {
    const end = unitAt(entry.content, bytes);
    out += entry.content.slice(at, end) + gap(entry.content.slice(0, end)) + [...of].map((n) => `\\[${n}\\]`).join("");
    at = end;
  }
  out += entry.content.slice(at);
  return document.unsupported(entry.id).length > 0 ? out + gap(entry.content) + "\\[unsupported\\]" : out;
}

// gap is what stands between a text and a mark behind it: where its last line is part of a
// fence or a table, the mark would be, too.
function gap(text: string): string {
  return /^(```|~~~|\|)/.test(text.slice(text.lastIndexOf("\n") + 1).trim()) ? "\n\n" : " ";
}

// noteText tells where a passage comes from, and the passage, in a line.
function noteText(c: Citation): string {
  return `${oneLine(sourceName(c))}: “${oneLine(c.quote)}”${c.found ? "" : " (not found in the source)"}`;
}

// sourceName names a source for people.
export function sourceName(c: Citation): string {
  const name = (c.url ?? "") + (c.file ?? "") || (c.artifact ? "artifact " + c.artifact.slice(0, 12) : "") || (c.tool ? "tool " + c.tool : "no source");
  return (c.title ? c.title + ", " : "") + name + (c.page ? `, page ${c.page}` : "");
}

const blanks = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

function oneLine(text: string): string {
  return text.split(blanks).filter(Boolean).join(" ");
}

// escaped is text that Markdown shows as it is.
function escaped(text: string): string {
  return text.replace(/[\\`*_[\]<>#|~&!$^]/g, "\\$&");
}
