package runner

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/handoff"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/effort"
	"github.com/convene-run/convene/prices"
	"github.com/convene-run/convene/sanitize"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
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

// agentConfig is one agent, the facilitator or a specialist.
type agentConfig struct {
	ID          events.AgentID `json:"id"`
	DisplayName string         `json:"display_name"`
	System      string         `json:"system"`
	// Function marks a specialist that is a Go function of the program. It has no models.
	Function bool `json:"function,omitempty"`
	// Models are the specs to resolve: the first, then its fallbacks.
	Models []string `json:"models"`
	team.Tuning
	Tools []toolConfig `json:"tools"`
	// Asked is the system prompt of a specialist who is only asked a question. Logs of
	// before have none: System then stands in.
	Asked string `json:"asked_system,omitempty"`
	// Session is set on a specialist that the conversation may be handed over to.
	Session *sessionConfig `json:"session,omitempty"`
	// Supervisor is set on the specialist that reads every exchange.
	Supervisor *sessionConfig `json:"supervisor,omitempty"`
	// Targets are where the run asks its models, for those who resume it. Logs of before
	// have none.
	Targets []llm.LoggedTarget `json:"targets,omitempty"`
}

// sessionConfig is what a specialist is while it has the conversation.
type sessionConfig struct {
	System string       `json:"system"`
	Tools  []toolConfig `json:"tools"`
}

// plan is a config made ready: encoded for the log, its tools compiled, its models
// resolved. Runs of the same team share one.
type plan struct {
	config  config
	encoded json.RawMessage
	layout  json.RawMessage
	cards   []events.AgentCard
	specs   map[events.AgentID]*loop.Spec
	// asked are the specialists as they are where they are only asked a question.
	asked map[events.AgentID]*loop.Spec
	// sessions are those that the conversation may be handed over to, as they are then.
	sessions map[events.AgentID]*loop.Spec
	// supervisor is the specialist that reads every exchange, nil for none.
	supervisor *loop.Spec
	// flow and router say how conversations go, and who answers.
	flow   *conversation.Flow
	router *conversation.Router
	// unresolved are those of them whose models cannot be found, with the reason.
	unresolved map[events.AgentID]error
	// desk decides who has the conversation.
	desk *handoff.Desk
	// simulated is set where any agent asks the simulated model.
	simulated bool
	// slow is what the user is told of an agent that takes longer than expected.
	slow string
}

// configure writes a team down as the configuration of a run.
func configure(t *team.Team, model string, solo bool, offered shelf) (config, error) {
	c := config{Team: *t, Solo: solo}
	var tools []agent.Tool
	system := facilitator.SoloSystem
	if !solo {
		system, tools = facilitator.System, facilitator.Tools(t, nil)
	}
	text, err := system(t)
	if err != nil {
		return c, err
	}
	f := t.Facilitator
	c.Agents = append(c.Agents, agentConfig{
		ID: events.FacilitatorID, DisplayName: f.DisplayName, System: text, Tuning: f.Tuning,
		Models: models(model, f.Model, f.API, f.FallbackModels), Tools: toolConfigs(tools),
	})
	if solo {
		return c, nil
	}
	ownOf := func(further bool) func() []toolConfig { // their schemas are made once for all
		return sync.OnceValue(func() []toolConfig { return toolConfigs(ownTools(t, further)) })
	}
	alone, citing := ownOf(false), ownOf(true)
	for _, s := range t.Specialists {
		tools, own := offered.of(s), alone
		if len(tools) > 0 {
			own = citing
		}
		text, err := specialists.System(t, s, tools)
		if err != nil {
			return c, err
		}
		asked, err := specialists.AskedSystem(t, s, tools)
		if err != nil {
			return c, err
		}
		session, err := sessionOf(t, s, tools)
		if err != nil {
			return c, err
		}
		supervisor, err := supervisorOf(t, s)
		if err != nil {
			return c, err
		}
		c.Agents = append(c.Agents, agentConfig{
			ID: s.ID, DisplayName: s.DisplayName, System: text, Tuning: s.Tuning,
			Models: models(model, s.Model, s.API, s.FallbackModels), Tools: slices.Concat(own(), toolConfigs(tools)), Asked: asked, Session: session, Supervisor: supervisor,
		})
	}
	return c, nil
}

