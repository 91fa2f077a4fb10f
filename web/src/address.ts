// Where the reader is, in the part of the URL behind "#": it works from a server
// and from a file on disk, survives a reload and can be sent to others.

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { type Address, parse, paths, type Place } from "./place";

export { type Address, ones, type Place } from "./place";

export const address = signal<Address>(parse(location.hash));

window.addEventListener("hashchange", () => {
  address.value = parse(location.hash);
});

function write(a: Address): string {
  const query = new URLSearchParams([...a.params].filter(([, value]) => value !== "")).toString();
  return "#" + paths[a.place] + encodeURIComponent(a.id) + (query ? "?" + query : "");
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
  history.replaceState(null, "", write(next));
}

export function link(place: Place, id = "", params: Record<string, string> = {}): string {
  return write({ place, id, params: new Map(Object.entries(params)) });
}

export function runLink(run: string): string {
  return link("run", run);
}

// land is where a page stands that was opened without saying what to show.
export function land(place: Place, id: string): void {
  const params = new Map(address.peek().params);
  address.value = { place, id, params };
  history.replaceState(null, "", write(address.peek()));
}

export function go(place: Place, id = ""): void {
  location.hash = link(place, id);
}
