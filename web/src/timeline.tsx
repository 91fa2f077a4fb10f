// The timeline: a lane for each agent, above the scrubber that chooses the moment.

import { useEffect, useRef, useState } from "preact/hooks";
import { param, setParams } from "./address";
import { axisHeight, Brush, laneHeight, signs, signStyle } from "./brush";
import { tick } from "./clock";
import type { Run } from "./fold";
import { over } from "./states";
import { duration, line, plural, precise } from "./format";
import { zoomBy } from "./keys";
import type { Lane, Stretch, Work } from "./lanes";
import type { RunView } from "./run";
import type { Scale } from "./scale";
import { Scrubber } from "./scrubber";
import { dark } from "./theme";

// maxHeight is how high the lanes may become, in pixels: more are scrolled to.
const maxHeight = 190;

// belowLanes is what the signs and the scrubber take below the lanes, with the space
// between, in pixels.
const belowLanes = 94;

// timelineHeight is how high the timeline of so many agents will be.
export function timelineHeight(agents: number): number {
  return Math.min(axisHeight + agents * laneHeight, maxHeight) + belowLanes;
}

// maxTold bounds the lanes that are told in words to those who do not see them.
const maxTold = 40;

const words = Object.fromEntries(signs.map((sign) => [sign.work, sign.word])) as Record<Work, string>;

