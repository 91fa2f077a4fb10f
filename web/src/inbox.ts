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
  time: string;
  asked: InputRequested;
  answer?: UserMessage;
  // settled is set once the call that asked has its result.
  settled: boolean;
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

  // open are the requests of a run that nobody has answered.
  open(run: string): Input[] {
    return this.inputs.filter((input) => input.run === run && !input.answer);
  }

  // enqueue takes a message that belongs to no run, or whose run hears nothing more.
  enqueue(env: Envelope & { data: UserMessage }): void {
    const id = env.data.message_id;
    if (!id || env.data.input_id || this.sent.has(id) || this.queue.length >= maxQueued) return;
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
        this.inputs.push({ run: env.run_id, agent: env.agent ?? "", time: env.time, asked: env.data, settled: false });
        break;
      case "tool_call": {
        const input = this.inputs.find((i) => i.run === env.run_id && i.asked.call && i.asked.call === env.data.call_id);
        if (input) input.settled = true;
        break;
      }
      case "user_message":
        if (!env.data.synthetic) this.take(env.run_id, env.data);
        break;
    }
  }

  private take(run: string, message: UserMessage): void {
    const id = message.message_id;
    if (id && this.sent.has(id)) return;
    if (message.input_id) {
      const input = this.open(run).find((i) => i.asked.input_id === message.input_id);
      if (!input) return;
      input.answer = message;
    }
    if (id) this.sent.add(id);
  }
}
