// The scrubber: it chooses the moment that is shown, and plays from there.

import { param, setParams } from "./address";
import { duration, exact } from "./format";
import type { ThreadView } from "./threadview";

// offset is how long after the beginning the moment is, in milliseconds.
export function Scrubber({ view, offset }: { view: ThreadView; offset: number }) {
  view.watch();
  return (
    <div class="scrubber">
      <button type="button" onClick={() => view.step(-1)} disabled={view.at.value <= view.first} aria-label="One event back">◀</button>
      <input
        type="range" min={view.first} max={view.last} value={view.at.value} aria-label="Moment, by event"
        aria-valuetext={`event ${view.at.value} of ${view.last}, at ${duration(offset)}`}
        onInput={(e) => {
          view.playing.value = false;
          view.move(Number(e.currentTarget.value));
        }}
      />
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
