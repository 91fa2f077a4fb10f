// Calls of the server's API. A refusal is an error with the server's own words.

import { signal } from "@preact/signals";
import { get } from "./ahead";

// signedOut is set once the server no longer knows this browser.
export const signedOut = signal(false);

export class Problem extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

export async function getJSON<T>(path: string): Promise<T> {
  return answer<T>(await get(path));
}

export async function postJSON<T>(path: string, body: unknown): Promise<T> {
  return answer<T>(await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }));
}

export async function deleteJSON<T>(path: string): Promise<T> {
  return answer<T>(await fetch(path, { method: "DELETE", headers: { Accept: "application/json" } }));
}

async function answer<T>(response: Response): Promise<T> {
  const body = (await response.json().catch(() => null)) as (T & { detail?: string }) | null;
  if (response.status === 401) signedOut.value = true;
  if (!response.ok || body === null) throw new Problem(response.status, body?.detail ?? `The server answered ${response.status}`);
  return body;
}
