// The answer and the document as Markdown, to be copied or kept.

import { signal } from "@preact/signals";
import { cited } from "./cited";
import type { Run } from "./fold";
import { plural } from "./format";
import { copied } from "./markdownparts";

const said = signal("");

// Takeaway offers what there is of both at the moment that is shown.
export function Takeaway({ run }: { run: Run }) {
  const texts = [
    { name: "answer", text: () => run.answer?.content ?? "", there: run.answer !== undefined },
    { name: "document", text: () => cited(run.document), there: run.document.version > 0 },
  ].filter(({ there }) => there);
  if (texts.length === 0) return null;
  const copy = async (name: string, text: string) => {
    said.value = (await copied(text)) ? `The ${name} is copied: ${plural(text.length, "character")}` : "The browser does not allow copying here: download it instead";
  };
  return (
    <details class="menu takeaway" onToggle={() => (said.value = "")}>
      <summary>Markdown</summary>
      <div>
        {texts.map(({ name, text }) => (
          <button key={name} type="button" class="plain" onClick={() => void copy(name, text())}>Copy the {name}</button>
        ))}
        {texts.map(({ name, text }) => (
          <button key={name} type="button" class="plain" onClick={() => download(`convene-${run.id}-${name}.md`, text())}>Download the {name}</button>
        ))}
        <p role="status">{said.value}</p>
      </div>
    </details>
  );
}

// download hands a text to the browser as a file.
function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text.endsWith("\n") ? text : text + "\n"], { type: "text/markdown" }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000); // by then it is read
}
