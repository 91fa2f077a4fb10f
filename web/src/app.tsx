// The page: a header, and below it the list of runs, threads or batches, or one of them.

import { eventsPath, onePath } from "./paths";
import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { address, go, land, link, type Place } from "./address";
import { getJSON, Problem, signedOut } from "./api";
import { batches, BatchesPage } from "./batchespage";
import { Help, helpOpen, onKey } from "./keys";
import { loadRuns, runsThere, RunsPage } from "./runspage";
import { cycleTheme, theme } from "./theme";
import { loadThreads, ThreadsPage, threadsThere } from "./threadspage";
import { tick } from "./clock";
import { write } from "./place";
import { asked, askServer } from "./serverinfo";
import { Who } from "./who";
import type { ThreadView } from "./threadview";
import type { Envelope } from "./events";
import type { ComponentType } from "preact";

// embedded is the log of a page that was opened from disk.
const embedded = document.getElementById("log")?.textContent ?? null;

// Shown is what the page shows one of, with what draws it.
interface Shown {
  view: ThreadView;
  Page: ComponentType<{ view: never; file: boolean }>;
  // until is how many events there are of it as the server said first; 0 where it did not.
  until: number;
}

const shown = signal<Shown | null>(null);
const problem = signal("");
// comparing shows two runs, once its script has been loaded.
const comparing = signal<ComponentType | null>(null);

// Kind is a kind of thing that the page shows one of.
interface Kind {
  word: string;
  list: Place;
  // whole is the thing's id, as the server gives it, and thread the thread that tells of it.
  whole(found: Found): string;
  thread(found: Found): string;
}

type One = "run" | "thread" | "batch";

interface Found {
  run_id: string;
  thread_id: string;
  batch_id: string;
  last_seq?: number;
}

const kinds: Partial<Record<Place, Kind>> & Record<One, Kind> = {
  run: { word: "run", list: "runs", whole: (f) => f.run_id, thread: (f) => f.thread_id },
  thread: { word: "thread", list: "threads", whole: (f) => f.thread_id, thread: (f) => f.thread_id },
  batch: { word: "batch", list: "batches", whole: (f) => f.batch_id, thread: (f) => f.batch_id },
};

// opening counts what was opened: what comes for an earlier one is late.
let opening = 0;

function open(place: Place, id: string): void {
  const old = shown.peek()?.view;
  if (old && old.place === place && old.id === id) return;
  old?.close();
  problem.value = "";
  shown.value = null;
  const mine = ++opening;
  if (place === "compare") {
    views().then((all) => (comparing.value = all.ComparePage), (err: Error) => (problem.value = err.message));
  }
  if (!isOne(place)) return;
  const found = embedded === null ? getJSON<Found>(onePath(place, id)) : null;
  const begun = embedded === null && place === "run" ? getJSON<{ events: Envelope[] }>(eventsPath(id)) : { events: [] };
  Promise.all([found, views(), begun]).then(
    ([found, { [place]: kind }, { events }]) => {
      if (mine !== opening) return;
      if (found && kinds[place].whole(found) !== id) return go(place, kinds[place].whole(found));
      const view = new kind.View(id);
      shown.value = { view, Page: kind.Page, until: found?.last_seq ?? 0 };
      if (found) view.follow(kinds[place].thread(found), events);
      else view.load(embedded!.split("\n"));
    },
    (err: unknown) => {
      if (mine !== opening) return;
      problem.value = err instanceof Problem ? err.message : "The server does not answer. Is convene serve still running?";
      if (!(err instanceof Problem)) setTimeout(() => { if (mine === opening) open(place, id); }, 2000);
    },
  );
}

function isOne(place: Place): place is One {
  return Object.hasOwn(kinds, place);
}

// views is the script that shows one of them, once there is the style for it. A browser does not ask again for a script
// that it could not have: then the page is the one to load again.
function views(): Promise<typeof import("./views")> {
  const script = import("./views").catch(() => {
    throw new Problem(0, "A part of this page could not be loaded. Load the page again.");
  });
  return Promise.all([script, window.styled]).then(([all]) => all);
}

