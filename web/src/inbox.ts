// What people sent to a thread and are asked, as a fold: the same that inbox.go of
// package thread computes.

import type { Envelope, InputRequested, UserMessage } from "./events";

// maxQueued is thread.MaxQueued of the Go sources.
const maxQueued = 32;

export interface Queued {
  seq: number;
  time: string;
  message: UserMessage;
}

// Input is a request for input with its answer.
export interface Input {
  run: string;
  agent: string;
  // dispatch is the asking agent's, "" for the facilitator.
  dispatch: string;
  time: string;
  asked: InputRequested;
  answer?: UserMessage;
  // settled is set once the call that asked has its result, or nobody wants it any more.
  settled: boolean;
}

// answers says whether a message answers a request: an approval those that ask for one, and no
// others.
function answers(message: UserMessage, asked: InputRequested): boolean {
  return message.input_id === asked.input_id && (asked.kind === "approval") === !!message.approval;
}

export class Inbox {
  // queue are the messages that wait for a run of their own, in order.
  queue: Queued[] = [];
  inputs: Input[] = [];
  private sent = new Set<string>();

  clone(): Inbox {
    const copy = new Inbox();
    copy.queue = this.queue.slice();
    copy.inputs = this.inputs.map((input) => ({ ...input }));
    copy.sent = new Set(this.sent);
    return copy;
  }

  // has says that a message was taken.
  has(id: string): boolean {
    return this.sent.has(id);
  }

  // open are the requests for which a run waits.
  open(run: string): Input[] {
    return this.inputs.filter((input) => input.run === run && !input.answer && !input.settled && !input.asked.handoff_id);
  }

  // beside is the open request to a person who answers beside the agents, in the session
  // with the id. It outlives its run; a later one takes its place.
  beside(person?: string): Input | undefined {
    const newest = this.inputs.filter((input) => input.asked.handoff_id).pop();
    return person && newest?.asked.handoff_id === person && !newest.answer ? newest : undefined;
  }

  // enqueue takes a message that belongs to no run, or whose run hears nothing more. An answer
  // is that of the person of the session with the id person.
  enqueue(env: Envelope & { data: UserMessage }, person?: string): void {
    const id = env.data.message_id;
    if (!id || this.sent.has(id) || this.queue.length >= maxQueued) return;
    if (env.data.input_id) {
      const input = this.beside(person);
      if (!input || !answers(env.data, input.asked)) return;
      input.answer = env.data;
    }
    this.sent.add(id);
    this.queue.push({ seq: env.seq, time: env.time, message: env.data });
  }

  dequeue(id: string): void {
    this.queue = this.queue.filter((queued) => queued.message.message_id !== id);
  }

  // apply folds an event of the run under way.
  apply(env: Envelope): void {
    switch (env.type) {
      case "input_requested":
        this.inputs.push({ run: env.run_id, agent: env.agent ?? "", dispatch: env.dispatch_id ?? "", time: env.time, asked: env.data, settled: false });
        break;
      case "tool_call": {
        const input = this.inputs.find((i) => i.run === env.run_id && i.asked.call && i.asked.call === env.data.call_id);
        if (input) input.settled = true;
        break;
      }
      case "agent_finished":
        this.lapse(env.dispatch_id);
        break;
      case "handoff_returned":
        this.lapse(env.data.handoff_id);
        break;
      case "user_message":
        if (!env.data.synthetic) this.take(env.run_id, env.data);
        break;
    }
  }

  // lapse settles the approvals that an agent asked for which is over.
  private lapse(dispatch?: string): void {
    for (const input of this.inputs) if (dispatch && input.asked.kind === "approval" && input.dispatch === dispatch) input.settled = true;
  }

  private take(run: string, message: UserMessage): void {
    const id = message.message_id;
    if (id && this.sent.has(id)) return;
    if (message.input_id) {
      const input = this.open(run).find((i) => answers(message, i.asked));
      if (!input) return;
      input.answer = message;
    }
    if (id) this.sent.add(id);
  }
}
