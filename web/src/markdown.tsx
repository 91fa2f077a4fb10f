// Markdown as elements, never as markup: what a model wrote becomes headings,
// lists, tables and text, and nothing that loads or runs. HTML in it is shown as
// the text that it is, images as what they are called.

import { Lexer, type Token, type Tokens } from "marked";
import type { ComponentChildren, VNode } from "preact";

// Wrap puts a stretch of text, at this place of the source, into an element. Texts of
// one paragraph, heading, item or cell have the same block.
export type Wrap = (text: string, at: number, key: string, block: number) => ComponentChildren;

const plain: Wrap = (text) => text;

// maxDepth is deeper than anybody nests lists and quotes; beyond it text is shown as it stands.
const maxDepth = 24;

export function Markdown({ text, wrap = plain, shift = 2 }: { text: string; wrap?: Wrap; shift?: number }): VNode {
  const tokens = new Lexer({ gfm: true, breaks: false }).lex(text);
  return <>{new Renderer(text, wrap, shift).blocks(tokens, 0)}</>;
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
  new Renderer(markdown, wrap, 0).blocks(new Lexer({ gfm: true, breaks: false }).lex(markdown), 0);
  return found;
}

class Renderer {
  // cursor is the place in the source up to which text has been shown.
  private cursor = 0;
  private keys = 0;
  private blockNumber = 0;

  constructor(private readonly source: string, private readonly wrap: Wrap, private readonly shift: number) {}

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
        return <Tag key={key}>{this.inlines((token as Tokens.Heading).tokens, depth)}</Tag>;
      }
      case "paragraph":
        return <p key={key}>{this.inlines((token as Tokens.Paragraph).tokens, depth)}</p>;
      case "text": {
        const inner = (token as Tokens.Text).tokens;
        return <span key={key}>{inner ? this.inlines(inner, depth) : this.text((token as Tokens.Text).text)}</span>;
      }
      case "blockquote":
        return <blockquote key={key}>{this.blocks((token as Tokens.Blockquote).tokens, depth + 1)}</blockquote>;
      case "list":
        return this.list(token as Tokens.List, key, depth);
      case "code":
        return <pre key={key} tabIndex={0} role="region" aria-label="Code"><code>{this.text((token as Tokens.Code).text)}</code></pre>;
      case "table":
        return this.table(token as Tokens.Table, key, depth);
      case "hr":
        return <hr key={key} />;
      default:
        return <p key={key}>{this.text(token.raw)}</p>;
    }
  }

  private list(token: Tokens.List, key: string, depth: number): VNode {
    const items = token.items.map((item) => (
      <li key={this.key()} class={item.task ? "task" : undefined}>
        {item.task && <span class="box">{item.checked ? "☑ " : "☐ "}</span>}
        {this.blocks(item.tokens.filter((inner) => inner.type !== "checkbox"), depth + 1)}
      </li>
    ));
    if (!token.ordered) return <ul key={key}>{items}</ul>;
    return <ol key={key} start={Number(token.start) || undefined}>{items}</ol>;
  }

  private table(token: Tokens.Table, key: string, depth: number): VNode {
    return (
      <div key={key} class="table" tabIndex={0} role="region" aria-label="Table">
        <table>
          <thead>
            <tr>{token.header.map((cell) => <th key={this.key()} scope="col">{this.cell(cell, depth)}</th>)}</tr>
          </thead>
          <tbody>
            {token.rows.map((row) => (
              <tr key={this.key()}>{row.map((cell) => <td key={this.key()}>{this.cell(cell, depth)}</td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
    );
  }

  private cell(cell: Tokens.TableCell, depth: number): ComponentChildren {
    this.blockNumber++;
    return this.inlines(cell.tokens, depth);
  }

  private inlines(tokens: Token[], depth: number): ComponentChildren {
    return tokens.map((token) => this.inline(token, depth + 1));
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