function start(): void {
  if (embedded !== null && !address.peek().id) {
    const first = embedded.split("\n").find(Boolean);
    if (first) land("run", (JSON.parse(first) as { run_id: string }).run_id);
  }
  effect(() => open(address.value.place, address.value.id));
  const { place } = address.peek();
  if (embedded === null && place === "runs") loadRuns();
  if (embedded === null && place === "threads") loadThreads();
  if (embedded === null && place === "batches") void batches.load();
  if (embedded === null && place !== "runs" && place !== "threads") void askServer();
}

// patienceMs is how long the page is not drawn while there is nothing to read: what
// comes sooner is then drawn once, and nothing of it moves. What the server has drawn stays
// until then, however long that is.
const patienceMs = 300;
const framed = document.getElementById("app")!.hasChildNodes();

function there(): boolean {
  const { place } = address.value;
  if (framed && !asked.value) return false; // who is signed in stands in the frame
  if (place === "runs") return runsThere();
  if (place === "threads") return threadsThere();
  if (place === "compare") return comparing.value !== null || problem.value !== "";
  if (place === "batches") return batches.items.value !== null || batches.trouble.value !== "";
  const one = shown.value;
  return problem.value !== "" || (one !== null && one.view.changed.value > 0 && one.view.events.length >= one.until);
}

function draw(): void {
  clearTimeout(late);
  waiting();
  const frame = document.getElementById("app")!;
  const opened = [...frame.querySelectorAll("details[open]")] as HTMLDetailsElement[];
  render(<App />, frame);
  for (const menu of opened) menu.open = true; // the reader opened it before there was a script
}

const lists: { place: Place; one: Place; name: string }[] = [
  { place: "runs", one: "run", name: "Runs" }, { place: "threads", one: "thread", name: "Threads" }, { place: "batches", one: "batch", name: "Batches" },
];

function Header() {
  const here = address.value.place;
  const themes = { system: "◐", light: "○", dark: "●" };
  return (
    <header class="top">
      <a class="brand" href={embedded === null ? link("runs") : undefined}>convene</a>
      {embedded === null && (
        <nav aria-label="Main">
          {lists.map(({ place, one, name }) => (
            <a key={place} href={link(place)} aria-current={here === place ? "page" : here === one ? "true" : undefined}>{name}</a>
          ))}
        </nav>
      )}
      <span class="fill" />
      {!signedOut.value && <Who />}
      {signedOut.value && <a href={"/login?next=" + encodeURIComponent(write(address.value))}>Signed out: sign in again</a>}
      <button type="button" class="plain" onClick={() => (helpOpen.value = true)} title="Keys" aria-keyshortcuts="?"><kbd>?</kbd> <span class="word">keys</span></button>
      <button type="button" class="plain theme" onClick={cycleTheme} aria-label={"Colours: " + theme.value}>{themes[theme.value]} <span class="word">{theme.value}</span></button>
    </header>
  );
}

function Content() {
  const { place } = address.value;
  const open = shown.value;
  const kind = kinds[place];
  if (problem.value && kind) {
    document.title = "Not found · convene";
    return (
      <main id="main" tabIndex={-1} class="message">
        <h1>This {kind.word} cannot be shown</h1>
        <p>{problem.value}</p>
        <p><a href={link(kind.list)}>All {kind.list}</a></p>
      </main>
    );
  }
  if (open) {
    const Page = open.Page as ComponentType<{ view: ThreadView; file: boolean }>;
    return <Page key={open.view.id} view={open.view} file={embedded !== null} />;
  }
  if (kind) return <main id="main" tabIndex={-1} class="message"><p>Loading …</p></main>;
  if (place === "compare") {
    const Page = comparing.value;
    return Page ? <Page /> : <main id="main" tabIndex={-1} class="message"><p>{problem.value || "Loading …"}</p></main>;
  }
  return place === "batches" ? <BatchesPage /> : place === "threads" ? <ThreadsPage /> : <RunsPage />;
}

function App() {
  tick.value;
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to content</a>
      <Header />
      <Content />
      <Help />
    </>
  );
}

start();
document.addEventListener("keydown", (event) => onKey(event, shown.peek()?.view ?? null));
const late = framed ? 0 : window.setTimeout(draw, patienceMs);
const waiting = effect(() => {
  if (there()) queueMicrotask(draw);
});
