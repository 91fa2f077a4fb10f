// What people and agents said in a thread, and what its user sees happen between them, as
// a fold: the messages are those that package thread of the Go sources keeps.

import type { Envelope, UserMessage, WorkflowFinished } from "./events";
import type { Thread } from "./fold";

// humanAgent is the agent id of a person who answers in an agent's place.
export const humanAgent = "human";

// Step is where a specialist stands in its steps, from 1.
export interface Step {
  state: string;
  step: number;
  steps: number;
}

// Said is what somebody said.
export interface Said {
  readonly kind: "said";
  seq: number;
  // run answers the message, or it is from that run; "" while it is queued.
  run: string;
  id: string;
  role: "user" | "assistant" | "notice";
  // agent is who says it, "" where that is the user; user says which person wrote it.
  agent: string;
  user: string;
  content: string;
  time: string;
  // interim is set on what an agent says while it works: its answer is still to come.
  interim: boolean;
  delivery: string;
  input: string;
  structured: boolean;
  step?: Step;
}

// Mark is something that happened between the messages.
export interface Mark {
  readonly kind: "mark";
  seq: number;
  run: string;
  time: string;
  // agents are named in the text as {0}, {1}.
  text: string;
  agents: string[];
  tone: "" | "person" | "failure";
}

// Hidden is a message of the engine to an agent, which views hide.
export interface Hidden {
  readonly kind: "hidden";
  seq: number;
  run: string;
  time: string;
  agent: string;
  content: string;
  reason: string;
}

export type Item = Said | Mark | Hidden;

export class Talk {
  // messages are in the order of the log. items has them in the order in which they are
  // read: a queued message stands where its run begins.
  readonly messages: Said[] = [];
  readonly items: Item[] = [];
  private readonly byID = new Map<string, Said>();
  // waiting are messages that stand in no place yet.
  private readonly waiting = new Set<Said>();

  // has tells whether the thread has a user's message with the id.
  has(id: string): boolean {
    return this.byID.has(id);
  }

  // queue are the messages that wait for a run of their own, in order.
  queue(thread: Thread): Said[] {
    return thread.inbox.queue.flatMap((queued) => this.byID.get(queued.message.message_id!) ?? []);
  }

  // apply takes an event that the thread has taken.
  apply(env: Envelope, thread: Thread): void {
    switch (env.type) {
      case "user_message":
        this.said(env, env.data, thread);
        break;
      case "workflow_started":
        this.start(env, thread);
        break;
      case "facilitator_message":
        this.agent(env, thread, env.data.content, { interim: true });
        break;
      case "agent_message":
        if (thread.handoffs.sessions.some((s) => s.id === env.dispatch_id)) this.agent(env, thread, env.data.content, { interim: true });
        break;
      case "final_answer":
        if (env.agent !== humanAgent || !this.wroteIt(env.run_id, env.data.content, thread)) {
          this.agent(env, thread, env.data.content, { structured: env.data.structured ?? false });
        }
        break;
      case "input_requested": {
        const { input_id: id, kind, question, handoff_id: beside } = env.data;
        if (kind === "human") {
          if (!beside) this.mark(env, "Waiting for a person to answer.", [], "person"); // else the handoff says so, once
        } else if (kind === "approval") this.push({ ...this.base(env), role: "notice", content: question });
        else this.agent(env, thread, question, { input: id });
        break;
      }
      case "workflow_finished":
        if (!thread.run(env.run_id)?.answer && !thread.run(env.run_id)?.started.synthetic) this.push({ ...this.base(env), role: "notice", content: unanswered(env.data) });
        break;
      default:
        this.notice(env);
        this.note(env, thread);
    }
  }

  // notice takes what convene tells the user of the conversation: in items it is part of
  // the mark.
  private notice(env: Envelope): void {
    switch (env.type) {
      case "handoff_accepted":
      case "handoff_rejected":
      case "handoff_returned":
      case "handoff_resumed":
      case "phase_changed":
        if (env.data.notice) this.messages.push({ ...this.base(env), role: "notice", content: env.data.notice });
    }
  }

