package team

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

const (
	// MaxRules bounds the routing rules: each is looked at for each message.
	MaxRules = 100
	// maxConditionValues bounds what one condition lists.
	maxConditionValues = 100
	// DefaultMemoryWindow is how many messages of its session a specialist reads.
	DefaultMemoryWindow = 50
	// MaxMemoryWindow is the most that a team may set: a window over that is none.
	MaxMemoryWindow = 1000
	minMemoryWindow = 2
)

// Conversation says who answers the user's messages, and in which phases.
type Conversation struct {
	// DefaultAgent answers where nothing else decides; "" is the facilitator.
	DefaultAgent events.AgentID `json:"default_agent,omitempty" jsonschema:"The specialist that answers where neither a session, a trigger nor a rule decides. Defaults to the facilitator."`
	// Supervisor reads every exchange; "" is nobody.
	Supervisor events.AgentID `json:"supervisor,omitempty" jsonschema:"The specialist that reads every exchange with the user once it is over. It may write the user a note, hand the conversation over, or pause it until a person has looked."`
	// Rules route messages, the lowest priority first; equal ones in their order. They come
	// before the pipeline's.
	Rules []Rule `json:"rules,omitempty" jsonschema:"Which specialist gets which messages while nobody has the conversation: the first rule whose conditions are all met decides. They come before the pipeline."`
	// Phases are the phases of agents in addition to those of the pipeline.
	Phases []AgentPhase `json:"phases,omitempty" jsonschema:"Phases that begin when an agent takes over, beside those of the pipeline."`
	// Pipeline has the conversation go through stages.
	Pipeline []conversation.Stage `json:"pipeline,omitempty" jsonschema:"Stages that conversations go through, from the first on. When a specialist completes its phase, that of the next begins without a message of the user's."`
	// MemoryWindow is how many messages of its session a specialist reads; 0 is
	// [DefaultMemoryWindow].
	MemoryWindow int `json:"memory_window,omitempty" jsonschema:"How many of the newest messages of its session a specialist reads, tool results included, behind the context that it was given: 2 to 1000. Defaults to 50."`
	// Messages are the sentences that users read.
	Messages *conversation.Messages `json:"messages,omitempty" jsonschema:"Sentences that users read when the conversation changes hands."`
}

// Rule routes messages to an agent.
type Rule struct {
	Name  string         `json:"name,omitempty" jsonschema:"Name of the rule in the log. Defaults to its place and agent."`
	Agent events.AgentID `json:"agent_id" jsonschema:"The specialist that gets the messages, or human."`
	// Priority orders the rules: lower numbers come first.
	Priority     int            `json:"priority,omitempty" jsonschema:"Lower numbers come first. Equal ones stay in the order of the file. Defaults to 0."`
	Phases       []events.Phase `json:"phases,omitempty" jsonschema:"Phases of the conversation in which the rule applies. Conversations begin in the first phase of the pipeline, or in intake."`
	ChannelTypes []string       `json:"channel_types,omitempty" jsonschema:"Types of channels that the message comes from, such as sms."`
	Intents      []string       `json:"intents,omitempty" jsonschema:"Intents, as the message's metadata.intent says them."`
	Channels     []string       `json:"source_channel_ids,omitempty" jsonschema:"Ids of the channels that the message comes from."`
	// Custom names a predicate that the program has.
	Custom string `json:"custom,omitempty" jsonschema:"Name of a predicate of the program that runs the team, which must hold as well."`
}

// AgentPhase is the phase that begins when an agent takes over and the handoff names none.
type AgentPhase struct {
	Agent events.AgentID `json:"agent_id" jsonschema:"The specialist, or human."`
	Phase events.Phase   `json:"phase" jsonschema:"The phase: any text, such as handling."`
}

// Install has the team's conversations go through the stages. It changes the team, so it
// comes before the team is given to a runner; what is wrong with them is said by
// [Team.Validate], or by [conversation.NewPipeline].
func (t *Team) Install(p *conversation.Pipeline) {
	c := Conversation{}
	if t.Conversation != nil {
		c = *t.Conversation
	}
	c.Pipeline = p.Stages()
	t.Conversation = &c
}

