// Where the final answer comes from, as far as the log proves it: the call that wrote
// it, the entries which that call had been shown, and the sentences that stand word
// for word in one of them.

import { byteOffsets, type Entry } from "./document";
import type { Envelope } from "./events";
import type { Call, Run } from "./fold";
import { pieces } from "./markdown";

export interface AnswerOrigin {
  // call wrote the answer; undefined where no model did, or the log does not tell which.
  call?: Call;
  // shown are the entries that it could have read, by id.
  shown: number[];
  // summarised says that it had some of them in a summary of its history only.
  summarised: boolean;
}

// answerOrigin reads what the log says of the run's answer.
export function answerOrigin(events: readonly Envelope[], run: Run): AnswerOrigin {
  const answer = run.answer;
  if (!answer) return { shown: [], summarised: false };
  if (answer.fallback) {
    // The engine made it, of what the document held.
    return { shown: run.document.entries.filter((e) => e.seq < answer.seq && liveAt(run, e, answer.seq)).map((e) => e.id), summarised: false };
  }
  let call: Call | undefined;
  for (const c of run.calls.values()) {
    if (c.dispatch === "" && !c.data.purpose && c.seq < answer.seq) call = c;
  }
  if (call && call.data.reply.text !== answer.content && !answer.structured) call = undefined;
  return { call, ...shownBefore(events, run, call?.seq ?? answer.seq) };
}

// shownBefore gives the entries that the facilitator had seen before an event: those
// that its readings showed, and those that it wrote.
function shownBefore(events: readonly Envelope[], run: Run, seq: number): { shown: number[]; summarised: boolean } {
  const shown = new Set<number>();
  let summarised = false;
  for (let i = run.summary.first_seq - 1; i < Math.min(seq - 1, events.length); i++) {
    const env = events[i];
    if (env.run_id !== run.id || env.dispatch_id) continue;
    if (env.type === "document_updated") shown.add(env.data.entry_id);
    else if (env.type === "history_compacted" && !env.data.covered_bytes) summarised ||= shown.size > 0;
    else if (env.type === "tool_call") {
      for (const id of env.data.shown_entries ?? []) shown.add(id);
      if (env.data.tool === cleanReading) {
        for (const e of run.document.entries) {
          if (e.seq < env.seq && liveAt(run, e, env.seq) && env.data.result.includes(e.content)) shown.add(e.id);
        }
      }
    }
  }
  return { shown: [...shown].sort((a, b) => a - b), summarised };
}

// cleanReading is the tool that shows texts without their ids.
const cleanReading = "read_document_clean";

// liveAt says that no entry had replaced an entry at that time.
function liveAt(run: Run, entry: Entry, seq: number): boolean {
  return entry.replacedBy === 0 || run.document.entries[entry.replacedBy - 1].seq > seq;
}

// Found is a place of the document: an entry and a byte of its text.
export interface Found {
  entry: number;
  at: number;
  // reference is set where the answer names the entry instead of repeating it.
  reference?: boolean;
}

// provingChars is how long a sentence must be for its standing in an entry to prove
// anything: shorter ones stand in many texts by chance. A character of a script
// without spaces counts twice.
const provingChars = 16;

const letter = /[\p{L}\p{N}]/u;
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

// sourceOf finds the sentence of a text, at a place of it, in the newest of the
// entries that has it word for word: but for white space, Markdown, and the marks at
// its ends. Else it looks for the part of the sentence there that Markdown sets off.
// A reference to an entry names that one.
export function sourceOf(run: Run, among: readonly number[], text: string, at: number): Found | undefined {
  const [sentence, part] = sentenceAt(text, at);
  const referred = /\{\{entry:(\d{1,9})\}\}/.exec(part)?.[1];
  if (referred && run.document.entries[Number(referred) - 1]) return { entry: Number(referred), at: 0, reference: true };
  return search(run, among, bare(sentence)) ?? search(run, among, bare(part));
}

function search(run: Run, among: readonly number[], wanted: string): Found | undefined {
  if ([...wanted].reduce((sum, char) => sum + (unspaced.test(char) ? 2 : 1), 0) < provingChars) return undefined;
  // The longest word tells soon which entries cannot have it.
  const word = wanted.split(/[^\p{L}\p{N}]+/u).reduce((a, b) => (b.length > a.length ? b : a), "");
  for (let i = among.length - 1; i >= 0; i--) {
    const entry = run.document.entries[among[i] - 1];
    if (!entry?.content.includes(word)) continue;
    for (const block of blocksOf(entry.content)) {
      const found = find(block, wanted);
      if (found >= 0) return { entry: entry.id, at: byteOffsets(entry.content)(found) };
    }
  }
  return undefined;
}

// Block is the text of a paragraph, a heading, an item or a cell without its Markdown;
// at gives the place in the source of each of its characters.
interface Block {
  text: string;
  at: number[];
  // parts are where its pieces begin, ends the places behind its sentences.
  parts: number[];
  ends: number[];
}

// kept are the blocks of the texts that were looked into of late.
const kept = new Map<string, Block[]>();
const maxKept = 500;

function blocksOf(markdown: string): Block[] {
  let blocks = kept.get(markdown);
  if (blocks) return blocks;
  blocks = [];
  let last = -1;
  for (const piece of pieces(markdown)) {
    if (piece.block !== last) blocks.push({ text: "", at: [], parts: [], ends: [] });
    last = piece.block;
    const block = blocks[blocks.length - 1];
    block.parts.push(block.text.length);
    for (let i = 0; i < piece.text.length; i++) {
      const space = /\s/.test(piece.text[i]);
      if (space && (block.text === "" || block.text.endsWith(" "))) continue;
      block.text += space ? " " : piece.text[i];
      block.at.push(piece.at + i);
    }
    if (piece.ends) block.ends.push(block.text.length);
  }
  if (kept.size >= maxKept) kept.clear();
  kept.set(markdown, blocks);
  return blocks;
}

// sentenceAt is the sentence of a text that begins at a place of it or goes on there,
// and the part of the sentence that begins there.
function sentenceAt(markdown: string, at: number): [string, string] {
  for (const block of blocksOf(markdown)) {
    const i = block.at.findIndex((place) => place >= at);
    if (i < 0) continue;
    const from = Math.max(0, ...block.ends.filter((end) => end <= i));
    const to = Math.min(block.text.length, ...block.ends.filter((end) => end > i));
    const next = Math.min(to, ...block.parts.filter((part) => part > i));
    return [block.text.slice(from, to), block.text.slice(i, next)];
  }
  return ["", ""];
}

// bare leaves the marks at the ends of a sentence out.
function bare(sentence: string): string {
  return sentence.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
}

// find gives the place in the source where a block has a text as words of its own.
function find(block: Block, wanted: string): number {
  for (let i = block.text.indexOf(wanted); i >= 0; i = block.text.indexOf(wanted, i + 1)) {
    if (!joined(block.text[i - 1], wanted[0]) && !joined(wanted[wanted.length - 1], block.text[i + wanted.length])) return block.at[i];
  }
  return -1;
}

// joined says that two characters are of one word. Scripts without spaces have no such.
function joined(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && letter.test(a) && letter.test(b) && !unspaced.test(a) && !unspaced.test(b);
}
