// One conversation: what was said and by whom, what is being said, the questions that wait
// for an answer, and where to write.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { link, param, setParams } from "./address";
import type { ChatView } from "./chatview";
import { tick } from "./clock";
import { Composer } from "./composer";
import type { Run } from "./fold";
import { over, parked } from "./states";
import { duration, exact, line, money, plural, status, tokens } from "./format";
import { Markdown } from "./markdown";
import { ConnectionNotice, StatusMark } from "./parts";
import { Exit, Offer } from "./handoffactions";
import { Questions } from "./questions";
import { restored } from "./values";
import { ValuesButton } from "./valuesbutton";
import type { Hidden, Item, Mark, Said } from "./talk";

export function ChatPage({ view, file }: { view: ChatView; file: boolean }) {
  view.watch();
  const run = view.head.current;
  if (view.head.seq === 0) {
    return (
      <main id="main" tabIndex={-1} class="message">
        {view.failure.value ? <><h1>This log cannot be shown</h1><p>{view.failure.value}</p></> : <p>Loading the conversation …</p>}
      </main>
    );
  }
  document.title = `${title(view)} · convene`;
  return (
    <main id="main" tabIndex={-1} class="chat">
      <Head view={view} run={run} file={file} />
      <div class="talk">
        <Messages view={view} />
        {!file && <div class="bottom"><Offer view={view} /><Questions view={view} /><Composer view={view} /></div>}
      </div>
      <Side view={view} run={run} />
    </main>
  );
}

function title(view: ChatView): string {
  return line(view.talk.messages.find((m) => m.role === "user")?.content ?? "Conversation", 80);
}

function Head({ view, run, file }: { view: ChatView; run?: Run; file: boolean }) {
  view.watch();
  const active = view.head.handoffs.active;
  const floor = active?.request.target_agent_id ?? run?.started.agents?.[0]?.id ?? "facilitator";
  return (
    <section class="head" aria-label="The conversation">
      <h1 title={title(view)}>{title(view)}</h1>
      <div class="facts num">
        {run && run.summary.status !== "completed" && <StatusMark is={status(run.summary.status)} live />}
        <span class="floor"><span aria-hidden="true">●</span> {view.name(floor)} {active ? "has the floor" : "answers"}</span>
        {active && active.steps > 0 && <Steps step={active.step} steps={active.steps} state={active.state} />}
        <span title={view.id}>thread {view.id.slice(0, 8)}</span>
        {run && <span class="team">{run.summary.team}</span>}
        {run?.summary.simulated && <em class="simulated" title="No real model was called: the answers are made up by the simulation">simulated model</em>}
      </div>
      {(!file || view.replaced.size > 0) && <div class="actions"><ValuesButton view={view} file={file} />{!file && <Exit view={view} />}</div>}
      <ConnectionNotice view={view}><Notice view={view} run={run} /></ConnectionNotice>
    </section>
  );
}

function Notice({ view, run }: { view: ChatView; run?: Run }) {
  view.watch();
  if (run?.summary.status === "suspended") return <p class="notice person">{run.summary.reason || "The run is suspended"}. The next message continues it; so does <a href={link("run", run.id)}>Resume on the page of the run</a>.</p>;
  if (run?.summary.status === "running" && run.outage) return <p class="notice person">Waiting for {run.outage.message}.</p>;
  return <p class="notice" hidden />;
}

export function Steps({ step, steps, state }: { step: number; steps: number; state: string }) {
  return (
    <span class="progress steps" title={state}>
      <progress aria-label="Steps" max={steps} value={step} />Step {step} of {steps}
    </span>
  );
}

// pageItems is how many items are drawn at first, and more at a time.
const pageItems = 200;