// Converses reports whether requests to the team are messages of a conversation, in which
// others than the facilitator may answer.
func (t *Team) Converses() bool { return t.Handoff != nil || t.Conversation != nil }

// Talkers are the specialists that may have the conversation: targets of handoffs, and those
// to whom messages are routed.
func (t *Team) Talkers() []events.AgentID {
	ids := t.Handoff.Agents()
	if c := t.Conversation; c != nil {
		ids = append(slices.Clone(ids), c.DefaultAgent)
		for _, stage := range c.Pipeline {
			ids = append(ids, stage.Agent)
		}
		for _, rule := range c.Rules {
			ids = append(ids, rule.Agent)
		}
	}
	var talkers []events.AgentID
	for _, id := range ids {
		if _, known := t.Specialist(id); known && !slices.Contains(talkers, id) {
			talkers = append(talkers, id)
		}
	}
	return talkers
}

// Flow gives how the team's conversations go. The team is valid.
func (t *Team) Flow() (*conversation.Flow, error) {
	flow := &conversation.Flow{Default: events.FacilitatorID, Phases: map[events.AgentID]events.Phase{}}
	c := t.Conversation
	if c == nil {
		return flow, nil
	}
	flow.Default = cmp.Or(c.DefaultAgent, flow.Default)
	for _, p := range c.Phases {
		flow.Phases[p.Agent] = p.Phase
	}
	var err error
	if len(c.Pipeline) > 0 {
		flow.Pipeline, err = conversation.NewPipeline(c.Pipeline...)
	}
	return flow, err
}

// Predicates are those of the program that rules name.
type Predicates map[string]func(conversation.Message, conversation.Progress) bool

// Router gives who answers which message. The team is valid; the error names a predicate
// that the program does not have.
func (t *Team) Router(flow *conversation.Flow, predicates Predicates) (*conversation.Router, error) {
	routing := conversation.Routing{
		Agents: append(t.Talkers(), events.HumanID), Triggers: t.Triggers(), Default: flow.Default, Initial: flow.Initial(),
	}
	if t.Conversation == nil {
		return conversation.NewRouter(routing), nil
	}
	for i, rule := range t.Conversation.Rules {
		match := predicates[rule.Custom]
		if rule.Custom != "" && match == nil {
			return nil, fmt.Errorf("conversation.rules[%d].custom: this program has no predicate %q; give it one, or run the team in the program that has it", i, rule.Custom)
		}
		routing.Rules = append(routing.Rules, conversation.Rule{
			Name: rule.Name, Agent: rule.Agent, Priority: rule.Priority, Conditions: conversation.Conditions{
				Phases: rule.Phases, ChannelTypes: rule.ChannelTypes, Intents: rule.Intents, Channels: rule.Channels, Match: match,
			},
		})
	}
	if flow.Pipeline != nil {
		routing.Rules = append(routing.Rules, flow.Pipeline.Rules()...)
	}
	return conversation.NewRouter(routing), nil
}

// Window is how many messages of its session a specialist reads.
func (c *Conversation) Window() int {
	if c == nil || c.MemoryWindow == 0 {
		return DefaultMemoryWindow
	}
	return c.MemoryWindow
}

// Sentences are what users read when the conversation changes hands.
func (c *Conversation) Sentences() conversation.Messages {
	if c == nil || c.Messages == nil {
		return conversation.Messages{}.WithDefaults()
	}
	return c.Messages.WithDefaults()
}

