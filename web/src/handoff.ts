// Who speaks in a thread, as a fold: the same that package conversation of the Go
// sources computes.

import type { Envelope, HandoffRequested, MessageRouted } from "./events";

export type HandoffStatus = "pending" | "active" | "returning" | "completed" | "cancelled" | "error";

export interface Session {
  id: string;
  request: HandoffRequested;
  status: HandoffStatus;
  started: string;
  ended: string;
  // result is what the specialist said at the end, or why the handoff came to nothing.
  result: string;
  artifacts: string[];
  state: string;
  // step counts from 1; 0 of 0 where the specialist declares no steps.
  step: number;
  steps: number;
  metadata: unknown;
}

export class Handoffs {
  sessions: Session[] = [];
  routed?: MessageRouted;
  private current = -1;

  clone(): Handoffs {
    const copy = Object.assign(Object.create(Handoffs.prototype) as Handoffs, this);
    copy.sessions = this.sessions.map((session) => ({ ...session }));
    return copy;
  }

  // active is the session whose specialist has the conversation.
  get active(): Session | undefined {
    return this.sessions[this.current];
  }

  // apply folds a fact; one of another kind, or about a handoff that there is not, is
  // nothing to it.
  apply(env: Envelope): void {
    switch (env.type) {
      case "message_routed":
        this.routed = env.data;
        break;
      case "handoff_requested":
        this.sessions.push({
          id: env.data.handoff_id, request: env.data, status: "pending", started: env.time, ended: "", result: "", artifacts: [],
          state: "", step: 0, steps: 0, metadata: null,
        });
        break;
      case "handoff_accepted":
        this.current = this.sessions.findIndex((s) => s.id === env.data.handoff_id);
        if (this.active) this.active.status = "active";
        break;
      case "handoff_rejected":
        this.end(env, env.data.handoff_id, "error", env.data.rejection_reason, []);
        break;
      case "handoff_exit_requested":
        if (this.active?.id === env.data.handoff_id) this.active.status = "returning";
        break;
      case "handoff_returned":
        this.end(env, env.data.handoff_id, env.data.completion_status as HandoffStatus, env.data.result_summary, env.data.artifacts_created ?? []);
        break;
      case "workflow_state_changed": {
        const session = this.session(env.data.handoff_id);
        if (!session) break;
        session.state = env.data.to;
        session.step = env.data.step;
        session.steps = env.data.steps;
        session.metadata = env.data.metadata ?? null;
        break;
      }
    }
  }

  private session(id: string): Session | undefined {
    return this.sessions.find((s) => s.id === id);
  }

  private end(env: Envelope, id: string, status: HandoffStatus, result: string, artifacts: string[]): void {
    const session = this.session(id);
    if (!session) return;
    if (session === this.active) this.current = -1;
    session.status = status;
    session.ended = env.time;
    session.result = result;
    session.artifacts = artifacts;
  }
}
