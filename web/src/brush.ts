// How the lanes of the timeline are drawn: on a canvas, because there may be a
// hundred thousand stretches, and only those lanes that are seen.

import { duration, precise } from "./format";
import type { Lane, Stretch, Work } from "./lanes";
import type { Scale } from "./scale";

export const laneHeight = 20;
export const axisHeight = 18;

export interface Picture {
  // lanes are those that are seen; the first is hidden for cut pixels.
  lanes: Lane[];
  cut: number;
  scale: Scale;
  // from and to are the part of the scale that is seen.
  from: number;
  to: number;
  start: number;
  now: number;
  // under is what agents do now: no event tells of it yet.
  under: [string, Stretch][];
  // key tells two pictures apart.
  key: string;
}

// looks are how a kind of work looks: where in the lane, how high, in what colour.
const looks: Record<Work, [number, number, string]> = {
  waits: [0.45, 0.1, "--stretch-waiting"],
  dispatch: [0.3, 0.4, "--stretch-dispatch"],
  waiting: [0.3, 0.4, "--stretch-waiting"],
  failed: [0.15, 0.7, "--stretch-failed"],
  retry: [0.45, 0.1, "--failure"],
  first: [0.15, 0.7, "--stretch-first"],
  tokens: [0.15, 0.7, "--stretch-tokens"],
  tool: [0.15, 0.7, "--stretch-tool"],
  refused: [0.2, 0.6, "--failure"],
  cancelled: [0.15, 0.7, "--stretch-cancelled"],
};

// markWidth is what a mark takes, in pixels: no two are drawn into one another.
const markWidth = 8;

// wordedWidth is how wide a stretch of waiting must be for its word, in pixels.
const wordedWidth = 60;

// Brush draws pictures, but not more often than they can be drawn with ease: a long
// log comes in many pieces.
export class Brush {
  private drawn = "";
  private cost = 0;
  private last = 0;
  private timer = 0;
  private redraw: (() => void) | null = null;

