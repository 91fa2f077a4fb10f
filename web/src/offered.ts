// What a model is sent beside the conversation, in every call of one agent: the log's
// configuration tells. It mirrors runner.OfferedTo.

import type { Run } from "./fold";

// Tool is a tool that a model is offered.
export interface Tool {
  name: string;
  description: string;
  // parameters is a JSON Schema.
  parameters: unknown;
}

export interface Offered {
  system: string;
  tools: Tool[];
}

interface Config {
  agents?: AgentConfig[];
}

interface AgentConfig extends Partial<Offered> {
  id?: string;
  asked_system?: string;
  session?: Partial<Offered>;
  supervisor?: Partial<Offered>;
}

// work are the tools that a specialist does not have where it only answers a question.
const work = ["read_tasks", "complete_task", "decline_task", "read_document", "write_section"];

// offeredTo tells what an agent's model was sent: the same specialist is offered other tools
// while it works, answers a question, supervises, or has the conversation, whose handoff is
// then the dispatch.
export function offeredTo(run: Run, who: string, dispatch: string): Offered {
  const agents = (run.started.config as Config | undefined)?.agents;
  const agent = Array.isArray(agents) ? agents.find((a) => a?.id === who) : undefined;
  const start = run.byID.get(dispatch)?.start;
  if (start?.tool === "supervise") return offered(agent?.supervisor);
  if (start?.asked) return offered({ system: agent?.asked_system, tools: list(agent?.tools).filter((tool) => !work.includes(tool.name)) });
  return offered(dispatch && !start ? agent?.session : agent);
}

function offered(given: Partial<Offered> | undefined): Offered {
  return { system: typeof given?.system === "string" ? given.system : "", tools: list(given?.tools) };
}

// list leaves out what is no tool: a log may come from anywhere.
function list(tools: unknown): Tool[] {
  return Array.isArray(tools) ? tools.filter((tool: Tool | null) => typeof tool?.name === "string").map((tool: Tool) => ({ name: tool.name, description: typeof tool.description === "string" ? tool.description : "", parameters: tool.parameters })) : [];
}
