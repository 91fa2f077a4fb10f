// What the reader has sent and the thread does not have yet. A message keeps its id
// however often it is sent, so that it counts once; it survives a reload.

import { signal } from "@preact/signals";
import { postJSON, Problem } from "./api";

// Decided is a decision on a call that waits for approval.
export interface Decided {
  decision: "approve" | "deny";
  arguments?: unknown;
}

export interface Outgoing {
  message_id: string;
  content: string;
  approval?: Decided;
  // delivery is what the message does; undefined leaves that to the server.
  delivery?: "start" | "steer" | "queue" | "answer";
  input_id?: string;
  user_id?: string;
  team?: string;
}

export interface Pending extends Outgoing {
  // refused is why the server does not take it; unsent says that it could not be reached.
  refused?: string;
  unsent?: boolean;
}

// firstRetryMs and maxRetryMs bound the pause before a message is sent again.
const firstRetryMs = 500;
const maxRetryMs = 5000;

export class Outbox {
  readonly pending = signal<Pending[]>([]);
  private readonly key: string;
  private closed = false;

  constructor(private readonly thread: string, private readonly arrived: (id: string) => boolean) {
    this.key = "convene-outbox-" + thread;
    this.pending.value = stored(this.key);
    for (const message of this.pending.peek()) if (!message.refused) void this.deliver(message);
  }

  close(): void {
    this.closed = true;
  }

  send(message: Outgoing): void {
    this.set([...this.pending.peek(), message]);
    void this.deliver(message);
  }

  // again sends a message that was refused once more.
  again(message: Pending): void {
    const { refused: _, ...rest } = message;
    this.change(message.message_id, () => rest);
    void this.deliver(rest);
  }

  drop(id: string): void {
    this.change(id, () => undefined);
  }

  // settle forgets what the thread has.
  settle(): void {
    if (this.pending.peek().some((m) => this.arrived(m.message_id))) this.set(this.pending.peek().filter((m) => !this.arrived(m.message_id)));
  }

  // answering says that an answer to this request is on its way.
  answering(input: string): boolean {
    return this.pending.value.some((m) => m.input_id === input && !m.refused);
  }

  private async deliver(message: Outgoing): Promise<void> {
    for (let pause = firstRetryMs; !this.closed && !this.arrived(message.message_id); pause = Math.min(pause * 2, maxRetryMs)) {
      try {
        await say(this.thread, message);
        this.change(message.message_id, (m) => ({ ...m, unsent: undefined }));
        return;
      } catch (err) {
        if (err instanceof Problem && err.status !== 502 && err.status !== 503) {
          this.change(message.message_id, (m) => ({ ...m, unsent: undefined, refused: err.message }));
          return;
        }
        this.change(message.message_id, (m) => ({ ...m, unsent: true }));
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  private change(id: string, to: (m: Pending) => Pending | undefined): void {
    this.set(this.pending.peek().flatMap((m) => (m.message_id === id ? to(m) ?? [] : m)));
  }

  private set(list: Pending[]): void {
    this.pending.value = list;
    try {
      if (list.length) sessionStorage.setItem(this.key, JSON.stringify(list));
      else sessionStorage.removeItem(this.key);
    } catch {
      // Then a reload forgets what was not sent.
    }
  }
}

function stored(key: string): Pending[] {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "[]") as Pending[];
  } catch {
    return []; // storage may be forbidden
  }
}

// say sends a message to a thread; one that the thread has already does nothing.
export function say(thread: string, message: Outgoing): Promise<unknown> {
  return postJSON(`/api/v1/threads/${encodeURIComponent(thread)}/messages`, message);
}

// newID is a UUID v4: a page that came over plain HTTP has no crypto.randomUUID.
export function newID(): string {
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = (b[6] & 0x0f) | 0x40;
  b[8] = (b[8] & 0x3f) | 0x80;
  const hex = [...b].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
