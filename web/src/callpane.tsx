// A model call, shown as people read it, and what each agent has cost.

import { restored } from "./values";
import { useMemo } from "preact/hooks";
import { argumentsOf, costs, type Message, sentFor } from "./call";
import type { CitedPage, FailedAttempt, ModelCalled, Reply, Usage } from "./events";
import type { Run } from "./fold";
import { count, line, money, plural, precise } from "./format";
import { Markdown } from "./markdown";
import { CopyButton } from "./markdownparts";
import type { Tool } from "./offered";
import { Tag } from "./provenance";
import type { RunView } from "./run";

// maxShownChars bounds a text on the page; the export has all of it.
const maxShownChars = 50_000;

export function CallDetail({ view, run, seq, call }: { view: RunView; run: Run; seq: number; call: ModelCalled }) {
  const sent = useMemo(() => sentFor(view.events, run, seq), [run.id, seq]);
  const messages = sent.repeated.length + sent.fresh.length;
  return (
    <>
      <Facts call={call} />
      {(call.retries ?? []).length > 0 && <Attempts retries={call.retries!} attempts={call.attempts} />}
      <h4>Sent <span class="num">{plural(messages, "message")}</span></h4>
      {sent.system && <details><summary>System prompt, {plural(sent.system.length, "character")}</summary><Plain text={sent.system} /></details>}
      {sent.tools.length > 0 && <Tools all={sent.tools} />}
      {sent.repeated.length > 0 && (
        <details>
          <summary>{plural(sent.repeated.length, "message")} that {sent.earlier} was sent too</summary>
          <Messages all={sent.repeated} />
        </details>
      )}
      <Messages all={sent.fresh} />
      <h4>Reply</h4>
      <ReplyText reply={call.reply} />
    </>
  );
}

function Facts({ call: d }: { call: ModelCalled }) {
  const facts: [string, string][] = [
    ["model", [d.provider, d.model].filter(Boolean).map((s) => line(s!, 60)).join(" ") + (d.tier ? `, ${line(d.tier, 20)}` : "")],
    ["input", input(d.usage)],
    ["output", `${count(d.usage.output_tokens)} tokens${d.usage.reasoning_tokens ? `, ${count(d.usage.reasoning_tokens)} of them reasoning` : ""}${d.usage.estimated ? " (estimated)" : ""}`],
    ...(d.usage.web_searches ? [["searches", `${count(d.usage.web_searches)} of the web, by the provider`] as [string, string]] : []),
    ["cost", money(d.cost_usd) + (d.lost ? `, and ${money(d.lost.cost_usd)} of failed attempts` : "")],
    ["time", `${precise(d.total_ms)}, first token after ${precise(d.first_token_ms)}${d.queued_ms ? `, after waiting ${precise(d.queued_ms)}` : ""}`],
    ["attempts", String(d.attempts)],
  ];
  if (d.reply.finish_reason) facts.push(["ended", line(d.reply.finish_reason, 40) + (d.interrupted ? ", cut off" : "")]);
  return <dl class="call-facts num">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}

function input(u: Usage): string {
  const parts = [u.cached_input_tokens ? `${count(u.cached_input_tokens)} cached` : "", (u.cache_write_input_tokens ?? 0) + (u.cache_write_1h_input_tokens ?? 0) ? `${count((u.cache_write_input_tokens ?? 0) + (u.cache_write_1h_input_tokens ?? 0))} written to the cache` : ""].filter(Boolean);
  return `${count(u.input_tokens)} tokens${parts.length ? ", " + parts.join(", ") : ""}`;
}

function Attempts({ retries, attempts }: { retries: FailedAttempt[]; attempts: number }) {
  const first = Math.max(1, attempts - retries.length);
  return (
    <ol class="attempts" start={first} aria-label="Attempts that failed">
      {retries.map((a, i) => (
        <li key={i}>{a.status ? `HTTP ${a.status}` : a.error.replace(/_/g, " ")}{a.message ? `, ${line(a.message, 200)}` : ""}, after {precise(a.ran_ms)}{a.wait_ms ? `; waited ${precise(a.wait_ms)}` : ""}</li>
      ))}
    </ol>
  );
}

