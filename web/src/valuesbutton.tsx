// The button that shows what placeholders stand for.

import { useEffect } from "preact/hooks";
import { server } from "./serverinfo";
import type { ThreadView } from "./threadview";
import { hideValues, refusal, showValues, values } from "./values";

export function ValuesButton({ view, file }: { view: ThreadView; file: boolean }) {
  view.watch();
  const there = view.replaced.size;
  const may = there > 0 && (file ? [...view.replaced.values()].some(Boolean) : server.value?.caller.can_restore === true);
  const on = values.value !== null;
  const show = () => {
    if (file) values.value = new Map(view.replaced);
    else void showValues(view.thread);
  };
  useEffect(() => { // there are more of them while they are shown
    if (may && on) show();
  }, [there]);
  useEffect(() => hideValues, []); // others' values are others'
  if (!may) return null;
  return (
    <>
      <button type="button" title="What placeholders such as [EMAIL_1] stand for" onClick={() => (on ? hideValues() : show())}>{on ? "Hide values" : "Show values"}</button>
      {refusal.value && <span class="trouble" role="alert">{refusal.value}</span>}
    </>
  );
}
