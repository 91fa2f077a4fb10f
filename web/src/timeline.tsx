// The timeline: a lane for each agent, drawn on a canvas because there may be a
// hundred thousand stretches, above the scrubber that chooses the moment.

import { useEffect, useRef } from "preact/hooks";
import { param, setParams } from "./address";
import { tick } from "./clock";
import { over, type Run } from "./fold";
import { duration, plural, precise } from "./format";
import { zoomBy } from "./keys";
import type { Lane, Scale, Stretch, Work } from "./lanes";
import type { RunView } from "./run";
import { Scrubber } from "./scrubber";
import { theme } from "./theme";

const laneHeight = 20;
const axisHeight = 18;
const maxLanes = 40;

const names: Record<Work, string> = {
  dispatch: "at work", waiting: "waiting for the limiter", retry: "waiting to retry", first: "to the first token",
  tokens: "tokens", tool: "tool", refused: "refused",
};

export function Timeline({ view, run }: { view: RunView; run: Run }) {
  view.watch();
  tick.value;
  const canvas = useRef<HTMLCanvasElement>(null);
  const lanes = view.lanes.lanes.slice(0, maxLanes);
  const now = view.clock();
  const going = view.following.value && !over(run.summary.status) && now > view.lanes.end && view.live.value?.driven === true;
  const scale = view.lanes.scale(going ? now : view.lanes.end, going);
  const [from, to] = zoom();
  const moment = view.following.value ? (going ? now : view.lanes.end) : Date.parse(view.events[view.at.value - 1]?.time ?? "");
  const brush = useRef<Brush | null>(null);
  brush.current ??= new Brush();
  useEffect(() => {
    brush.current!.draw(canvas.current!, { lanes, scale, from, to, now: going ? now : view.lanes.end, under: going ? underWay(view) : [], view, theme: theme.value });
  });
  useEffect(() => () => brush.current!.stop(), []);
  useEffect(() => {
    zoomBy.current = (factor) => zoomAround(factor, scale.at(moment));
    return () => void (zoomBy.current = null);
  });
  useEffect(() => {
    const observer = new ResizeObserver(() => brush.current!.again());
    observer.observe(canvas.current!);
    return () => observer.disconnect();
  }, []);
  const pointed = (event: MouseEvent): { stretch?: Stretch; time: number } => {
    const box = canvas.current!.getBoundingClientRect();
    const time = scale.time(from + ((event.clientX - box.left) / box.width) * (to - from));
    const lane = lanes[Math.floor((event.clientY - box.top - axisHeight) / laneHeight)];
    return { time, stretch: lane && hit(lane, time, scale, (to - from) / box.width, now) };
  };
  const height = axisHeight + lanes.length * laneHeight;
  const place = (scale.at(moment) - from) / (to - from);
  return (
    <section class="pane timeline" aria-labelledby="timeline-title">
      <h2 id="timeline-title" class="sr">Timeline</h2>
      <div class="lanes">
        <div class="names" aria-hidden="true">{lanes.map((lane) => <span key={lane.agent}>{run.name(lane.agent)}</span>)}</div>
        <div class="canvas-box">
          <canvas
            ref={canvas} class="canvas" role="img" style={{ height: height + "px" }}
            aria-label={summary(run, view)}
            onMouseMove={(e) => {
              const { stretch, time } = pointed(e);
              e.currentTarget.title = stretch
                ? `${names[stretch.work]} ${stretch.label}, ${precise((stretch.end || now) - stretch.start)}`
                : duration(time - Date.parse(run.summary.started_at));
            }}
            onClick={(e) => {
              const { stretch, time } = pointed(e);
              if (stretch) setParams({ sel: "event:" + stretch.seq });
              view.move(view.seqAt(stretch ? Math.max(stretch.end || time, stretch.start) : time));
            }}
            onWheel={(e) => {
              const box = e.currentTarget.getBoundingClientRect();
              if (e.ctrlKey) {
                e.preventDefault();
                zoomAround(e.deltaY > 0 ? 1.25 : 0.8, from + ((e.clientX - box.left) / box.width) * (to - from));
              } else if (e.deltaX !== 0 && to - from < 1) {
                e.preventDefault();
                pan((e.deltaX / box.width) * (to - from));
              }
            }}
          />
          <div class="moment-line" hidden={place < 0 || place > 1} style={{ left: `${place * 100}%` }} />
        </div>
      </div>
      <Scrubber view={view} offset={moment - Date.parse(run.summary.started_at)} />
    </section>
  );
}

