package runner

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/artifact"
	"github.com/convene-run/convene/internal/handoff"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// toolConfig is a tool as an agent is offered it.
type toolConfig struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	// Search are the settings of a provider's own search, nil for any other tool.
	Search *llm.WebSearch `json:"search,omitempty"`
}

func toolConfigs(tools []agent.Tool) []toolConfig {
	configs := make([]toolConfig, len(tools))
	for i, t := range tools {
		configs[i] = toolConfig{t.Name, t.Description, t.Parameters, t.Search}
	}
	return configs
}

func toolNames(tools []agent.Tool) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return names
}

// shelf holds the tools that specialists have in addition to their own.
type shelf struct {
	// program are those of the program, opened those that the team switches on.
	program, opened []agent.Tool
}

// shelf gives the tools that specialists of a team can have. A solo run has none of the
// team's.
func (r *Runner) shelf(t *team.Team, solo bool) (shelf, error) {
	s := shelf{program: r.config.Tools}
	if t.Tools == nil && t.MCP == nil || solo {
		return s, nil
	}
	if r.config.Toolbox == nil {
		return s, &InputError{fmt.Sprintf("team %s switches on tools (%s), which this program does not have. Run it with convene, or give the runner a Toolbox",
			t.Name, strings.Join(t.SwitchedOn(), ", "))}
	}
	var err error
	if s.opened, err = r.config.Toolbox.Open(r.registry.closing, t); err != nil {
		return s, &InputError{fmt.Sprintf("team %s: %v", t.Name, err)}
	}
	return s, nil
}

func (s shelf) all() []agent.Tool { return slices.Concat(s.program, s.opened) }

// of gives what a specialist is offered: what it names, or two tools that find and call them
// where they are too many.
func (s shelf) of(specialist team.Specialist) []agent.Tool {
	named := s.named(specialist)
	offered := readable(named)
	if len(named) > maxOffered {
		offered = append(catalogues{}.tools(), offered[len(named):]...)
	}
	return offered
}

// named gives what a specialist names, in the order in which it is offered, or all of the
// program's.
func (s shelf) named(specialist team.Specialist) []agent.Tool {
	if specialist.Tools == nil {
		return s.program
	}
	return slices.DeleteFunc(s.all(), func(t agent.Tool) bool { return !specialist.Names(t.Name) })
}

// readable adds the tool that reads artifacts where the others may bring some: they reach
// outside, so their results can be of any size, or read files, and documents become artifacts.
func readable(tools []agent.Tool) []agent.Tool {
	has := slices.ContainsFunc(tools, func(t agent.Tool) bool { return t.Name == artifact.ReadTool })
	reaches := slices.ContainsFunc(tools, func(t agent.Tool) bool {
		external, ok := t.Handler.(agent.External)
		return ok && (external.Effect != events.EffectPure || t.Name == team.ToolReadFile)
	})
	if has || !reaches {
		return tools
	}
	return append(slices.Clone(tools), artifact.Reader())
}

// toolkits makes the toolsets of a team's agents: it joins the tools as they were
// offered when the run started with what they do now. Agents that are offered the same
// share a set.
type toolkits struct {
	// facilitators and specialists are what the tools of either do, by name.
	facilitators, specialists map[string]agent.Handler
	// citing gives those of specialists that have further tools, which few teams have.
	citing func() map[string]agent.Handler
	// desk is where those that have the conversation give it back.
	desk *handoff.Desk
	// own are the tools that every specialist has, on the board and the document.
	own  []string
	made map[string]*loop.Toolset
}

func newToolkits(t *team.Team, desk *handoff.Desk, program []agent.Tool) *toolkits {
	own, further := specialists.Tools(t), slices.Concat([]agent.Tool{artifact.Reader()}, program)
	return &toolkits{
		desk: desk, facilitators: handlers(facilitator.Tools(t, desk)), specialists: handlers(slices.Concat(own, further)),
		citing: sync.OnceValue(func() map[string]agent.Handler { return handlers(slices.Concat(ownTools(t, true), further)) }),
		own:    toolNames(own), made: map[string]*loop.Toolset{},
	}
}