func (t *Team) checkConversation(found *problems) {
	c := t.Conversation
	if c == nil {
		return
	}
	if len(t.AnswerSchema) > 0 {
		found.add("conversation", "the answer of this team is JSON (answer_schema), and specialists in a conversation write text; keep one of the two")
	}
	if c.Messages != nil {
		checkMessages("conversation.messages", *c.Messages, found)
	}
	if c.DefaultAgent != "" && c.DefaultAgent != events.FacilitatorID {
		t.checkAgent("conversation.default_agent", c.DefaultAgent, false, found)
	}
	if c.Supervisor != "" {
		t.checkAgent("conversation.supervisor", c.Supervisor, false, found)
	}
	if n := c.MemoryWindow; n != 0 && (n < minMemoryWindow || n > MaxMemoryWindow) {
		found.add("conversation.memory_window", "%d is out of range; write %d to %d", n, minMemoryWindow, MaxMemoryWindow)
	}
	t.checkRules(c.Rules, found)
	for i, p := range c.Phases {
		path := fmt.Sprintf("conversation.phases[%d]", i)
		t.checkAgent(path+".agent_id", p.Agent, true, found)
		checkPhase(path+".phase", p.Phase, found)
		if slices.ContainsFunc(c.Phases[:i], func(other AgentPhase) bool { return other.Agent == p.Agent }) {
			found.add(path+".agent_id", "%q is there twice; remove one", clip(string(p.Agent)))
		}
	}
	t.checkPipeline(c.Pipeline, found)
}

// checkAgent checks that an agent is one of the team's.
func (t *Team) checkAgent(path string, id events.AgentID, human bool, found *problems) {
	if _, known := t.Specialist(id); known || human && id == events.HumanID {
		return
	}
	found.add(path, "there is no specialist %q%s the specialists are %s", clip(string(id)), didYouMean(string(id), t.ids()), join(t.ids()))
}

func checkPhase(path string, phase events.Phase, found *problems) {
	if strings.TrimSpace(string(phase)) == "" || chars.Over(string(phase), maxStateChars) {
		found.add(path, "%q is no phase; write 1 to %d characters, such as \"handling\"", clip(string(phase)), maxStateChars)
	}
	checkLine(path, string(phase), found)
}

func (t *Team) checkRules(rules []Rule, found *problems) {
	if len(rules) > MaxRules {
		found.add("conversation.rules", "%d rules, %d is the most; merge some of them", len(rules), MaxRules)
	}
	for i, rule := range rules {
		path := fmt.Sprintf("conversation.rules[%d]", i)
		t.checkAgent(path+".agent_id", rule.Agent, true, found)
		checkLine(path+".name", rule.Name, found)
		checkLine(path+".custom", rule.Custom, found)
		for j, phase := range rule.Phases {
			checkPhase(fmt.Sprintf("%s.phases[%d]", path, j), phase, found)
		}
		for _, condition := range []struct {
			name   string
			values []string
		}{{"channel_types", rule.ChannelTypes}, {"intents", rule.Intents}, {"source_channel_ids", rule.Channels}} {
			if len(condition.values) > maxConditionValues {
				found.add(path+"."+condition.name, "%d values, %d is the most", len(condition.values), maxConditionValues)
			}
			for j, value := range condition.values {
				checkLine(fmt.Sprintf("%s.%s[%d]", path, condition.name, j), value, found)
			}
		}
	}
}

func (t *Team) checkPipeline(stages []conversation.Stage, found *problems) {
	for i, stage := range stages {
		path := fmt.Sprintf("conversation.pipeline[%d]", i)
		if stage.Agent != "" {
			t.checkAgent(path+".agent_id", stage.Agent, false, found)
		}
		if stage.Phase != "" {
			checkPhase(path+".phase", stage.Phase, found)
		}
	}
	if stages == nil {
		return
	}
	_, err := conversation.NewPipeline(stages...)
	var joined interface{ Unwrap() []error }
	switch {
	case err == nil:
	case errors.As(err, &joined):
		for _, one := range joined.Unwrap() {
			if wrong := (*conversation.StageError)(nil); errors.As(one, &wrong) {
				found.add(fmt.Sprintf("conversation.pipeline[%d].%s", wrong.Stage, wrong.Field), "%s", wrong.Message)
			}
		}
	default:
		found.add("conversation.pipeline", "%s", err)
	}
}
