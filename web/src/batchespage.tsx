// The list of batches: what there is, how far it is, what it costs.

import { useEffect } from "preact/hooks";
import { link, param } from "./address";
import type { Held } from "./batchview";
import { ago, duration, exact, line, money, rate, tokens } from "./format";
import { damage, heldStatus, over } from "./states";
import { Filters, Listing } from "./listing";
import { batchName, Parts, rowsDone, StatusMark } from "./parts";

export const batches = new Listing<Held>("batches", (batch) => batch.batch_id, (batch) => batch.status === "running");

export const batchStatuses = ["running", "suspended", "completed", "degraded", "failed"];

export function BatchesPage() {
  batches.use();
  useEffect(() => {
    document.title = "Batches · convene";
  }, []);
  return (
    <main id="main" tabIndex={-1} class="list">
      <h1>Batches</h1>
      <Filters what="Search files, teams and ids" names={batchStatuses} />
      {batches.trouble.value && <p class="trouble" role="status">{batches.trouble.value}</p>}
      <Table />
    </main>
  );
}

function Table() {
  const list = batches.items.value;
  if (list === null) return <p class="empty">Loading …</p>;
  if (list.length === 0) {
    if (param("q") || param("status")) return <p class="empty">No batch matches. Change the search or the status.</p>;
    return <p class="empty">There are no batches yet. Start one with: <code>convene batch IN -o OUT</code>, where IN has one request per line.</p>;
  }
  return (
    <>
      <ul class="runs batches" aria-label="Batches, newest first">{list.map((batch) => <Row key={batch.batch_id} s={batch} />)}</ul>
      {batches.more.value && <button type="button" onClick={() => void batches.loadMore()}>Show older batches</button>}
    </>
  );
}

export function Row({ s }: { s: Held }) {
  const is = heldStatus(s, s.interrupted === true);
  const going = s.status === "running" && !s.interrupted;
  const since = Date.now() - Date.parse(s.updated_at);
  return (
    <li>
      <a href={link("batch", s.batch_id)}>
        <StatusMark is={is} />
        <span class="request" title={[s.input, s.output].filter(Boolean).join(" → ")}>{batchName(s)}</span>
        <span class="facts num">
          <span>{line(s.team, 40)}{s.simulated && <em class="simulated">simulated</em>}</span>
          <span class="progress"><Parts s={s} lost={s.interrupted === true} />{rowsDone(s)}</span>
          <span>{going ? rate(s.rows_per_second) : ""}</span>
          <span>{going && s.left_ms ? `${duration(s.left_ms - since)} left` : over(s.status) ? duration(s.elapsed_ms) : ""}</span>
          <span>{tokens(s.tokens)}</span>
          <span>{money(s.cost_usd)}</span>
          <time dateTime={s.started_at} title={exact(s.started_at)}>{ago(Date.now() - Date.parse(s.started_at))}</time>
        </span>
        {s.damaged ? <span class="reason failure">{damage(s.damaged)}</span> : s.interrupted ? <span class="reason person">Its process is gone. Run the same command again to continue.</span> : s.reason && <span class={"reason " + is.tone}>{line(s.reason, 240)}</span>}
      </a>
    </li>
  );
}