// Messages follow the newest until the reader scrolls up, and again once the reader is back
// there.
function Messages({ view }: { view: ChatView }) {
  view.watch();
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const seen = useRef(0);
  const [shown, setShown] = useState(pageItems);
  const [, setAway] = useState(false);
  const hidden = param("hidden") !== "";
  const all = hidden ? view.talk.items : view.talk.items.filter((item) => item.kind !== "hidden");
  const from = Math.max(0, all.length - shown);
  useLayoutEffect(() => {
    const el = box.current!;
    if (atEnd.current) {
      el.scrollTop = el.scrollHeight;
      seen.current = all.length;
    }
  });
  const scrolled = ({ currentTarget: el }: { currentTarget: HTMLElement }) => { // which may be gone from the page by then
    const there = el.scrollTop + el.clientHeight >= el.scrollHeight - 24;
    if (there !== atEnd.current) setAway(!there);
    atEnd.current = there;
  };
  const missed = all.length - seen.current;
  return (
    <div class="messages" ref={box} tabIndex={0} onScroll={scrolled} role="region" aria-label="Messages">
      {from > 0 && <button type="button" class="earlier" onClick={() => setShown(shown + pageItems)}>Show earlier messages ({from})</button>}
      <div role="log" aria-label="What was said">
        {all.slice(from).map((item, i) => <One key={item.kind + item.seq} view={view} item={item} before={all[from + i - 1]} />)}
      </div>
      <Saying view={view} />
      <Waiting view={view} />
      {!atEnd.current && missed > 0 && (
        <button type="button" class="newer" onClick={() => { atEnd.current = true; setAway(false); }}>{missed} new ↓</button>
      )}
    </div>
  );
}

function One({ view, item, before }: { view: ChatView; item: Item; before?: Item }) {
  switch (item.kind) {
    case "said":
      return <Message view={view} said={item} again={before?.kind === "said" && before.agent === item.agent && before.role === item.role && before.user === item.user} />;
    case "mark":
      return <MarkLine view={view} mark={item} />;
    case "hidden":
      return <HiddenLine view={view} hidden={item} />;
  }
}

// speakerName is who said something, as the reader calls them.
function speakerName(view: ChatView, said: Said): string {
  if (said.role === "notice") return "convene";
  if (said.role === "user") return said.user || "You";
  return view.name(said.agent) + (said.agent === "human" && said.user ? ` (${said.user})` : "");
}

// signs tell speakers apart without colours.
function sign(said: Said): string {
  if (said.role === "user") return "›";
  if (said.role === "notice") return "!";
  return said.agent === "human" ? "☺" : said.agent === "facilitator" ? "◆" : "●";
}

export function hue(view: ChatView, agent: string): string {
  const at = view.head.current?.started.agents?.findIndex((card) => card.id === agent) ?? -1;
  return "hue" + (Math.max(0, at) % 8);
}

function Message({ view, said, again }: { view: ChatView; said: Said; again: boolean }) {
  const body = useMemo(() => <Text said={said} />, [said]);
  return (
    <article class={"said " + said.role + (said.interim ? " interim" : "") + (again ? " again" : "")}>
      <header>
        <b class={said.role === "assistant" ? hue(view, said.agent) : undefined}><span aria-hidden="true">{sign(said)}</span> {speakerName(view, said)}</b>
        {said.step && <span class="step">Step {said.step.step} of {said.step.steps}</span>}
        {said.delivery === "steer" && <span class="step">while it worked</span>}
        <span class="fill" />
        {said.run && <RunLink view={view} said={said} />}
        <Clock time={said.time} />
      </header>
      <div class="body">{body}</div>
    </article>
  );
}

function Text({ said }: { said: Said }) {
  if (said.role === "user") return <p class="plain">{said.content}</p>;
  if (said.structured) return <pre tabIndex={0} role="region" aria-label="Answer"><code>{restored(said.content)}</code></pre>;
  return <Markdown text={said.content} />;
}

// RunLink leads from a message to the plan, the document and the timeline of its run, as
// they were when it was said.
function RunLink({ view, said }: { view: ChatView; said: Said }) {
  const run = view.head.run(said.run);
  const params: Record<string, string> = run && said.seq < run.summary.last_seq && said.interim ? { at: String(said.seq) } : {};
  return <a class="of-run" href={link("run", said.run, params)} title="Plan, document and timeline of the run" aria-label="The run of this message: plan, document and timeline">run</a>;
}

