package conversation

import (
	"strings"
	"unicode"

	"github.com/convene-run/convene/events"
)

// Trigger is a phrase that hands the conversation over without asking a model.
type Trigger struct {
	Phrase string
	Target events.AgentID
}

// exitWord is the whole message that leaves a handoff.
const exitWord = "cancel"

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
