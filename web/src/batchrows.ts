// The rows of a batch as the reader wants them, by pages from the server. What is in
// view is looked at again; nothing that is read moves by itself.

import { signal } from "@preact/signals";
import { getJSON } from "./api";
import type { RunSummary } from "./events";
import { line, plain, rowName } from "./format";
import { damage, lostRequest } from "./states";

// Row is what the table shows of a row's run: a hundred thousand of them fit.
export interface Row {
  run: string;
  // row is what people call it.
  row: string;
  index: number;
  attempt: number;
  status: string;
  request: string;
  // text is the reason of the status, or else the answer.
  text: string;
  started: number;
  updated: number;
  tokens: number;
  cost: number | null;
  // gone says that the row fits the filter no more: it stays where it was seen.
  gone: boolean;
  damaged: boolean;
}

interface Page {
  rows: RunSummary[];
  more: boolean;
}

// pageRows is several screens; the server gives no more than maxPageRows at once.
const pageRows = 200;
const maxPageRows = 500;

// maxSought is how far the row that a link names is looked for.
const maxSought = 10_000;

export class BatchRows {
  list: Row[] = [];
  more = true;
  // changed counts changes of the list.
  readonly changed = signal(0);
  readonly trouble = signal("");
  readonly loading = signal(false);
  private at = new Map<string, number>();
  private filter = "";
  private generation = 0;
  private asking = false;
  // due are the rows to look at again once the page comes that is being asked for.
  private due: [first: number, last: number] | null = null;

  constructor(private readonly batch: string) {}

  // set changes what is listed, and starts over; wanted is a run that the list should
  // reach.
  set(status: string, search: string, wanted: string): void {
    const q = new URLSearchParams();
    if (status) q.set("status", status);
    if (search) q.set("search", search);
    this.filter = q.toString();
    this.generation++;
    this.asking = false;
    this.due = null;
    void this.restart(wanted);
  }

  // indexOf is where a run stands in the list; -1 where it is not in it.
  indexOf(run: string): number {
    return this.at.get(run) ?? -1;
  }

  // goneRows counts the rows that stay though they fit no more.
  get goneRows(): number {
    return this.list.reduce((n, row) => n + (row.gone ? 1 : 0), 0);
  }

  private async restart(wanted: string): Promise<void> {
    this.loading.value = true;
    const page = await this.ask("", pageRows);
    this.loading.value = false;
    if (!page) return;
    this.replace(page.rows.map(row));
    this.more = page.more;
    while (wanted && this.indexOf(wanted) < 0 && this.more && this.list.length < maxSought && (await this.extend(maxPageRows)));
  }

  // extend adds the next page, and says whether it came.
  async extend(limit = pageRows): Promise<boolean> {
    if (!this.more || this.asking) return false;
    const page = await this.ask(this.list[this.list.length - 1]?.run ?? "", limit);
    if (!page) return false;
    this.more = page.more;
    this.replace(this.list.concat(page.rows.map(row).filter((r) => this.indexOf(r.run) < 0)));
    return true;
  }

  // refresh looks again at the rows from first to last, which are in view, and behind
  // the end of the list if that is among them.
  async refresh(first: number, last: number): Promise<void> {
    if (this.asking) {
      this.due = [first, last];
      return;
    }
    const end = Math.min(last + 1, this.list.length);
    const page = await this.ask(first > 0 ? this.list[first - 1].run : "", Math.min(maxPageRows, Math.max(1, end - first) + 20));
    if (!page) return;
    const fresh = page.rows.map(row);
    const until = fresh.length > 0 && page.more ? fresh[fresh.length - 1] : undefined;
    const known = new Set(fresh.map((r) => r.run));
    const kept = this.list.slice(first).filter((old) => !known.has(old.run));
    for (const old of kept) if (!until || before(old, until)) old.gone = true;
    this.replace(this.list.slice(0, first).filter((old) => !known.has(old.run)).concat(merged(fresh, kept)));
    if (until && this.list[this.list.length - 1].run === until.run) this.more = true;
  }

  // settle drops the rows that fit no more.
  settle(): void {
    this.replace(this.list.filter((r) => !r.gone));
  }

  private replace(list: Row[]): void {
    this.list = list;
    this.at = new Map(list.map((r, i) => [r.run, i]));
    this.changed.value++;
  }

  // ask gives a page, null where it did not come or the filter is another by then. What was due
  // meanwhile is looked at once the caller has taken the page.
  private async ask(after: string, limit: number): Promise<Page | null> {
    const mine = this.generation;
    const q = new URLSearchParams(this.filter);
    q.set("limit", String(limit));
    if (after) q.set("after", after);
    this.asking = true;
    try {
      const page = await getJSON<Page>(`/api/v1/batches/${encodeURIComponent(this.batch)}/rows?${q.toString()}`);
      if (mine !== this.generation) return null;
      this.trouble.value = "";
      return page;
    } catch (err) {
      if (mine === this.generation) this.trouble.value = err instanceof TypeError ? "The server does not answer: the rows may be out of date." : String((err as Error).message);
      return null;
    } finally {
      if (mine === this.generation) {
        this.asking = false;
        if (this.due) {
          const [first, last] = this.due;
          this.due = null;
          setTimeout(() => mine === this.generation && void this.refresh(first, last));
        }
      }
    }
  }
}

function row(run: RunSummary): Row {
  return {
    run: run.run_id, row: run.batch ? rowName(run.batch) : "", index: run.batch?.index ?? 0, attempt: run.batch?.attempt ?? 0, status: run.status,
    request: line(run.request, 200) || (run.damaged ? lostRequest : ""), text: run.damaged ? damage(run.damaged) : line(run.reason || plain(run.answer ?? ""), 200),
    started: Date.parse(run.started_at), updated: Date.parse(run.updated_at),
    tokens: run.usage.input_tokens + run.usage.output_tokens, cost: run.cost_usd, gone: false, damaged: run.damaged !== undefined,
  };
}

// before is the order of the rows: ids of runs sort as they do.
function before(a: Row, b: Row): boolean {
  return a.run < b.run;
}

// merged joins two lists that are in order.
function merged(a: Row[], b: Row[]): Row[] {
  const all: Row[] = [];
  let at = 0;
  for (const r of a) {
    while (at < b.length && before(b[at], r)) all.push(b[at++]);
    all.push(r);
  }
  return all.concat(b.slice(at));
}
