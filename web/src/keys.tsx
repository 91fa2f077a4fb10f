// The keyboard: everything that can be clicked can be reached by a key.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { address, go, param, setParams } from "./address";
import { cycleTheme } from "./theme";
import type { ThreadView } from "./threadview";

export const helpOpen = signal(false);

const keys: [string, string][] = [
  ["?", "this list"],
  ["/", "search runs, threads, batches or rows; filter the log"],
  ["n", "new run, new conversation (on the lists)"],
  ["g", "all runs"],
  ["m", "all threads"],
  ["b", "all batches"],
  ["w", "write a message (in a conversation)"],
  ["d", "light, dark or system colours"],
  ["← →", "one event back or forward"],
  ["Shift ← →", "ten events"],
  ["Home", "the first event"],
  ["End", "the newest event: follow live"],
  ["Space", "play from here, or pause"],
  ["t", "who wrote what: tags on or off"],
  ["c", "what changed in the document"],
  ["j k", "next, previous sentence: where it comes from"],
  ["l", "go to the log; ↑ ↓ choose an event"],
  ["p", "go to the plan"],
  ["r", "go to the rows of a batch; ↑ ↓ choose, Enter opens the run"],
  ["v", "show the chart of a batch as a table"],
  ["+ − 0", "zoom the timeline; fit it"],
  ["Esc", "close, or clear the selection"],
];

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const d = dialog.current;
    if (!d) return;
    if (helpOpen.value && !d.open) d.showModal();
    if (!helpOpen.value && d.open) d.close();
  });
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={() => (helpOpen.value = false)}>
      <h2 id="help-title">Keys</h2>
      <dl>{keys.map(([key, what]) => <div key={key}><dt>{key.split(" ").map((k) => <kbd key={k}>{k}</kbd>)}</dt><dd>{what}</dd></div>)}</dl>
      <form method="dialog"><button type="submit">Close</button></form>
    </dialog>
  );
}

function focus(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}

// sentence moves the focus among the sentences of the document.
function sentence(by: number): void {
  const all = [...document.querySelectorAll<HTMLElement>("#document .s")];
  if (all.length === 0) return;
  const at = all.indexOf(document.activeElement as HTMLElement);
  all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + by))].focus();
}

export function toggle(name: string, byDefault = ""): void {
  setParams({ [name]: (param(name) || byDefault) ? "" : "1" });
}

// zoom is set by the timeline while it is there.
export const zoomBy: { current: ((factor: number) => void) | null } = { current: null };

export function onKey(event: KeyboardEvent, view: ThreadView | null): void {
  if (event.ctrlKey || event.metaKey || event.altKey || helpOpen.peek()) return;
  const target = event.target as HTMLElement;
  const writing = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && (target as HTMLInputElement).type !== "range";
  if (event.key === "Escape") {
    if (writing) target.blur();
    else if (address.peek().id) setParams({ sel: "" });
    return;
  }
  if (writing) return;
  const pressed = target.tagName === "BUTTON" || target.tagName === "A" || target.tagName === "SUMMARY";
  const ranged = target.tagName === "INPUT";
  const action = common[event.key] ?? (view?.place === "thread" ? onChat[event.key] : view ? onMoment(event, view, pressed, target) ?? (view.place === "run" ? onRun : onBatch)(event.key, ranged) : onList[event.key]);
  if (!action) return;
  event.preventDefault();
  action();
}

const common: Record<string, () => void> = {
  "?": () => (helpOpen.value = true),
  "/": () => focus("[data-search]"),
  g: () => go("runs"),
  m: () => go("threads"),
  b: () => go("batches"),
  d: cycleTheme,
};

const onList: Record<string, () => void> = { n: () => focus("#new-request") };

const onChat: Record<string, () => void> = { w: () => focus("#message") };

// onMoment are the keys that choose the moment.
function onMoment(event: KeyboardEvent, view: ThreadView, pressed: boolean, target: HTMLElement): (() => void) | undefined {
  const far = event.shiftKey ? 10 : 1;
  const inList = /^(listbox|grid)$/.test(target.getAttribute("role") ?? "");
  switch (event.key) {
    case "ArrowLeft": return () => view.step(-far);
    case "ArrowRight": return () => view.step(far);
    case "Home": return inList ? undefined : () => view.step(-Infinity);
    case "End": return inList ? undefined : () => view.step(Infinity);
    case " ": return pressed ? undefined : () => view.play();
  }
  return undefined;
}

function onBatch(key: string): (() => void) | undefined {
  if (key === "r") return () => focus("#batch-rows");
  if (key === "v") return () => toggle("table");
  return undefined;
}

function onRun(key: string, ranged: boolean): (() => void) | undefined {
  switch (key) {
    case "t": return () => toggle("tags");
    case "c": return () => toggle("changes");
    case "j": return () => sentence(1);
    case "k": return () => sentence(-1);
    case "l": return () => focus("#log-rows");
    case "p": return () => focus("#plan-rows");
    case "+": return ranged ? undefined : () => zoomBy.current?.(0.5);
    case "-": return ranged ? undefined : () => zoomBy.current?.(2);
    case "0": return () => zoomBy.current?.(0);
  }
  return undefined;
}
