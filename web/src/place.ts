// What an address stands for. It is read before the page has any other script.

export type Place = "runs" | "run" | "threads" | "thread" | "batches" | "batch" | "compare";

export interface Address {
  place: Place;
  // id is the run, thread or batch that is shown; "" in the lists.
  id: string;
  params: Map<string, string>;
}

// ones are the places of one item, by the list that has it.
export const ones = { runs: "run", threads: "thread", batches: "batch" } as const;

// paths are where a server has them; in a page from disk they stand behind "#".
export const paths: Record<Place, string> = { runs: "/", run: "/runs/", threads: "/threads", thread: "/threads/", batches: "/batches", batch: "/batches/", compare: "/compare" };

const known = /^\/(runs|threads|batches)(?:\/([^/]+))?$/;

// isPlace tells a path of the page from others of the server.
export function isPlace(path: string): boolean {
  return path === paths.runs || path === paths.compare || known.test(path);
}

export function parse(target: string): Address {
  const [path, query] = target.split("?", 2);
  const params = new Map(new URLSearchParams(query ?? ""));
  if (path === paths.compare) return { place: "compare", id: "", params };
  const match = known.exec(path);
  const list = (match?.[1] ?? "runs") as keyof typeof ones;
  try {
    const id = decodeURIComponent(match?.[2] ?? "");
    return { place: id === "" ? list : ones[list], id, params };
  } catch {
    return { place: list, id: "", params }; // a mangled link leads to the list
  }
}

export function write(a: Address): string {
  const query = new URLSearchParams([...a.params].filter(([, value]) => value !== "")).toString();
  return paths[a.place] + encodeURIComponent(a.id) + (query ? "?" + query : "");
}

// settle has the address of a page from a server stand in its path. Links of earlier versions
// have it behind "#".
export function settle(): boolean {
  if (!location.hash.startsWith("#/")) return false;
  history.replaceState(null, "", write(parse(location.hash.slice(1))));
  return true;
}
