package conversation

import (
	"strings"
	"unicode"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

// Trigger is a phrase that hands the conversation over without asking a model.
type Trigger struct {
	Phrase string
	Target events.AgentID
}

// exitWord is the whole message that leaves a handoff.
const exitWord = "cancel"

// Route decides who answers a message: the user leaves the active handoff, its specialist
// goes on, a trigger phrase hands over, or the facilitator answers. A phrase matches whole
// words, whatever their case; of several the longest wins, then the first listed.
func Route(s *State, id events.MessageID, text string, triggers []Trigger) events.MessageRouted {
	routed := events.MessageRouted{MessageID: id, Agent: events.FacilitatorID, Tier: events.TierDefault}
	words := wordsOf(text)
	if s.active != nil {
		if exits(text) {
			routed.Tier, routed.Rule = events.TierExit, string(s.active.ID)
			return routed
		}
		routed.Agent, routed.Tier, routed.Rule = s.active.Request.Target, events.TierHandoff, string(s.active.ID)
		return routed
	}
	longest := 0
	for _, t := range triggers {
		phrase := wordsOf(t.Phrase)
		if length := chars.Count(phrase); length > longest && strings.Contains(words, phrase) {
			routed.Agent, routed.Tier, routed.Rule, longest = t.Target, events.TierTrigger, t.Phrase, length
		}
	}
	return routed
}

func exits(text string) bool { return strings.EqualFold(strings.TrimSpace(text), exitWord) }

// wordsOf gives the words of a text in lower case, with a space before, between and behind
// them: a phrase is in a text if its words are. "" where there is none.
func wordsOf(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " ") + " "
}
