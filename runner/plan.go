package runner

import (
	"encoding/json"
	"fmt"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// config is the resolved configuration of a run, as workflow_started carries it: a
// resume uses this, not files or prompts that may have changed.
type config struct {
	Team   team.Team     `json:"team"`
	Solo   bool          `json:"solo,omitempty"`
	Agents []agentConfig `json:"agents"`
	// Delegation is set in a run that only asks specialists, without a facilitator.
	Delegation *facilitator.Delegation `json:"delegation,omitempty"`
}

// agentConfig is one agent; the facilitator is the first.
type agentConfig struct {
	ID          events.AgentID `json:"id"`
	DisplayName string         `json:"display_name"`
	System      string         `json:"system"`
	// Models are the specs to resolve: the first, then its fallbacks.
	Models      []string     `json:"models"`
	Temperature *float64     `json:"temperature,omitempty"`
	Tools       []toolConfig `json:"tools"`
}

type toolConfig struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// plan is a config made ready: encoded for the log, its tools compiled, its models
// resolved. Runs of the same team share one.
type plan struct {
	config  config
	encoded json.RawMessage
	layout  json.RawMessage
	cards   []events.AgentCard
	specs   map[events.AgentID]*agent.Spec
	// simulated is set where any agent asks the simulated model.
	simulated bool
}

// configure writes a team down as the configuration of a run.
func configure(t *team.Team, model string, solo bool, extra []agent.Tool) (config, error) {
	c := config{Team: *t, Solo: solo}
	var tools []agent.Tool
	system := facilitator.SoloSystem
	if !solo {
		system, tools = facilitator.System, facilitator.Tools(t)
	}
	text, err := system(t)
	if err != nil {
		return c, err
	}
	f := t.Facilitator
	c.Agents = append(c.Agents, agentConfig{
		ID: events.FacilitatorID, DisplayName: f.DisplayName, System: text, Temperature: f.Temperature,
		Models: models(model, f.Model, f.FallbackModels), Tools: toolConfigs(tools),
	})
	if solo {
		return c, nil
	}
	shared := toolConfigs(append(specialists.Tools(t), extra...))
	for _, s := range t.Specialists {
		text, err := specialists.System(t, s)
		if err != nil {
			return c, err
		}
		c.Agents = append(c.Agents, agentConfig{
			ID: s.ID, DisplayName: s.DisplayName, System: text, Temperature: s.Temperature,
			Models: models(model, s.Model, s.FallbackModels), Tools: shared,
		})
	}
	return c, nil
}

// models are the models that an agent asks: the job's for all, else its own, else
// the default, which is "".
func models(override, own string, fallbacks []string) []string {
	if override != "" || own == "" {
		return []string{override}
	}
	return append([]string{own}, fallbacks...)
}

func toolConfigs(tools []agent.Tool) []toolConfig {
	configs := make([]toolConfig, len(tools))
	for i, t := range tools {
		configs[i] = toolConfig{t.Name, t.Description, t.Parameters}
	}
	return configs
}

// compile makes a configuration ready.
func (r *Runner) compile(c config, encoded json.RawMessage) (*plan, error) {
	p := &plan{config: c, encoded: encoded, specs: map[events.AgentID]*agent.Spec{}}
	var err error
	if p.layout, err = json.Marshal(c.Team.Document); err != nil {
		return nil, err
	}
	var toolset *agent.Toolset // that of the specialists, who all have the same
	for i, a := range c.Agents {
		route, err := r.config.Models.Resolve(a.Models...)
		if err != nil {
			return nil, err
		}
		if i < 2 {
			if toolset, err = handlers(&c.Team, a, i == 0, r.config.Tools); err != nil {
				return nil, err
			}
		}
		spec := &agent.Spec{
			ID: a.ID, DisplayName: a.DisplayName, System: a.System, Temperature: a.Temperature,
			Tools: toolset, Route: route, WindowTokens: r.window(route),
			MaxToolCalls: c.Team.Limits.MaxToolCallsPerTurn, MaxResultBytes: c.Team.Limits.MaxToolResultBytes,
			MaxReplyBytes: c.Team.Limits.MaxReplyBytes,
		}
		p.specs[a.ID] = spec
		card := events.AgentCard{ID: a.ID, DisplayName: a.DisplayName}
		for _, target := range route {
			card.Models = append(card.Models, target.Endpoint.Name+"/"+target.Model)
			p.simulated = p.simulated || target.Endpoint.Name == "sim"
		}
		p.cards = append(p.cards, card)
	}
	return p, nil
}

// handlers joins the tools as they were offered when the run started with what they
// do now. A tool that this build no longer has answers so.
func handlers(t *team.Team, a agentConfig, first bool, extra []agent.Tool) (*agent.Toolset, error) {
	known := append(specialists.Tools(t), extra...)
	if first {
		known = facilitator.Tools(t)
	}
	byName := map[string]agent.Handler{}
	for _, tool := range known {
		byName[tool.Name] = tool.Handler
	}
	var tools []agent.Tool
	for _, c := range a.Tools {
		handler := byName[c.Name]
		if handler == nil {
			handler = agent.Pure(func(*thread.Tx, agent.Invocation) agent.Result {
				return agent.Refuse(fmt.Errorf("%s is not available any more", c.Name))
			})
		}
		tools = append(tools, agent.Tool{
			Tool: llm.Tool{Name: c.Name, Description: c.Description, Parameters: c.Parameters}, Handler: handler,
		})
	}
	return agent.NewToolset(tools)
}

// window is the smallest window that is known along the route.
func (r *Runner) window(route llm.Route) int {
	smallest := 0
	for _, target := range route {
		if w := r.config.Prices.Window(target.Endpoint.Name, target.Model); w > 0 && (smallest == 0 || w < smallest) {
			smallest = w
		}
	}
	return smallest
}

// planKey tells plans of one runner apart. Teams are compared by identity: a Team
// is not to be changed once it has been given to a runner.
type planKey struct {
	team  *team.Team
	model string
	solo  bool
}

// maxPlans bounds the plans that a runner keeps: batches use a handful of teams.
const maxPlans = 64

// plan gives the plan of a job.
func (r *Runner) plan(job Job) (*plan, error) {
	p, err := r.planOf(job)
	if err == nil {
		err = r.priced(p, job.Budget)
	}
	return p, err
}

func (r *Runner) planOf(job Job) (*plan, error) {
	key := planKey{job.Team, job.Model, job.Solo}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.plans[key]; p != nil {
		return p, nil
	}
	t := job.Team.WithDefaults()
	if err := t.Validate(); err != nil {
		return nil, err
	}
	c, err := configure(&t, job.Model, job.Solo, r.config.Tools)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	p, err := r.compile(c, encoded)
	if err != nil {
		return nil, err
	}
	if len(r.plans) >= maxPlans {
		clear(r.plans)
	}
	r.plans[key] = p
	return p, nil
}

// priced refuses a bound of cost that could not be kept.
func (r *Runner) priced(p *plan, budget *Budget) error {
	if limits := p.config.Team.Limits; limits.MaxCostUSD == 0 && limits.MaxSpecialistCostUSD == 0 && !budget.boundsCost() {
		return nil
	}
	for _, spec := range p.specs {
		for _, target := range spec.Route {
			if r.price(target, events.Usage{}) == nil {
				return &InputError{fmt.Sprintf("a bound of cost cannot be kept: the price of model %s/%s is unknown. "+
					"Choose a model whose price is known, or leave the bound out", target.Endpoint.Name, target.Model)}
			}
		}
	}
	return nil
}

// recall gives the plan that a log carries.
func (r *Runner) recall(started events.WorkflowStarted) (*plan, error) {
	var c config
	if err := json.Unmarshal(started.Config, &c); err != nil {
		return nil, fmt.Errorf("read the configuration of the run: %w", err)
	}
	if len(c.Agents) == 0 {
		return nil, fmt.Errorf("read the configuration of the run: it names no agent")
	}
	return r.compile(c, started.Config)
}

var _ agent.Dispatcher = (*specialists.Dispatcher)(nil)
