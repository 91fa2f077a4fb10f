// Where the reader is, in the part of the URL behind "#": it works from a server
// and from a file on disk, survives a reload and can be sent to others.

import { signal } from "@preact/signals";

export interface Address {
  // run is the run that is shown; "" is the list of runs.
  run: string;
  params: Map<string, string>;
}

export const address = signal<Address>(parse(location.hash));

window.addEventListener("hashchange", () => {
  address.value = parse(location.hash);
});

function parse(hash: string): Address {
  const [path, query] = hash.replace(/^#/, "").split("?", 2);
  const match = /^\/runs\/([^/]+)$/.exec(path);
  let run = "";
  try {
    run = match ? decodeURIComponent(match[1]) : "";
  } catch {
    // A mangled link leads to the list.
  }
  return { run, params: new Map(new URLSearchParams(query ?? "")) };
}

function write(a: Address): string {
  const query = new URLSearchParams([...a.params].filter(([, value]) => value !== "")).toString();
  return "#" + (a.run ? "/runs/" + encodeURIComponent(a.run) : "/") + (query ? "?" + query : "");
}

export function param(name: string): string {
  return address.value.params.get(name) ?? "";
}

// setParams changes parts of the address without a new entry in the history.
export function setParams(changes: Record<string, string>): void {
  const params = new Map(address.peek().params);
  for (const [name, value] of Object.entries(changes)) {
    if (value) params.set(name, value);
    else params.delete(name);
  }
  const next = { run: address.peek().run, params };
  address.value = next;
  history.replaceState(null, "", write(next));
}

export function runLink(run: string): string {
  return write({ run, params: new Map() });
}

export function go(run: string): void {
  location.hash = write({ run, params: new Map() });
}
