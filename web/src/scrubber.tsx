// The scrubber: it chooses the moment that is shown, and plays from there.

import { param, setParams } from "./address";
import { duration, exact } from "./format";
import type { ThreadView } from "./threadview";

// Along is where on a scale of time the moment lies, from 0 to 1 where it is in view, and
// which event lies at a place of it.
interface Along {
  place: number;
  seqAt: (place: number) => number;
}

// offset is how long after the beginning the moment is, in milliseconds. Where a scale is
// given, the thumb stands at its place in time; else it goes from event to event.
export function Scrubber({ view, offset, along }: { view: ThreadView; offset: number; along?: Along }) {
  view.watch();
  const slide = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    view.playing.value = false;
    view.move(along!.seqAt(Math.max(0, Math.min(1, (event.clientX - box.left) / box.width))));
  };
  return (
    <div class={along ? "scrubber timed" : "scrubber"}>
      <button type="button" onClick={() => view.step(-1)} disabled={view.at.value <= view.first} aria-label="One event back">◀</button>
      <span class="track">
        <input
          type="range" min={view.first} max={view.last} value={view.at.value} aria-label="Moment, by event"
          aria-valuetext={`event ${view.at.value} of ${view.last}, at ${duration(offset)}`}
          onInput={(e) => {
            view.playing.value = false;
            view.move(Number(e.currentTarget.value));
          }}
        />
        {along && (
          <span
            class="slide" aria-hidden="true"
            onPointerDown={(e) => {
              e.currentTarget.setPointerCapture(e.pointerId);
              slide(e);
            }}
            onPointerMove={(e) => e.buttons && slide(e)}
          >
            <span class="thumb" hidden={along.place < 0 || along.place > 1} style={{ left: `${along.place * 100}%` }} />
          </span>
        )}
      </span>
      <button type="button" onClick={() => view.step(1)} disabled={view.following.value} aria-label="One event forward">▶</button>
      <button type="button" class="play" onClick={() => view.play()} aria-pressed={view.playing.value}>{view.playing.value ? "Pause" : "Play"}</button>
      <label>
        <span class="sr">Speed</span>
        <select value={param("speed") || "1"} onChange={(e) => setParams({ speed: e.currentTarget.value === "1" ? "" : e.currentTarget.value })}>
          {speeds(param("speed")).map((s) => <option key={s} value={s}>{s}×</option>)}
        </select>
      </label>
      <span class="num moment" title={exact(view.events[view.at.value - 1]?.time ?? "")}>seq {view.at.value} · {duration(offset)}</span>
      <button type="button" class="live" aria-pressed={view.following.value} onClick={() => view.step(Infinity)}>{view.ticking() ? "live ●" : "newest"}</button>
    </div>
  );
}

// speeds are those to choose from, with the one that a link asks for.
function speeds(wanted: string): string[] {
  const all = ["0.5", "1", "2", "5", "10", "60"];
  if (parseFloat(wanted) > 0 && !all.includes(wanted)) all.push(wanted);
  return all.sort((a, b) => parseFloat(a) - parseFloat(b));
}
