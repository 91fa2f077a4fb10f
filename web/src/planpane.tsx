// The plan: tasks by specialist, each with its sign and word.

import { useMemo } from "preact/hooks";
import { param, setParams } from "./address";
import type { Task } from "./events";
import type { Run } from "./fold";
import { over } from "./states";
import { line } from "./format";
import type { RunView } from "./run";
import { VirtualList } from "./virtual";

type Item = { agent: string; open: number; total: number } | { task: Task };

// items are the rows: a heading for each specialist in order of first task.
function items(run: Run): Item[] {
  const byAgent = new Map<string, Task[]>();
  for (const task of run.tasks) {
    const list = byAgent.get(task.assigned_to);
    if (list) list.push(task);
    else byAgent.set(task.assigned_to, [task]);
  }
  const all: Item[] = [];
  for (const [agent, tasks] of byAgent) {
    const counted = tasks.filter((t) => !run.replaced.has(t.id));
    all.push({ agent, total: counted.length, open: counted.filter((t) => !t.finished).length });
    for (const task of tasks) all.push({ task });
  }
  return all;
}

// selection names a row in the address.
function selection(item: Item): string {
  return "task" in item ? "task:" + item.task.id : "agent:" + item.agent;
}

export interface TaskState {
  sign: string;
  word: string;
  tone: string;
}

// taskStates says where each task stands: under way, done, declined, or left behind. Where
// nobody drives the run nothing is under way.
export function taskStates(run: Run, driven: boolean): (task: Task) => TaskState {
  const working = new Set<number>();
  const failed = new Set<number>();
  for (const d of run.dispatches) {
    for (const id of d.start.task_ids ?? []) {
      if (!d.finish) working.add(id);
      else if (d.finish.status === "ok") failed.delete(id);
      else failed.add(id);
    }
  }
  return (task) => {
    if (run.auto.has(task.id)) return { sign: "✓", word: "auto-completed", tone: "person" };
    if (task.finished) return { sign: "✓", word: "done", tone: "quiet" };
    if (run.replaced.has(task.id)) return { sign: "–", word: `replaced by ${run.replaced.get(task.id)}`, tone: "quiet" };
    if (task.declined && !working.has(task.id)) return { sign: "✗", word: "declined: " + task.declined, tone: "failure" };
    if (run.finished) return { sign: "✗", word: "not done", tone: "failure" };
    if (working.has(task.id)) return driven ? { sign: "◐", word: "under way", tone: "active" } : { sign: "‖", word: "stopped", tone: "person" };
    if (failed.has(task.id)) return { sign: "!", word: "failed", tone: "failure" };
    return { sign: "○", word: "open", tone: "quiet" };
  };
}

export function Plan({ view, run }: { view: RunView; run: Run }) {
  view.watch();
  const driven = run.summary.status === "running" && !view.interrupted();
  const key = [view.changed.value, view.at.value, run.tasks.length, driven].join();
  const rows = useMemo(() => items(run), [key]);
  const state = useMemo(() => taskStates(run, driven), [key]);
  const selected = param("sel");
  const row = (i: number) => {
    const item = rows[i];
    if (!("task" in item)) {
      return <span class="agent"><b>{run.name(item.agent)}</b> <span class="num">{item.total - item.open}/{item.total}</span></span>;
    }
    const s = state(item.task);
    return (
      <span class={"task " + s.tone} title={`${item.task.text} (${s.word})`}>
        <span class="sign" aria-hidden="true">{s.sign}</span>
        <span class="num">{item.task.id}</span>
        <span class="text">{line(item.task.text, 300)}</span>
        <span class={s.word === "done" || s.word === "open" ? "sr" : "word"}>{line(s.word, 200)}</span>
      </span>
    );
  };
  return (
    <section class="pane plan" aria-labelledby="plan-title">
      <h2 id="plan-title">Plan <span class="num">{run.summary.finished_tasks}/{run.summary.tasks}</span></h2>
      <VirtualList
        id="plan-rows" label="Tasks by specialist" count={rows.length} rowHeight={44} row={row}
        selected={selected ? rows.findIndex((item) => selection(item) === selected) : -1}
        onSelect={(i) => setParams({ sel: selection(rows[i]) })}
        empty={!over(run.summary.status) ? "The facilitator has not planned yet." : "No tasks were planned."}
      />
    </section>
  );
}