function summary(run: Run, view: RunView): string {
  const parts = view.lanes.lanes.slice(0, maxLanes).map((lane) => {
    return `${run.name(lane.agent)}: ${plural(lane.calls, "model call")}`;
  });
  return "Timeline of the agents. " + parts.join("; ") + ". The log below tells the same in words.";
}

// zoom is the part of the scale that is seen.
function zoom(): [number, number] {
  const [from, to] = param("zoom").split("-").map(parseFloat);
  return from >= 0 && to <= 1 && to - from > 1e-5 ? [from, to] : [0, 1];
}

function setZoom(from: number, to: number): void {
  setParams({ zoom: to - from >= 0.999 ? "" : `${from.toFixed(5)}-${to.toFixed(5)}` });
}

function zoomAround(factor: number, center: number): void {
  const [from, to] = zoom();
  if (factor === 0) return setZoom(0, 1);
  const width = Math.min(1, Math.max(1e-4, (to - from) * factor));
  const left = Math.min(1 - width, Math.max(0, center - (center - from) * (width / (to - from))));
  setZoom(left, left + width);
}

function pan(by: number): void {
  const [from, to] = zoom();
  const left = Math.min(1 - (to - from), Math.max(0, from + by));
  setZoom(left, left + (to - from));
}

function hit(lane: Lane, time: number, scale: Scale, pixel: number, now: number): Stretch | undefined {
  let best: Stretch | undefined;
  for (const s of lane.stretches) {
    const close = Math.abs(scale.at(s.start) - scale.at(time)) < 3 * pixel;
    if ((s.start <= time && (s.end || now) >= time) || (s.work === "refused" && close)) {
      if (!best || s.work !== "dispatch") best = s;
    }
  }
  return best;
}

// Brush draws the lanes, but not more often than they can be drawn with ease: a long
// log comes in many pieces.
class Brush {
  private drawn = "";
  private cost = 0;
  private last = 0;
  private timer = 0;
  private redraw: (() => void) | null = null;

  draw(canvas: HTMLCanvasElement, p: Picture): void {
    const key = [p.view.events.length, p.from, p.to, p.now, p.under.length, p.theme, p.lanes.length, canvas.clientWidth, matchMedia("(prefers-color-scheme: dark)").matches].join();
    this.redraw = () => {
      this.drawn = key;
      const begun = performance.now();
      paint(canvas, p);
      this.last = performance.now();
      this.cost = this.last - begun;
    };
    if (key === this.drawn) return;
    const wait = this.last + this.cost * 10 - performance.now();
    clearTimeout(this.timer);
    if (wait <= 0) this.redraw();
    else this.timer = window.setTimeout(() => this.redraw?.(), wait);
  }

  again(): void {
    this.redraw?.();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.redraw = null;
  }
}

interface Picture {
  lanes: Lane[];
  scale: Scale;
  from: number;
  to: number;
  now: number;
  under: [string, Stretch][];
  view: RunView;
  theme: string;
}

// phases are the kinds of work that the present moment tells of.
const phases: Record<string, Work> = { queued: "waiting", waiting: "first", thinking: "tokens", writing: "tokens", retrying: "retry" };

// underWay is what each agent does now: no event tells of it yet.
function underWay(view: RunView): [string, Stretch][] {
  return (view.live.value?.agents ?? []).filter((a) => phases[a.phase]).map((a) => [
    a.agent, { work: phases[a.phase], start: Date.parse(a.since), end: 0, seq: 0, label: a.model_call_id ?? "" },
  ]);
}

