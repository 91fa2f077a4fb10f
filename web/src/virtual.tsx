// A list of which only the rows in view exist.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props {
  id: string;
  label: string;
  count: number;
  rowHeight: number;
  row: (index: number) => ComponentChildren;
  // selected is kept in view when it changes; -1 for none.
  selected: number;
  // shown is brought into view when it changes; none where it is left out.
  shown?: number;
  onSelect?: (index: number) => void;
  // follow keeps the end in view until the reader scrolls up.
  follow?: boolean;
  empty: string;
  // head makes the list a table, of which it is the first row; rows are then made of
  // cells.
  head?: ComponentChildren;
  onOpen?: (index: number) => void;
  // onSeen is told which rows exist, whenever that changes.
  onSeen?: (first: number, last: number) => void;
  // keyOf names a row, indexOf finds it again: what is read then stays where it is when
  // rows come or go above it.
  keyOf?: (index: number) => string;
  indexOf?: (key: string) => number;
}

// maxPixels is as high as browsers let an element be; longer lists are scrolled in
// proportion.
const maxPixels = 8_000_000;

// tableHeadPixels is the height of a table's first row.
const tableHeadPixels = 28;

// around is how many rows exist above and below those in view.
const around = 6;

export function VirtualList(p: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  // height is 0 until the list has been drawn once without rows: they come a frame
  // after what is read first, and at once where they belong.
  const [height, setHeight] = useState(0);
  const atEnd = useRef(true);
  const [missed, setMissed] = useState(0);
  const seen = useRef(0);
  const total = p.count * p.rowHeight;
  const shown = Math.min(total, maxPixels);
  const headHeight = p.head ? tableHeadPixels : 0;
  const ratio = shown > height && total > shown ? (total - height) / (shown - height) : 1;

  useLayoutEffect(() => {
    const el = box.current!;
    let frame = 0;
    const observer = new ResizeObserver(() => {
      cancelAnimationFrame(frame);
      const now = el.clientHeight; // asked for here, where the page has been laid out
      frame = requestAnimationFrame(() => setHeight(now));
    });
    observer.observe(el);
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
    };
  }, []);

  useLayoutEffect(() => {
    const el = box.current!;
    if (p.follow && atEnd.current) {
      el.scrollTop = shown;
      seen.current = p.count;
      setMissed(0);
    } else if (p.follow) {
      setMissed(Math.max(0, p.count - seen.current));
    }
  }, [p.count, p.follow, shown]);

  const first = Math.max(0, Math.floor((top * ratio) / p.rowHeight) - around);
  const last = height === 0 ? first : Math.min(p.count, first + Math.ceil(height / p.rowHeight) + 2 * around);
  const anchor = useRef({ key: "", index: 0 });
  useLayoutEffect(() => {
    if (!p.keyOf) return; // to ask where the list stands has the browser lay out all of the page
    const { key, index } = anchor.current;
    const moved = key && p.indexOf ? p.indexOf(key) : -1;
    if (moved >= 0 && moved !== index) box.current!.scrollTop += ((moved - index) * p.rowHeight) / ratio;
    const seen = Math.min(p.count - 1, Math.floor((box.current!.scrollTop * ratio) / p.rowHeight));
    anchor.current = seen >= 0 ? { key: p.keyOf(seen), index: seen } : { key: "", index: 0 };
  });
  useLayoutEffect(() => p.onSeen?.(first, last), [first, last]);

  const reveal = (index: number) => {
    const el = box.current!;
    const from = index * p.rowHeight;
    const view = el.scrollTop * ratio;
    if (from < view) el.scrollTop = from / ratio;
    else if (from + p.rowHeight > view + el.clientHeight - headHeight) el.scrollTop = (from + p.rowHeight - el.clientHeight + headHeight) / ratio;
  };
  useLayoutEffect(() => {
    if (p.shown !== undefined && p.shown >= 0) reveal(p.shown);
  }, [p.shown]);
  useLayoutEffect(() => {
    if (p.selected >= 0) reveal(p.selected);
  }, [p.selected >= 0 && p.keyOf ? p.keyOf(p.selected) : p.selected]);

  const rows = [];
  for (let i = first; i < last; i++) {
    rows.push(
      <div
        key={p.keyOf?.(i) ?? i} id={`${p.id}-${i}`} aria-selected={i === p.selected} {...(p.head ? { role: "row", "aria-rowindex": i + 2 } : { role: "option", "aria-setsize": p.count, "aria-posinset": i + 1 })}
        class={"row" + (i === p.selected ? " selected" : "")}
        style={{ top: `${i * p.rowHeight - top * ratio + top}px`, height: `${p.rowHeight}px` }}
        onClick={() => p.onSelect?.(i)}
      >
        {p.row(i)}
      </div>,
    );
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && event.target === box.current && p.selected >= 0) return p.onOpen?.(p.selected);
    const page = Math.max(1, Math.floor(height / p.rowHeight) - 1);
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -p.count, End: p.count };
    const by = moves[event.key];
    if (by === undefined || p.count === 0 || !p.onSelect) return;
    event.preventDefault();
    event.stopPropagation();
    // Where nothing is chosen, it begins outside of what is in view.
    const next = by + (p.selected >= 0 ? p.selected : by > 0 ? first - 1 : last);
    p.onSelect(Math.max(0, Math.min(p.count - 1, next)));
  };
  return (
    <div class="virtual">
      <div
        ref={box} id={p.id} class="rows" role={p.head ? "grid" : "listbox"} aria-rowcount={p.head ? p.count + 1 : undefined} tabIndex={0} aria-label={p.label} onKeyDown={onKeyDown}
        aria-activedescendant={p.selected >= first && p.selected < last ? `${p.id}-${p.selected}` : undefined}
        onScroll={(e) => {
          const el = e.currentTarget;
          setTop(el.scrollTop);
          atEnd.current = el.scrollTop + el.clientHeight >= el.scrollHeight - p.rowHeight;
          if (atEnd.current) {
            seen.current = p.count;
            setMissed(0);
          }
        }}
      >
        {p.head && <div class="row-head" role="row" aria-rowindex={1} style={{ height: `${headHeight}px` }}>{p.head}</div>}
        <div class="runway" role="presentation" style={{ height: `${shown}px` }}>{rows}</div>
      </div>
      {p.count === 0 && <p class="empty">{p.empty}</p>}
      {missed > 0 && (
        <button
          type="button" class="missed"
          onClick={() => {
            atEnd.current = true;
            box.current!.scrollTop = shown;
          }}
        >
          {missed} new ↓
        </button>
      )}
    </div>
  );
}
