// Who is signed in, and the way out.

import { signal } from "@preact/signals";
import { line } from "./format";
import { server } from "./serverinfo";

// words say what a role is for, as roleWords of web/words.go do. Roles of an operator's own have
// a name alone.
const words: Record<string, string> = {
  admin: "administers the tenant",
  operator: "looks after everybody's threads",
  user: "works in threads of one's own",
  viewer: "sees all threads",
  auditor: "sees all threads, and who did what",
  monitor: "reads the figures of the server",
};

const trouble = signal("");

async function signOut(): Promise<void> {
  try {
    const response = await fetch("/logout", { method: "POST" });
    if (!response.ok) throw new Error(String(response.status));
    location.assign("/login");
  } catch {
    trouble.value = "The server does not answer: you are still signed in.";
  }
}

export function Who() {
  const caller = server.value?.caller;
  if (!caller?.signed_in) return null;
  return (
    <details class="menu who">
      <summary title="Who is signed in"><span aria-hidden="true">☺</span><span class="word"> {line(caller.user_id || caller.tenant_id, 24)}</span></summary>
      <div>
        <p>{caller.user_id ? <>Signed in as <b>{line(caller.user_id, 80)}</b></> : <>Signed in</>} in the tenant <b>{line(caller.tenant_id, 80)}</b></p>
        <ul>{caller.roles.map((role) => <li key={role}><b>{line(role, 60)}</b>{Object.hasOwn(words, role) && ": " + words[role]}</li>)}</ul>
        <button type="button" onClick={() => void signOut()}>Sign out</button>
        {trouble.value && <span class="trouble" role="alert">{trouble.value}</span>}
      </div>
    </details>
  );
}
