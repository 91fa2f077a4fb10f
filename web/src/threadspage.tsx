// The list of threads: those that wait for a person first, and the form that starts a
// conversation.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { go, link, param, setParams } from "./address";
import { ago, duration, exact, line, plain } from "./format";
import { damage, heldStatus, lostRequest, over } from "./states";
import type { Damage } from "./events";
import { Coming, Listing, Search } from "./listing";
import { newID, type Outgoing, say } from "./outbox";
import { asked, askServer, server } from "./serverinfo";
import { StatusMark } from "./parts";

// ThreadLine is a thread as the API lists it.
export interface ThreadLine {
  thread_id: string;
  title: string;
  team: string;
  run_id: string;
  status: string;
  // asks are what the thread waits for a person to say.
  asks: { input_id: string; kind: string; question: string }[];
  request: string;
  answer?: string;
  started_at: string;
  updated_at: string;
  // damaged is set where an event of the newest run cannot be read.
  damaged?: Damage;
}

export const threads = new Listing<ThreadLine>("threads", (thread) => thread.thread_id, (thread) => !over(thread.status));

// loadThreads asks for all that the page shows.
export function loadThreads(): void {
  void threads.load();
  void askServer();
}

// threadsThere says that the list can be read, and nothing will come above it.
export function threadsThere(): boolean {
  return threads.trouble.value !== "" || (threads.items.value !== null && asked.value);
}

export function ThreadsPage() {
  threads.use();
  useEffect(() => {
    if (!server.peek()) void askServer();
    document.title = "Threads · convene";
  }, []);
  if (!threadsThere()) return <Coming what="Threads" />;
  return (
    <main id="main" tabIndex={-1} class="list">
      <h1>Threads</h1>
      {server.value?.can_start && <StartForm />}
      <div class="filters">
        <Search what="Search requests and answers" />
        <label>
          <span>Waiting for</span>
          <select value={param("waiting")} onChange={(e) => setParams({ waiting: e.currentTarget.value })}>
            <option value="">anything</option>
            <option value="human">a person at the desk</option>
            <option value="question">an answer</option>
            <option value="approval">an approval</option>
          </select>
        </label>
      </div>
      {threads.trouble.value && <p class="trouble" role="status">{threads.trouble.value}</p>}
      <Table />
    </main>
  );
}

function Table() {
  const list = threads.items.value;
  if (list === null) return <p class="empty">Loading …</p>;
  if (list.length === 0) {
    const filtered = param("q") || param("waiting");
    return <p class="empty">{filtered ? "No thread matches. Change the search or what it waits for." : "There are no threads yet. Write a message above, or use: convene chat"}</p>;
  }
  return (
    <>
      <ul class="runs threads" aria-label="Threads, those that wait for a person first">{list.map((thread) => <Row key={thread.thread_id} t={thread} />)}</ul>
      {threads.more.value && <button type="button" onClick={() => void threads.loadMore()}>Show older threads</button>}
    </>
  );
}

const waits: Record<string, string> = { human: "waits for a person", question: "waits for an answer", approval: "waits for an approval" };

function Row({ t }: { t: ThreadLine }) {
  const human = t.asks.some((ask) => ask.kind === "human");
  const updated = Date.parse(t.updated_at);
  return (
    <li>
      <a href={link("thread", t.thread_id, human ? { as: "human" } : {})}>
        <StatusMark is={heldStatus(t, false)} />
        <span class="request">{line(t.title || t.request, 200) || (t.damaged && lostRequest)}</span>
        {t.asks.map((ask) => (
          <span key={ask.input_id} class="reason person">
            {waits[ask.kind] ?? "waits"} <span class="num">{duration(Date.now() - updated)}</span>: {line(plain(ask.question), 200)}
          </span>
        ))}
        {t.damaged && <span class="reason failure">{damage(t.damaged)}</span>}
        {t.asks.length === 0 && !t.damaged && <span class="reason">{line(plain(t.answer ?? ""), 200)}</span>}
        <span class="facts num">
          <span>{line(t.team, 40)}</span>
          <time dateTime={t.updated_at} title={exact(t.updated_at)}>{ago(Date.now() - updated)}</time>
        </span>
      </a>
    </li>
  );
}

const starting = signal(false);
const refused = signal("");

function StartForm() {
  const form = useRef<HTMLFormElement>(null);
  // draft keeps its ids until the server has taken it, so that it counts once.
  const draft = useRef<{ thread: string; message: Outgoing } | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    const data = new FormData(form.current!);
    const content = String(data.get("content")).trim();
    if (starting.peek() || !content) return;
    const team = String(data.get("team") ?? "") || undefined;
    if (draft.current?.message.content !== content || draft.current.message.team !== team) {
      draft.current = { thread: newID(), message: { message_id: newID(), content, team } };
    }
    starting.value = true;
    refused.value = "";
    try {
      await say(draft.current.thread, draft.current.message);
      form.current?.reset();
      go("thread", draft.current.thread);
      draft.current = null;
    } catch (err) {
      refused.value = (err as Error).message;
    } finally {
      starting.value = false;
    }
  };
  return (
    <form ref={form} class="start" onSubmit={submit} aria-label="Start a conversation">
      <label class="wide">
        <span>Start a conversation</span>
        <textarea
          id="new-request" name="content" rows={1} required placeholder="Write a message"
          onKeyDown={(e) => {
            if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
            e.preventDefault();
            form.current?.requestSubmit();
          }}
        />
      </label>
      <label>
        <span>Team</span>
        <select name="team">
          {(server.value?.teams ?? []).map((team) => <option key={team.name} value={team.name} selected={team.default} title={team.description}>{team.name}</option>)}
        </select>
      </label>
      <span />
      <button type="submit" disabled={starting.value}>{starting.value ? "Sending …" : "Send"}</button>
      {refused.value && <p class="trouble" role="alert">{refused.value}</p>}
    </form>
  );
}
