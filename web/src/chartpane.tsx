// How a batch went over the time that it was driven: rows in each interval, and below
// them what it cost. Drawn on a canvas, told as a table to those who want one.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { param } from "./address";
import type { Batch, Sample } from "./batch";
import type { BatchView } from "./batchview";
import { intervals, rowsOf, type Chart, type Interval } from "./chart";
import { count, duration, money, plural, tokens } from "./format";
import { toggle } from "./keys";
import { dark } from "./theme";

// slots is how many intervals are drawn at most, tableRows how many are told.
const slots = 90;
const tableRows = 12;

export function ChartPane({ view }: { view: BatchView }) {
  view.watch();
  const head = view.head;
  const seq = head.seq;
  const chart = useMemo(() => intervals(head.samples, slots, view.running()), [seq]);
  const asTable = param("table") !== "";
  return (
    <section class="pane chart" aria-labelledby="chart-title">
      <div class="bar">
        <h2 id="chart-title">Over time <span class="num">{legend(chart, head)}</span></h2>
        {!asTable && <span class="legend" aria-hidden="true"><span>completed</span><span class="degraded">degraded</span><span class="failed">failed</span><span class="spent">{costs(head) ? "cost" : "tokens"}</span></span>}
        <button type="button" class="plain" aria-pressed={asTable} aria-keyshortcuts="v" onClick={() => toggle("table")}>table</button>
      </div>
      <div class="chart-box">{asTable ? <Table head={head} /> : <Picture view={view} head={head} chart={chart} />}</div>
    </section>
  );
}

// costs says what the lower part of the chart tells: money, or tokens where a price is
// unknown.
function costs(head: Batch): boolean {
  return head.summary.cost_usd !== null;
}

function legend(chart: Chart, head: Batch): string {
  const most = Math.max(...chart.intervals.map(rowsOf));
  return `rows in ${span(chart.widthMs)}, ${count(most)} at most; ${costs(head) ? money(head.summary.cost_usd) : tokens(head.summary.tokens)} spent`;
}

