package team

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
)

const (
	// MaxTriggers bounds the phrases of one target: each is looked for in each message.
	MaxTriggers = 50
	// MaxWorkflowStates bounds the steps of a specialist: nobody follows more.
	MaxWorkflowStates = 50
	// maxStateChars bounds the name of a step, which stands in a line with its number.
	maxStateChars = 60
)

// Handoff says to whom the conversation with the user may be handed over.
type Handoff struct {
	Targets []HandoffTarget `json:"targets,omitempty" jsonschema:"The agents that may take over the conversation with the user: specialists, and human for a person. Specialists with supports_handoff are added."`
	// Aliases are further names of targets, which agents and programs may use.
	Aliases map[string]events.AgentID `json:"aliases,omitempty" jsonschema:"Further names of targets, such as billing: agent-billing."`
	// Sources are the specialists that may hand the conversation on while they have it. The
	// facilitator always may hand it over.
	Sources []events.AgentID `json:"sources,omitempty" jsonschema:"The specialists that may hand the conversation on to another target while they have it. The facilitator always may hand it over."`
	// Second is what becomes of a handoff that is asked for while another is active: reject
	// or queue. Defaults to reject.
	Second string `json:"second,omitempty" jsonschema:"What becomes of a handoff that is asked for while a specialist has the conversation: reject, or queue until it is over. Defaults to reject."`
	// ShareMessages has the newest messages go along beside the summary. Defaults to the
	// summary alone.
	ShareMessages bool `json:"share_messages,omitempty" jsonschema:"Whether the newest messages of the thread go along beside the summary. Defaults to false: the summary alone does."`
	// RecentMessageCount is how many of the newest messages a target reads beside the
	// summary. Defaults to 5 with ShareMessages, else to 0; more than 0 shares messages.
	RecentMessageCount int `json:"recent_message_count,omitempty" jsonschema:"How many of the newest messages of the thread a target reads beside the summary, 1 to 20. Defaults to 5 with share_messages, else to none."`
	// KeepStateDays is for how many days a session that was left can be continued. Defaults
	// to 30.
	KeepStateDays int `json:"keep_state_days,omitempty" jsonschema:"For how many days a session that the user left, or that failed, can be continued. Defaults to 30."`
}

// What becomes of a second handoff.
const (
	SecondReject = "reject"
	SecondQueue  = "queue"
)

const (
	// defaultSharedMessages is what a target reads where messages are shared: the newest
	// exchanges, without making the summary superfluous.
	defaultSharedMessages = 5
	defaultKeepStateDays  = 30
	maxKeepStateDays      = 3650
	// maxAliases bounds the further names of targets, which the model is offered.
	maxAliases = 50
	// maxDurationSeconds bounds what a target may say that it needs: a day.
	maxDurationSeconds = day
)

// HandoffTarget is an agent that may take over.
type HandoffTarget struct {
	Agent events.AgentID `json:"agent" jsonschema:"The specialist, or human for a person."`
	// Triggers are phrases of a message that hand over without asking the facilitator.
	Triggers []string `json:"triggers,omitempty" jsonschema:"Phrases that hand over at once when a message has one: whole words, in any case. Of several that match the longest wins, then the first listed."`
	// Requires is a permission that the user needs.
	Requires string `json:"requires,omitempty" jsonschema:"Permission that the user needs for it beside handoff:initiate, such as skill:create."`
	// Unavailable says why the target cannot take over for now; "" where it can.
	Unavailable string `json:"unavailable,omitempty" jsonschema:"Why the target cannot take over for now. Without it whether it can is checked: its model must be known, and its endpoint not be down."`
	// AllMayAnswer is for human: the agents go on answering while a person is asked.
	AllMayAnswer bool `json:"all_may_answer,omitempty" jsonschema:"Only for human: the agents go on answering, by the team's rules, while the person's answer is awaited. Defaults to false: nobody else answers until the person has given the conversation back."`
	// EstimatedDurationSeconds is how long it expects to need. 0 is not said.
	EstimatedDurationSeconds int `json:"estimated_duration_seconds,omitempty" jsonschema:"How many seconds the target expects to need, for those who wait."`
}

// Agents are the targets. A nil Handoff has none.
func (h *Handoff) Agents() (ids []events.AgentID) {
	if h == nil {
		return nil
	}
	for _, target := range h.Targets {
		ids = append(ids, target.Agent)
	}
	return ids
}

