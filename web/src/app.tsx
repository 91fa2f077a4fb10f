// The page: a header, and below it the list of runs or batches, or one of them.

import { onePath } from "./ahead";
import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { address, go, land, link, type Place } from "./address";
import { getJSON, Problem } from "./api";
import { batches, BatchesPage } from "./batchespage";
import { BatchPage } from "./batchpage";
import { BatchView } from "./batchview";
import { Help, helpOpen, onKey } from "./keys";
import { RunPage } from "./runpage";
import { loadRuns, runsThere, RunsPage } from "./runspage";
import { RunView } from "./run";
import { cycleTheme, theme } from "./theme";
import { tick } from "./clock";

// embedded is the log of a page that was opened from disk.
const embedded = document.getElementById("log")?.textContent ?? null;

const view = signal<RunView | BatchView | null>(null);
const problem = signal("");

function open(place: Place, id: string): void {
  const old = view.peek();
  const batch = place === "batch";
  if (old?.id === id && old instanceof BatchView === batch) return;
  old?.close();
  problem.value = "";
  view.value = null;
  if (!id) return;
  const next = batch ? new BatchView(id) : new RunView(id);
  view.value = next;
  if (embedded !== null) {
    next.load(embedded.split("\n"));
    return;
  }
  getJSON<{ run_id: string; thread_id: string; batch_id: string }>(onePath(batch, id)).then(
    (found) => {
      if (view.peek() !== next) return;
      const whole = batch ? found.batch_id : found.run_id;
      if (whole !== id) go(place, whole);
      else next.follow(batch ? whole : found.thread_id);
    },
    (err: unknown) => {
      if (view.peek() !== next) return;
      problem.value = err instanceof Problem ? err.message : "The server does not answer. Is convene serve still running?";
      if (!(err instanceof Problem)) setTimeout(() => { if (view.peek() === next) { view.value = null; open(place, id); } }, 2000);
    },
  );
}

function start(): void {
  if (embedded !== null && !address.peek().id) {
    const first = embedded.split("\n").find(Boolean);
    if (first) land("run", (JSON.parse(first) as { run_id: string }).run_id);
  }
  effect(() => open(address.value.place, address.value.id));
  const { place } = address.peek();
  if (embedded === null && place === "runs") loadRuns();
  if (embedded === null && place === "batches") void batches.load();
}

// patienceMs is how long the page is not drawn while there is nothing to read: what
// comes sooner is then drawn once, and nothing of it moves.
const patienceMs = 150;

function there(): boolean {
  const { place } = address.value;
  if (place === "runs") return runsThere();
  if (place === "batches") return batches.items.value !== null || batches.trouble.value !== "";
  return problem.value !== "" || (view.value?.changed.value ?? 0) > 0;
}

function draw(): void {
  clearTimeout(late);
  waiting();
  render(<App />, document.getElementById("app")!);
}

const lists: { place: Place; one: Place; name: string }[] = [{ place: "runs", one: "run", name: "Runs" }, { place: "batches", one: "batch", name: "Batches" }];

function Header() {
  const here = address.value.place;
  const themes = { system: "◐ system", light: "○ light", dark: "● dark" };
  return (
    <header class="top">
      <a class="brand" href={embedded === null ? "#/" : undefined}>convene</a>
      {embedded === null && (
        <nav aria-label="Main">
          {lists.map(({ place, one, name }) => (
            <a key={place} href={link(place)} aria-current={here === place ? "page" : here === one ? "true" : undefined}>{name}</a>
          ))}
        </nav>
      )}
      <span class="fill" />
      <button type="button" class="plain" onClick={() => (helpOpen.value = true)} title="Keys" aria-keyshortcuts="?"><kbd>?</kbd> <span class="word">keys</span></button>
      <button type="button" class="plain theme" onClick={cycleTheme} aria-label={"Colours: " + theme.value}>{themes[theme.value]}</button>
    </header>
  );
}

function Content() {
  const { place, id } = address.value;
  const shown = view.value;
  if (problem.value) {
    const batch = place === "batch";
    document.title = "Not found · convene";
    return (
      <main id="main" tabIndex={-1} class="message">
        <h1>This {batch ? "batch" : "run"} cannot be shown</h1>
        <p>{problem.value}</p>
        <p><a href={link(batch ? "batches" : "runs")}>All {batch ? "batches" : "runs"}</a></p>
      </main>
    );
  }
  if (shown instanceof BatchView) return <BatchPage key={shown.id} view={shown} />;
  if (shown) return <RunPage key={shown.id} view={shown} file={embedded !== null} />;
  if (id) return <main id="main" tabIndex={-1} class="message"><p>Loading …</p></main>;
  return place === "batches" ? <BatchesPage /> : <RunsPage />;
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
document.addEventListener("keydown", (event) => onKey(event, view.peek()));
const late = window.setTimeout(draw, patienceMs);
const waiting = effect(() => {
  if (there()) queueMicrotask(draw);
});
