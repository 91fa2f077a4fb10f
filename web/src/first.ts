// What a page from a server begins with: this stands in it, and is small. Where the server has
// drawn what the address names, nothing else comes between that and the screen: the script of
// the page, and what it asks of the server, wait until it can be read. The script finds the
// answers in window.ahead.

import { painted } from "./painted";
import { eventsPath, listPath, onePath, pageSize, serverPath } from "./paths";
import { parse, settle } from "./place";

// appParts are the addresses of the page's script and what it is made of, viewsParts those of
// the part that shows one run, thread or batch.
declare const appParts: string[];
declare const viewsParts: string[];

// wholeStyle is the address of the page's style, where the page has only what a list begins with.
declare const wholeStyle: string;

const moved = settle();

function ask(path: string): void {
  const answer = fetch(path, { headers: { Accept: "application/json" } });
  answer.catch(() => undefined); // who takes it is told
  window.ahead!.set(path, answer);
}

function link(rel: string, href: string): HTMLLinkElement {
  const element = document.createElement("link");
  element.rel = rel;
  element.href = href;
  document.head.append(element);
  return element;
}

function begin(): void {
  window.ahead = new Map();
  if (document.getElementById("first-style")) {
    const style = link("stylesheet", wholeStyle);
    window.styled = new Promise((done) => (style.onload = style.onerror = () => done()));
  }
  const { place, id, params } = parse(location.pathname + location.search);
  if (id) ask(onePath(place, id));
  else if (place !== "compare") ask(listPath(place, params, "", pageSize));
  if (place === "run") ask(eventsPath(id));
  if (place === "runs") ask(listPath("batches", params, "", pageSize));
  ask(serverPath);
  for (const part of id || place === "compare" ? [...appParts, ...viewsParts] : appParts) link("modulepreload", part);
  void import(appParts[0]);
  link("icon", "/icon.svg"); // to draw it takes the browser as long as a small page
}

addEventListener("DOMContentLoaded", () => {
  const frame = document.getElementById("app")!;
  if (moved) frame.replaceChildren(); // it is of another address
  if (frame.hasChildNodes()) void painted.then(begin);
  else begin();
});