function Clock({ time }: { time: string }) {
  return <time class="num" dateTime={time} title={exact(time)}>{exact(time).slice(11, 16)}</time>;
}

function MarkLine({ view, mark }: { view: ChatView; mark: Mark }) {
  const text = mark.text.replace(/\{(\d)\}/g, (_, i: string) => view.name(mark.agents[Number(i)] ?? ""));
  return <p class={"mark " + mark.tone}><span>{line(text, 700)}</span><Clock time={mark.time} /></p>;
}

function HiddenLine({ view, hidden }: { view: ChatView; hidden: Hidden }) {
  return (
    <article class="said hidden-message">
      <header><b>to {view.name(hidden.agent || "facilitator")}</b> <span class="step">{line(hidden.reason, 60)}</span><span class="fill" /><Clock time={hidden.time} /></header>
      <div class="body"><p class="plain">{hidden.content}</p></div>
    </article>
  );
}

// phases are what an agent does that has not begun to speak.
const phases: Record<string, string> = {
  queued: "is waiting for a slot", waiting: "is thinking", thinking: "is thinking", writing: "is writing", retrying: "is trying again", away: "is waiting for the endpoint",
  tools: "is working", finished: "is working",
};

// Saying is what the agent who has the floor says at this moment, and else what it does.
function Saying({ view }: { view: ChatView }) {
  view.watch();
  view.live.value;
  tick.value;
  const run = view.head.current;
  if (!run || run.summary.status !== "running") return null;
  const live = view.live.value;
  const active = view.head.handoffs.active;
  const agent = active?.request.target_agent_id ?? run.started.agents?.[0]?.id ?? "facilitator";
  const text = live?.driven ? view.said : "";
  const now = live?.driven ? live.agents.find((a) => (a.dispatch_id ?? "") === view.floor) : undefined;
  const others = run.dispatches.filter((d) => !d.finish).map((d) => run.name(d.start.agent));
  return (
    <article class="said assistant saying" aria-live="off">
      <header>
        <b class={hue(view, agent)}><span aria-hidden="true">{agent === "facilitator" ? "◆" : "●"}</span> {view.name(agent)}</b>
        <span class="step">{others.length > 0 ? `is waiting for ${others.slice(0, 4).join(", ")}${others.length > 4 ? " …" : ""}` : phases[now?.phase ?? ""] ?? "is working"}</span>
        <span class="num step">{now ? duration(view.now() - Date.parse(now.since)) : ""}</span>
        <span class="fill" />
        <a class="of-run" href={link("run", run.id)}>watch</a>
      </header>
      {text && <div class="body"><Markdown text={text} /></div>}
    </article>
  );
}

// Waiting are messages whose run has not begun, and those that are on their way.
function Waiting({ view }: { view: ChatView }) {
  view.watch();
  const queue = view.talk.queue(view.head);
  const pending = view.outbox.pending.value;
  if (queue.length === 0 && pending.length === 0) return null;
  return (
    <div class="waiting">
      {queue.map((said, i) => (
        <article key={said.id} class="said user">
          <header><b><span aria-hidden="true">›</span> {speakerName(view, said)}</b><span class="step person">queued, place {i + 1}</span><span class="fill" /><Clock time={said.time} /></header>
          <div class="body"><p class="plain">{said.content}</p></div>
        </article>
      ))}
      {pending.map((m) => (
        <article key={m.message_id} class="said user">
          <header>
            <b><span aria-hidden="true">›</span> {m.user_id || "You"}</b>
            <span class={"step" + (m.refused ? " failure" : "")} role={m.refused ? "alert" : undefined}>{m.refused ? "not sent: " + line(m.refused, 300) : m.unsent ? "not sent yet: the server does not answer; it is sent again by itself" : "sending …"}</span>
            <span class="fill" />
            {m.refused && <button type="button" class="link" onClick={() => view.outbox.again(m)}>Try again</button>}
            {m.refused && <button type="button" class="link" onClick={() => view.outbox.drop(m.message_id)}>Discard</button>}
          </header>
          <div class="body"><p class="plain">{m.content}</p></div>
        </article>
      ))}
    </div>
  );
}