function paint(canvas: HTMLCanvasElement, p: Picture): void {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (width === 0) return;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const c = canvas.getContext("2d")!;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  const style = getComputedStyle(canvas);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const x = (time: number) => ((p.scale.at(time) - p.from) / (p.to - p.from)) * width;

  const time = (left: number) => p.scale.time(p.from + (left / width) * (p.to - p.from));

  c.fillStyle = color("--idle");
  for (const [a, b] of p.scale.gaps()) {
    const left = ((a - p.from) / (p.to - p.from)) * width;
    const right = ((b - p.from) / (p.to - p.from)) * width;
    c.fillRect(left, axisHeight, right - left, height - axisHeight);
    c.fillText("⋯", (left + right) / 2 - 4, axisHeight + 6);
  }
  axis(c, p, width, color("--quiet"), color("--line"), style.fontFamily);
  p.lanes.forEach((lane, i) => {
    const stretches = p.under.filter(([agent]) => agent === lane.agent).map(([, s]) => s);
    const top = axisHeight + i * laneHeight;
    c.fillStyle = color("--line");
    c.fillRect(0, top + laneHeight - 1, width, 1);
    for (const part of [lane.stretches, stretches]) drawLane(c, part, top, x, time, width, p.now, color);
  });
}

function axis(c: CanvasRenderingContext2D, p: Picture, width: number, ink: string, rule: string, font: string): void {
  c.font = "11px " + font;
  const marks = Math.max(2, Math.floor(width / 110));
  const start = p.view.lanes.start;
  const seen = p.scale.time(p.to) - p.scale.time(p.from);
  let before = "";
  for (let i = 0; i <= marks; i++) {
    const left = (i / marks) * width;
    const at = p.scale.time(p.from + (i / marks) * (p.to - p.from)) - start;
    const text = seen < 10_000 ? precise(at) : duration(at);
    c.fillStyle = rule;
    c.fillRect(Math.round(left), axisHeight - 3, 1, 3);
    if (text === before) continue;
    before = text;
    c.fillStyle = ink;
    c.textAlign = i === 0 ? "left" : i === marks ? "right" : "center";
    c.fillText(text, left, 11);
  }
  c.textAlign = "left";
}

// heights are how a kind of work looks: where in the lane, how high, in what colour.
const looks: Record<Work, [number, number, string]> = {
  dispatch: [0.3, 0.4, "--stretch-dispatch"],
  waiting: [0.3, 0.4, "--stretch-waiting"],
  retry: [0.3, 0.4, "--failure"],
  first: [0.15, 0.7, "--stretch-first"],
  tokens: [0.15, 0.7, "--stretch-tokens"],
  tool: [0.15, 0.7, "--stretch-tool"],
  refused: [0.2, 0.6, "--failure"],
};

function drawLane(
  c: CanvasRenderingContext2D, stretches: Stretch[], top: number, x: (time: number) => number, time: (x: number) => number, width: number, now: number,
  color: (name: string) => string,
): void {
  const colors = Object.fromEntries(Object.entries(looks).map(([work, look]) => [work, color(look[2])]));
  const [first, last] = [time(0), time(width)];
  // What would cover the pixel that was drawn last is left out: most of a long log.
  const covered: Partial<Record<Work, [number, number]>> = {};
  for (const s of stretches) {
    const end = s.end || now;
    if (end < first || s.start > last) continue;
    const pixel = covered[s.work];
    if (pixel && s.start >= pixel[0] && end <= pixel[1]) continue;
    const left = x(s.start);
    const right = x(end);
    covered[s.work] = [time(Math.floor(right)), time(Math.floor(right) + 1)];
    const [at, high] = looks[s.work];
    c.fillStyle = colors[s.work];
    if (s.work === "refused") c.fillText("✗", left - 4, top + laneHeight - 6);
    else c.fillRect(left, top + at * laneHeight, Math.max(1, right - left), high * laneHeight);
  }
}
