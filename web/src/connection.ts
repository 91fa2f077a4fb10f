// The connection that brings a thread's events: a WebSocket, or server-sent events
// where there is none. It comes back by itself and asks for what it lacks.

import type { Envelope } from "./events";

export interface LiveAgent {
  agent: string;
  display_name: string;
  dispatch_id?: string;
  phase: string;
  since: string;
  heard: string;
  model_call_id?: string;
  attempt?: number;
  retry_at?: string;
  retry_reason?: string;
  give_up_at?: string;
  progress?: string;
  stream?: LivePiece[];
}

// LivePiece is a stretch of what streams in the call under way: from is the place of its
// first byte in all of it.
export interface LivePiece {
  from: number;
  text: string;
  in_call?: boolean;
  begins?: boolean;
}

export interface Live {
  lossy: true;
  now: string;
  driven: boolean;
  agents: LiveAgent[];
}

export interface Listener {
  events(batch: Envelope[]): void;
  live(live: Live): void;
  state(state: "connecting" | "open" | "lost"): void;
}

// firstRetryMs and maxRetryMs bound the pause before the connection is tried again.
const firstRetryMs = 250;
const maxRetryMs = 5000;

export class Connection {
  private after: number;
  private socket?: WebSocket;
  private source?: EventSource;
  private retry = firstRetryMs;
  private timer = 0;
  private closed = false;
  private socketsFailed = 0;

  constructor(private readonly thread: string, after: number, private readonly listener: Listener) {
    this.after = after;
    this.open();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket?.close();
    this.source?.close();
  }

  private open(): void {
    this.listener.state("connecting");
    // Some networks let no WebSocket through: after two that never opened, the
    // other way is tried.
    if (typeof WebSocket === "undefined" || this.socketsFailed >= 2) this.openSource();
    else this.openSocket();
  }

  private openSocket(): void {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/ws?thread_id=${encodeURIComponent(this.thread)}&after=${this.after}`);
    this.socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.socketsFailed = 0;
      this.ready();
    };
    socket.onmessage = (message) => this.take(message.data as string);
    socket.onclose = () => {
      if (!opened) this.socketsFailed++;
      this.lost();
    };
  }

  private openSource(): void {
    const source = new EventSource(`/api/v1/threads/${encodeURIComponent(this.thread)}/events?after=${this.after}`);
    this.source = source;
    source.onopen = () => this.ready();
    source.onmessage = (message) => this.take(message.data as string);
    source.addEventListener("live", (message) => this.take((message as MessageEvent).data as string));
    source.onerror = () => {
      source.close();
      this.lost();
    };
  }

  private ready(): void {
    this.retry = firstRetryMs;
    this.listener.state("open");
  }

  private take(text: string): void {
    const batch: Envelope[] = [];
    for (const line of text.split("\n")) {
      const message = JSON.parse(line) as Envelope | Live;
      if ("lossy" in message) {
        this.listener.live(message);
      } else if (message.seq > this.after) {
        this.after = message.seq;
        batch.push(message);
      }
    }
    if (batch.length > 0) this.listener.events(batch);
  }

  private lost(): void {
    if (this.closed) return;
    this.listener.state("lost");
    this.timer = window.setTimeout(() => this.open(), this.retry);
    this.retry = Math.min(this.retry * 2, maxRetryMs);
  }
}