// Side says where the conversation stands, and what its runs have cost.
function Side({ view, run }: { view: ChatView; run?: Run }) {
  view.watch();
  const hidden = param("hidden") !== "";
  return (
    <aside class="side" aria-label="Where the conversation stands">
      <Phase view={view} />
      <Workflow view={view} run={run} />
      <Runs view={view} />
      <p class="hint"><button type="button" aria-pressed={hidden} onClick={() => setParams({ hidden: hidden ? "" : "1" })}>Show what convene tells its agents</button></p>
    </aside>
  );
}

// maxPhases is how many of the newest phases are shown.
const maxPhases = 8;

function Phase({ view }: { view: ChatView }) {
  const { phase, phase_history } = view.head.handoffs.progress;
  if (phase_history.length === 0) return null;
  const all = phase_history.map((p) => p.to_phase).filter(Boolean).slice(-maxPhases);
  return (
    <section class="pane" aria-labelledby="phase-title">
      <h2 id="phase-title">Phase <span class="num">{line(phase, 40)}</span></h2>
      <p class="phase">{all.map((p, i) => <span key={i} class={p === phase && i === all.length - 1 ? "current" : ""}>{i > 0 && " → "}{line(p, 40)}</span>)}</p>
    </section>
  );
}

function Workflow({ view, run }: { view: ChatView; run?: Run }) {
  const handoffs = view.head.handoffs;
  const session = handoffs.active ?? [...handoffs.sessions].reverse().find((s) => s.steps > 0);
  if (!session || session.steps === 0) return null;
  const target = session.request.target_agent_id;
  const declared = run?.started.agents?.find((c) => c.id === target)?.handoff?.workflow_states;
  const states = declared?.length === session.steps ? declared : Array.from({ length: session.steps }, (_, i) => (i === session.step - 1 ? session.state : `step ${i + 1}`));
  return (
    <section class="pane" aria-labelledby="workflow-title">
      <h2 id="workflow-title">Workflow <span class="num">{view.name(target)}</span></h2>
      <ol class="workflow">
        {states.map((state, i) => {
          const at = i + 1 < session.step || session.status === "completed" ? "done" : i + 1 === session.step ? "current" : "ahead";
          const words = { done: "done", current: handoffs.active ? "now" : "left here", ahead: "to come" };
          return <li key={i} class={at} aria-current={at === "current" ? "step" : undefined}><span aria-hidden="true">{at === "done" ? "✓" : at === "current" ? "●" : "○"}</span> {line(state.replace(/_/g, " "), 60)}<span class="sr">: {words[at]}</span></li>;
        })}
      </ol>
    </section>
  );
}

// maxRuns is how many runs of a thread are listed.
const maxRuns = 12;

function Runs({ view }: { view: ChatView }) {
  const runs = view.head.runs;
  let used = 0;
  let cost: number | null = 0;
  for (const r of runs) {
    used += r.summary.usage.input_tokens + r.summary.usage.output_tokens;
    cost = cost === null || r.summary.cost_usd === null ? null : cost + r.summary.cost_usd;
  }
  return (
    <section class="pane" aria-labelledby="runs-title">
      <h2 id="runs-title">Runs of this thread</h2>
      <p class="totals num">{plural(runs.length, "run")} · {tokens(used)} · {money(cost)}</p>
      <ul class="of-thread">
        {runs.slice(-maxRuns).reverse().map((r) => (
          <li key={r.id}>
            <a href={link("run", r.id)}>{line(r.started.message, 60)}</a>
            <span class={"num " + status(r.summary.status).tone}><span aria-hidden="true">{status(r.summary.status).sign}</span> {!over(r.summary.status) || parked(r.summary.status) ? status(r.summary.status).word : plural(r.summary.model_calls, "call")}</span>
          </li>
        ))}
      </ul>
      {runs.length > maxRuns && <p class="hint">and {runs.length - maxRuns} earlier ones</p>}
    </section>
  );
}
