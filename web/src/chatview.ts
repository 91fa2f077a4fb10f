// The conversation that is shown: what was said in a thread, what is being said, and what
// the reader has sent that the thread does not have yet.

import type { Live } from "./connection";
import type { Envelope } from "./events";
import { Thread } from "./fold";
import { over } from "./states";
import type { Input } from "./inbox";
import { Outbox } from "./outbox";
import { Stream } from "./stream";
import { Talk } from "./talk";
import { ThreadView } from "./threadview";

export class ChatView extends ThreadView {
  readonly place = "thread";
  readonly head = new Thread();
  readonly talk = new Talk();
  readonly outbox = new Outbox(this.id, (id) => this.talk.has(id));
  private speech?: Stream;
  private speaker = "";

  protected fold(env: Envelope): void {
    this.head.apply(env);
    this.talk.apply(env, this.head);
  }

  override take(batch: Envelope[]): void {
    super.take(batch);
    this.outbox.settle();
  }

  override close(): void {
    super.close();
    this.outbox.close();
  }

  // hear takes up what the agent says who has the floor.
  protected override hear(live: Live): void {
    const a = live.agents.find((agent) => (agent.dispatch_id ?? "") === this.floor);
    const who = a ? a.agent + "/" + this.floor : "";
    if (who !== this.speaker) {
      this.speaker = who;
      this.speech = a && new Stream(true);
    }
    if (a) this.speech?.take(a);
  }

  // floor is the handoff whose specialist answers now, "" while the facilitator does.
  get floor(): string {
    return this.head.handoffs.active?.id ?? "";
  }

  // asked are the requests for input that are open.
  asked(): Input[] {
    const { current: run, inbox, handoffs } = this.head;
    const beside = inbox.beside(handoffs.person?.id);
    return [...(beside ? [beside] : []), ...(run && !over(run.summary.status) ? inbox.open(run.id) : [])];
  }

  // said is what streams now, "" where nothing does or the log has it already.
  get said(): string {
    const run = this.head.current;
    if (!run || !this.speech?.text || this.speech.settled(run.calls)) return "";
    return this.speech.text;
  }

  get first(): number {
    return 1;
  }

  get last(): number {
    return Math.max(1, this.head.seq);
  }

  running(): boolean {
    return this.head.current?.summary.status === "running";
  }

  ticking(): boolean {
    return this.running() && this.state.value === "open";
  }

  // name is what people call an agent.
  name(agent: string): string {
    return agent === "human" && !this.head.current?.names.has(agent) ? "A person" : this.head.current?.name(agent) ?? agent;
  }

  // now is the time by the server's clock.
  now(): number {
    return Date.now() + this.skew;
  }
}