// Shared is how many messages go along with a handoff, 0 for none.
func (h *Handoff) Shared() int {
	switch {
	case h == nil:
		return 0
	case h.RecentMessageCount == 0 && h.ShareMessages:
		return defaultSharedMessages
	}
	return h.RecentMessageCount
}

// Triggers are the phrases that hand over, as they are listed.
func (t *Team) Triggers() (triggers []conversation.Trigger) {
	if t.Handoff == nil {
		return nil
	}
	for _, target := range t.Handoff.Targets {
		s, _ := t.Specialist(target.Agent)
		for _, phrase := range slices.Concat(target.Triggers, s.HandoffTriggers) {
			triggers = append(triggers, conversation.Trigger{Phrase: phrase, Target: target.Agent})
		}
	}
	return triggers
}

// Policy is what the team says about handoffs. Who runs it says what is available, and on
// whose behalf it is asked.
func (t *Team) Policy() conversation.Policy {
	h := t.Handoff
	if h == nil {
		h = &Handoff{}
	}
	days := h.KeepStateDays
	if days == 0 {
		days = defaultKeepStateDays
	}
	p := conversation.Policy{
		Aliases: h.Aliases, Queue: h.Second == SecondQueue, Messages: t.Messages(), KeepState: time.Duration(days) * 24 * time.Hour,
	}
	for _, declared := range h.Targets {
		target := conversation.Target{
			Agent: declared.Agent, Name: words(string(declared.Agent)), Requires: declared.Requires, EstimatedSeconds: declared.EstimatedDurationSeconds,
			AllMayAnswer: declared.AllMayAnswer,
		}
		if s, known := t.Specialist(declared.Agent); known {
			target.Name, target.Yields, target.MaxIdle = s.DisplayName, !s.Exclusive(), s.MaxIdle()
		}
		p.Targets = append(p.Targets, target)
	}
	return p
}

// Messages are the sentences of the team, with their defaults.
func (t *Team) Messages() conversation.Messages { return t.Conversation.Sentences() }

// Unavailable says why the team takes a target out of service, "" where it does not.
func (h *Handoff) Unavailable(id events.AgentID) string {
	if h != nil {
		for _, target := range h.Targets {
			if target.Agent == id {
				return target.Unavailable
			}
		}
	}
	return ""
}

// AllMayAnswer reports whether the agents go on answering while a target has been asked.
func (h *Handoff) AllMayAnswer(id events.AgentID) bool {
	return h != nil && slices.ContainsFunc(h.Targets, func(t HandoffTarget) bool { return t.Agent == id && t.AllMayAnswer })
}

// withTargets adds the specialists that say themselves that they can take over.
func (h *Handoff) withTargets(specialists []Specialist) *Handoff {
	listed := h.Agents()
	for _, s := range specialists {
		if s.SupportsHandoff == nil || !*s.SupportsHandoff || slices.Contains(listed, s.ID) {
			continue
		}
		extended := Handoff{}
		if h != nil {
			extended = *h
		}
		extended.Targets = append(slices.Clip(extended.Targets), HandoffTarget{Agent: s.ID})
		h = &extended
	}
	return h
}

func (t *Team) checkHandoff(found *problems) {
	h := t.Handoff
	if h == nil {
		return
	}
	if len(h.Targets) == 0 {
		found.add("handoff.targets", "nobody can take over; list specialists, such as \"- agent: %s\", or remove handoff", t.someSpecialist())
	}
	if len(t.AnswerSchema) > 0 {
		found.add("handoff", "the answer of this team is JSON (answer_schema), and a specialist that takes over writes text; keep one of the two")
	}
	if n := h.RecentMessageCount; n < 0 || n > conversation.MaxRecentMessages {
		found.add("handoff.recent_message_count", "%d is out of range; write 0 to %d", n, conversation.MaxRecentMessages)
	}
	if n := h.KeepStateDays; n < 0 || n > maxKeepStateDays {
		found.add("handoff.keep_state_days", "%d is out of range; write 1 to %d days, or leave it out for %d", n, maxKeepStateDays, defaultKeepStateDays)
	}
	if h.Second != "" && h.Second != SecondReject && h.Second != SecondQueue {
		found.add("handoff.second", "%q is no policy; write reject or queue", clip(h.Second))
	}
	for i, target := range h.Targets {
		t.checkTarget(fmt.Sprintf("handoff.targets[%d]", i), target, h.Targets[:i], found)
	}
	t.checkSources(found)
	t.checkAliases(found)
}