export function Timeline({ view, run }: { view: RunView; run: Run }) {
  view.watch();
  tick.value;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [scrolled, setScrolled] = useState(0);
  const [bar, setBar] = useState<Bar | null>(null);
  const all = view.lanes.lanes;
  const total = axisHeight + all.length * laneHeight;
  const height = Math.min(total, maxHeight);
  const top = Math.min(scrolled, total - height);
  const first = Math.floor(top / laneHeight);
  const cut = top - first * laneHeight;
  const lanes = all.slice(first, first + Math.ceil((height - axisHeight + cut) / laneHeight));
  const clock = view.clock();
  const going = view.following.value && !over(run.summary.status) && clock > view.lanes.end && view.live.value?.driven === true;
  const now = going ? clock : view.lanes.end;
  const under = going ? underWay(view, now) : [];
  const scale = view.lanes.scale(Math.max(now, ...under.map(([, s]) => s.end)), going);
  const [from, to] = zoom();
  const moment = view.following.value ? now : Date.parse(view.events[view.at.value - 1]?.time ?? "");
  const brush = useRef<Brush | null>(null);
  brush.current ??= new Brush();
  useEffect(() => {
    const key = [view.events.length, from, to, now, under.map(([, s]) => s.work + s.label).join(), dark.value, top, all.length].join();
    brush.current!.draw(canvas.current!, { lanes, cut, scale, from, to, start: view.lanes.start, now, under, key });
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
    const lane = lanes[Math.floor((event.clientY - box.top - axisHeight + cut) / laneHeight)];
    if (!lane) return { time };
    const live = under.filter(([agent, s]) => agent === lane.agent && s.start <= time).map(([, s]) => s)[0];
    return { time, stretch: live ?? hit(lane, time, scale, (to - from) / box.width, now) };
  };
  const place = (scale.at(moment) - from) / (to - from);
  const barBox = ({ lane, stretch }: Bar) => {
    const left = (scale.at(stretch.start) - from) / (to - from);
    const right = (scale.at(stretch.end || now) - from) / (to - from);
    return { top: axisHeight + all.indexOf(lane) * laneHeight - top + "px", height: laneHeight + "px", left: `${left * 100}%`, width: `max(8px, ${(right - left) * 100}%)` };
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    if (event.key === "Enter" && bar) {
      if (bar.stretch.seq) setParams({ sel: "event:" + bar.stretch.seq });
      view.move(view.seqAt(bar.stretch.end || now));
    } else if (event.key === "Escape" && bar) {
      setBar(null);
    } else if (event.key.startsWith("Arrow")) {
      const next = barAfter(all, bar, event.key, now);
      setBar(next);
      if (next) reveal(canvas.current!.closest(".lanes")!, axisHeight + all.indexOf(next.lane) * laneHeight);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section class="pane timeline" aria-labelledby="timeline-title">
      <h2 id="timeline-title" class="sr">Timeline</h2>
      <div
        class="lanes" style={{ maxHeight: maxHeight + "px" }} tabIndex={total > height ? 0 : undefined} role="group"
        aria-label={plural(all.length, "lane")} onScroll={(e) => setScrolled(e.currentTarget.scrollTop)}
      >
        <div style={{ height: total + "px" }}>
          <div class="window" style={{ height: height + "px" }}>
            <div class="names" aria-hidden="true">
              <div style={{ marginTop: -cut + "px" }}>{lanes.map((lane) => <span key={lane.agent} title={run.name(lane.agent)}>{run.name(lane.agent)}</span>)}</div>
            </div>
            <div class="canvas-box">
              <canvas
                ref={canvas} class="canvas" role="img" tabIndex={0} onKeyDown={onKey} style={{ height: height + "px" }}
                aria-label={summary(run, view)}
                onMouseMove={(e) => {
                  const { stretch, time } = pointed(e);
                  e.currentTarget.title = stretch ? told(stretch, now) : duration(time - Date.parse(run.summary.started_at));
                }}
                onClick={(e) => {
                  const { stretch, time } = pointed(e);
                  if (stretch?.seq) setParams({ sel: "event:" + stretch.seq });
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
              {bar && <div class="bar-chosen" style={barBox(bar)} />}
              <div class="moment-line" hidden={place < 0 || place > 1} style={{ left: `${place * 100}%` }} />
            </div>
          </div>
        </div>
      </div>
      <Scrubber
        view={view} offset={moment - Date.parse(run.summary.started_at)}
        along={{ place, seqAt: (at) => view.seqAt(scale.time(from + at * (to - from))) }}
      />
      <p class="bar-told" role="status">{bar && `${run.name(bar.lane.agent)}: ${told(bar.stretch, now)}`}</p>
      <Legend gaps={scale.gaps().length > 0} />
    </section>
  );
}

// Bar is a stretch that was chosen by key.
interface Bar {
  lane: Lane;
  stretch: Stretch;
}

// barAfter is where a key leads from a bar: along its lane, or to what was at the same time
// in another lane.
function barAfter(lanes: Lane[], bar: Bar | null, key: string, now: number): Bar | null {
  const bars = (lane: Lane) => lane.stretches.filter((s) => s.work !== "dispatch" && s.work !== "waits").sort((a, b) => a.start - b.start);
  const row = bar ? lanes.indexOf(bar.lane) : -1;
  if (!bar || row < 0) {
    const lane = lanes.find((l) => bars(l).length > 0);
    return lane ? { lane, stretch: bars(lane)[0] } : null;
  }
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const all = bars(bar.lane);
    const next = all[all.indexOf(bar.stretch) + (key === "ArrowRight" ? 1 : -1)];
    return next ? { lane: bar.lane, stretch: next } : bar;
  }
  const by = key === "ArrowDown" ? 1 : -1;
  for (let i = row + by; i >= 0 && i < lanes.length; i += by) {
    const all = bars(lanes[i]);
    if (all.length > 0) return { lane: lanes[i], stretch: all.find((s) => (s.end || now) >= bar.stretch.start) ?? all[all.length - 1] };
  }
  return bar;
}

// Legend explains the signs.
function Legend({ gaps }: { gaps: boolean }) {
  return (
    <ul class="signs" aria-label="Signs of the timeline">
      {signs.map(({ work, word }) => (
        <li key={work}>
          <span class="swatch" aria-hidden="true">{work === "refused" ? "✗" : <i style={signStyle(work)} />}</span> {word}
        </li>
      ))}
      {gaps && <li><span class="swatch" aria-hidden="true"><i class="gap" /></span> nobody at work: shortened</li>}
    </ul>
  );
}

// reveal scrolls to a lane.
function reveal(box: Element, top: number): void {
  if (top - axisHeight < box.scrollTop) box.scrollTop = top - axisHeight;
  else if (top + laneHeight > box.scrollTop + box.clientHeight) box.scrollTop = top + laneHeight - box.clientHeight;
}

// told says what a stretch is, for the pointer.
function told(s: Stretch, now: number): string {
  if (s.seq === 0 && s.work === "retry") return s.label;
  if (s.work === "refused") return "✗ " + s.label;
  return `${[words[s.work], s.label].filter(Boolean).join(" ")}, ${precise((s.end || now) - s.start)}`;
}

function summary(run: Run, view: RunView): string {
  const lanes = view.lanes.lanes;
  const parts = lanes.slice(0, maxTold).map((lane) => `${run.name(lane.agent)}: ${plural(lane.calls, "model call")}`);
  if (lanes.length > maxTold) parts.push(`and ${lanes.length - maxTold} more`);
  return "Timeline of the agents. " + parts.join("; ") + ". Arrow keys go from bar to bar, Enter shows its event.";
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

// hit is the stretch at a time: the one that lies uppermost.
function hit(lane: Lane, time: number, scale: Scale, pixel: number, now: number): Stretch | undefined {
  let best: Stretch | undefined;
  for (const s of lane.stretches) {
    if (s.work === "refused") {
      if (Math.abs(scale.at(s.start) - scale.at(time)) < 4 * pixel) return s;
    } else if (s.start <= time && (s.end || now) >= time) {
      if (!best || (s.work !== "dispatch" && s.work !== "waits")) best = s;
    }
  }
  return best;
}

// phases are the kinds of work that the present moment tells of.
const phases: Record<string, Work> = { queued: "waiting", waiting: "first", thinking: "tokens", writing: "tokens", retrying: "retry" };

// underWay is what each agent does now: no event tells of it yet. A wait for the next
// attempt reaches ahead, to when that is due.
function underWay(view: RunView, now: number): [string, Stretch][] {
  return (view.live.value?.agents ?? []).filter((a) => Object.hasOwn(phases, a.phase)).map((a) => {
    const stretch: Stretch = { work: phases[a.phase], start: Date.parse(a.since), end: 0, seq: 0, label: a.model_call_id ?? "" };
    if (stretch.work === "retry") {
      const due = Date.parse(a.retry_at ?? "") || 0;
      stretch.end = Math.max(due, now);
      stretch.label = (due > now ? `retry in ${duration(due - now + 999)}` : "retry waits for its turn") + cause(a.retry_reason ?? "");
    }
    return [a.agent, stretch];
  });
}

// cause is why an attempt failed, in a word: the terminal says the same.
function cause(reason: string): string {
  const status = /HTTP (\d{3})/.exec(reason)?.[1];
  return status || reason ? ` (${status ?? line(reason, 60)})` : "";
}
