// Markdown as tokens: that of GitHub, with its footnotes.

import { Lexer, Marked, type Token, Tokenizer } from "marked";

// Note is a footnote, or the mark in the text that refers to one.
export interface Note {
  type: "note" | "notemark";
  raw: string;
  label: string;
  tokens?: Token[];
}

const marked = new Marked({ gfm: true, breaks: false });

marked.use({
  extensions: [
    {
      name: "note",
      level: "block",
      start: (text) => /^\[\^/m.exec(text)?.index,
      tokenizer(text) {
        const match = /^\[\^([^\]\s]{1,40})\]:[ \t]+([^\n]+(?:\n[ \t]+[^\n]+)*)(?:\n+|$)/.exec(text);
        if (!match) return undefined;
        return { type: "note", raw: match[0], label: match[1], tokens: this.lexer.blockTokens(match[2], []) };
      },
    },
    {
      name: "notemark",
      level: "inline",
      start: (text) => text.indexOf("[^"),
      tokenizer(text) {
        const match = /^\[\^([^\]\s]{1,40})\](?!:)/.exec(text);
        return match ? { type: "notemark", raw: match[0], label: match[1] } : undefined;
      },
    },
  ],
});

// Lexed is a text in blocks. What stands within them is looked at when it is asked for:
// of a long table only the rows that are drawn.
export class Lexed {
  readonly blocks: Token[];
  private readonly lexer = new Lexer({ ...marked.defaults, tokenizer: new Tokenizer() });
  private readonly waiting = new Map<Token[], string>();

  constructor(text: string) {
    this.blocks = this.lexer.blockTokens(text.replace(/\r\n|\r/g, "\n"), this.lexer.tokens);
    for (const { src, tokens } of this.lexer.inlineQueue) this.waiting.set(tokens, src);
    this.lexer.inlineQueue = [];
  }

  // within gives the tokens of a block, complete.
  within(tokens: Token[]): Token[] {
    const text = this.waiting.get(tokens);
    if (text !== undefined) {
      this.waiting.delete(tokens);
      this.lexer.inlineTokens(text, tokens);
    }
    return tokens;
  }
}
