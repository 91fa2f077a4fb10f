// The colours of code: a part of the script that is loaded when the first block comes whose
// language is known. Ranges are named to the browser, and the elements stay as they are, so
// that the sentences in them keep what holds of them.

import type { ElementContent, Root } from "hast";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import shell from "highlight.js/lib/languages/shell";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

// What people ask agents for; their other names, such as js and toml, are known with them.
const lowlight = createLowlight({ bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, makefile, markdown, php, python, ruby, rust, shell, sql, swift, typescript, xml, yaml });

// maxChars bounds the code that gets colours: longer code would hold up the page.
const maxChars = 50_000;

// kinds are the words of the grammars, by how they look.
const kinds: Record<string, string[]> = {
  keyword: ["keyword", "selector-tag", "operator", "meta"],
  text: ["string", "regexp", "quote", "char", "link", "code", "selector-attr"],
  number: ["number", "literal", "symbol", "bullet", "template-variable", "variable"],
  name: ["title", "section", "name", "attr", "attribute", "property", "selector-class", "selector-id", "selector-pseudo", "function"],
  type: ["type", "built_in", "class", "tag"],
  comment: ["comment", "doctag"],
  added: ["addition"],
  removed: ["deletion"],
};
const kindOf = new Map(Object.entries(kinds).flatMap(([kind, words]) => words.map((word) => ["hljs-" + word, kind] as const)));

// Stretch is a part of code that looks the same.
interface Stretch {
  from: number;
  to: number;
  kind: string;
}

// highlight colours the code in an element, and gives what takes the colours away again.
// Code of a language that is not known stays as it is.
export function highlight(code: HTMLElement, language: string): () => void {
  const source = code.textContent ?? "";
  if (!("highlights" in CSS) || source.length > maxChars || !lowlight.registered(language)) return () => undefined;
  const drawn = ranges(code, stretches(lowlight.highlight(language, source)));
  for (const { kind, range } of drawn) group(kind).add(range);
  return () => drawn.forEach(({ kind, range }) => group(kind).delete(range));
}

function group(kind: string): Highlight {
  const name = "code-" + kind;
  const there = CSS.highlights.get(name) ?? new Highlight();
  CSS.highlights.set(name, there);
  return there;
}

// stretches reads them from a tree, in order. What stands in an element looks as that does
// but where it is an element itself.
function stretches(tree: Root): Stretch[] {
  const found: Stretch[] = [];
  let at = 0;
  const read = (nodes: readonly (ElementContent | Root["children"][number])[], kind: string) => {
    for (const node of nodes) {
      if (node.type === "element") read(node.children, kindOf.get(String([node.properties.className ?? ""].flat()[0])) ?? "");
      if (node.type !== "text") continue;
      if (kind) found.push({ from: at, to: at + node.value.length, kind });
      at += node.value.length;
    }
  };
  read(tree.children, "");
  return found;
}

// ranges are where the stretches stand in the texts of an element.
function ranges(code: HTMLElement, all: Stretch[]): { kind: string; range: StaticRange }[] {
  const found: { kind: string; range: StaticRange }[] = [];
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  let begin = 0, next = 0;
  for (let node = texts.nextNode() as Text | null; node; node = texts.nextNode() as Text | null) {
    const end = begin + node.length;
    while (next < all.length && all[next].from < end) {
      const { from, to, kind } = all[next];
      found.push({ kind, range: new StaticRange({ startContainer: node, startOffset: Math.max(from, begin) - begin, endContainer: node, endOffset: Math.min(to, end) - begin }) });
      if (to > end) break; // goes on in the next text
      next++;
    }
    begin = end;
  }
  return found;
}
