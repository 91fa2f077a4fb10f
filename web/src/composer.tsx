// Where the reader writes. Enter sends; what is sent is never sent twice.

import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { param } from "./address";
import type { ChatView } from "./chatview";
import { over } from "./states";
import { newID } from "./outbox";
import { answer, chosen } from "./questions";

// operator is the name under which somebody answers at the desk.
const operator = signal("operator");

export function Composer({ view }: { view: ChatView }) {
  view.watch();
  const form = useRef<HTMLFormElement>(null);
  const text = useRef<HTMLTextAreaElement>(null);
  const run = view.head.current;
  const busy = run !== undefined && !over(run.summary.status);
  const desk = param("as") === "human";
  const input = chosen(view);
  const human = view.asked().some((i) => i.asked.kind === "human" && !i.asked.handoff_id);
  const send = (delivery?: "steer") => {
    const content = text.current!.value.trim();
    if (!content || (desk && !input)) return;
    text.current!.value = "";
    keep(view.id, "");
    if (input && !delivery) answer(view, input, content, desk ? operator.peek() : "");
    else view.outbox.send({ message_id: newID(), content, delivery: delivery ?? (human ? "queue" : undefined) });
  };
  return (
    <form
      ref={form} class="composer" aria-label={desk ? "Answer as a person" : "Write a message"}
      onSubmit={(e) => { e.preventDefault(); send(); }}
    >
      {desk && <label><span>You are</span><input value={operator.value} maxLength={100} onInput={(e) => (operator.value = e.currentTarget.value)} autoComplete="off" /></label>}
      <textarea
        ref={text} id="message" rows={1} aria-label={input ? "Your answer" : "Message"} defaultValue={kept(view.id)} onInput={(e) => keep(view.id, e.currentTarget.value)}
        placeholder={desk ? (input ? "Answer in the agent's place" : "Nothing waits for a person here") : input ? "Your answer" : busy ? "Your message is queued until this run has ended" : "Write a message"}
        onKeyDown={(e) => {
          if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
          e.preventDefault();
          send();
        }}
      />
      <button type="submit" disabled={desk && !input}>{input ? "Answer" : busy ? "Queue" : "Send"}</button>
      {busy && !input && !desk && !human && <button type="button" title="Whoever is at work reads it at the next turn" onClick={() => send("steer")}>Tell now</button>}
    </form>
  );
}

// A draft is kept over a reload.
function kept(thread: string): string {
  try {
    return sessionStorage.getItem("convene-draft-" + thread) ?? "";
  } catch {
    return ""; // storage may be forbidden
  }
}

function keep(thread: string, text: string): void {
  try {
    if (text) sessionStorage.setItem("convene-draft-" + thread, text);
    else sessionStorage.removeItem("convene-draft-" + thread);
  } catch {
    // Then it lasts as long as the page.
  }
}
