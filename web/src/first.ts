// What the address asks for first is asked of the server, and the script that shows it is
// loaded, as soon as the browser reads the page: this stands in it, and the page's own script
// finds the answers in window.ahead. It is small, and imports no library.

import { eventsPath, listPath, onePath, pageSize, serverPath } from "./paths";
import { parse } from "./place";

// viewsPart is the address of the part that shows one run, thread or batch.
declare const viewsPart: string;

const { place, id, params } = parse(location.hash);
const ahead = (window.ahead = new Map<string, Promise<Response>>());

function ask(path: string): void {
  const answer = fetch(path, { headers: { Accept: "application/json" } });
  answer.catch(() => undefined); // who takes it is told
  ahead.set(path, answer);
}

if (id) ask(onePath(place, id));
else if (place !== "compare") ask(listPath(place, params, "", pageSize));
if (place === "run") ask(eventsPath(id));
if (place === "runs") {
  ask(listPath("batches", params, "", pageSize));
  ask(serverPath);
}
if (id || place === "compare") {
  const part = document.createElement("link");
  part.rel = "modulepreload";
  part.href = viewsPart;
  document.head.append(part);
}