// ownTools are the tools on the board and the document that a specialist has: one that has
// further tools can name sources.
func ownTools(t *team.Team, further bool) []agent.Tool {
	if further {
		return specialists.CitingTools(t)
	}
	return specialists.Tools(t)
}

func handlers(tools []agent.Tool) map[string]agent.Handler {
	byName := map[string]agent.Handler{}
	for _, t := range tools {
		byName[t.Name] = t.Handler
	}
	return byName
}

// work gives the tools of an agent at work.
func (k *toolkits) work(a *agentConfig) (*loop.Toolset, error) {
	if a.ID != events.FacilitatorID && len(a.Tools) > len(k.own) {
		return k.make(k.citing(), "citing", a.Tools)
	}
	return k.set(a.ID, a.Tools)
}

// asked gives the tools that are left to a specialist who is only asked a question: none
// of the board's and the document's.
func (k *toolkits) asked(a *agentConfig) (*loop.Toolset, error) {
	return k.set(a.ID, a.toolsWhenAsked(k.own))
}

// toolsWhenAsked are the agent's tools without those that belong to work.
func (a *agentConfig) toolsWhenAsked(work []string) []toolConfig {
	return slices.DeleteFunc(slices.Clone(a.Tools), func(c toolConfig) bool { return slices.Contains(work, c.Name) })
}

// session gives the tools of a specialist that has the conversation.
func (k *toolkits) session(t *team.Team, a *agentConfig) (*loop.Toolset, error) {
	known := maps.Clone(k.specialists)
	s, _ := t.Specialist(a.ID)
	maps.Copy(known, handlers(sessionTools(t, s, k.desk)))
	return k.make(known, "session "+string(a.ID), a.Session.Tools)
}

// supervisor gives the tools of the specialist that reads every exchange.
func (k *toolkits) supervisor(t *team.Team, a *agentConfig) (*loop.Toolset, error) {
	s, _ := t.Specialist(a.ID)
	return k.make(handlers(specialists.SupervisorTools(t, s, k.desk)), "supervisor", a.Supervisor.Tools)
}

// sessionTools are the tools that a specialist has because it has the conversation.
func sessionTools(t *team.Team, s team.Specialist, desk *handoff.Desk) []agent.Tool {
	return append(specialists.SessionTools(t, s, desk), facilitator.Asking(t, desk, s.ID)...)
}

func (k *toolkits) set(id events.AgentID, offered []toolConfig) (*loop.Toolset, error) {
	known, key := k.specialists, "specialist"
	if id == events.FacilitatorID {
		known, key = k.facilitators, "facilitator"
	}
	return k.make(known, key, offered)
}

// make gives the set of the tools offered, of those that are known.
func (k *toolkits) make(known map[string]agent.Handler, key string, offered []toolConfig) (*loop.Toolset, error) {
	var tools []agent.Tool
	var b strings.Builder
	for _, c := range offered {
		handler := known[c.Name]
		if handler == nil {
			handler = unavailable(c.Name)
		}
		tools = append(tools, agent.Tool{
			Tool: llm.Tool{Name: c.Name, Description: c.Description, Parameters: c.Parameters, Search: c.Search}, Handler: handler,
		})
		fmt.Fprintf(&b, "%q %q %s\n", c.Name, c.Description, c.Parameters)
		if c.Search != nil {
			fmt.Fprintf(&b, "%q %d\n", c.Search.Allow, c.Search.MaxUses)
		}
	}
	key += b.String()
	if set := k.made[key]; set != nil {
		return set, nil
	}
	set, err := loop.NewToolset(tools)
	k.made[key] = set
	return set, err
}

// unavailable answers for a tool that this build or program no longer has.
func unavailable(name string) agent.Handler {
	return loop.Pure(func(*thread.Tx, *agent.Invocation) agent.Result {
		return agent.Refuse(fmt.Errorf("%s is no longer available", name))
	})
}