  draw(canvas: HTMLCanvasElement, p: Picture): void {
    const key = [p.key, canvas.clientWidth, canvas.clientHeight].join();
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

// Easel is the canvas with what every stroke needs.
interface Easel {
  c: CanvasRenderingContext2D;
  width: number;
  color: (name: string) => string;
  x: (time: number) => number;
  time: (x: number) => number;
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
  const e: Easel = {
    c, width,
    color: (name) => style.getPropertyValue(name).trim(),
    x: (time) => ((p.scale.at(time) - p.from) / (p.to - p.from)) * width,
    time: (x) => p.scale.time(p.from + (x / width) * (p.to - p.from)),
  };
  c.font = "11px " + style.fontFamily;
  paintAxis(e, p);
  c.save();
  c.beginPath();
  c.rect(0, axisHeight, width, height - axisHeight);
  c.clip();
  paintGaps(e, p, height);
  p.lanes.forEach((lane, i) => {
    const top = axisHeight + i * laneHeight - p.cut;
    c.fillStyle = e.color("--line");
    c.fillRect(0, top + laneHeight - 1, width, 1);
    paintStretches(e, lane.stretches, top, p.now);
    const under = p.under.filter(([agent]) => agent === lane.agent).map(([, stretch]) => stretch);
    paintStretches(e, under, top, p.now);
    for (const s of under) if (s.work === "retry") paintWords(e, s.label, s.start, s.end, top, "--failure");
    for (const s of lane.stretches) {
      const end = s.end || p.now;
      if (s.work === "waits" && Math.min(e.width, e.x(end)) - Math.max(0, e.x(s.start)) > wordedWidth) paintWords(e, "waits", s.start, end, top, "--quiet");
    }
  });
  c.restore();
}

function paintGaps(e: Easel, p: Picture, height: number): void {
  e.c.fillStyle = e.color("--idle");
  for (const [a, b] of p.scale.gaps()) {
    const left = ((a - p.from) / (p.to - p.from)) * e.width;
    const right = ((b - p.from) / (p.to - p.from)) * e.width;
    e.c.fillRect(left, axisHeight, right - left, height - axisHeight);
  }
}

// steps are the times between ticks, in milliseconds, from which one is chosen.
const steps = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000];

// tickWidth is how far ticks are apart at least, in pixels.
const tickWidth = 90;

// paintAxis writes round times. Where the scale is compressed, those are left out that
// would stand too close.
function paintAxis(e: Easel, p: Picture): void {
  const c = e.c;
  const first = e.time(0) - p.start;
  const last = e.time(e.width) - p.start;
  const gaps = p.scale.gaps().reduce((sum, [a, b]) => sum + p.scale.time(b) - p.scale.time(a), 0);
  const want = (Math.max(last - first - gaps, (last - first) / 50) * tickWidth) / e.width;
  const step = steps.find((s) => s >= want) ?? steps[steps.length - 1];
  c.textAlign = "center";
  let room = -Infinity;
  for (let at = Math.ceil(first / step) * step; at <= last; ) {
    const left = e.x(p.start + at);
    const text = step < 1000 ? precise(at) : duration(at);
    const half = c.measureText(text).width / 2;
    if (left >= room && left + half <= e.width) {
      c.fillStyle = e.color("--line");
      c.fillRect(Math.round(left), axisHeight - 3, 1, 3);
      c.fillStyle = e.color("--quiet");
      c.fillText(text, Math.max(half, left), 11);
      room = left + Math.max(tickWidth * 0.7, 2 * half + 8);
    }
    // The next one is the first that has room.
    at = Math.max(at + step, Math.ceil((e.time(room) - p.start) / step) * step);
  }
  c.textAlign = "left";
}

function paintStretches(e: Easel, stretches: Stretch[], top: number, now: number): void {
  const c = e.c;
  const colors = Object.fromEntries(Object.entries(looks).map(([work, look]) => [work, e.color(look[2])]));
  const [first, last] = [e.time(-markWidth), e.time(e.width + markWidth)];
  // What lies within the stretch of its kind that was drawn last, up to the end of that
  // one's pixel, is left out: most of a long log.
  const covered: Partial<Record<Work, [number, number]>> = {};
  // Marks lie above all: a wait that begins where an attempt failed does not hide it.
  const marks: number[] = [];
  for (const s of stretches) {
    const end = s.end || now;
    if (end < first || s.start > last) continue;
    const pixel = covered[s.work];
    if (pixel && s.start >= pixel[0] && end <= pixel[1]) continue;
    const left = e.x(s.start);
    const right = e.x(end);
    const mark = s.work === "refused";
    covered[s.work] = [mark ? e.time(Math.floor(right)) : s.start, e.time(Math.floor(right) + (mark ? markWidth : 1))];
    if (mark) {
      // The mark of what ended a run lies at the edge, and is whole there.
      marks.push(left > e.width ? left : Math.min(left, e.width - markWidth / 2 - 1));
      continue;
    }
    const [at, high] = looks[s.work];
    c.fillStyle = colors[s.work];
    c.fillRect(left, top + at * laneHeight, Math.max(1, right - left), high * laneHeight);
  }
  c.fillStyle = colors.refused;
  c.textAlign = "center";
  for (const left of marks) c.fillText("✗", left, top + laneHeight - 6);
  c.textAlign = "left";
}

// paintWords writes words into the middle of a stretch, as far as it is seen, on a
// ground of their own.
function paintWords(e: Easel, words: string, start: number, end: number, top: number, ink: string): void {
  const [from, to] = [Math.max(0, e.x(start)), Math.min(e.width, e.x(end))];
  const width = e.c.measureText(words).width;
  if (to < 0 || from > e.width) return;
  const left = Math.max(2, Math.min((from + to - width) / 2, e.width - width - 4));
  e.c.fillStyle = e.color("--paper");
  e.c.fillRect(left - 3, top + 2, width + 6, laneHeight - 5);
  e.c.fillStyle = e.color(ink);
  e.c.fillText(words, left, top + laneHeight - 6);
}

// Sign is one of those that the lanes are made of, with its word.
export interface Sign {
  work: Work;
  word: string;
}

// signs are what the legend explains, in the order of a call.
export const signs: Sign[] = [
  { work: "waiting", word: "waiting for the limiter" },
  { work: "first", word: "to the first token" },
  { work: "tokens", word: "tokens" },
  { work: "tool", word: "tool" },
  { work: "failed", word: "attempt that failed" },
  { work: "refused", word: "refused" },
  { work: "cancelled", word: "cancelled in mid-call" },
  { work: "retry", word: "waiting to retry" },
  { work: "waits", word: "waits for specialists" },
  { work: "dispatch", word: "at work" },
];

// signStyle makes an element look as the stretch does.
export function signStyle(work: Work): Record<string, string> {
  const [, high, color] = looks[work];
  return { height: Math.max(2, high * 14) + "px", background: `var(${color})` };
}
