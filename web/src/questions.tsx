// What waits for an answer: questions with their choices, and conversations in which a
// person is to answer.

import { useSignal } from "@preact/signals";
import { param, setParams } from "./address";
import type { ChatView } from "./chatview";
import { tick } from "./clock";
import { duration, line } from "./format";
import { Release } from "./handoffactions";
import { type Decided, newID } from "./outbox";
import type { Input } from "./inbox";

// chosen is the request that what the reader writes answers: the one that was chosen, else
// the only one there is. A desk answers in an agent's place, and nobody else does.
export function chosen(view: ChatView): Input | undefined {
  const open = view.asked().filter((input) => input.asked.kind !== "approval" && (input.asked.kind === "human") === (param("as") === "human"));
  return open.find((input) => input.asked.input_id === param("input")) ?? (open.length === 1 ? open[0] : undefined);
}

// answer sends an answer once, however often it is asked to.
export function answer(view: ChatView, input: Input, content: string, user = ""): void {
  if (view.outbox.answering(input.asked.input_id)) return;
  view.outbox.send({ message_id: newID(), content, delivery: "answer", input_id: input.asked.input_id, user_id: user || undefined });
}

export function Questions({ view }: { view: ChatView }) {
  view.watch();
  const open = view.asked();
  const human = open.filter((input) => input.asked.kind === "human");
  const asked = open.filter((input) => input.asked.kind === "question");
  const approvals = open.filter((input) => input.asked.kind === "approval");
  return (
    <>
      {human.map((input) => <Desk key={input.asked.input_id} view={view} input={input} />)}
      {approvals.map((input) => <Approval key={input.asked.input_id} view={view} input={input} />)}
      {asked.map((input) => <Question key={input.asked.input_id} view={view} input={input} several={asked.length > 1} />)}
    </>
  );
}

function Question({ view, input, several }: { view: ChatView; input: Input; several: boolean }) {
  view.watch();
  const busy = view.outbox.answering(input.asked.input_id);
  const picked = chosen(view)?.asked.input_id === input.asked.input_id;
  return (
    <section class="question" aria-label="A question to you">
      <p><b class="person"><span aria-hidden="true">?</span> {view.name(input.agent || "facilitator")} needs your answer</b> <span class="what">{line(input.asked.question, 240)}</span></p>
      <div class="choices">
        {(input.asked.choices ?? []).map((choice) => <button key={choice} type="button" disabled={busy} onClick={() => answer(view, input, choice)}>{line(choice, 120)}</button>)}
        {several && <button type="button" class="plain" aria-pressed={picked} onClick={() => setParams({ input: picked ? "" : input.asked.input_id })}>Answer this in writing</button>}
      </div>
    </section>
  );
}

// Approval is where a call is approved, as it is or with other arguments, or denied.
function Approval({ view, input }: { view: ChatView; input: Input }) {
  view.watch();
  const edited = useSignal<string | undefined>(undefined);
  const wrong = useSignal("");
  const { input_id: id, action } = input.asked;
  if (!action) return null;
  const busy = view.outbox.answering(id);
  const decide = (approval: Decided) => {
    if (!view.outbox.answering(id)) view.outbox.send({ message_id: newID(), content: words(approval), delivery: "answer", input_id: id, approval });
  };
  const submit = (e: Event) => {
    e.preventDefault();
    const args = object(edited.value ?? "");
    wrong.value = args ? "" : "This is no JSON object.";
    if (args) decide({ decision: "approve", arguments: args });
  };
  return (
    <section class="question" aria-label="An approval is needed">
      <p><b class="person"><span aria-hidden="true">?</span> {view.name(input.agent || "facilitator")} needs your approval</b> <span class="what">to call {line(action.tool, 80)} ({action.effect})</span></p>
      {edited.value === undefined && <pre>{pretty(action.arguments)}</pre>}
      {edited.value !== undefined && (
        <form onSubmit={submit} onKeyDown={(e) => e.key === "Escape" && (edited.value = undefined)}>
          <textarea aria-label="Arguments" rows={6} value={edited.value} onInput={(e) => (edited.value = e.currentTarget.value)} />
          {wrong.value && <p role="alert">{wrong.value}</p>}
          <div class="choices">
            <button type="submit" disabled={busy}>Approve with these</button>
            <button type="button" class="plain" onClick={() => (edited.value = undefined)}>Cancel</button>
          </div>
        </form>
      )}
      {edited.value === undefined && (
        <div class="choices">
          <button type="button" disabled={busy} onClick={() => decide({ decision: "approve" })}>Approve</button>
          <button type="button" disabled={busy} onClick={() => decide({ decision: "deny" })}>Deny</button>
          <button type="button" class="plain" disabled={busy} onClick={() => (edited.value = pretty(action.arguments))}>Edit the arguments</button>
        </div>
      )}
    </section>
  );
}

// words tell a decision in the conversation.
function words(approval: Decided): string {
  if (approval.decision === "deny") return "Denied.";
  return approval.arguments === undefined ? "Approved." : `Approved with other arguments: ${JSON.stringify(approval.arguments)}`;
}

// pretty breaks arguments into lines, where that changes nothing of them: a long number would
// not be shown as it is.
function pretty(json: string): string {
  try {
    const value: unknown = JSON.parse(json);
    return JSON.stringify(value) === json ? JSON.stringify(value, null, 2) : json;
  } catch {
    return json;
  }
}

function object(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json);
    return value && typeof value === "object" && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

// Desk is where a person answers in an agent's place.
function Desk({ view, input }: { view: ChatView; input: Input }) {
  tick.value;
  const here = param("as") === "human";
  return (
    <section class="question" aria-label="A person is to answer">
      <p>
        <b class="person"><span aria-hidden="true">☺</span> Waits for a person</b> <span class="num">{duration(view.now() - Date.parse(input.time))}</span>{" "}
        <span class="what">{here ? `You answer: “${line(input.asked.question, 200)}”` : input.asked.handoff_id ? "Somebody at the desk will answer. The agents answer meanwhile." : "Somebody at the desk will answer. What you write meanwhile is queued."}</span>
      </p>
      <div class="choices">
        <button type="button" aria-pressed={here} onClick={() => setParams({ as: here ? "" : "human" })}>Answer as a person</button>
        {input.asked.handoff_id && here && <Release view={view} />}
      </div>
    </section>
  );
}
