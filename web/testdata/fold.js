"use strict";
var fold = (() => {
  var __defProp = Object.defineProperty;
  var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
  var __getOwnPropNames = Object.getOwnPropertyNames;
  var __hasOwnProp = Object.prototype.hasOwnProperty;
  var __defNormalProp = (obj, key2, value) => key2 in obj ? __defProp(obj, key2, { enumerable: true, configurable: true, writable: true, value }) : obj[key2] = value;
  var __export = (target, all) => {
    for (var name in all)
      __defProp(target, name, { get: all[name], enumerable: true });
  };
  var __copyProps = (to, from, except, desc) => {
    if (from && typeof from === "object" || typeof from === "function") {
      for (let key2 of __getOwnPropNames(from))
        if (!__hasOwnProp.call(to, key2) && key2 !== except)
          __defProp(to, key2, { get: () => from[key2], enumerable: !(desc = __getOwnPropDesc(from, key2)) || desc.enumerable });
    }
    return to;
  };
  var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);
  var __publicField = (obj, key2, value) => __defNormalProp(obj, typeof key2 !== "symbol" ? key2 + "" : key2, value);

  // ../../web/src/canonical.ts
  var canonical_exports = {};
  __export(canonical_exports, {
    batchStates: () => batchStates,
    lanes: () => lanes,
    offers: () => offers,
    states: () => states
  });

  // ../../web/src/batch.ts
  function figures(d) {
    return {
      done: d.done,
      completed: d.completed,
      degraded: d.degraded,
      failed: d.failed,
      running: d.running,
      tokens: d.tokens,
      cost_usd: d.cost_usd,
      uncached_input_share: d.uncached_input_share,
      elapsed_ms: d.elapsed_ms,
      rows_per_second: d.rows_per_second,
      left_ms: d.left_ms,
      projected_cost_usd: d.projected_cost_usd,
      causes: d.causes,
      slowest: d.slowest,
      limiters: d.limiters,
      outages: d.outages,
      held: d.held
    };
  }
  var zeroTime = "0001-01-01T00:00:00Z";
  var Batch = class {
    constructor() {
      __publicField(this, "seq", 0);
      __publicField(this, "summary", {
        tenant_id: "",
        batch_id: "",
        team: "",
        rows: 0,
        status: "",
        started_at: zeroTime,
        updated_at: zeroTime,
        done: 0,
        completed: 0,
        degraded: 0,
        failed: 0,
        running: 0,
        tokens: 0,
        cost_usd: null,
        elapsed_ms: 0,
        rows_per_second: 0,
        last_seq: 0
      });
      __publicField(this, "calls", []);
      __publicField(this, "samples", []);
      __publicField(this, "rejected", []);
      __publicField(this, "ended");
    }
    // call is the newest call.
    get call() {
      return this.calls[this.calls.length - 1];
    }
    apply(env) {
      if (env.seq !== this.seq + 1) throw new Error(`event ${env.seq} after event ${this.seq}`);
      this.seq = env.seq;
      if (env.run_id !== "" || this.calls.length === 0 && env.type !== "batch_started") return;
      switch (env.type) {
        case "batch_started":
          this.start(env, env.seq, env.data);
          break;
        case "batch_progress":
          Object.assign(this.summary, figures(env.data), { reason: env.data.stopping });
          this.sample(env.seq, env.data.elapsed_ms);
          break;
        case "batch_row_rejected":
          this.rejected.push({ seq: env.seq, ...env.data });
          break;
        case "batch_ended":
          this.ended = env.data;
          Object.assign(this.summary, figures(env.data), { status: env.data.status, reason: env.data.reason });
          this.sample(env.seq, env.data.elapsed_ms);
          break;
      }
      this.summary.last_seq = env.seq;
      this.summary.updated_at = env.time;
    }
    start(env, seq, data) {
      const s = this.summary;
      if (this.calls.length === 0) {
        Object.assign(s, { tenant_id: env.tenant_id, batch_id: env.thread_id, started_at: env.time, cost_usd: 0 });
      }
      Object.assign(s, {
        input: data.input,
        output: data.output,
        command: data.command,
        folder: data.folder,
        team: data.team,
        models: data.models ?? void 0,
        solo: data.solo,
        simulated: data.simulated,
        rows: data.rows,
        status: "running",
        reason: void 0,
        // What is of the call before, and not of the whole batch.
        running: 0,
        elapsed_ms: 0,
        rows_per_second: 0,
        left_ms: void 0,
        slowest: void 0,
        limiters: void 0,
        outages: void 0,
        held: void 0
      });
      this.ended = void 0;
      const begun = this.samples[this.samples.length - 1]?.at ?? 0;
      this.calls.push({ seq, time: env.time, data, begun });
      this.sample(seq, 0);
    }
    sample(seq, elapsed) {
      const s = this.summary;
      const before = this.samples[this.samples.length - 1]?.at ?? 0;
      this.samples.push({
        seq,
        at: Math.max(before, (this.call?.begun ?? 0) + elapsed),
        call: Math.max(0, this.calls.length - 1),
        completed: s.completed,
        degraded: s.degraded,
        failed: s.failed,
        tokens: s.tokens,
        cost: s.cost_usd
      });
    }
  };

  // ../../web/src/document.ts
  var SharedDocument = class _SharedDocument {
    constructor(layout) {
      __publicField(this, "layout", layout);
      __publicField(this, "entries", []);
      __publicField(this, "slots", /* @__PURE__ */ new Map());
      __publicField(this, "firstUse", []);
      __publicField(this, "spelling", /* @__PURE__ */ new Map());
    }
    get version() {
      return this.entries.length;
    }
    // clone gives a document of its own in the same state.
    clone() {
      const copy = new _SharedDocument(this.layout);
      for (const entry of this.entries) copy.entries.push({ ...entry });
      for (const [key2, slot] of this.slots) copy.slots.set(key2, { place: slot.place, live: slot.live.slice() });
      for (const place of this.firstUse) copy.firstUse.push(place);
      for (const [key2, spelling] of this.spelling) copy.spelling.set(key2, spelling);
      return copy;
    }
    apply(seq, time, e) {
      const next = this.entries.length + 1;
      if (e.version !== next || e.entry_id !== next) {
        throw new Error(`entry ${e.entry_id} where entry ${next} is next`);
      }
      const slot = this.slot({ section: e.section, slot: e.slot });
      const entry = {
        ...slot.place,
        id: next,
        seq,
        time,
        author: e.author,
        content: e.content,
        change: e.change_description,
        tasks: e.task_ids ?? [],
        modelCall: e.model_call_id ?? "",
        replaced: e.replaced ?? [],
        merged: e.merged ?? [],
        spans: e.spans ?? [],
        sources: e.sources ?? [],
        unsupported: e.unsupported ?? false,
        replacedBy: 0
      };
      for (const id of entry.replaced) {
        const old = this.entries[id - 1];
        if (!old || old.replacedBy) throw new Error(`entry ${id} cannot be replaced`);
        old.replacedBy = next;
      }
      if (entry.replaced.length > 0) {
        slot.live = slot.live.filter((id) => this.entries[id - 1].replacedBy === 0);
      }
      this.entries.push(entry);
      slot.live.push(next);
    }
    slot(place) {
      const key2 = this.layout.key(place);
      let slot = this.slots.get(key2);
      if (!slot) {
        const section = this.layout.sectionKey(place.section);
        if (!this.spelling.has(section)) this.spelling.set(section, place.section);
        slot = { place: { section: this.spelling.get(section), slot: place.slot }, live: [] };
        this.slots.set(key2, slot);
        this.firstUse.push(slot.place);
      }
      return slot;
    }
    // places are the slots that hold text, and those where text is to come, in the layout's
    // order.
    places(coming = []) {
      const fresh = new Map(coming.map((place) => [this.layout.key(place), { section: place.section, slot: place.slot }]));
      for (const key2 of this.slots.keys()) fresh.delete(key2);
      return this.layout.order([...this.firstUse, ...fresh.values()]);
    }
    // live are the entries of a slot that nothing replaced.
    live(place) {
      return (this.slots.get(this.layout.key(place))?.live ?? []).map((id) => this.entries[id - 1]);
    }
    all(place) {
      const key2 = this.layout.key(place);
      return this.entries.filter((entry) => this.layout.key(entry) === key2);
    }
    // trace gives the sources of every byte of an entry's text.
    trace(id) {
      const segments = [];
      this.traceInto(segments, id, 0);
      return segments;
    }
    traceInto(segments, id, base) {
      const entry = this.entries[id - 1];
      const own = [id, ...entry.replaced];
      let at = 0;
      for (const span of entry.spans) {
        if (span.start > at) segments.push({ start: base + at, end: base + span.start, entries: own });
        this.traceInto(segments, span.entry_id, base + span.start);
        at = span.end;
      }
      const length = byteLength(entry.content);
      if (at < length) segments.push({ start: base + at, end: base + length, entries: own });
    }
    // footnotes are the passages that an entry rests on, in the order of its text.
    footnotes(id, base = 0) {
      const entry = this.entries[id - 1];
      const end = base + byteLength(entry.content);
      return [
        ...entry.spans.flatMap((span) => this.footnotes(span.entry_id, base + span.start)),
        ...entry.replaced.filter((old) => !entry.merged.includes(old)).flatMap((old) => this.footnotes(old).map((note) => ({ ...note, end }))),
        ...entry.sources.map((cited2) => ({ cited: cited2, entry: id, end }))
      ];
    }
    // unsupported are the entries without a source among those that an entry stands for.
    unsupported(id) {
      const entry = this.entries[id - 1];
      return [...entry.replaced.flatMap((old) => this.unsupported(old)), ...entry.unsupported ? [id] : []];
    }
    // leaves are the entries that specialists wrote and that an entry stands for.
    leaves(id, into = []) {
      const entry = this.entries[id - 1];
      for (const old of entry.replaced) this.leaves(old, into);
      if (entry.replaced.length === 0 && !into.includes(id)) into.push(id);
      return into;
    }
    // clean is the document as Markdown. text gives that of an entry.
    clean(text = (entry) => entry.content) {
      let out = "";
      let section;
      let slot;
      for (const place of this.places()) {
        for (const entry of this.live(place)) {
          if (out) out += "\n";
          if (entry.section !== section) {
            section = entry.section;
            out += "## " + this.layout.sectionTitle(section) + "\n\n";
          }
          if (!slot || slot.section !== entry.section || slot.slot !== entry.slot) {
            slot = place;
            const heading = this.layout.slotHeading(place);
            if (heading) out += "### " + heading + "\n\n";
          }
          out += text(entry) + "\n";
        }
      }
      return out;
    }
  };
  function byteLength(text) {
    let bytes = 0;
    for (let i = 0; i < text.length; i++) {
      bytes += unitBytes(text.charCodeAt(i));
    }
    return bytes;
  }
  function unitBytes(unit) {
    if (unit < 128) return 1;
    if (unit < 2048 || unit >= 55296 && unit <= 57343) return 2;
    return 3;
  }
  function unitAt(text, bytes) {
    let at = 0;
    for (let passed = 0; at < text.length && passed < bytes; at++) passed += unitBytes(text.charCodeAt(at));
    return at;
  }

  // ../../web/src/cited.ts
  function cited(document) {
    const numbers = /* @__PURE__ */ new Map();
    const list2 = [];
    for (const entry of document.places().flatMap((place) => document.live(place))) {
      for (const { cited: c } of document.footnotes(entry.id)) {
        if (numbers.has(key(c))) continue;
        numbers.set(key(c), list2.length + 1);
        list2.push(`${list2.length + 1}. ${escaped(noteText(c))}
`);
      }
    }
    const text = document.clean((entry) => numbered(document, entry, numbers));
    return list2.length === 0 ? text : `${text}
## Sources

${list2.join("")}`;
  }
  function key(c) {
    return JSON.stringify([c.url, c.file, c.artifact, c.tool, c.page, c.title, c.quote, c.found]);
  }
  function numbered(document, entry, numbers) {
    const marks = /* @__PURE__ */ new Map();
    for (const note of document.footnotes(entry.id)) {
      marks.set(note.end, (marks.get(note.end) ?? /* @__PURE__ */ new Set()).add(numbers.get(key(note.cited))));
    }
    let out = "";
    let at = 0;
    for (const [bytes, of] of marks) {
      const end = unitAt(entry.content, bytes);
      out += entry.content.slice(at, end) + gap(entry.content.slice(0, end)) + [...of].map((n) => `\\[${n}\\]`).join("");
      at = end;
    }
    out += entry.content.slice(at);
    return document.unsupported(entry.id).length > 0 ? out + gap(entry.content) + "\\[unsupported\\]" : out;
  }
  function gap(text) {
    return /^(```|~~~|\|)/.test(text.slice(text.lastIndexOf("\n") + 1).trim()) ? "\n\n" : " ";
  }
  function noteText(c) {
    return `${oneLine(sourceName(c))}: “${oneLine(c.quote)}”${c.found ? "" : " (not found in the source)"}`;
  }
  function sourceName(c) {
    const name = (c.url ?? "") + (c.file ?? "") || (c.artifact ? "artifact " + c.artifact.slice(0, 12) : "") || (c.tool ? "tool " + c.tool : "no source");
    return (c.title ? c.title + ", " : "") + name + (c.page ? `, page ${c.page}` : "");
  }
  var blanks = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
  function oneLine(text) {
    return text.split(blanks).filter(Boolean).join(" ");
  }
  function escaped(text) {
    return text.replace(/[\\`*_[\]<>#|~&!$^]/g, "\\$&");
  }

  // ../../web/src/events.ts
  var postedKinds = /* @__PURE__ */ new Set(["audited", "cancel_requested", "handoff_exit_requested", "permission_denied", "user_message"]);
  var closingKinds = /* @__PURE__ */ new Set(["agent_finished", "cancel_requested", "error", "model_call_failed", "model_called", "run_resumed", "run_suspended", "warning", "workflow_finished"]);
  function posted(env) {
    return postedKinds.has(env.type) && !(env.type === "user_message" && env.data.synthetic);
  }
  function closing(env) {
    return closingKinds.has(env.type);
  }

  // ../../web/src/handoff.ts
  var Handoffs = class _Handoffs {
    constructor() {
      __publicField(this, "sessions", []);
      __publicField(this, "routed");
      __publicField(this, "progress", { phase: "", active_agent_id: "", handoff_count: 0, phase_history: [] });
      __publicField(this, "current", -1);
      __publicField(this, "beside", -1);
    }
    clone() {
      const copy = Object.assign(Object.create(_Handoffs.prototype), this);
      copy.sessions = this.sessions.map((session) => ({ ...session }));
      return copy;
    }
    // active is the session whose specialist has the conversation.
    get active() {
      return this.sessions[this.current];
    }
    // person is the session of a person beside whom all may answer.
    get person() {
      return this.sessions[this.beside];
    }
    // apply folds a fact; one of another kind, or about a handoff that there is not, is
    // nothing to it.
    apply(env) {
      switch (env.type) {
        case "message_routed":
          this.routed = env.data;
          this.progress = { ...this.progress, active_agent_id: env.data.agent };
          break;
        case "handoff_requested":
          this.sessions.push({
            id: env.data.handoff_id,
            request: env.data,
            status: "pending",
            started: env.time,
            ended: "",
            result: "",
            artifacts: [],
            state: "",
            step: 0,
            steps: 0,
            metadata: null
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
          this.end(env, env.data.handoff_id, env.data.completion_status, env.data.result_summary, env.data.artifacts_created ?? []);
          break;
        case "phase_changed":
          if (env.data.handoff_id && env.data.from_handoff_id && this.active) {
            this.active.entered = { from: env.data.from_handoff_id, phase: env.data.from_phase ?? "" };
          }
          this.enter({
            from_phase: env.data.from_phase ?? "",
            to_phase: env.data.to_phase,
            from_agent: env.data.from_agent ?? "",
            to_agent: env.data.to_agent,
            reason: env.data.reason,
            time: env.time
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
    activate(id) {
      this.current = this.sessions.findIndex((s) => s.id === id);
      if (!this.active) return;
      this.active.status = "active";
      this.progress = { ...this.progress, active_agent_id: this.active.request.target_agent_id, handoff_count: this.progress.handoff_count + 1 };
    }
    // join has a person answer beside everybody else.
    join(id) {
      this.beside = this.sessions.findIndex((s) => s.id === id);
      if (!this.person) return;
      this.person.status = "active";
      this.progress = { ...this.progress, handoff_count: this.progress.handoff_count + 1 };
    }
    enter(t) {
      this.progress = { ...this.progress, phase: t.to_phase, active_agent_id: t.to_agent, phase_history: [...this.progress.phase_history, t] };
    }
    // rollBack takes the transition back that opened the active session: the one before goes on.
    rollBack(env, reason) {
      const failed = this.active;
      const back = failed?.entered;
      const from = back && this.session(back.from);
      if (!failed || !back || !from) return;
      this.end(env, failed.id, "error", reason, []);
      failed.entered = void 0;
      Object.assign(from, { status: "active", ended: "", result: "", artifacts: [] });
      this.current = this.sessions.indexOf(from);
      this.enter({
        from_phase: this.progress.phase,
        to_phase: back.phase,
        from_agent: failed.request.target_agent_id,
        to_agent: from.request.target_agent_id,
        reason,
        time: env.time
      });
      this.progress = { ...this.progress, handoff_count: this.progress.handoff_count - 1 };
    }
    session(id) {
      return this.sessions.find((s) => s.id === id);
    }
    end(env, id, status2, result, artifacts) {
      const session = this.session(id);
      if (!session) return;
      if (session === this.active) this.current = -1;
      session.status = status2;
      session.ended = env.time;
      session.result = result;
      session.artifacts = artifacts;
      if (status2 !== "completed" && env.type === "handoff_returned" && !session.request.preserve_state) {
        Object.assign(session, { state: "", step: 0, steps: 0, metadata: null });
      }
    }
  };

  // ../../web/src/inbox.ts
  var maxQueued = 32;
  function answers(message, asked) {
    return message.input_id === asked.input_id && asked.kind === "approval" === !!message.approval;
  }
  var Inbox = class _Inbox {
    constructor() {
      // queue are the messages that wait for a run of their own, in order.
      __publicField(this, "queue", []);
      __publicField(this, "inputs", []);
      __publicField(this, "sent", /* @__PURE__ */ new Set());
    }
    clone() {
      const copy = new _Inbox();
      copy.queue = this.queue.slice();
      copy.inputs = this.inputs.map((input) => ({ ...input }));
      copy.sent = new Set(this.sent);
      return copy;
    }
    // has says that a message was taken.
    has(id) {
      return this.sent.has(id);
    }
    // open are the requests for which a run waits.
    open(run) {
      return this.inputs.filter((input) => input.run === run && !input.answer && !input.settled && !input.asked.handoff_id);
    }
    // beside is the open request to a person who answers beside the agents, in the session
    // with the id. It outlives its run; a later one takes its place.
    beside(person) {
      const newest = this.inputs.filter((input) => input.asked.handoff_id).pop();
      return person && newest?.asked.handoff_id === person && !newest.answer ? newest : void 0;
    }
    // enqueue takes a message that belongs to no run, or whose run hears nothing more. An answer
    // is that of the person of the session with the id person.
    enqueue(env, person) {
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
    dequeue(id) {
      this.queue = this.queue.filter((queued) => queued.message.message_id !== id);
    }
    // apply folds an event of the run under way.
    apply(env) {
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
    lapse(dispatch) {
      for (const input of this.inputs) if (dispatch && input.asked.kind === "approval" && input.dispatch === dispatch) input.settled = true;
    }
    take(run, message) {
      const id = message.message_id;
      if (id && this.sent.has(id)) return;
      if (message.input_id) {
        const input = this.open(run).find((i) => answers(message, i.asked));
        if (!input) return;
        input.answer = message;
      }
      if (id) this.sent.add(id);
    }
  };

  // ../../web/src/layout.ts
  var travelSlots = ["general", "morning", "afternoon", "evening", "night"];
  var defaultSlot = "main";
  var Layout = class {
    constructor(wire) {
      __publicField(this, "kind");
      __publicField(this, "sections");
      const layout = wire ?? {};
      this.kind = layout.kind === "travel" || layout.kind === "sections" ? layout.kind : "free";
      this.sections = layout.sections ?? [];
    }
    // key is the place as it is compared, as a string for maps.
    key(p) {
      return this.sectionKey(p.section) + "\0" + (this.kind === "free" ? folded(p.slot) : p.slot);
    }
    sectionKey(section) {
      return this.kind === "free" ? folded(section) : section;
    }
    // order sorts places as the document shows them; what it does not know keeps the
    // order of first use.
    order(places) {
      const firstUse = /* @__PURE__ */ new Map();
      const ranked = places.map((place, at) => {
        const section = this.sectionKey(place.section);
        if (!firstUse.has(section)) firstUse.set(section, firstUse.size);
        return { place, at, rank: this.rank(place, firstUse.get(section)) };
      });
      ranked.sort((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1] || a.at - b.at);
      return ranked.map((r) => r.place);
    }
    rank(p, firstUse) {
      switch (this.kind) {
        case "travel":
          return [parseInt(p.section, 10) || 0, travelSlots.indexOf(p.slot)];
        case "sections":
          return [this.sections.findIndex((s) => s.id === p.section), this.slots(p.section).indexOf(p.slot)];
        default:
          return [firstUse, folded(p.slot) === defaultSlot ? 0 : 1];
      }
    }
    slots(section) {
      const declared = this.sections.find((s) => s.id === section);
      return declared?.slots?.length ? declared.slots : [defaultSlot];
    }
    // named is the place that the arguments of a tool call name, undefined where that is not
    // known yet: open is the argument that is being written.
    named(args, open) {
      const names = this.kind === "travel" ? ["day", "time_slot"] : ["section", "slot"];
      if (names.includes(open)) return void 0;
      const [section, slot] = names.map((name) => String(args[name] ?? "").trim());
      if (!section) return void 0;
      switch (this.kind) {
        case "travel":
          return /^\d{1,3}$/.test(section) && travelSlots.includes(slot) ? { section: String(Number(section)), slot } : void 0;
        case "sections": {
          const known = this.slots(section);
          const named = slot || (known.length === 1 ? known[0] : "");
          return this.sections.some((s) => s.id === section) && known.includes(named) ? { section, slot: named } : void 0;
        }
      }
      return { section, slot: slot || defaultSlot };
    }
    sectionTitle(section) {
      switch (this.kind) {
        case "travel":
          return section === "0" ? "General" : "Day " + section;
        case "sections": {
          const declared = this.sections.find((s) => s.id === section);
          if (declared) return declared.title || inWords(section);
        }
      }
      return capitalized(section);
    }
    slotTitle(slot) {
      return this.kind === "free" ? capitalized(slot) : inWords(slot);
    }
    // slotHeading is "" where a heading would say nothing.
    slotHeading(p) {
      switch (this.kind) {
        case "travel":
          if (p.slot === "general") return "";
          break;
        case "sections": {
          const declared = this.sections.find((s) => s.id === p.section);
          if (declared && (declared.slots?.length ?? 0) < 2) return "";
          break;
        }
        default:
          if (folded(p.slot) === defaultSlot) return "";
      }
      return this.slotTitle(p.slot);
    }
  };
  var spaces = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
  function folded(name) {
    const joined = name.split(spaces).filter((word) => word !== "").join(" ");
    let out = "";
    for (const char of joined) {
      const lower = char.toLowerCase();
      out += String.fromCodePoint(lower.codePointAt(0));
    }
    return out;
  }
  function inWords(id) {
    const words = id.split(/[_-]+/).filter((word) => word !== "").join(" ");
    return words === "" ? id : capitalized(words);
  }
  function capitalized(text) {
    if (text === "") return text;
    const first = String.fromCodePoint(text.codePointAt(0));
    const upper = first.toUpperCase();
    return ([...upper].length === 1 ? upper : first) + text.slice(first.length);
  }

  // ../../web/src/format.ts
  function line(text, max = 160) {
    const flat = text.slice(0, max * 2).replace(/\s+/g, " ").trim();
    return flat.length > max ? flat.slice(0, max - 1) + "…" : flat;
  }

  // ../../web/src/states.ts
  function parked(status2) {
    return status2 === "suspended" || status2 === "awaiting_input";
  }
  function over(status2) {
    return status2 === "completed" || status2 === "degraded" || status2 === "failed" || status2 === "cancelled";
  }

  // ../../web/src/fold.ts
  var Run = class _Run {
    // before is the run that this one continues, as that one ended.
    constructor(env, started, before) {
      __publicField(this, "started", started);
      __publicField(this, "before", before);
      __publicField(this, "id");
      __publicField(this, "tasks", []);
      __publicField(this, "auto", /* @__PURE__ */ new Set());
      // replaced has for a declined task the first that was created in its place.
      __publicField(this, "replaced", /* @__PURE__ */ new Map());
      __publicField(this, "document");
      __publicField(this, "dispatches", []);
      __publicField(this, "byID", /* @__PURE__ */ new Map());
      __publicField(this, "calls", /* @__PURE__ */ new Map());
      __publicField(this, "limits", []);
      // files came with the run or into being in it.
      __publicField(this, "files", []);
      __publicField(this, "names", /* @__PURE__ */ new Map());
      __publicField(this, "summary");
      __publicField(this, "answer");
      __publicField(this, "failure");
      __publicField(this, "finished");
      __publicField(this, "cancelRequested", false);
      __publicField(this, "cancelled", false);
      // outage is set while calls wait for an endpoint.
      __publicField(this, "outage");
      // driven is the time that processes drove the run, up to its newest event, in
      // milliseconds. last is the newest event of who drove it, posted that of somebody else.
      __publicField(this, "driven", 0);
      __publicField(this, "last");
      __publicField(this, "posted", "");
      this.id = env.run_id;
      this.last = Date.parse(env.time);
      this.document = before ? before.document.clone() : new SharedDocument(new Layout(started.layout));
      if (before) {
        this.tasks = before.tasks.slice();
        this.auto = new Set(before.auto);
        this.replaced = new Map(before.replaced);
      }
      const models = [];
      for (const card of started.agents ?? []) {
        this.names.set(card.id, card.display_name || card.id);
        for (const model of card.models ?? []) if (!models.includes(model)) models.push(model);
      }
      this.summary = {
        tenant_id: env.tenant_id,
        thread_id: env.thread_id,
        run_id: env.run_id,
        team: started.team,
        status: "running",
        started_at: env.time,
        updated_at: env.time,
        request: started.message,
        tasks: started.tasks_before ?? 0,
        finished_tasks: started.finished_before ?? 0,
        usage: { input_tokens: 0, output_tokens: 0 },
        cost_usd: 0,
        model_calls: 0,
        first_seq: env.seq,
        last_seq: env.seq,
        models,
        solo: started.solo,
        simulated: started.simulated,
        batch: started.batch
      };
    }
    // clone gives a run of its own in the same state. What no event changes is shared.
    clone() {
      const copy = Object.assign(Object.create(_Run.prototype), this);
      copy.summary = { ...this.summary };
      copy.tasks = this.tasks.slice();
      copy.auto = new Set(this.auto);
      copy.replaced = new Map(this.replaced);
      copy.document = this.document.clone();
      copy.dispatches = this.dispatches.map((d) => ({ ...d }));
      copy.byID = new Map(copy.dispatches.map((d) => [d.id, d]));
      copy.calls = new Map(this.calls);
      copy.limits = this.limits.slice();
      copy.files = this.files.slice();
      return copy;
    }
    // writer is the run that wrote an entry: this one, or one that it goes back to. Ids of
    // facilitators' model calls are of the run that made them.
    writer(entry) {
      return this.before && entry.id <= this.before.document.version ? this.before.writer(entry) : this;
    }
    name(agent) {
      return this.names.get(agent) ?? agent;
    }
    // working is the dispatch that works on a task now.
    working(task) {
      return this.dispatches.find((d) => !d.finish && d.start.task_ids?.includes(task));
    }
    // drivenUntil is driven with the time since the last event, while the run is driven.
    drivenUntil(now) {
      return this.summary.status === "running" && !this.outage ? this.driven + Math.max(0, now - this.last) : this.driven;
    }
    // drive counts the time up to an event. What others post says nothing about who drove
    // the run, and nobody drives one that is suspended. An event at just the time of what
    // was posted comes of a clock that was behind that.
    drive(env) {
      if (posted(env)) {
        this.posted = env.time;
        return;
      }
      const time = Date.parse(env.time);
      if (env.type !== "run_resumed" && !parked(this.summary.status) && env.time !== this.posted && !this.outage) {
        this.driven += Math.max(0, time - this.last);
      }
      this.last = time;
    }
    apply(env) {
      const summary = this.summary;
      if (this.cancelled && !closing(env) && !posted(env)) throw new Error("the run is cancelled");
      this.drive(env);
      summary.last_seq = env.seq;
      summary.updated_at = env.time;
      const lost = lostIn(env);
      if (lost) {
        summary.usage = addUsage(summary.usage, lost.usage);
        summary.cost_usd = addCost(summary.cost_usd, lost.cost_usd);
      }
      const dispatch = env.dispatch_id ? this.byID.get(env.dispatch_id) : void 0;
      switch (env.type) {
        case "tasks_created":
          for (const task of env.data.tasks ?? []) {
            if (task.id !== this.tasks.length + 1) throw new Error(`task ${task.id} where task ${this.tasks.length + 1} is next`);
            this.tasks.push(task);
            summary.tasks++;
            for (const id of task.replaces ?? []) {
              if (!this.replaced.has(id)) summary.tasks--;
              this.replaced.set(id, this.replaced.get(id) ?? task.id);
            }
          }
          break;
        case "task_updated": {
          const { auto_completed, ...task } = env.data;
          const old = this.tasks[task.id - 1];
          if (!old || old.finished) throw new Error(`task ${task.id} cannot be updated`);
          this.tasks[task.id - 1] = task;
          if (auto_completed) this.auto.add(task.id);
          else if (dispatch && task.finished) dispatch.progress++;
          if (task.finished) summary.finished_tasks++;
          break;
        }
        case "document_updated":
          this.document.apply(env.seq, env.time, env.data);
          if (dispatch) dispatch.progress++;
          break;
        case "agent_started": {
          const opened = { id: env.dispatch_id, seq: env.seq, start: env.data, started: env.time, progress: 0 };
          this.dispatches.push(opened);
          this.byID.set(opened.id, opened);
          break;
        }
        case "agent_finished":
          if (!dispatch || dispatch.finish) throw new Error(`dispatch ${env.dispatch_id} is not under way`);
          dispatch.finish = env.data;
          dispatch.finished = env.time;
          break;
        case "model_called":
          summary.model_calls++;
          summary.usage = addUsage(summary.usage, env.data.usage);
          summary.cost_usd = addCost(summary.cost_usd, env.data.cost_usd);
          this.calls.set(env.data.id, { seq: env.seq, time: env.time, agent: env.agent ?? "", dispatch: env.dispatch_id ?? "", data: env.data });
          break;
        case "artifact_created":
          this.files.push(env.data);
          break;
        case "limit_reached":
          this.limits.push(env.data);
          break;
        case "final_answer":
          this.answer = { ...env.data, seq: env.seq };
          break;
        case "error":
          this.failure = env.data;
          break;
        case "cancel_requested":
          this.cancelRequested = true;
          break;
        case "run_cancelled":
          this.cancelled = true;
          this.outage = void 0;
          break;
        case "outage_began":
          this.outage = env.data;
          summary.reason = "waits for " + env.data.message;
          break;
        case "outage_ended":
          this.outage = void 0;
          summary.reason = void 0;
          break;
        case "run_suspended":
          this.outage = void 0;
          summary.status = env.data.awaiting_input ? "awaiting_input" : "suspended";
          summary.reason = env.data.reason;
          summary.limit = env.data.limit;
          break;
        case "run_resumed":
          this.outage = void 0;
          summary.status = "running";
          summary.reason = void 0;
          summary.limit = void 0;
          break;
        case "workflow_finished":
          summary.status = env.data.status;
          summary.reason = env.data.reason;
          summary.limit = env.data.limit;
          this.finished = env.data;
          break;
      }
    }
  };
  var Thread = class _Thread {
    constructor() {
      __publicField(this, "seq", 0);
      __publicField(this, "time", "");
      __publicField(this, "runs", []);
      __publicField(this, "handoffs", new Handoffs());
      __publicField(this, "inbox", new Inbox());
    }
    // clone gives a thread of its own in the same state. Runs before the last change no more.
    clone() {
      const copy = new _Thread();
      copy.seq = this.seq;
      copy.time = this.time;
      copy.handoffs = this.handoffs.clone();
      copy.inbox = this.inbox.clone();
      this.runs.forEach((run, i) => copy.runs.push(i < this.runs.length - 1 ? run : run.clone()));
      return copy;
    }
    get current() {
      return this.runs[this.runs.length - 1];
    }
    run(id) {
      return this.runs.find((run) => run.id === id);
    }
    apply(env) {
      if (env.seq !== this.seq + 1) throw new Error(`event ${env.seq} after event ${this.seq}`);
      if (env.type === "workflow_started") {
        const before = env.data.continues ? this.run(env.data.continues) : void 0;
        if (env.data.continues && (!before || !over(before.summary.status))) throw new Error(`no run ${env.data.continues} to continue`);
        this.runs.push(new Run(env, env.data, before));
        if (env.data.message_id) this.inbox.dequeue(env.data.message_id);
      } else {
        const run = this.current;
        const under = run?.id === env.run_id && !over(run.summary.status);
        const deaf = under && run.cancelled;
        if (env.type === "user_message" && !env.data.synthetic && (!env.run_id || deaf)) this.inbox.enqueue(env, this.handoffs.person?.id);
        if (under) {
          run.apply(env);
          if (!run.cancelled) this.handoffs.apply(env);
          if (!deaf) this.inbox.apply(env);
        } else if (!posted(env)) throw new Error(`no run ${env.run_id} under way`);
      }
      this.seq = env.seq;
      this.time = env.time;
    }
  };
  function lostIn(env) {
    switch (env.type) {
      case "model_called":
      case "model_call_failed":
      case "agent_finished":
      case "error":
        return env.data.lost;
    }
  }
  function addCost(a, b) {
    return a === null || b === null ? null : a + b;
  }
  function addUsage(a, b) {
    return {
      input_tokens: a.input_tokens + b.input_tokens,
      cached_input_tokens: (a.cached_input_tokens ?? 0) + (b.cached_input_tokens ?? 0),
      cache_write_input_tokens: (a.cache_write_input_tokens ?? 0) + (b.cache_write_input_tokens ?? 0),
      cache_write_1h_input_tokens: (a.cache_write_1h_input_tokens ?? 0) + (b.cache_write_1h_input_tokens ?? 0),
      output_tokens: a.output_tokens + b.output_tokens,
      reasoning_tokens: (a.reasoning_tokens ?? 0) + (b.reasoning_tokens ?? 0),
      web_searches: (a.web_searches ?? 0) + (b.web_searches ?? 0),
      estimated: a.estimated || b.estimated
    };
  }

  // ../../web/src/describe.ts
  function callName(d) {
    switch (d.purpose) {
      case "rest":
        return `${d.id} (the rest of ${d.id.replace(/r$/, "")}${d.interrupted ? ", which did not come" : ""})`;
      case "compact":
        return d.id + " (a summary)";
    }
    return d.id;
  }

  // ../../web/src/scale.ts
  var idleShare = 0.04;
  var Scale = class {
    // busy are the stretches in which anybody did something, in order and apart.
    constructor(start, last, busy) {
      __publicField(this, "points");
      __publicField(this, "length");
      let work2 = 0;
      for (const [a, b] of busy) work2 += b - a;
      const longest = Math.max(1e3, work2 * idleShare);
      this.points = [{ time: start, at: 0, idle: false }];
      let at = 0;
      let previous = start;
      const idle = (until) => {
        const gap2 = until - previous;
        if (gap2 <= 0) return;
        at += Math.min(gap2, longest);
        this.points.push({ time: until, at, idle: gap2 > longest });
      };
      for (const [a, b] of busy) {
        const from = Math.max(a, start);
        idle(from);
        if (b > from) {
          at += b - from;
          this.points.push({ time: b, at, idle: false });
        }
        previous = Math.max(previous, b);
      }
      idle(last);
      this.length = Math.max(1, at);
    }
    at(time) {
      const i = this.find((p) => p.time >= time);
      if (i === 0) return 0;
      if (i === this.points.length) return 1;
      const [a, b] = [this.points[i - 1], this.points[i]];
      return (a.at + (time - a.time) / Math.max(1, b.time - a.time) * (b.at - a.at)) / this.length;
    }
    time(at) {
      const want = at * this.length;
      const i = this.find((p) => p.at >= want);
      if (i === 0) return this.points[0].time;
      if (i === this.points.length) return this.points[i - 1].time;
      const [a, b] = [this.points[i - 1], this.points[i]];
      return a.time + (want - a.at) / Math.max(1, b.at - a.at) * (b.time - a.time);
    }
    // gaps are the compressed stretches, as places on the scale.
    gaps() {
      const gaps = [];
      for (let i = 1; i < this.points.length; i++) {
        if (this.points[i].idle) gaps.push([this.points[i - 1].at / this.length, this.points[i].at / this.length]);
      }
      return gaps;
    }
    find(test) {
      let low = 0;
      let high = this.points.length;
      while (low < high) {
        const mid = low + high >> 1;
        if (test(this.points[mid])) high = mid;
        else low = mid + 1;
      }
      return low;
    }
  };

  // ../../web/src/lanes.ts
  var Lanes = class {
    constructor() {
      __publicField(this, "lanes", []);
      __publicField(this, "start", 0);
      __publicField(this, "end", 0);
      __publicField(this, "byAgent", /* @__PURE__ */ new Map());
      __publicField(this, "open", /* @__PURE__ */ new Map());
      // facilitator is who waits while dispatches are open; dispatches are those.
      __publicField(this, "facilitator", "");
      __publicField(this, "dispatches", /* @__PURE__ */ new Set());
      // busy are the stretches in which anybody did something, joined, in order.
      __publicField(this, "busy", []);
      __publicField(this, "changes", 0);
      __publicField(this, "scaled");
    }
    add(env) {
      const at = Date.parse(env.time);
      if (!this.start) {
        this.start = at;
        this.busy = [[at, at]];
      }
      this.end = Math.max(this.end, at);
      this.occupy(at, at);
      const agent = env.agent ?? "";
      const dispatch = env.dispatch_id ?? "";
      switch (env.type) {
        case "workflow_started":
          for (const card of env.data.agents ?? []) this.lane(card.id);
          this.facilitator = env.data.agents?.[0]?.id ?? "";
          break;
        case "agent_started":
          if (this.dispatches.size === 0 && this.facilitator) this.begin(waits, this.facilitator, "waits", at, env.seq, "");
          this.dispatches.add(dispatch);
          this.begin(dispatch, env.data.agent, "dispatch", at, env.seq, dispatch);
          break;
        case "agent_finished":
          this.attempted(env.data, agent, at, env.seq);
          if (env.data.status === "cancelled" || env.data.status === "timed_out") this.cutOff(this.lane(agent || env.data.agent), at, env.seq);
          this.close(dispatch, at);
          this.dispatches.delete(dispatch);
          if (this.dispatches.size === 0) this.close(waits, at);
          break;
        case "error":
        case "model_call_failed":
          this.attempted(env.data, agent, at, env.seq);
          break;
        case "dispatch_refused":
          this.mark(agent, at, env.seq, "refused: " + line(env.data.result));
          break;
        case "model_called":
          this.called(env.data, this.lane(agent), at, env.seq);
          if (agent === this.facilitator) this.moveStart(waits, at);
          break;
        case "tool_started":
          this.begin(env.data.model_call_id + "/" + env.data.index, agent, "tool", at, env.seq, env.data.tool);
          break;
        case "tool_call":
          this.close(env.data.model_call_id + "/" + env.data.index, at);
          break;
        case "run_cancelled":
          if (this.facilitator && this.dispatches.size === 0) this.cutOff(this.lane(this.facilitator), at, env.seq);
          break;
        case "workflow_finished":
          for (const key2 of [...this.open.keys()]) this.close(key2, at);
          break;
      }
    }
    // called adds the stretches of a finished model call: each attempt and each wait.
    called(d, lane, at, seq) {
      const retries = d.retries ?? [];
      const newest = retries[retries.length - 1];
      const sent = at - d.total_ms;
      const name = callName(d);
      const begun = sent - (newest ? newest.start_ms + newest.ran_ms + newest.wait_ms : d.queued_ms + (d.retried_ms ?? 0));
      lane.calls++;
      if (!newest) {
        push(lane, "waiting", begun, begun + d.queued_ms, seq, name);
        push(lane, "retry", begun + d.queued_ms, sent, seq, name);
      } else {
        this.tries(name, retries, Math.max(0, d.attempts - 1 - retries.length), lane, begun, seq);
      }
      push(lane, "first", sent, sent + d.first_token_ms, seq, name);
      push(lane, "tokens", sent + d.first_token_ms, at, seq, name);
      if (d.interrupted) this.mark(lane.agent, at, seq, d.purpose ? name : `${d.id} broke off; the calls that it had started stand`);
      this.occupy(begun, at);
    }
    // attempted adds what was tried in the model call whose failure ended an agent.
    attempted(d, agent, at, seq) {
      const attempts = d.attempts ?? [];
      const last = attempts[attempts.length - 1];
      if (!last) return;
      const begun = at - (last.start_ms + last.ran_ms + last.wait_ms);
      this.tries(d.model_call_id ?? "", attempts, d.earlier_attempts ?? 0, this.lane(agent), begun, seq);
      this.occupy(begun, at);
    }
    // cutOff adds the call that was under way when its agent was stopped: nothing of it came
    // back, so it began at the latest when the last thing before it ended.
    cutOff(lane, at, seq) {
      if (lane.stretches.some((s) => s.work === "tool" && s.end === 0)) return;
      const begun = Math.max(this.start, ...lane.stretches.slice(-8).map((s) => s.work === "dispatch" || s.work === "waits" ? s.end || s.start : s.end));
      push(lane, "cancelled", begun, at, seq, "no reply");
      this.occupy(begun, at);
    }
    // tries adds failed attempts and the waits around them. Of a call with more of them
    // than its event holds the first are not known: so many were cut.
    tries(id, attempts, cut, lane, begun, seq) {
      push(lane, cut > 0 ? "retry" : "waiting", begun, begun + attempts[0].start_ms, seq, cut > 0 ? `${id}, ${cut} earlier attempts` : id);
      attempts.forEach((attempt, i) => {
        const label = `${id} try ${cut + i + 1}: ${failure(attempt)}`;
        const start = begun + attempt.start_ms;
        const failed = start + attempt.ran_ms;
        push(lane, "failed", start, failed, seq, label);
        push(lane, "retry", failed, failed + attempt.wait_ms, seq, `after ${label}`);
        this.mark(lane.agent, failed, seq, label);
      });
    }
    begin(key2, agent, work2, start, seq, label) {
      const stretch = { work: work2, start, end: 0, seq, label };
      this.lane(agent).stretches.push(stretch);
      this.open.set(key2, stretch);
    }
    moveStart(key2, start) {
      const stretch = this.open.get(key2);
      if (stretch) stretch.start = Math.max(stretch.start, start);
    }
    mark(agent, at, seq, label) {
      this.lane(agent).stretches.push({ work: "refused", start: at, end: at, seq, label });
    }
    close(key2, at) {
      const stretch = this.open.get(key2);
      if (!stretch) return;
      stretch.end = at;
      if (stretch.work === "tool") this.occupy(stretch.start, at);
      this.open.delete(key2);
    }
    lane(agent) {
      let lane = this.byAgent.get(agent);
      if (!lane) {
        lane = { agent, stretches: [], calls: 0 };
        this.byAgent.set(agent, lane);
        this.lanes.push(lane);
      }
      return lane;
    }
    // occupy joins a stretch with those at the end that it touches.
    occupy(start, end) {
      this.changes++;
      while (this.busy.length > 0 && this.busy[this.busy.length - 1][1] + joinMs >= start) {
        const [from, to] = this.busy.pop();
        start = Math.min(start, from);
        end = Math.max(end, to);
      }
      this.busy.push([start, end]);
    }
    // scale maps times to a length from 0 to 1, up to a time that may lie ahead. Where
    // somebody is at work now, the time since the last event is no idle time.
    scale(until, working) {
      const key2 = [this.changes, this.start, this.end, until, working].join();
      if (this.scaled?.key !== key2) {
        const last = Math.max(until, this.end);
        this.scaled = { key: key2, scale: new Scale(this.start, last, working ? [...this.busy, [this.end, last]] : this.busy) };
      }
      return this.scaled.scale;
    }
  };
  var waits = "waits";
  var joinMs = 50;
  function push(lane, work2, start, end, seq, label) {
    if (end > start) lane.stretches.push({ work: work2, start, end, seq, label });
  }
  function failure(a) {
    const cause = a.status ? `HTTP ${a.status}` : a.error.replace(/_/g, " ");
    return a.message ? `${cause}, ${line(a.message)}` : cause;
  }
  function lanesOf(log) {
    const lanes2 = new Lanes();
    for (const text of log.split("\n")) if (text) lanes2.add(JSON.parse(text));
    return lanes2.lanes;
  }

  // ../../web/src/offered.ts
  var work = ["read_tasks", "complete_task", "decline_task", "read_document", "write_section"];
  function offeredTo(run, who, dispatch) {
    const agents = run.started.config?.agents;
    const agent = Array.isArray(agents) ? agents.find((a) => a?.id === who) : void 0;
    const start = run.byID.get(dispatch)?.start;
    if (start?.tool === "supervise") return offered(agent?.supervisor);
    if (start?.asked) return offered({ system: agent?.asked_system, tools: list(agent?.tools).filter((tool) => !work.includes(tool.name)) });
    return offered(dispatch && !start ? agent?.session : agent);
  }
  function offered(given) {
    return { system: typeof given?.system === "string" ? given.system : "", tools: list(given?.tools) };
  }
  function list(tools) {
    return Array.isArray(tools) ? tools.filter((tool) => typeof tool?.name === "string").map((tool) => ({ name: tool.name, description: typeof tool.description === "string" ? tool.description : "", parameters: tool.parameters })) : [];
  }

  // ../../web/src/talk.ts
  var humanAgent = "human";
  var Talk = class {
    constructor() {
      // messages are in the order of the log. items has them in the order in which they are
      // read: a queued message stands where its run begins.
      __publicField(this, "messages", []);
      __publicField(this, "items", []);
      __publicField(this, "byID", /* @__PURE__ */ new Map());
      // waiting are messages that stand in no place yet.
      __publicField(this, "waiting", /* @__PURE__ */ new Set());
    }
    // has tells whether the thread has a user's message with the id.
    has(id) {
      return this.byID.has(id);
    }
    // queue are the messages that wait for a run of their own, in order.
    queue(thread) {
      return thread.inbox.queue.flatMap((queued) => this.byID.get(queued.message.message_id) ?? []);
    }
    // apply takes an event that the thread has taken.
    apply(env, thread) {
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
            if (!beside) this.mark(env, "Waiting for a person to answer.", [], "person");
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
    notice(env) {
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
    note(env, thread) {
      const session = (id) => thread.handoffs.sessions.find((s) => s.id === id);
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
    said(env, data, thread) {
      if (data.synthetic) {
        this.items.push({ kind: "hidden", seq: env.seq, run: env.run_id, time: env.time, agent: env.agent ?? "", content: data.content, reason: data.reason ?? "" });
        return;
      }
      const id = data.message_id ?? "";
      if (id && (this.byID.has(id) || !thread.inbox.has(id))) return;
      const said = {
        ...this.base(env),
        id,
        role: "user",
        user: data.user_id ?? "",
        content: data.content,
        delivery: data.delivery ?? "",
        input: data.input_id ?? ""
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
    start(env, thread) {
      const said = this.byID.get(env.data.message_id ?? "");
      if (said) {
        said.run = env.run_id;
        if (this.waiting.delete(said)) this.items.push(said);
        return;
      }
      if (env.data.synthetic || thread.run(env.run_id)?.before?.started.message === env.data.message) return;
      const first = { ...this.base(env), id: env.data.message_id ?? "", role: "user", content: env.data.message };
      if (first.id) this.byID.set(first.id, first);
      this.push(first);
    }
    agent(env, thread, content, more) {
      const session = thread.handoffs.sessions.find((s) => s.id === env.dispatch_id);
      const step = session && session.steps > 0 ? { state: session.state, step: session.step, steps: session.steps } : void 0;
      this.push({ ...this.base(env), role: "assistant", agent: env.agent || "facilitator", content, step, ...more });
    }
    // wroteIt says that the newest message, or the one that the run answers, is the person's
    // whose words the answer repeats.
    wroteIt(run, content, thread) {
      if (this.byID.get(thread.current?.started.message_id ?? "")?.agent === humanAgent) return true;
      const last = this.messages[this.messages.length - 1];
      return last?.agent === humanAgent && last.run === run && last.content === content;
    }
    base(env) {
      return {
        kind: "said",
        seq: env.seq,
        run: env.run_id,
        id: "",
        role: "user",
        agent: "",
        user: "",
        content: "",
        time: env.time,
        interim: false,
        delivery: "",
        input: "",
        structured: false
      };
    }
    push(said) {
      this.messages.push(said);
      this.items.push(said);
    }
    mark(env, text, agents, tone = "") {
      this.items.push({ kind: "mark", seq: env.seq, run: env.run_id, time: env.time, text, agents, tone });
    }
  };
  var returned = {
    completed: "{0} is done and hands back",
    cancelled: "The session with {0} has ended",
    error: "{0} could not go on and hands back"
  };
  function unanswered(d) {
    const words = d.status === "cancelled" ? "This request was cancelled" : "No answer was given";
    return d.reason ? `${words}: ${d.reason}` : words + ".";
  }

  // ../../web/src/canonical.ts
  function runState(run) {
    const s = run.summary;
    const document = run.document;
    return {
      run_id: run.id,
      team: s.team,
      status: s.status,
      reason: s.reason ?? "",
      limit: s.limit ?? "",
      started_at: s.started_at,
      updated_at: s.updated_at,
      first_seq: s.first_seq,
      last_seq: s.last_seq,
      forked_from: run.started.forked_from ?? null,
      models: s.models ?? [],
      tasks: s.tasks,
      finished_tasks: s.finished_tasks,
      model_calls: s.model_calls,
      cost_usd: s.cost_usd,
      input_tokens: s.usage.input_tokens,
      cached_input_tokens: s.usage.cached_input_tokens ?? 0,
      cache_write_input_tokens: s.usage.cache_write_input_tokens ?? 0,
      cache_write_1h_input_tokens: s.usage.cache_write_1h_input_tokens ?? 0,
      output_tokens: s.usage.output_tokens,
      reasoning_tokens: s.usage.reasoning_tokens ?? 0,
      board: run.tasks.map((task) => ({
        id: task.id,
        text: task.text,
        assigned_to: task.assigned_to,
        finished: task.finished,
        auto: run.auto.has(task.id),
        declined: task.declined ?? "",
        replaced_by: run.replaced.get(task.id) ?? 0
      })),
      document: document.clean(),
      cited: cited(document),
      places: document.places().map((place) => ({
        section: place.section,
        slot: place.slot,
        live: document.live(place).map((entry) => entry.id)
      })),
      entries: document.entries.map((entry) => ({
        id: entry.id,
        section: entry.section,
        slot: entry.slot,
        agent: entry.author,
        replaced_by: entry.replacedBy,
        trace: document.trace(entry.id).map((t) => [t.start, t.end, ...t.entries]),
        footnotes: document.footnotes(entry.id).map((note) => `${note.entry} ${note.end} ${note.cited.found} ${note.cited.quote}`),
        unsupported: document.unsupported(entry.id)
      })),
      dispatches: run.dispatches.map((d) => ({
        id: d.id,
        agent: d.start.agent,
        tasks: d.start.task_ids ?? [],
        outcome: d.finish?.status ?? "",
        progress: d.progress,
        started: d.started
      })),
      answer: run.answer?.content ?? "",
      failure: run.failure?.message ?? "",
      limits: run.limits.map((l) => l.limit),
      driven_ms: run.driven,
      cancel_requested: run.cancelRequested,
      cancelled: run.cancelled,
      outage: run.outage?.code ?? ""
    };
  }
  function handoffState(handoffs) {
    return {
      active: handoffs.active?.id ?? "",
      person: handoffs.person?.id ?? "",
      routed: handoffs.routed ?? null,
      progress: handoffs.progress,
      sessions: handoffs.sessions.map((s) => ({
        id: s.id,
        target: s.request.target_agent_id,
        status: s.status,
        started: s.started,
        ended: s.ended,
        result: s.result,
        artifacts: s.artifacts,
        state: s.state,
        step: s.step,
        steps: s.steps,
        metadata: s.metadata
      }))
    };
  }
  function inboxState(inbox) {
    return {
      queue: inbox.queue.map((q) => ({ id: q.message.message_id, content: q.message.content, time: q.time })),
      inputs: inbox.inputs.map((i) => ({
        id: i.asked.input_id,
        run_id: i.run,
        agent: i.agent,
        kind: i.asked.kind,
        question: i.asked.question,
        choices: i.asked.choices ?? [],
        answer: i.answer?.content ?? null,
        settled: i.settled
      }))
    };
  }
  function messagesOf(talk) {
    return talk.messages.map((m) => ({
      seq: m.seq,
      run: m.run,
      id: m.id,
      role: m.role,
      agent: m.agent,
      user: m.user,
      content: m.content,
      time: m.time,
      interim: m.interim,
      delivery: m.delivery,
      input: m.input
    }));
  }
  function states(log) {
    const thread = new Thread();
    const talk = new Talk();
    const fold = {
      apply(env) {
        thread.apply(env);
        talk.apply(env, thread);
      }
    };
    return after(log, fold, () => stable({ seq: thread.seq, runs: thread.runs.map(runState), handoffs: handoffState(thread.handoffs), inbox: inboxState(thread.inbox), messages: messagesOf(talk) }));
  }
  function batchStates(log) {
    const batch = new Batch();
    return after(log, batch, () => stable(batchState(batch)));
  }
  function after(log, fold, state) {
    return log.split("\n").filter(Boolean).map((line2) => {
      fold.apply(JSON.parse(line2));
      return state();
    });
  }
  function batchState(batch) {
    const s = batch.summary;
    return {
      ...s,
      input: s.input ?? "",
      output: s.output ?? "",
      command: s.command ?? "",
      folder: s.folder ?? "",
      models: s.models ?? [],
      solo: s.solo ?? false,
      simulated: s.simulated ?? false,
      reason: s.reason ?? "",
      left_ms: s.left_ms ?? 0,
      projected_cost_usd: s.projected_cost_usd ?? 0,
      uncached_input_share: s.uncached_input_share ?? 0,
      causes: s.causes ?? [],
      slowest: s.slowest ?? [],
      limiters: s.limiters ?? [],
      outages: s.outages ?? [],
      held: s.held ?? 0
    };
  }
  function stable(value) {
    if (Array.isArray(value)) return "[" + value.map(stable).join(",") + "]";
    if (value !== null && typeof value === "object") {
      const members = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
      return "{" + members.map(([name, member]) => JSON.stringify(name) + ":" + stable(member)).join(",") + "}";
    }
    return JSON.stringify(value);
  }
  function offers(log) {
    const thread = new Thread();
    return log.split("\n").filter(Boolean).flatMap((line2) => {
      const env = JSON.parse(line2);
      thread.apply(env);
      return env.type === "model_called" ? [stable(offeredTo(thread.run(env.run_id), env.agent ?? "", env.dispatch_id ?? ""))] : [];
    });
  }
  function lanes(log) {
    return JSON.stringify(lanesOf(log));
  }
  return __toCommonJS(canonical_exports);
})();
