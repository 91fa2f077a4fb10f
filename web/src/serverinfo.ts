// What the server is and can do.

import { signal } from "@preact/signals";
import { getJSON } from "./api";
import { serverPath } from "./paths";

export interface Team {
  name: string;
  description?: string;
  default?: boolean;
  specialists: string[];
}

// Caller is who the server takes the reader for.
export interface Caller {
  tenant_id: string;
  user_id?: string;
  roles: string[];
  signed_in?: boolean;
  can_restore?: boolean;
}

interface ServerInfo {
  version: string;
  caller: Caller;
  can_start: boolean;
  teams: Team[];
}

export const server = signal<ServerInfo | null>(null);

// asked is set once the server has answered, or cannot: what stands above a list because of
// the answer is there from then on, and the list is drawn where it stays.
export const asked = signal(false);

export async function askServer(): Promise<void> {
  try {
    server.value = await getJSON<ServerInfo>(serverPath);
  } catch {
    // The list says that the server does not answer.
  } finally {
    asked.value = true;
  }
}
