// A list that the server pages: the part of it that the address asks for, looked at
// again as long as somebody looks.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { address, param, setParams } from "./address";
import { listPath, pageSize } from "./paths";
import { getJSON } from "./api";
import { painted } from "./painted";
import { tick } from "./clock";
import { statuses } from "./format";

// maxLoaded is as many as the server gives at once: what is behind them is not looked
// at again.
const maxLoaded = 500;

export class Listing<T> {
  readonly items = signal<T[] | null>(null);
  readonly more = signal(false);
  readonly trouble = signal("");
  private asked = 0;
  private next = "";
  // wanted is how the list was narrowed when it was last asked for, since when that was.
  private wanted = "";
  private since = -Infinity;

  // name is that of the list; key names an item for the server, going says that it may
  // change.
  constructor(private readonly name: string, private readonly key: (item: T) => string, private readonly going: (item: T) => boolean) {}

  private ask(before: string, limit: number): Promise<Record<string, T[]> & { more?: boolean; next?: string }> {
    return getJSON(listPath(this.name, address.peek().params, before, limit));
  }

  // page takes a page, and what asks for the one behind it: the server's own cursor, or the
  // last item.
  private page(items: T[], list: { more?: boolean; next?: string }): void {
    this.items.value = items;
    this.next = list.next ?? (list.more ? this.key(items[items.length - 1]) : "");
    this.more.value = this.next !== "";
  }

  load = async (): Promise<void> => {
    const mine = ++this.asked;
    this.wanted = this.narrowed();
    this.since = performance.now();
    const limit = Math.min(maxLoaded, Math.max(pageSize, this.items.peek()?.length ?? 0));
    try {
      const list = await this.ask("", limit);
      if (mine !== this.asked) return;
      this.page(list[this.name], list);
      this.trouble.value = "";
    } catch (err) {
      if (mine === this.asked) this.trouble.value = err instanceof TypeError ? "The server does not answer. This list may be out of date; it will refresh by itself." : String((err as Error).message);
    }
  };

  loadMore = async (): Promise<void> => {
    const list = await this.ask(this.next, pageSize);
    this.page([...(this.items.peek() ?? []), ...list[this.name]], list);
  };

  // narrowed changes with what the address asks for.
  narrowed(): string {
    return ["q", "status", "waiting", "team", "model", "rows", "hours", "min_cost"].map(param).join("\u0000");
  }

  private fresh(): boolean {
    return this.wanted === this.narrowed() && performance.now() - this.since < 1000;
  }

  // use has a component show the list as the address asks for it. What goes on is
  // looked at every two seconds, other lists every ten. The first look does not wait for
  // an effect, which comes after the first paint.
  use(): void {
    if (this.asked === 0) void this.load();
    useEffect(() => {
      if (this.fresh()) return undefined;
      const timer = setTimeout(this.load, this.items.peek() ? 150 : 0);
      return () => clearTimeout(timer);
    }, [this.narrowed()]);
    useEffect(() => {
      if (this.fresh()) return;
      const going = (this.items.value ?? []).some(this.going);
      if (tick.value % (going ? 2 : 10) === 0) void this.load();
    }, [tick.value]);
  }
}

// Coming stands for a list's page until what is on it stays where it is: who reaches for a row
// that is shown must not find another thing in its place.
export function Coming({ what }: { what: string }) {
  return (
    <main id="main" tabIndex={-1} class="list">
      <h1>{what}</h1>
      <p class="empty">Loading …</p>
    </main>
  );
}

// firstRows fill what is in view at first.
const firstRows = 10;

// useRoom is how many rows of a list are drawn: at first those in view, so that they are
// there sooner, and all of them a frame later.
export function useRoom(rows: number): number {
  const [all, setAll] = useState(false);
  useEffect(() => {
    if (all || rows === 0) return undefined;
    let here = true;
    void painted.then(() => here && setAll(true));
    return () => void (here = false);
  }, [all, rows === 0]);
  return all ? rows : firstRows;
}

// Filters are the search and the status that a list is narrowed to, kept in the
// address.
export function Filters({ what, names = Object.keys(statuses), children }: { what: string; names?: string[]; children?: ComponentChildren }) {
  return (
    <div class="filters">
      <Search what={what} />
      <StatusFilter names={names} />
      {children}
    </div>
  );
}

export function Search({ what }: { what: string }) {
  return (
    <label class="search">
      <span class="sr">{what}</span>
      <input data-search type="search" placeholder={what} value={param("q")} maxLength={200} onInput={(e) => setParams({ q: e.currentTarget.value })} />
    </label>
  );
}

export function StatusFilter({ names }: { names: string[] }) {
  return (
    <label>
      <span>Status</span>
      <select value={param("status")} onChange={(e) => setParams({ status: e.currentTarget.value })}>
        <option value="">all</option>
        {names.map((name) => <option key={name} value={name}>{statuses[name].word}</option>)}
      </select>
    </label>
  );
}