function span(ms: number): string {
  return ms < 60_000 ? `${ms / 1000} s` : ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`;
}

function told(i: Interval): string {
  const parts = [plural(Math.round(rowsOf(i)), "row")];
  if (i.degraded >= 0.5) parts.push(`${count(i.degraded)} degraded`);
  if (i.failed >= 0.5) parts.push(`${count(i.failed)} failed`);
  parts.push(i.cost === null ? tokens(Math.round(i.tokens)) : `${money(i.cost)} by then`);
  return `${duration(i.from)} to ${duration(i.to)}: ${parts.join(", ")}`;
}

function Picture({ view, head, chart }: { view: BatchView; head: Batch; chart: Chart }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const draw = useRef(() => {});
  draw.current = () => canvas.current && paint(canvas.current, chart, head);
  useEffect(() => draw.current(), [chart, dark.value]);
  useEffect(() => {
    const observer = new ResizeObserver(() => draw.current());
    observer.observe(canvas.current!);
    return () => observer.disconnect();
  }, []);
  const drawn = chart.slots * chart.widthMs;
  const under = (event: MouseEvent): number => {
    const box = canvas.current!.getBoundingClientRect();
    return ((event.clientX - box.left) / box.width) * drawn;
  };
  const moment = sampleBefore(head.samples, (s) => s.seq <= view.at.value);
  const last = chart.intervals[chart.intervals.length - 1];
  return (
    <>
      <canvas
        ref={canvas} class="canvas" role="img"
        aria-label={`Rows done over ${duration(last.to)} of work, in ${plural(head.calls.length, "call")}: ${told({ ...sum(chart.intervals), from: 0, to: head.samples[head.samples.length - 1]?.at ?? 0 })}. Press v to show it as a table.`}
        onMouseMove={(e) => {
          const at = chart.intervals[Math.floor(under(e) / chart.widthMs)];
          e.currentTarget.title = at ? told(at) : "";
        }}
        onClick={(e) => {
          const at = under(e);
          const sample = sampleBefore(head.samples, (s) => s.at <= at);
          if (sample) view.move(sample.seq);
        }}
      />
      {!view.following.value && moment && <div class="moment-line" style={{ left: `${(moment.at / drawn) * 100}%` }} />}
    </>
  );
}

function sampleBefore(samples: Sample[], fits: (s: Sample) => boolean): Sample | undefined {
  let low = 0;
  let high = samples.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (fits(samples[mid])) low = mid + 1;
    else high = mid;
  }
  return samples[low - 1];
}

function sum(list: Interval[]): Interval {
  return list.reduce((all, i) => ({
    ...i, from: all.from, completed: all.completed + i.completed, degraded: all.degraded + i.degraded, failed: all.failed + i.failed, tokens: all.tokens + i.tokens,
  }));
}

function Table({ head }: { head: Batch }) {
  const chart = useMemo(() => intervals(head.samples, tableRows, false), [head.seq]);
  return (
    <div class="chart-table" tabIndex={0} role="region" aria-label="Over time, as a table">
      <table class="num">
        <thead><tr><th scope="col">From</th><th scope="col">To</th><th scope="col">Rows</th><th scope="col">Degraded</th><th scope="col">Failed</th><th scope="col">Tokens</th><th scope="col">Cost by then</th></tr></thead>
        <tbody>
          {chart.intervals.map((i) => (
            <tr key={i.from}>
              <td>{duration(i.from)}</td><td>{duration(i.to)}</td><td>{count(rowsOf(i))}</td><td>{count(i.degraded)}</td><td>{count(i.failed)}</td><td>{tokens(Math.round(i.tokens))}</td><td>{money(i.cost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const axisHeight = 16;
// share is the part of the height that the rows have; the cost has the rest, below a
// gap.
const share = 0.66;
const gap = 6;

// markPixels is how far apart the times on the axis are at least, steps by how many
// intervals they may be.
const markPixels = 70;
const steps = [1, 2, 3, 5, 6, 10, 15, 30, 45];

function paint(canvas: HTMLCanvasElement, chart: Chart, head: Batch): void {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (width === 0) return;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const c = canvas.getContext("2d")!;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  const style = getComputedStyle(canvas);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const slot = width / chart.slots;
  const floor = Math.round((height - axisHeight) * share);
  const most = Math.max(1, ...chart.intervals.map(rowsOf));
  const room = slot > 4 ? 1 : 0;
  chart.intervals.forEach((interval, i) => {
    let top = floor;
    for (const [rows, name] of [[interval.completed, "--control"], [interval.degraded, "--person"], [interval.failed, "--failure"]] as const) {
      const high = (rows / most) * (floor - 2);
      if (high <= 0) continue;
      c.fillStyle = color(name);
      c.fillRect(i * slot, top - high, slot - room, high);
      top -= high;
    }
  });
  c.fillStyle = color("--line");
  c.fillRect(0, floor, width, 1);
  spent(c, chart, head, slot, floor + gap, height - axisHeight, color);
  axis(c, chart, head, width, height, color, style.fontFamily);
}

// spent draws what the batch had cost by the end of each interval, or its tokens.
function spent(c: CanvasRenderingContext2D, chart: Chart, head: Batch, slot: number, top: number, bottom: number, color: (name: string) => string): void {
  let total = 0;
  const values = chart.intervals.map((i) => (costs(head) ? i.cost ?? 0 : (total += i.tokens)));
  const most = Math.max(...values);
  if (!(most > 0)) return;
  c.fillStyle = color("--stretch-first");
  values.forEach((value, i) => c.fillRect(i * slot, bottom - (value / most) * (bottom - top), slot + 0.5, (value / most) * (bottom - top)));
}

// axis tells the time that the batch was driven, and where another call took it up.
function axis(c: CanvasRenderingContext2D, chart: Chart, head: Batch, width: number, height: number, color: (name: string) => string, font: string): void {
  const drawn = chart.slots * chart.widthMs;
  const bottom = height - axisHeight;
  c.fillStyle = color("--line");
  c.fillRect(0, bottom, width, 1);
  c.font = "11px " + font;
  c.fillStyle = color("--ink");
  for (const call of head.calls.slice(1)) {
    const x = Math.round((call.begun / drawn) * width);
    for (let y = 0; y < bottom; y += 6) c.fillRect(x, y, 1, 3);
  }
  c.fillStyle = color("--quiet");
  const apart = steps.find((n) => (n * width) / chart.slots >= markPixels) ?? chart.slots;
  for (let i = 0; i * apart <= chart.slots; i++) {
    const x = ((i * apart) / chart.slots) * width;
    c.textAlign = i === 0 ? "left" : x > width - markPixels / 2 ? "right" : "center";
    c.fillText(duration(i * apart * chart.widthMs), x, height - 3);
  }
  c.textAlign = "left";
}
