// What the server is and can do.

import { signal } from "@preact/signals";
import { getJSON } from "./api";

export interface Team {
  name: string;
  description?: string;
  default?: boolean;
  specialists: string[];
}

interface ServerInfo {
  version: string;
  can_start: boolean;
  teams: Team[];
}

export const server = signal<ServerInfo | null>(null);

export function askServer(): void {
  getJSON<ServerInfo>("/api/v1/server").then((info) => (server.value = info), () => undefined);
}