  // note takes what happens between the messages.
  private note(env: Envelope, thread: Thread): void {
    const session = (id: string) => thread.handoffs.sessions.find((s) => s.id === id);
    switch (env.type) {
      case "handoff_accepted": {
        const request = session(env.data.handoff_id)?.request;
        if (!request) break;
        const words = env.data.notice || "{0} handed over to {1}";
        this.mark(env, words + (request.handoff_reason ? " · " + request.handoff_reason : ""), [request.source_agent_id, request.target_agent_id]);
        break;
      }
      case "handoff_rejected": {
        const target = session(env.data.handoff_id)?.request.target_agent_id ?? "";
        this.mark(env, env.data.notice || "No handoff to {0}: " + env.data.rejection_reason, [target], "person");
        break;
      }
      case "handoff_returned": {
        const target = session(env.data.handoff_id)?.request.target_agent_id ?? "";
        this.mark(env, env.data.notice || (returned[env.data.completion_status] ?? returned.completed), [target], env.data.completion_status === "error" ? "failure" : "");
        break;
      }
      case "handoff_resumed": {
        const at = session(env.data.handoff_id);
        this.mark(env, (env.data.notice || "{0} goes on") + (at?.steps ? ` · step ${at.step} of ${at.steps}` : ""), [at?.request.target_agent_id ?? ""]);
        break;
      }
      case "phase_changed": {
        const { from_phase, to_phase, notice } = env.data;
        const phases = to_phase ? `${from_phase ? from_phase + " → " : ""}${to_phase}` : `${from_phase ?? ""} is over`;
        if (from_phase !== to_phase) this.mark(env, `Phase: ${phases}${notice ? " · " + notice : ""}`, []);
        break;
      }
      case "transition_rolled_back":
        this.mark(env, "Back to where it was: " + env.data.reason, [], "failure");
        break;
      case "permission_denied":
        this.mark(env, `Not allowed: ${env.data.what} (needs ${env.data.permission})`, [], "person");
        break;
    }
  }

  // said takes a message of the user's, or of a person who answers the user. One that was
  // sent twice counts once.
  private said(env: Envelope, data: UserMessage, thread: Thread): void {
    if (data.synthetic) {
      this.items.push({ kind: "hidden", seq: env.seq, run: env.run_id, time: env.time, agent: env.agent ?? "", content: data.content, reason: data.reason ?? "" });
      return;
    }
    const id = data.message_id ?? "";
    if (id && (this.byID.has(id) || !thread.inbox.has(id))) return; // sent twice, or not taken
    const said: Said = {
      ...this.base(env), id, role: "user", user: data.user_id ?? "", content: data.content, delivery: data.delivery ?? "", input: data.input_id ?? "",
    };
    const input = thread.inbox.inputs.find((i) => i.asked.input_id === said.input);
    if (input?.asked.kind === "human") Object.assign(said, { run: input.run, role: "assistant", agent: humanAgent });
    if (id) this.byID.set(id, said);
    this.messages.push(said);
    if (thread.inbox.queue.some((queued) => queued.message.message_id === id)) this.waiting.add(said);
    else this.items.push(said);
  }

  // start tells which run answers a message. A run that no message started says itself what
  // was asked; one that continues another was asked the same.
  private start(env: Envelope & { type: "workflow_started" }, thread: Thread): void {
    const said = this.byID.get(env.data.message_id ?? "");
    if (said) {
      said.run = env.run_id;
      if (this.waiting.delete(said)) this.items.push(said);
      return;
    }
    if (env.data.synthetic || thread.run(env.run_id)?.before?.started.message === env.data.message) return;
    const first: Said = { ...this.base(env), id: env.data.message_id ?? "", role: "user", content: env.data.message };
    if (first.id) this.byID.set(first.id, first);
    this.push(first);
  }

  private agent(env: Envelope, thread: Thread, content: string, more: Partial<Said>): void {
    const session = thread.handoffs.sessions.find((s) => s.id === env.dispatch_id);
    const step = session && session.steps > 0 ? { state: session.state, step: session.step, steps: session.steps } : undefined;
    this.push({ ...this.base(env), role: "assistant", agent: env.agent || "facilitator", content, step, ...more });
  }

  // wroteIt says that the newest message, or the one that the run answers, is the person's
  // whose words the answer repeats.
  private wroteIt(run: string, content: string, thread: Thread): boolean {
    if (this.byID.get(thread.current?.started.message_id ?? "")?.agent === humanAgent) return true;
    const last = this.messages[this.messages.length - 1];
    return last?.agent === humanAgent && last.run === run && last.content === content;
  }

  private base(env: Envelope): Said {
    return {
      kind: "said", seq: env.seq, run: env.run_id, id: "", role: "user", agent: "", user: "", content: "", time: env.time, interim: false, delivery: "", input: "",
      structured: false,
    };
  }

  private push(said: Said): void {
    this.messages.push(said);
    this.items.push(said);
  }

  private mark(env: Envelope, text: string, agents: string[], tone: Mark["tone"] = ""): void {
    this.items.push({ kind: "mark", seq: env.seq, run: env.run_id, time: env.time, text, agents, tone });
  }
}

const returned: Record<string, string> = {
  completed: "{0} is done and hands back", cancelled: "The session with {0} has ended", error: "{0} could not go on and hands back",
};

// unanswered says that a run ended without an answer.
function unanswered(d: WorkflowFinished): string {
  const words = d.status === "cancelled" ? "This request was cancelled" : "No answer was given";
  return d.reason ? `${words}: ${d.reason}` : words + ".";
}
