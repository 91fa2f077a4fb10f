// The files of a run: what came with its request and what its tools made.

import type { Run } from "./fold";
import { onePath } from "./paths";
import { line, plural, size } from "./format";

export function Files({ run }: { run: Run }) {
  if (run.files.length === 0) return null;
  return (
    <details class="menu files">
      <summary>Files {run.files.length}</summary>
      <ul>
        {run.files.map((file, i) => (
          <li key={i}>
            <a href={filePath(run.id, file.artifact)} download={line(file.name, 200)}>{line(file.name, 80)}</a>
            <span class="num">{[line(file.media_type, 60), size(file.size_bytes), file.pages ? plural(file.pages, "page") : ""].filter(Boolean).join(", ")}</span>
            {file.note && <span>{line(file.note, 200)}</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}

// filePath is where the server gives the bytes of a file, or of its text.
export function filePath(run: string, artifact: string): string {
  return `${onePath("run", run)}/artifacts/${encodeURIComponent(artifact)}`;
}
