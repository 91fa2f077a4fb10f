// A clock for durations that count: one tick a second, none while nobody looks.

import { signal } from "@preact/signals";

export const tick = signal(0);

setInterval(() => {
  if (!document.hidden) tick.value++;
}, 1000);
