// What shows one run, thread or batch: a script of its own, which the lists do without.

import { BatchPage } from "./batchpage";
import { BatchView } from "./batchview";
import { ChatPage } from "./chatpage";
import { ChatView } from "./chatview";
import { RunPage } from "./runpage";
import { RunView } from "./run";

export const run = { View: RunView, Page: RunPage };
export const thread = { View: ChatView, Page: ChatPage };
export const batch = { View: BatchView, Page: BatchPage };

export { ComparePage } from "./comparepage";
