// Markdown as elements, never as markup: what a model wrote becomes headings,
// lists, tables and text, and nothing that loads or runs. HTML in it is shown as
// the text that it is, but for line breaks, raised and lowered text; images as what
// they are called.

import type { Token, Tokens } from "marked";
import type { ComponentChildren, VNode } from "preact";
import { Lexed, type Note } from "./lexer";
import { restored } from "./values";
import { Code, NoteMark, pieceCells, TableRows } from "./markdownparts";

// Wrap puts a stretch of text, at this place of the source, into an element. Texts of
// one paragraph, heading, item or cell have the same block.
export type Wrap = (text: string, at: number, key: string, block: number) => ComponentChildren;

const plain: Wrap = (text) => text;

// maxDepth is deeper than anybody nests lists and quotes; beyond it text is shown as it stands.
const maxDepth = 24;

export function Markdown({ text, wrap = plain, shift = 2 }: { text: string; wrap?: Wrap; shift?: number }): VNode {
  const lexed = new Lexed(text);
  const shown: Wrap = (part, at, key, block) => wrap(restored(part), at, key, block);
  return <>{new Renderer(text, lexed, shown, shift).blocks(lexed.blocks, 0)}</>;
}

// Piece is a stretch of shown text, at most a sentence.
export interface Piece {
  text: string;
  at: number;
  block: number;
  // ends says that a sentence ends with it.
  ends: boolean;
}

// pieces gives the text of Markdown as it is shown, with the places in its source.
export function pieces(markdown: string): Piece[] {
  const found: Piece[] = [];
  const wrap: Wrap = (text, at, _, block) => {
    found.push({ text, at, block, ends: endsSentence(text) });
    return null;
  };
  const lexed = new Lexed(markdown);
  new Renderer(markdown, lexed, wrap, 0, false).blocks(lexed.blocks, 0);
  return found;
}

class Renderer {
  // cursor is the place in the source up to which text has been shown.
  private cursor = 0;
  private keys = 0;
  private blockNumber = 0;

  // lazy leaves the rows of long tables until they are drawn.
  constructor(private readonly source: string, private readonly lexed: Lexed, private readonly wrap: Wrap, private readonly shift: number, private readonly lazy = true) {}

  blocks(tokens: Token[], depth: number): ComponentChildren {
    return tokens.map((token) => this.block(token, depth));
  }

  private key(): string {
    return String(this.keys++);
  }

  private block(token: Token, depth: number): ComponentChildren {
    const key = this.key();
    this.blockNumber++;
    if (depth > maxDepth) return <p key={key}>{this.text(token.raw)}</p>;
    switch (token.type) {
      case "space":
      case "def":
        return null;
      case "heading": {
        const level = Math.min(6, (token as Tokens.Heading).depth + this.shift);
        const Tag = `h${level}` as "h3";
        return <Tag key={key} dir="auto">{this.inlines((token as Tokens.Heading).tokens, depth)}</Tag>;
      }
      case "paragraph":
        return <p key={key} dir="auto">{this.inlines((token as Tokens.Paragraph).tokens, depth)}</p>;
      case "text": {
        const inner = (token as Tokens.Text).tokens;
        return <span key={key}>{inner ? this.inlines(inner, depth) : this.text((token as Tokens.Text).text)}</span>;
      }
      case "blockquote":
        return <blockquote key={key} dir="auto">{this.blocks((token as Tokens.Blockquote).tokens, depth + 1)}</blockquote>;
      case "list":
        return this.list(token as Tokens.List, key, depth);
      case "code":
        return this.code(token as Tokens.Code, key);
      case "table":
        return this.table(token as Tokens.Table, key, depth);
      case "hr":
        return <hr key={key} />;
      case "note":
        return this.note(token as Note, key, depth);
      case "html":
        if (/^(?:\s*<br\s*\/?>)+\s*$/i.test(token.raw)) return <br key={key} />;
        return <p key={key} dir="auto">{this.text(token.raw)}</p>;
      default:
        return <p key={key}>{this.text(token.raw)}</p>;
    }
  }