// sessionOf writes down a specialist as it is with the conversation; nil for one that it is
// never handed to.
func sessionOf(t *team.Team, s team.Specialist, tools []agent.Tool) (*sessionConfig, error) {
	if !slices.Contains(t.Talkers(), s.ID) {
		return nil, nil
	}
	system, err := specialists.SessionSystem(t, s, tools)
	return &sessionConfig{System: system, Tools: toolConfigs(append(sessionTools(t, s, nil), tools...))}, err
}

// supervisorOf writes down the specialist that reads every exchange; nil for the others.
func supervisorOf(t *team.Team, s team.Specialist) (*sessionConfig, error) {
	if t.Conversation == nil || t.Conversation.Supervisor != s.ID {
		return nil, nil
	}
	system, err := specialists.SupervisorSystem(t, s)
	return &sessionConfig{System: system, Tools: toolConfigs(specialists.SupervisorTools(t, s, nil))}, err
}

// models are the models that an agent asks: the job's for all, which stands alone, else
// its own, else the default, which is "", and behind either of these its fallbacks.
func models(override, own string, api events.API, fallbacks []string) []string {
	if override != "" {
		return []string{override}
	}
	return append([]string{llm.WithAPI(own, api)}, fallbacks...)
}

// compile makes a configuration ready.
func (r *Runner) compile(c config, offered shelf, encoded json.RawMessage) (*plan, error) {
	p := &plan{config: c, encoded: encoded, specs: map[events.AgentID]*loop.Spec{}, asked: map[events.AgentID]*loop.Spec{}, sessions: map[events.AgentID]*loop.Spec{}, unresolved: map[events.AgentID]error{}, slow: c.Team.Messages().TakingLonger}
	finder, err := c.Team.Finder()
	if err != nil {
		return nil, err
	}
	p.desk = &handoff.Desk{Team: &p.config.Team, Available: r.available(p), Sanitizer: cmp.Or[sanitize.Finder](r.config.Sanitizer, finder)}
	if p.layout, err = json.Marshal(c.Team.Document); err != nil {
		return nil, err
	}
	if err := p.route(r.config.Predicates); err != nil {
		return nil, err
	}
	p.desk.Flow = p.flow
	many, err := offered.catalogues(&c.Team)
	if err != nil {
		return nil, err
	}
	further := offered.all()
	if len(many) > 0 {
		further = append(further, many.tools()...)
	}
	tools := newToolkits(&c.Team, p.desk, further)
	for i := range c.Agents {
		if err := r.equip(p, &c.Agents[i], tools, offered); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// equip compiles what an agent is sent and what it may do, wherever it works.
func (r *Runner) equip(p *plan, a *agentConfig, tools *toolkits, offered shelf) error {
	var route llm.Route
	if !a.Function {
		var err error
		if route, err = r.route(a); err != nil && !p.config.onlyTalks(a) {
			return err
		} else if err != nil { // the others of the team can be asked
			p.unresolved[a.ID] = err
		}
	}
	toolset, err := tools.work(a)
	if err != nil {
		return err
	}
	spec := &loop.Spec{
		ID: a.ID, DisplayName: a.DisplayName, System: a.System,
		Effort: a.Effort, MaxOutputTokens: a.MaxOutputTokens, Temperature: a.Temperature, Tier: a.Tier,
		Silence: p.config.Team.Limits.Silence(a.SilenceTimeout),
		Tools:   toolset, Route: route, WindowTokens: r.window(route),
		MaxToolCalls: p.config.Team.Limits.MaxToolCallsPerTurn, MaxResultChars: p.config.Team.Limits.MaxToolResultChars, MaxArtifactBytes: p.config.Team.Limits.MaxArtifactBytes,
		MaxReplyChars: p.config.Team.Limits.MaxReplyChars, ToolTimeout: p.config.Team.Limits.ToolTimeout, Asks: offered.asks(&p.config.Team), Requires: offered.requires(&p.config.Team),
	}
	spec.CacheKey = cacheKey(p.config.Team.Name, spec)
	p.addCard(a, route)
	return p.addPlaces(a, spec, tools)
}

// addPlaces keeps what an agent is sent: at work, when it is asked, in a session with the user,
// and as the supervisor.
func (p *plan) addPlaces(a *agentConfig, spec *loop.Spec, tools *toolkits) error {
	p.specs[a.ID] = spec
	if a.ID != events.FacilitatorID {
		asked, err := tools.asked(a)
		if err != nil {
			return err
		}
		p.asked[a.ID] = whenAsked(p.config.Team.Name, *spec, a.Asked, asked)
	}
	if a.Session != nil && !a.Function && p.unresolved[a.ID] == nil {
		talking, err := tools.session(&p.config.Team, a)
		if err != nil {
			return err
		}
		p.sessions[a.ID] = whenAsked(p.config.Team.Name, *spec, a.Session.System, talking)
	}
	if a.Supervisor != nil && !a.Function {
		watching, err := tools.supervisor(&p.config.Team, a)
		if err != nil {
			return err
		}
		p.supervisor = whenAsked(p.config.Team.Name, *spec, a.Supervisor.System, watching)
	}
	return nil
}

// addCard keeps what others are told of an agent.
func (p *plan) addCard(a *agentConfig, route llm.Route) {
	card := events.AgentCard{ID: a.ID, DisplayName: a.DisplayName, Models: []string{}}
	card.Handoff, card.Orchestration = p.config.Team.Card(a.ID)
	for _, target := range route {
		card.Models = append(card.Models, target.Endpoint.Name+"/"+target.Model)
		p.simulated = p.simulated || target.Endpoint.Simulated
	}
	p.cards = append(p.cards, card)
}

// route prepares who answers which message. A run without specialists has nobody but its
// agent.
func (p *plan) route(predicates team.Predicates) (err error) {
	if p.config.Solo {
		p.flow, p.router = &conversation.Flow{Default: events.FacilitatorID}, conversation.NewRouter(conversation.Routing{})
		return nil
	}
	if p.flow, err = p.config.Team.Flow(); err != nil {
		return err
	}
	if p.router, err = p.config.Team.Router(p.flow, predicates); err != nil {
		return &InputError{err.Error()}
	}
	return nil
}

// route resolves the models of an agent, where a log has targets to those.
func (r *Runner) route(a *agentConfig) (llm.Route, error) {
	if models, ok := r.config.Models.(LoggedModels); ok && len(a.Targets) > 0 {
		return models.ResolveAt(a.Targets, a.Models...)
	}
	return r.config.Models.Resolve(a.Models...)
}

// onlyTalks reports whether an agent does nothing but have the conversation: a team without
// it is as good as one whose other agents hand over to somebody else.
func (c *config) onlyTalks(a *agentConfig) bool {
	s, known := c.Team.Specialist(a.ID)
	return known && a.Session != nil && !s.Orchestrated()
}

// resolve makes a configuration ready whose models are not resolved yet, and writes down
// where they are asked.
func (r *Runner) resolve(c config, offered shelf) (*plan, error) {
	c.Agents = slices.Clone(c.Agents)
	for i := range c.Agents {
		c.Agents[i].Targets = nil
	}
	p, err := r.compile(c, offered, nil)
	if err != nil {
		return nil, err
	}
	if err := p.takesEfforts(); err != nil {
		return nil, err
	}
	for i := range c.Agents {
		c.Agents[i].Targets = p.specs[c.Agents[i].ID].Route.Logged()
	}
	p.config = c
	p.encoded, err = json.Marshal(c)
	return p, err
}

// takesEfforts refuses an effort that a model of the agent is known not to take.
func (p *plan) takesEfforts() error {
	for _, a := range p.config.Agents {
		for _, target := range p.specs[a.ID].Route {
			if err := effort.Check(target.Endpoint.Name+"/"+target.Model, a.Effort); err != nil {
				return &InputError{fmt.Sprintf("%s: %v", a.DisplayName, err)}
			}
		}
	}
	return nil
}

// whenAsked is the specialist who does no tasks: it only answers a question, or has the
// conversation.
func whenAsked(team string, spec loop.Spec, system string, tools *loop.Toolset) *loop.Spec {
	spec.Tools = tools
	if system != "" {
		spec.System = system
	}
	spec.CacheKey = cacheKey(team, &spec)
	return &spec
}

// cacheKeyBytes is how much of a hash a key has: enough that no two are the same.
const cacheKeyBytes = 16

// cacheKey names what all requests of an agent begin with. It is a hash, because names
// and prompts are nobody's business but the team's; OpenAI takes 64 characters.
func cacheKey(team string, spec *loop.Spec) string {
	hash := sha256.New()
	parts := []string{team, string(spec.ID), spec.System}
	for _, tool := range spec.Tools.Specs() {
		parts = append(parts, tool.Name, tool.Description, string(tool.Parameters))
	}
	for _, part := range parts {
		fmt.Fprintf(hash, "%d %s", len(part), part)
	}
	return "convene-" + hex.EncodeToString(hash.Sum(nil)[:cacheKeyBytes])
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

// planKey tells plans of one runner apart. Teams are compared by identity: one that was
// changed is refused.
type planKey struct {
	team      *team.Team
	model     string
	solo      bool
	functions string
}

// maxPlans bounds the plans that a runner keeps: batches use a handful of teams.
const maxPlans = 64

// plan gives the plan of a job.
func (r *Runner) plan(job Job) (*plan, error) {
	p, err := r.planOf(job)
	if err == nil {
		err = r.priced(p, job.Tenant, job.Budget)
	}
	return p, err
}

func (r *Runner) planOf(job Job) (*plan, error) {
	if err := job.Functions.check(job.Team, job.Solo); err != nil {
		return nil, err
	}
	key := planKey{job.Team, job.Model, job.Solo, job.Functions.key()}
	if p := r.equalPlan(key); p != nil {
		return p, nil
	}
	given, err := json.Marshal(job.Team)
	if err != nil {
		return nil, err
	}
	if p, err := r.planned(key, given); p != nil || err != nil {
		return p, err
	}
	p, err := r.prepare(job)
	if err != nil {
		return nil, err
	}
	return r.keepPlan(key, given, p)
}

// givenTeam is a team as it was given: its JSON form, and what that reads as.
type givenTeam struct {
	text json.RawMessage
	copy team.Team
}

// equalPlan gives the plan that was made before of a team that equals what it reads as, nil
// for none. It costs a tenth of writing the team down.
func (r *Runner) equalPlan(key planKey) *plan {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before := r.teams[key.team]; before != nil && reflect.DeepEqual(&before.copy, key.team) {
		return r.plans[key]
	}
	return nil
}

// planned gives the plan that was made before, nil for none.
func (r *Runner) planned(key planKey, given json.RawMessage) (*plan, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.plans[key], r.unchanged(key.team, given)
}

// unchanged refuses a team that is not what it was when it was given before. The caller
// holds mu.
func (r *Runner) unchanged(t *team.Team, given json.RawMessage) error {
	if before := r.teams[t]; before != nil && !bytes.Equal(before.text, given) {
		return &InputError{fmt.Sprintf("team %s was changed after it was given to this runner. Pass the changed team as a new one", t.Name)}
	}
	return nil
}

// keepPlan keeps a plan for the next jobs. Where another job has made the same meanwhile,
// that one is shared.
func (r *Runner) keepPlan(key planKey, given json.RawMessage, p *plan) (*plan, error) {
	copied, err := key.team.Copy()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.unchanged(key.team, given); err != nil {
		return nil, err
	}
	if made := r.plans[key]; made != nil {
		return made, nil
	}
	if len(r.plans) >= maxPlans {
		clear(r.plans)
		clear(r.teams)
	}
	r.teams[key.team] = &givenTeam{given, copied}
	if len(p.unresolved) == 0 { // else the next job may find the models
		r.plans[key] = p
	}
	return p, nil
}

// prepare makes the plan of a job. It holds nothing of the Team itself, which belongs to the
// caller.
func (r *Runner) prepare(job Job) (*plan, error) {
	t := job.Team.WithDefaults()
	if err := t.Validate(); err != nil {
		return nil, err
	}
	own, err := job.Team.Copy()
	if err != nil {
		return nil, err
	}
	own = own.WithDefaults()
	offered, err := r.shelf(&own, job.Solo)
	if err != nil {
		return nil, err
	}
	if !job.Solo {
		if err := t.CheckTools(toolNames(offered.all())); err != nil {
			return nil, err
		}
		if err := CheckSearch(job, r.config.Models); err != nil {
			return nil, err
		}
	}
	if c := own.Conversation; c != nil && job.Functions[c.Supervisor] != nil {
		return nil, &InputError{fmt.Sprintf("specialist %s is a Go function, which cannot supervise. Name another as conversation.supervisor", c.Supervisor)}
	}
	for _, id := range own.Talkers() {
		if job.Functions[id] != nil {
			return nil, &InputError{fmt.Sprintf("specialist %s is a Go function, which cannot talk to the user. Take it out of handoff.targets and conversation", id)}
		}
	}
	c, err := configure(&own, job.Model, job.Solo, offered)
	if err != nil {
		return nil, err
	}
	for i := range c.Agents {
		if job.Functions[c.Agents[i].ID] != nil {
			c.Agents[i].Function, c.Agents[i].Models = true, nil
		}
	}
	return r.resolve(c, offered)
}

// priced refuses a bound of cost that could not be kept.
func (r *Runner) priced(p *plan, tenant events.TenantID, budget Budget) error {
	limits := p.config.Team.Limits
	if limits.MaxCostUSD == 0 && limits.MaxSpecialistCostUSD == 0 && (budget == nil || !budget.BoundsCost()) && r.quotas.of(tenant.OrLocal()).DollarsPerDay == 0 {
		return nil
	}
	for _, spec := range p.specs {
		searches := slices.ContainsFunc(spec.Tools.Specs(), func(t llm.Tool) bool { return t.Search != nil })
		for _, target := range spec.Route {
			if searches && r.price(target, events.Usage{WebSearches: 1}) == nil && r.price(target, events.Usage{}) != nil {
				return &InputError{fmt.Sprintf("a cost limit cannot be enforced: what %s charges for a web search with %s is unknown. "+
					"Give the model a price with web_search, or leave the tool or the bound out", target.Endpoint.Name, target.Model)}
			}
			if r.price(target, events.Usage{}) == nil {
				return &InputError{fmt.Sprintf("a cost limit cannot be enforced: the price of model %s/%s is unknown. "+
					"Choose a model whose price is known, or leave the bound out", target.Endpoint.Name, target.Model)}
			}
			asked := prices.Call{Tier: string(spec.Tier), At: time.Now()}
			if r.config.Prices.Cost(target.Endpoint.Name, target.Model, asked) == nil {
				return &InputError{fmt.Sprintf("a cost limit cannot be enforced: the price of model %s/%s in the tier %s is unknown. "+
					"Leave the tier or the bound out", target.Endpoint.Name, target.Model, spec.Tier)}
			}
		}
	}
	return nil
}

// recallKey tells the plans apart that logs carry.
type recallKey struct{ config, functions string }

// recall gives the plan that a log carries, for a program that has these functions. Do not
// change it: runs of the same configuration share it.
func (r *Runner) recall(run events.RunID, started events.WorkflowStarted, functions Functions) (*plan, error) {
	key := recallKey{string(started.Config), functions.key()}
	r.mu.Lock()
	p := r.recalled[key]
	r.mu.Unlock()
	if p != nil {
		return p, functions.cover(run, &p.config)
	}
	var c config
	if err := json.Unmarshal(started.Config, &c); err != nil {
		return nil, fmt.Errorf("read the configuration of the run: %w", err)
	}
	if len(c.Agents) == 0 {
		return nil, fmt.Errorf("read the configuration of the run: it names no agent")
	}
	if err := functions.cover(run, &c); err != nil {
		return nil, err
	}
	c.Team.Limits = c.Team.Limits.WithDefaults() // logs of before a bound existed lack it
	offered, err := r.shelf(&c.Team, c.Solo)
	if err != nil {
		return nil, err
	}
	p, err = r.compile(c, offered, started.Config)
	if err != nil || len(p.unresolved) > 0 { // the next run may find the models
		return p, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.recalled) >= maxPlans {
		clear(r.recalled)
	}
	r.recalled[key] = p
	return p, nil
}

var _ loop.Dispatcher = (*specialists.Dispatcher)(nil)
