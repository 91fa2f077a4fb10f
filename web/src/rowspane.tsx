// The rows of a batch: of a hundred thousand only those in view exist.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { go, param, runLink, setParams } from "./address";
import type { Row } from "./batchrows";
import type { BatchView } from "./batchview";
import { tick } from "./clock";
import { count, damaged, duration, exact, interrupted, money, plural, precise, status, tokens } from "./format";
import { over, parked } from "./states";
import { StatusFilter } from "./listing";
import { StatusMark } from "./parts";
import { VirtualList } from "./virtual";

// rowStatuses are those that a row's run may have.
const rowStatuses = ["running", "suspended", "awaiting_input", "completed", "degraded", "failed", "cancelled"];

// typed is what is being written into the search; it searches once the writer pauses.
const typed = signal<string | null>(null);
const pauseMs = 250;
let timer = 0;

function type(text: string): void {
  typed.value = text;
  clearTimeout(timer);
  timer = window.setTimeout(() => {
    typed.value = null;
    setParams({ q: text });
  }, pauseMs);
}

// refreshMs is how often rows in view are looked at again while the batch goes on.
const refreshMs = 2000;

// nearEnd is how many rows before the end of what is loaded the next page is asked for.
const nearEnd = 60;

const seen = { first: 0, last: 0, at: 0 };

function look(view: BatchView): void {
  const rows = view.rows;
  const near = seen.last >= rows.list.length - nearEnd;
  if (near && rows.more) {
    void rows.extend();
  } else if (view.running() && Date.now() - seen.at >= refreshMs) {
    seen.at = Date.now();
    rows.more ||= near; // rows may have begun behind the last
    void rows.refresh(seen.first, seen.last);
  }
}

export function Rows({ view }: { view: BatchView }) {
  view.watch();
  const rows = view.rows;
  rows.changed.value;
  const [wanted, search, selected] = [param("status"), param("q"), param("sel")];
  useEffect(() => {
    rows.set(wanted, search, selected);
  }, [rows, wanted, search]);
  useEffect(() => look(view), [tick.value, rows.changed.value]);
  // The last look is after each end, of which one draw may see two states alike: rows may have
  // begun and ended since the one before.
  useEffect(() => {
    if (view.running() || rows.list.length === 0) return;
    rows.more = true;
    void rows.refresh(seen.first, seen.last);
  }, [view.running() ? 0 : view.head.seq]);
  const gone = rows.goneRows;
  const choose = (run: string) => setParams({ sel: run });
  return (
    <section class="pane batch-rows" aria-labelledby="rows-title">
      <div class="bar">
        <h2 id="rows-title">Rows <span class="num">{count(rows.list.length)}{rows.more ? "+" : ""}</span></h2>
        {gone > 0 && <button type="button" class="plain" onClick={() => rows.settle()}>{count(gone)} fit no more: let go</button>}
        {rows.trouble.value && <span class="trouble" role="status">{rows.trouble.value}</span>}
        <StatusFilter names={rowStatuses} />
        <label class="search">
          <span class="sr">Search the rows</span>
          <input data-search type="search" placeholder="search rows, requests, answers" value={typed.value ?? search} maxLength={200} onInput={(e) => type(e.currentTarget.value)} />
        </label>
      </div>
      <VirtualList
        key={wanted + "\u0000" + search} id="batch-rows" label="Rows, in the order of the input" count={rows.list.length} rowHeight={44} row={(i) => <Cells row={rows.list[i]} view={view} choose={choose} />}
        head={<Heads />} selected={selected ? rows.indexOf(selected) : -1} keyOf={(i) => rows.list[i].run} indexOf={(run) => rows.indexOf(run)}
        onSelect={(i) => choose(rows.list[i].run)} onOpen={(i) => go("run", rows.list[i].run)}
        onSeen={(first, last) => {
          Object.assign(seen, { first, last: last - 1 });
          look(view);
        }}
        empty={rows.loading.value ? "Loading …" : rows.trouble.value ? "" : wanted || search ? "No row matches. Change the search or the status." : "No row has been started yet."}
      />
    </section>
  );
}

const columns = [
  ["state", "Status"], ["id", "Row"], ["what", "Request, and what came of it"], ["duration", "Duration"], ["tokens", "Tokens"], ["cost", "Cost"], ["retry", "Retry"],
];

function Heads() {
  return (
    <>
      {columns.map(([name, words]) => <span key={name} role="columnheader" class={name}>{words}</span>)}
    </>
  );
}

function Cells({ row, view, choose }: { row: Row; view: BatchView; choose: (run: string) => void }) {
  const unfinished = !over(row.status) && !parked(row.status);
  const going = unfinished && !view.abandoned();
  if (going) tick.value;
  const is = row.damaged ? damaged : row.gone ? { sign: "·", word: "moved on", tone: "quiet" } : unfinished && !going ? interrupted : status(row.status);
  const end = going && !row.gone ? Date.now() + view.skew : row.updated;
  return (
    <>
      <span role="gridcell" class="state"><StatusMark is={is} /></span>
      <span role="gridcell" class="id">
        <a href={runLink(row.run)} tabIndex={-1} title={`${row.row}, row ${row.index + 1} of the input`} onClick={() => choose(row.run)}>{row.row || row.run.slice(0, 13)}</a>
      </span>
      <span role="gridcell" class="what">
        <span class="request">{row.request}</span>
        <span class={"text " + (row.damaged || (over(row.status) && row.status !== "completed") ? is.tone : "")}>{row.text}</span>
      </span>
      <span role="gridcell" class="num duration" title={exact(new Date(row.started).toISOString())}>{going ? duration(end - row.started) : precise(end - row.started)}</span>
      <span role="gridcell" class="num tokens">{tokens(row.tokens)}</span>
      <span role="gridcell" class="num cost">{money(row.cost)}</span>
      <span role="gridcell" class="num retry" title={row.attempt ? plural(row.attempt, "retry", "retries") : undefined}>{row.attempt || ""}</span>
    </>
  );
}
