// What waits for an answer: questions with their choices, and conversations in which a
// person is to answer.

import { param, setParams } from "./address";
import type { ChatView } from "./chatview";
import { tick } from "./clock";
import { duration, line } from "./format";
import { newID } from "./outbox";
import type { Input } from "./inbox";

// chosen is the request that what the reader writes answers: the one that was chosen, else
// the only one there is. A desk answers in an agent's place, and nobody else does.
export function chosen(view: ChatView): Input | undefined {
  const open = view.asked().filter((input) => (input.asked.kind === "human") === (param("as") === "human"));
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
  const asked = open.filter((input) => input.asked.kind !== "human");
  return (
    <>
      {human.map((input) => <Desk key={input.asked.input_id} view={view} input={input} />)}
      {asked.map((input) => <Question key={input.asked.input_id} view={view} input={input} several={asked.length > 1} />)}
    </>
  );
}

function Question({ view, input, several }: { view: ChatView; input: Input; several: boolean }) {
  view.watch();
  const busy = view.outbox.answering(input.asked.input_id);
  const picked = chosen(view)?.asked.input_id === input.asked.input_id;
  return (
    <section class="question" aria-label={input.asked.kind === "approval" ? "An approval is needed" : "A question to you"}>
      <p><b class="person"><span aria-hidden="true">?</span> {view.name(input.agent || "facilitator")} {input.asked.kind === "approval" ? "needs your approval" : "needs your answer"}</b> <span class="what">{line(input.asked.question, 240)}</span></p>
      <div class="choices">
        {(input.asked.choices ?? []).map((choice) => <button key={choice} type="button" disabled={busy} onClick={() => answer(view, input, choice)}>{line(choice, 120)}</button>)}
        {several && <button type="button" class="plain" aria-pressed={picked} onClick={() => setParams({ input: picked ? "" : input.asked.input_id })}>Answer this in writing</button>}
      </div>
    </section>
  );
}

// Desk is where a person answers in an agent's place.
function Desk({ view, input }: { view: ChatView; input: Input }) {
  tick.value;
  const here = param("as") === "human";
  return (
    <section class="question" aria-label="A person is to answer">
      <p>
        <b class="person"><span aria-hidden="true">☺</span> Waits for a person</b> <span class="num">{duration(view.now() - Date.parse(input.time))}</span>{" "}
        <span class="what">{here ? `You answer: “${line(input.asked.question, 200)}”` : "Somebody at the desk will answer. What you write meanwhile is queued."}</span>
      </p>
      <div class="choices"><button type="button" aria-pressed={here} onClick={() => setParams({ as: here ? "" : "human" })}>Answer as a person</button></div>
    </section>
  );
}