func (t *Team) checkTarget(path string, target HandoffTarget, before []HandoffTarget, found *problems) {
	s, known := t.Specialist(target.Agent)
	if !known && target.Agent != events.HumanID {
		found.add(path+".agent", "there is no specialist %q%s the specialists are %s", clip(string(target.Agent)), didYouMean(string(target.Agent), t.ids()), join(t.ids()))
	}
	if known && s.SupportsHandoff != nil && !*s.SupportsHandoff {
		found.add(path+".agent", "%q has supports_handoff: false; remove that, or the target", clip(string(target.Agent)))
	}
	if slices.ContainsFunc(before, func(other HandoffTarget) bool { return other.Agent == target.Agent }) {
		found.add(path+".agent", "%q is there twice; remove one", clip(string(target.Agent)))
	}
	checkTriggers(path+".triggers", target.Triggers, found)
	if target.Requires != "" {
		if err := access.CheckPermission(target.Requires); err != nil {
			found.add(path+".requires", "%s", err)
		}
	}
	checkLine(path+".unavailable", target.Unavailable, found)
	if target.AllMayAnswer && target.Agent != events.HumanID {
		found.add(path+".all_may_answer", "%q has the conversation alone; all may answer beside a person only: remove it, or write it at \"- agent: human\"", clip(string(target.Agent)))
	}
	if n := target.EstimatedDurationSeconds; n < 0 || n > maxDurationSeconds {
		found.add(path+".estimated_duration_seconds", "%d is out of range; write 1 to %d seconds, or leave it out", n, maxDurationSeconds)
	}
}

func (t *Team) checkSources(found *problems) {
	for i, id := range t.Handoff.Sources {
		path := fmt.Sprintf("handoff.sources[%d]", i)
		switch {
		case !slices.Contains(append(t.Handoff.Agents(), t.Talkers()...), id):
			found.add(path, "%q never has the conversation, since it is no target and no stage or rule names it; list it in handoff.targets, or remove it here", clip(string(id)))
		case slices.Contains(t.Handoff.Sources[:i], id):
			found.add(path, "%q is there twice; remove one", clip(string(id)))
		}
	}
}

func (t *Team) checkAliases(found *problems) {
	targets := t.Handoff.Agents()
	if len(t.Handoff.Aliases) > maxAliases {
		found.add("handoff.aliases", "%d aliases, %d is the most; agents choose badly among many", len(t.Handoff.Aliases), maxAliases)
	}
	for _, alias := range slices.Sorted(maps.Keys(t.Handoff.Aliases)) {
		path, target := "handoff.aliases."+alias, t.Handoff.Aliases[alias]
		_, taken := t.Specialist(events.AgentID(alias))
		switch {
		case taken || slices.Contains(ReservedIDs(), alias) && events.AgentID(alias) != target:
			found.add(path, "%q names an agent already; choose another alias", clip(alias))
		case !isAgentID(alias):
			found.add(path, "%q is no alias; %s", clip(alias), agentIDRule)
		case !slices.Contains(targets, target):
			found.add(path, "%q is no target; the targets are %s", clip(string(target)), join(agentNames(targets)))
		}
	}
}

func agentNames(ids []events.AgentID) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return names
}

func checkTriggers(path string, triggers []string, found *problems) {
	if len(triggers) > MaxTriggers {
		found.add(path, "%d triggers, %d is the most; the facilitator can hand over without one", len(triggers), MaxTriggers)
	}
	for i, phrase := range triggers {
		at := fmt.Sprintf("%s[%d]", path, i)
		checkLine(at, phrase, found)
		if !strings.ContainsFunc(phrase, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			found.add(at, "%q has no word; write a phrase, such as \"create a skill\"", clip(phrase))
		}
	}
}

func checkStates(path string, states []string, found *problems) {
	if len(states) > MaxWorkflowStates {
		found.add(path, "%d states, %d is the most; merge some of them", len(states), MaxWorkflowStates)
	}
	for i, state := range states {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case strings.TrimSpace(state) == "" || len([]rune(state)) > maxStateChars:
			found.add(at, "%q is no state; write 1 to %d characters, such as \"testing\"", clip(state), maxStateChars)
		case slices.Contains(states[:i], state):
			found.add(at, "state %q is there twice; remove one", clip(state))
		}
		checkLine(at, state, found)
	}
}

func (t *Team) ids() []string {
	ids := make([]events.AgentID, len(t.Specialists))
	for i, s := range t.Specialists {
		ids[i] = s.ID
	}
	return agentNames(ids)
}

func (t *Team) someSpecialist() string {
	if len(t.Specialists) == 0 {
		return "skill_builder"
	}
	return string(t.Specialists[0].ID)
}