// Tools are those that the model was offered: their names, and what they are on demand.
function Tools({ all }: { all: Tool[] }) {
  return (
    <details class="tools">
      <summary>Offered {plural(all.length, "tool")}: {line(all.map((tool) => tool.name).join(", "), 400)}</summary>
      {all.map((tool, i) => (
        <div key={i}>
          <p><b>{line(tool.name, 60)}</b> {cut(tool.description)}</p>
          <details><summary>Parameters</summary><Plain text={JSON.stringify(tool.parameters, null, 2) ?? "none"} /></details>
        </div>
      ))}
    </details>
  );
}

const roles: Record<Message["role"], string> = { asked: "Asked", user: "User", model: "Model", tool: "Result of", summary: "Summary of what came before" };

function Messages({ all }: { all: Message[] }) {
  return (
    <>
      {all.map((message, i) => (
        <div key={i} class={"message-part " + message.role}>
          <p class="role">{roles[message.role]} {message.of && <b>{line(message.of, 60)}</b>}{message.failed && <span class="failure"> failed</span>}</p>
          {message.reply ? <ReplyText reply={message.reply} /> : message.role === "tool" ? <Plain text={message.text} /> : <div class="body"><Markdown text={cut(message.text)} shift={3} /></div>}
        </div>
      ))}
    </>
  );
}

function ReplyText({ reply }: { reply: Reply }) {
  const calls = reply.tool_calls ?? [];
  return (
    <>
      {reply.reasoning && <details><summary>Reasoning, {plural(reply.reasoning.length, "character")}</summary><Plain text={reply.reasoning} /></details>}
      {reply.text && <div class="body"><Markdown text={cut(reply.text)} shift={3} /></div>}
      {(reply.searches ?? []).map((query, i) => <p key={i} class="role">Searched the web for <b>{line(query, 200)}</b></p>)}
      {(reply.cited ?? []).length > 0 && <Cited pages={reply.cited!} />}
      {calls.map((call, i) => (
        <div key={i} class="tool-call">
          <p class="role">Calls <b>{line(call.name, 60)}</b> <CopyButton what={`Copy the arguments of ${line(call.name, 60)}`} text={() => call.arguments} /></p>
          <dl>{argumentsOf(call.arguments).map(([name, value]) => <div key={name}><dt>{line(name, 60)}</dt><dd>{cut(value)}</dd></div>)}</dl>
        </div>
      ))}
      {reply.extra !== undefined && <p class="role">Something is kept for the provider, and not shown.</p>}
      {!reply.text && !reply.reasoning && calls.length === 0 && <p class="role">Nothing.</p>}
    </>
  );
}

// Cited are the pages that the provider found and the reply cites.
function Cited({ pages }: { pages: CitedPage[] }) {
  return (
    <>
      <p class="role">Cites {plural(pages.length, "page")}</p>
      <ul class="cited">{pages.map((page, i) => <li key={i}>{line([page.title, page.url].filter(Boolean).join(", "), 300)}{page.quote && <>: <q>{line(page.quote, 300)}</q></>}</li>)}</ul>
    </>
  );
}

function Plain({ text }: { text: string }) {
  return <pre>{restored(cut(text))}</pre>;
}

function cut(text: string): string {
  return text.length > maxShownChars ? text.slice(0, maxShownChars) + "\n… the export contains all of it" : text;
}

// Costs is what the run has cost, and behind it what each agent has.
export function Costs({ view, run }: { view: RunView; run: Run }) {
  view.watch();
  const all = costs(run);
  const total = money(run.summary.cost_usd);
  if (all.length === 0) return <span>{total}</span>;
  return (
    <details class="menu costs">
      <summary title="The cost of each agent">{total}</summary>
      <div>
        <table>
          <thead><tr><th scope="col">agent</th><th scope="col">calls</th><th scope="col">in</th><th scope="col">out</th><th scope="col">cost</th></tr></thead>
          <tbody>{all.map((c) => <tr key={c.agent}><th scope="row"><Tag run={run} agent={c.agent} /></th><td>{c.calls}</td><td>{count(c.input)}</td><td>{count(c.output)}</td><td>{money(c.usd)}</td></tr>)}</tbody>
        </table>
      </div>
    </details>
  );
}
