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
  // entered is what ended with a phase when the session began with the next one.
  entered?: { from: string; phase: string };
}

// PhaseTransition is one change of phase.
export interface PhaseTransition {
  from_phase: string;
  to_phase: string;
  from_agent: string;
  to_agent: string;
  reason: string;
  time: string;
}

// Progress is how far the conversation has come.
export interface Progress {
  phase: string;
  active_agent_id: string;
  handoff_count: number;
  phase_history: PhaseTransition[];
}

export class Handoffs {
  sessions: Session[] = [];
  routed?: MessageRouted;
  progress: Progress = { phase: "", active_agent_id: "", handoff_count: 0, phase_history: [] };
  private current = -1;
  private beside = -1;

  clone(): Handoffs {
    const copy = Object.assign(Object.create(Handoffs.prototype) as Handoffs, this);
    copy.sessions = this.sessions.map((session) => ({ ...session }));
    return copy;
  }

  // active is the session whose specialist has the conversation.
  get active(): Session | undefined {
    return this.sessions[this.current];
  }

  // person is the session of a person beside whom all may answer.
  get person(): Session | undefined {
    return this.sessions[this.beside];
  }

  // apply folds a fact; one of another kind, or about a handoff that there is not, is
  // nothing to it.
  apply(env: Envelope): void {
    switch (env.type) {
      case "message_routed":
        this.routed = env.data;
        this.progress = { ...this.progress, active_agent_id: env.data.agent };
        break;
      case "handoff_requested":
        this.sessions.push({
          id: env.data.handoff_id, request: env.data, status: "pending", started: env.time, ended: "", result: "", artifacts: [],
          state: "", step: 0, steps: 0, metadata: null,
        });
        break;
      case "handoff_accepted":
        if (env.data.all_may_answer) this.join(env.data.handoff_id);
        else this.activate(env.data.handoff_id);
        break;
      case "handoff_resumed": {
        this.activate(env.data.handoff_id);
        if (this.active) Object.assign(this.active, { ended: "", result: "", artifacts: [] });
        break;
      }
      case "handoff_rejected":
        this.end(env, env.data.handoff_id, "error", env.data.rejection_reason, []);
        break;
      case "handoff_exit_requested":
        if (this.active?.id === env.data.handoff_id) this.active.status = "returning";
        if (this.person?.id === env.data.handoff_id) {
          Object.assign(this.person, { status: "completed", ended: env.time });
          this.beside = -1;
        }
        break;
      case "handoff_returned":
        this.progress = { ...this.progress, active_agent_id: "facilitator" };
        this.end(env, env.data.handoff_id, env.data.completion_status as HandoffStatus, env.data.result_summary, env.data.artifacts_created ?? []);
        break;
      case "phase_changed":
        if (env.data.handoff_id && env.data.from_handoff_id && this.active) {
          this.active.entered = { from: env.data.from_handoff_id, phase: env.data.from_phase ?? "" };
        }
        this.enter({
          from_phase: env.data.from_phase ?? "", to_phase: env.data.to_phase, from_agent: env.data.from_agent ?? "", to_agent: env.data.to_agent,
          reason: env.data.reason, time: env.time,
        });
        break;
      case "transition_rolled_back":
        this.rollBack(env, env.data.reason);
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

  private activate(id: string): void {
    this.current = this.sessions.findIndex((s) => s.id === id);
    if (!this.active) return;
    this.active.status = "active";
    this.progress = { ...this.progress, active_agent_id: this.active.request.target_agent_id, handoff_count: this.progress.handoff_count + 1 };
  }

  // join has a person answer beside everybody else.
  private join(id: string): void {
    this.beside = this.sessions.findIndex((s) => s.id === id);
    if (!this.person) return;
    this.person.status = "active";
    this.progress = { ...this.progress, handoff_count: this.progress.handoff_count + 1 };
  }

  private enter(t: PhaseTransition): void {
    this.progress = { ...this.progress, phase: t.to_phase, active_agent_id: t.to_agent, phase_history: [...this.progress.phase_history, t] };
  }

  // rollBack takes the transition back that opened the active session: the one before goes on.
  private rollBack(env: Envelope, reason: string): void {
    const failed = this.active;
    const back = failed?.entered;
    const from = back && this.session(back.from);
    if (!failed || !back || !from) return;
    this.end(env, failed.id, "error", reason, []);
    failed.entered = undefined;
    Object.assign(from, { status: "active", ended: "", result: "", artifacts: [] });
    this.current = this.sessions.indexOf(from);
    this.enter({
      from_phase: this.progress.phase, to_phase: back.phase, from_agent: failed.request.target_agent_id, to_agent: from.request.target_agent_id,
      reason, time: env.time,
    });
    this.progress = { ...this.progress, handoff_count: this.progress.handoff_count - 1 };
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
    if (status !== "completed" && env.type === "handoff_returned" && !session.request.preserve_state) {
      Object.assign(session, { state: "", step: 0, steps: 0, metadata: null });
    }
  }
}
