package team

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

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
	Targets []HandoffTarget `json:"targets" jsonschema:"The specialists that may take over the conversation with the user."`
	// RecentMessageCount is how many of the newest messages a target reads beside the
	// facilitator's summary. 0 is the summary alone.
	RecentMessageCount int `json:"recent_message_count,omitempty" jsonschema:"How many of the newest messages of the thread a target reads beside the facilitator's summary, 0 to 20. Defaults to 0."`
}

// HandoffTarget is a specialist that may take over.
type HandoffTarget struct {
	Agent events.AgentID `json:"agent" jsonschema:"The specialist."`
	// Triggers are phrases of a message that hand over without asking the facilitator.
	Triggers []string `json:"triggers,omitempty" jsonschema:"Phrases that hand over at once when a message has one: whole words, in any case. Of several that match the longest wins, then the first listed."`
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

// Triggers are the phrases of all targets, as they are listed.
func (h *Handoff) Triggers() (triggers []conversation.Trigger) {
	if h == nil {
		return nil
	}
	for _, target := range h.Targets {
		for _, phrase := range target.Triggers {
			triggers = append(triggers, conversation.Trigger{Phrase: phrase, Target: target.Agent})
		}
	}
	return triggers
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
	for i, target := range h.Targets {
		path := fmt.Sprintf("handoff.targets[%d]", i)
		if _, known := t.Specialist(target.Agent); !known {
			found.add(path+".agent", "there is no specialist %q%s the specialists are %s", clip(string(target.Agent)), didYouMean(string(target.Agent), t.ids()), join(t.ids()))
		}
		if slices.ContainsFunc(h.Targets[:i], func(other HandoffTarget) bool { return other.Agent == target.Agent }) {
			found.add(path+".agent", "%q is there twice; remove one", clip(string(target.Agent)))
		}
		checkTriggers(path, target.Triggers, found)
	}
}

func checkTriggers(path string, triggers []string, found *problems) {
	if len(triggers) > MaxTriggers {
		found.add(path+".triggers", "%d triggers, %d is the most; the facilitator can hand over without one", len(triggers), MaxTriggers)
	}
	for i, phrase := range triggers {
		at := fmt.Sprintf("%s.triggers[%d]", path, i)
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
	ids := make([]string, len(t.Specialists))
	for i, s := range t.Specialists {
		ids[i] = string(s.ID)
	}
	return ids
}

func (t *Team) someSpecialist() string {
	if len(t.Specialists) == 0 {
		return "skill_builder"
	}
	return string(t.Specialists[0].ID)
}
