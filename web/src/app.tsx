// The page: a header, and below it the list of runs or one run.

import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { address, go, runLink } from "./address";
import { getJSON, Problem } from "./api";
import { Help, helpOpen, onKey } from "./keys";
import { RunPage } from "./runpage";
import { RunsPage } from "./runspage";
import { RunView } from "./run";
import { cycleTheme, theme } from "./theme";
import { tick } from "./clock";

// embedded is the log of a page that was opened from disk.
const embedded = document.getElementById("log")?.textContent ?? null;

const view = signal<RunView | null>(null);
const problem = signal("");

function open(id: string): void {
  const old = view.peek();
  if (old?.id === id) return;
  old?.close();
  problem.value = "";
  view.value = null;
  if (!id) return;
  const next = new RunView(id);
  view.value = next;
  if (embedded !== null) {
    next.load(embedded.split("\n"));
    return;
  }
  getJSON<{ run_id: string; thread_id: string }>("/api/v1/runs/" + encodeURIComponent(id)).then(
    (run) => {
      if (view.peek() !== next) return;
      if (run.run_id !== id) go("run", run.run_id);
      else next.follow(run.thread_id);
    },
    (err: unknown) => {
      if (view.peek() !== next) return;
      problem.value = err instanceof Problem ? err.message : "The server does not answer. Is convene serve still running?";
      if (!(err instanceof Problem)) setTimeout(() => { if (view.peek() === next) { view.value = null; open(id); } }, 2000);
    },
  );
}

function start(): void {
  if (embedded !== null && !address.peek().id) {
    const first = embedded.split("\n").find(Boolean);
    if (first) location.replace(runLink((JSON.parse(first) as { run_id: string }).run_id));
  }
  effect(() => open(address.value.id));
}

function Header() {
  const themes = { system: "◐ system", light: "○ light", dark: "● dark" };
  return (
    <header class="top">
      <a class="brand" href={embedded === null ? "#/" : undefined}>convene</a>
      {embedded === null && (
        <nav aria-label="Main">
          <a href="#/" aria-current={address.value.id ? undefined : "page"}>Runs</a>
        </nav>
      )}
      <span class="fill" />
      <button type="button" class="plain" onClick={() => (helpOpen.value = true)} aria-keyshortcuts="?"><kbd>?</kbd> keys</button>
      <button type="button" class="plain theme" onClick={cycleTheme} aria-label={"Colours: " + theme.value}>{themes[theme.value]}</button>
    </header>
  );
}

function App() {
  tick.value;
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to content</a>
      <Header />
      {problem.value ? (
        <main id="main" tabIndex={-1} class="message"><h1>This run cannot be shown</h1><p>{problem.value}</p><p><a href="#/">All runs</a></p></main>
      ) : view.value ? (
        <RunPage key={view.value.id} view={view.value} file={embedded !== null} />
      ) : address.value.id ? (
        <main id="main" tabIndex={-1} class="message"><p>Loading …</p></main>
      ) : (
        <RunsPage />
      )}
      <Help />
    </>
  );
}

start();
document.addEventListener("keydown", (event) => onKey(event, view.peek()));
render(<App />, document.getElementById("app")!);
