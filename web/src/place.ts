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

// paths are what stands behind "#".
export const paths: Record<Place, string> = { runs: "/", run: "/runs/", threads: "/threads", thread: "/threads/", batches: "/batches", batch: "/batches/", compare: "/compare" };

export function parse(hash: string): Address {
  const [path, query] = hash.replace(/^#/, "").split("?", 2);
  const params = new Map(new URLSearchParams(query ?? ""));
  if (path === paths.compare) return { place: "compare", id: "", params };
  const match = /^\/(runs|threads|batches)(?:\/([^/]+))?$/.exec(path);
  const list = (match?.[1] ?? "runs") as keyof typeof ones;
  try {
    const id = decodeURIComponent(match?.[2] ?? "");
    return { place: id === "" ? list : ones[list], id, params };
  } catch {
    return { place: list, id: "", params }; // a mangled link leads to the list
  }
}