  private code(token: Tokens.Code, key: string): VNode {
    return <Code key={key} language={/^[\w+#.-]{1,30}/.exec(token.lang ?? "")?.[0] ?? ""} source={token.text}>{this.text(token.text)}</Code>;
  }

  // note is what a mark in the text refers to, at the place where it was written.
  private note(token: Note, key: string, depth: number): VNode {
    return <div key={key} class="note" data-note={token.label} dir="auto"><sup>{token.label}</sup> {this.blocks(token.tokens ?? [], depth + 1)}</div>;
  }

  private list(token: Tokens.List, key: string, depth: number): VNode {
    const items = token.items.map((item) => (
      <li key={this.key()} dir="auto" class={item.task ? "task" : undefined}>
        {item.task && <span class="box">{item.checked ? "☑ " : "☐ "}</span>}
        {this.blocks(item.tokens.filter((inner) => inner.type !== "checkbox"), depth + 1)}
      </li>
    ));
    if (!token.ordered) return <ul key={key}>{items}</ul>;
    return <ol key={key} start={Number(token.start) || undefined}>{items}</ol>;
  }

  private table(token: Tokens.Table, key: string, depth: number): VNode {
    const begun = Math.max(this.cursor, this.source.indexOf(token.raw.trimEnd(), this.cursor));
    const head = token.header.map((cell) => <th key={this.key()} scope="col" dir="auto" class={cell.align ?? undefined}>{this.cell(cell, depth)}</th>);
    const body = this.rows(token, depth, begun + token.raw.trimEnd().length);
    return (
      <div key={key} class="table" tabIndex={0} role="region" aria-label="Table">
        <table>
          <thead>
            <tr>{head}</tr>
          </thead>
          {body}
        </table>
      </div>
    );
  }

  // rows are those of a table. The rows of a long one are made as they are drawn, in order,
  // by a renderer of their own, which begins where this one stands; this one goes on behind
  // the table, at end.
  private rows(token: Tokens.Table, depth: number, end: number): VNode {
    if (!this.lazy || token.rows.length * token.header.length <= pieceCells) return <tbody>{token.rows.map((row, i) => this.row(row, i, depth))}</tbody>;
    const own = new Renderer(this.source, this.lexed, this.wrap, this.shift);
    own.cursor = this.cursor;
    this.cursor = Math.min(this.source.length, end);
    return <TableRows columns={token.header.length} rows={token.rows.map((row, i) => () => own.row(row, i, depth))} />;
  }

  private row(row: Tokens.TableCell[], at: number, depth: number): VNode {
    return <tr key={at}>{row.map((cell, i) => <td key={i} dir="auto" class={cell.align ?? undefined}>{this.cell(cell, depth)}</td>)}</tr>;
  }

  private cell(cell: Tokens.TableCell, depth: number): ComponentChildren {
    this.blockNumber++;
    return this.inlines(cell.tokens, depth);
  }

  private inlines(tokens: Token[], depth: number): ComponentChildren {
    this.lexed.within(tokens);
    const shown: ComponentChildren[] = [];
    for (let i = 0; i < tokens.length; i++) {
      const until = raised(tokens, i);
      if (until > i && depth <= maxDepth * 2) {
        const Tag = tokens[i].raw.slice(1, -1).toLowerCase() as "sub";
        shown.push(<Tag key={this.key()}>{this.inlines(tokens.slice(i + 1, until), depth + 1)}</Tag>);
        i = until;
      } else {
        shown.push(this.inline(tokens[i], depth + 1));
      }
    }
    return shown;
  }

  private inline(token: Token, depth: number): ComponentChildren {
    const key = this.key();
    if (depth > maxDepth * 2) return this.text(token.raw);
    switch (token.type) {
      case "strong":
        return <strong key={key}>{this.inlines((token as Tokens.Strong).tokens, depth)}</strong>;
      case "em":
        return <em key={key}>{this.inlines((token as Tokens.Em).tokens, depth)}</em>;
      case "del":
        return <del key={key}>{this.inlines((token as Tokens.Del).tokens, depth)}</del>;
      case "codespan":
        return <code key={key}>{this.text((token as Tokens.Codespan).text)}</code>;
      case "br":
        return <br key={key} />;
      case "html":
        return /^<br\s*\/?>$/i.test(token.raw) ? <br key={key} /> : this.text(token.raw);
      case "notemark":
        return <NoteMark key={key} label={(token as Note).label} />;
      case "link": {
        const link = token as Tokens.Link;
        const inner = this.inlines(link.tokens, depth);
        const href = safeLink(link.href);
        if (!href) return <span key={key}>{inner}</span>;
        return <a key={key} href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>{inner}</a>;
      }
      case "image":
        return <span key={key} class="image" title={(token as Tokens.Image).href}>[image: {this.text((token as Tokens.Image).text || "without a name")}]</span>;
      case "escape":
      case "text": {
        const inner = (token as Tokens.Text).tokens;
        return inner ? this.inlines(inner, depth) : this.text(unescapeEntities((token as Tokens.Text).text), token.raw);
      }
      default:
        return this.text(token.raw);
    }
  }

  // text shows a text, sentence by sentence, each with its place in the source.
  private text(text: string, raw = text): ComponentChildren {
    const found = this.source.indexOf(raw, this.cursor);
    const start = found >= 0 && found - this.cursor < 4096 ? found : this.cursor;
    this.cursor = Math.min(this.source.length, start + raw.length);
    if (this.wrap === plain) return text;
    let at = start;
    return sentences(text).map((sentence) => {
      const from = at;
      at += sentence.length;
      return this.wrap(sentence, from, this.key(), this.blockNumber);
    });
  }
}

// raised gives where the text ends that begins here and is raised or lowered: the place of
// the closing tag; 0 where none begins.
function raised(tokens: Token[], at: number): number {
  const tag = tokens[at].type === "html" ? /^<(su[bp])>$/i.exec(tokens[at].raw)?.[1] : undefined;
  if (!tag) return 0;
  const closing = `</${tag.toLowerCase()}>`;
  return tokens.findIndex((token, i) => i > at && token.type === "html" && token.raw.toLowerCase() === closing);
}

// sentences cuts a text behind its full stops.
export function sentences(text: string): string[] {
  const found: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (!".!?。！？".includes(text[i])) continue;
    const wide = "。！？".includes(text[i]);
    while (i + 1 < text.length && ".!?。！？\"'”’)]".includes(text[i + 1])) i++;
    if (!wide && i + 1 < text.length && !/\s/.test(text[i + 1])) continue;
    while (i + 1 < text.length && /\s/.test(text[i + 1])) i++;
    found.push(text.slice(start, i + 1));
    start = i + 1;
  }
  if (start < text.length) found.push(text.slice(start));
  return found;
}

// endsSentence says that a stretch ends where a sentence may.
function endsSentence(text: string): boolean {
  return /[.!?。！？]["'”’)\]]*\s*$/.test(text) && sentences(text + " x").length > 1;
}

// safeLink gives an address that may be followed by a click, else "".
export function safeLink(href: string): string {
  try {
    const url = new URL(href);
    return url.protocol === "http:" || url.protocol === "https:" || url.protocol === "mailto:" ? url.href : "";
  } catch {
    return "";
  }
}

// entities are those that models write; all others are shown as they stand.
const entities: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&nbsp;": "\u00a0" };

function unescapeEntities(text: string): string {
  return text.includes("&") ? text.replace(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => entities[entity]) : text;
}
