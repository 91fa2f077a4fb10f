package runner

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/thread"
)

// Offered is what a model is sent beside the conversation, in every call of one agent.
type Offered struct {
	System string
	// Tools are in the order in which they are offered.
	Tools []llm.Tool
}

// OfferedTo reads from a run's log what an agent's model was sent beside the conversation.
// Dispatch is that of the model call's envelope: the same specialist is offered other tools
// while it works, answers a question, has the conversation or supervises it. It is empty for
// an agent that the run does not know, and in logs without a configuration. A call that
// summarized the history was sent System alone.
func OfferedTo(run *thread.Run, who events.AgentID, dispatch events.DispatchID) (Offered, error) {
	var c config
	if len(run.Started.Config) == 0 {
		return Offered{}, nil
	}
	if err := json.Unmarshal(run.Started.Config, &c); err != nil {
		return Offered{}, fmt.Errorf("read the configuration of run %s: %w", run.ID, err)
	}
	at := slices.IndexFunc(c.Agents, func(a agentConfig) bool { return a.ID == who })
	if at < 0 {
		return Offered{}, nil
	}
	return c.offered(&c.Agents[at], run.Dispatch(dispatch), dispatch), nil
}

// offered tells what the agent did from its dispatch: one that is none is the handoff by
// which it has the conversation.
func (c *config) offered(a *agentConfig, d *thread.Dispatch, dispatch events.DispatchID) Offered {
	switch {
	case d != nil && d.Start.Tool == events.SuperviseTool:
		return a.Supervisor.offered()
	case d != nil && d.Start.Asked:
		return offering(a.Asked, a.toolsWhenAsked(toolNames(specialists.Tools(&c.Team))))
	case d == nil && dispatch != "":
		return a.Session.offered()
	}
	return offering(a.System, a.Tools)
}

func (s *sessionConfig) offered() Offered {
	if s == nil {
		return Offered{}
	}
	return offering(s.System, s.Tools)
}

func offering(system string, tools []toolConfig) Offered {
	o := Offered{System: system}
	for _, t := range tools {
		o.Tools = append(o.Tools, llm.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Search: t.Search})
	}
	return o
}
