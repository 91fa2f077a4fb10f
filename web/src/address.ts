// Where the reader is: the path of the URL, and in a page from disk the part behind "#". It
// survives a reload and can be sent to others.

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { type Address, isPlace, parse, type Place, settle, write } from "./place";

export { type Address, ones, type Place } from "./place";

// fromDisk is set for a page in one file, which has its log with it.
const fromDisk = document.getElementById("log") !== null;

function here(): Address {
  return parse(fromDisk ? location.hash.slice(1) : location.pathname + location.search);
}

function url(a: Address): string {
  return (fromDisk ? "#" : "") + write(a);
}

export const address = signal<Address>(here());

for (const kind of ["popstate", "hashchange"]) {
  window.addEventListener(kind, () => {
    if (!fromDisk) settle();
    address.value = here();
  });
}

// A link within the page moves it, as long as the reader does not ask for another tab or a file.
document.addEventListener("click", (event) => {
  const anchor = (event.target as Element).closest?.<HTMLAnchorElement>("a[href]");
  if (fromDisk || !anchor || event.defaultPrevented || event.button !== 0) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || anchor.target || anchor.hasAttribute("download")) return;
  const to = new URL(anchor.href);
  if (to.origin !== location.origin || to.hash || !isPlace(to.pathname)) return;
  event.preventDefault();
  move(parse(to.pathname + to.search));
});

// move goes to another place, from which the reader can go back.
function move(to: Address): void {
  if (url(to) === url(here())) return;
  history.pushState(null, "", url(to));
  address.value = to;
}

// params are signals of their own, so that a change of one has only those drawn again
// who show it.
const params = new Map<string, ReadonlySignal<string>>();

export function param(name: string): string {
  let value = params.get(name);
  if (!value) {
    value = computed(() => address.value.params.get(name) ?? "");
    params.set(name, value);
  }
  return value.value;
}

// setParams changes parts of the address without a new entry in the history.
export function setParams(changes: Record<string, string>): void {
  const params = new Map(address.peek().params);
  for (const [name, value] of Object.entries(changes)) {
    if (value) params.set(name, value);
    else params.delete(name);
  }
  const next = { ...address.peek(), params };
  address.value = next;
  history.replaceState(null, "", url(next));
}

export function link(place: Place, id = "", params: Record<string, string> = {}): string {
  return url({ place, id, params: new Map(Object.entries(params)) });
}

export function runLink(run: string): string {
  return link("run", run);
}

// land is where a page stands that was opened without saying what to show.
export function land(place: Place, id: string): void {
  const params = new Map(address.peek().params);
  address.value = { place, id, params };
  history.replaceState(null, "", url(address.peek()));
}

export function go(place: Place, id = ""): void {
  move({ place, id, params: new Map() });
}
