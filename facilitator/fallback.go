package facilitator

import (
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// answer is what one specialist came to.
type answer struct {
	Agent events.AgentID
	Text  string
	// Failed is set where Text is no answer but says what went wrong.
	Failed bool
}

// synthesize joins answers without a model: each with its author, a single one alone.
// ok is false where there was none to join; text then says so.
func synthesize(answers []answer) (text string, ok bool) {
	var good []answer
	for _, a := range answers {
		if !a.Failed && strings.TrimSpace(a.Text) != "" {
			good = append(good, a)
		}
	}
	switch {
	case len(answers) == 0:
		return "No specialist answered.", false
	case len(good) == 0:
		return "All specialists failed to answer.", false
	case len(good) == 1:
		return good[0].Text, true
	}
	parts := make([]string, len(good))
	for i, a := range good {
		parts[i] = "From " + string(a.Agent) + ":\n\n" + a.Text
	}
	return strings.Join(parts, "\n\n"), true
}

// fallback is the answer to the user where the facilitator's model gave none: what
// the document holds, else what the specialists said, each with its author.
func fallback(run *thread.Run) (text string, ok bool) {
	if text := run.Document.RenderAttributed(); text != "" {
		return text, true
	}
	var answers []answer
	for _, d := range run.Dispatches {
		if d.Finish != nil {
			answers = append(answers, answer{
				Agent: d.Start.Agent, Text: d.Said, Failed: d.Finish.Status != events.OutcomeOK,
			})
		}
	}
	return synthesize(answers)
}
