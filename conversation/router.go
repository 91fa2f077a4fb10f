package conversation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

// Message is a user's message as the router sees it.
type Message struct {
	ID   events.MessageID
	Text string
	// UserID, ChannelType and Channel say who sent it and where; "" where nobody said.
	UserID, ChannelType, Channel string
	// Intent is what its sender says that it is about, "" for nothing.
	Intent string
	// Author is the agent that wrote it; "" for a user. Only messages of users are routed,
	// so that no two agents keep each other busy.
	Author events.AgentID
}

// Rule routes messages to an agent.
type Rule struct {
	// Name stands in the log where the rule decided. Defaults to its place and agent.
	Name  string
	Agent events.AgentID
	Conditions
	// Priority orders the rules: lower numbers come first, and equal ones stay in their
	// order.
	Priority int
}

// Conditions are what a message must meet, all of them; those that are empty it does.
type Conditions struct {
	Phases []events.Phase
	// ChannelTypes, Intents and Channels are compared with those of the message.
	ChannelTypes, Intents, Channels []string
	// Match is a predicate of the program; nil for none. It must be fast, and gives the same
	// result for the same message and progress.
	Match func(Message, Progress) bool
}

func (c *Conditions) met(m Message, p Progress) bool {
	return has(c.Phases, p.Phase) && has(c.ChannelTypes, m.ChannelType) && has(c.Intents, m.Intent) && has(c.Channels, m.Channel) &&
		(c.Match == nil || c.Match(m, p))
}

// has reports whether the list has the value, or is empty.
func has[T comparable](list []T, value T) bool {
	return len(list) == 0 || slices.Contains(list, value)
}

// Routing is what a [Router] is made of.
type Routing struct {
	// Agents are those whom a message may reach. A session with another has lapsed.
	Agents   []events.AgentID
	Triggers []Trigger
	Rules    []Rule
	// Default answers where nothing else decides. Defaults to the facilitator.
	Default events.AgentID
	// Initial is the phase in which conversations begin. Defaults to [PhaseIntake].
	Initial events.Phase
}

// Router decides who answers a message. It does not change, and is safe for concurrent use.
type Router struct{ Routing }

// NewRouter gives a router.
func NewRouter(routing Routing) *Router {
	routing.Rules = slices.Clone(routing.Rules)
	for i, rule := range routing.Rules {
		if rule.Name == "" {
			routing.Rules[i].Name = fmt.Sprintf("%d: %s", i+1, rule.Agent)
		}
	}
	slices.SortStableFunc(routing.Rules, func(a, b Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	routing.Default = cmp.Or(routing.Default, events.FacilitatorID)
	routing.Initial = cmp.Or(routing.Initial, PhaseIntake)
	return &Router{routing}
}

// Route decides who answers a message, by the first that applies: the user leaves the
// session; an agent to whom the conversation was handed over goes on; a trigger phrase
// hands over; the agent to whom messages were routed before goes on; a rule; the default
// agent. Where a person answers beside the agents, nothing hands over to that person again.
// ok is false for a message that is not routed. A phrase matches whole words, whatever
// their case; of several the longest wins, then the first listed.
func (r *Router) Route(s *State, m Message) (routed events.MessageRouted, ok bool) {
	to := func(agent events.AgentID, tier events.Tier, rule string) (events.MessageRouted, bool) {
		return events.MessageRouted{MessageID: m.ID, Agent: agent, Tier: tier, Rule: rule}, true
	}
	active := s.active
	if active != nil && !slices.Contains(r.Agents, active.Request.Target) {
		active = nil
	}
	switch {
	case m.Author != "":
		return events.MessageRouted{}, false
	case active != nil && exits(m.Text):
		return to(events.FacilitatorID, events.TierExit, string(active.ID))
	case active != nil && !active.routed():
		return to(active.Request.Target, events.TierHandoff, string(active.ID))
	}
	if trigger := r.trigger(m.Text); trigger != nil && !s.with(trigger.Target) && (active == nil || active.Request.Target != trigger.Target) {
		return to(trigger.Target, events.TierTrigger, trigger.Phrase)
	}
	if active != nil {
		return to(active.Request.Target, events.TierAffinity, string(active.ID))
	}
	progress := s.Progress
	if len(progress.History) == 0 {
		progress.Phase = r.Initial
	}
	for i := range r.Rules {
		if !s.with(r.Rules[i].Agent) && r.Rules[i].met(m, progress) {
			return to(r.Rules[i].Agent, events.TierRule, r.Rules[i].Name)
		}
	}
	return to(r.Default, events.TierDefault, "")
}

// with reports whether the agent is the person who answers beside the others.
func (s *State) with(agent events.AgentID) bool {
	return s.person != nil && s.person.Request.Target == agent
}

// trigger is the phrase that the text has, nil for none.
func (r *Router) trigger(text string) (found *Trigger) {
	words, longest := wordsOf(text), 0
	for i, t := range r.Triggers {
		phrase := wordsOf(t.Phrase)
		if length := chars.Count(phrase); length > longest && strings.Contains(words, phrase) {
			found, longest = &r.Triggers[i], length
		}
	}
	return found
}

// routed reports whether the router opened the session, or the end of a phase that it
// opened, rather than somebody who handed over.
func (s *Session) routed() bool { return s.Request.Source == events.RouterID || s.entered != nil }
