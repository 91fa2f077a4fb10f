// What the reader can do about a handoff: leave it, and go on with one that was left.

import { signal } from "@preact/signals";
import { deleteJSON } from "./api";
import type { ChatView } from "./chatview";
import { over } from "./states";
import type { Session } from "./handoff";
import { newID } from "./outbox";
import { humanAgent } from "./talk";

const busy = signal("");
const refused = signal("");

async function act(name: string, call: () => Promise<unknown>): Promise<void> {
  if (busy.peek()) return;
  busy.value = name;
  refused.value = "";
  try {
    await call();
  } catch (err) {
    refused.value = (err as Error).message;
  } finally {
    busy.value = "";
  }
}

function path(view: ChatView): string {
  return `/api/v1/threads/${encodeURIComponent(view.id)}/handoff`;
}

// Exit gives the conversation back to the facilitator.
export function Exit({ view }: { view: ChatView }) {
  view.watch();
  const active = view.head.handoffs.active;
  if (!active) return refused.value ? <p class="trouble" role="alert">{refused.value}</p> : null;
  const human = active.request.target_agent_id === humanAgent;
  const leaving = active.status === "returning" || busy.value === "exit";
  return (
    <>
      <button type="button" disabled={leaving} onClick={() => void act("exit", () => deleteJSON(path(view)))}>
        {leaving ? "Leaving …" : human ? "Release" : "Exit"}
      </button>
      {refused.value && <p class="trouble" role="alert">{refused.value}</p>}
    </>
  );
}

// Release has the person who answers beside the agents leave the user to them.
export function Release({ view }: { view: ChatView }) {
  view.watch();
  const person = view.head.handoffs.person;
  if (!person) return null;
  return (
    <button type="button" class="plain" disabled={busy.value === "release"} onClick={() => void act("release", () => deleteJSON(`${path(view)}?handoff_id=${encodeURIComponent(person.id)}`))}>
      {busy.value === "release" ? "Leaving …" : "Release"}
    </button>
  );
}

// left is the newest session, where it was left before its end and can be gone on with.
export function left(view: ChatView): Session | undefined {
  const { active, sessions } = view.head.handoffs;
  const last = sessions.filter((s) => s.state !== "").pop();
  return !active && last && last.status !== "completed" && last.request.preserve_state ? last : undefined;
}

// Offer lets the reader go on where a specialist was left: the facilitator is asked to.
export function Offer({ view }: { view: ChatView }) {
  view.watch();
  const session = left(view);
  const run = view.head.current;
  if (!session || (run && !over(run.summary.status))) return null;
  const name = view.name(session.request.target_agent_id);
  const resume = () => {
    if (view.outbox.pending.peek().length === 0) view.outbox.send({ message_id: newID(), content: `Continue with ${name}` });
  };
  return (
    <p class="offer">
      <span>{name} was left at step {session.step} of {session.steps}. What it had gathered is kept.</span>
      <button type="button" disabled={view.outbox.pending.value.length > 0} onClick={resume}>Resume</button>
    </p>
  );
}
