package wire

import (
	"strings"

	"github.com/convene-run/convene/events"
)

// noResult answers a call in the history that has no result: endpoints refuse a
// call without one.
const noResult = "(no result: the call was not run)"

// Writer writes the messages of a history in the form of one API.
type Writer interface {
	// Say writes a message of the system or the user.
	Say(m *events.Message)
	// Assistant writes what the model said.
	Assistant(m *events.Message)
	// Result writes what a call brought: a message of its tool, whose content is
	// a text that says so where missing is set.
	Result(call *events.ToolCall, result *events.Message, missing bool)
}

// WriteHistory writes the messages. An assistant message with calls is followed by
// exactly one result for each of them, before anything else, in the order of the
// history; what breaks that rule in the history is repaired. An assistant message that
// says nothing and calls nothing is left out: some endpoints refuse it.
func WriteHistory(w Writer, messages []events.Message) {
	for i := 0; i < len(messages); i++ {
		m := &messages[i]
		switch m.Role {
		case events.RoleTool:
			// an answer to no call: endpoints refuse it
		case events.RoleAssistant:
			if m.Content != "" || len(m.ToolCalls) > 0 || len(m.Extra) > 0 {
				w.Assistant(m)
			}
			answers := i + 1
			for i+1 < len(messages) && messages[i+1].Role == events.RoleTool {
				i++
			}
			writeResults(w, m.ToolCalls, messages[answers:i+1])
		default:
			w.Say(m)
		}
	}
}

func writeResults(w Writer, calls []events.ToolCall, messages []events.Message) {
	answered := make([]bool, len(calls))
	for i := range messages {
		for j := range calls {
			if calls[j].ID == messages[i].ToolCallID && !answered[j] {
				answered[j] = true
				w.Result(&calls[j], &messages[i], false)
				break
			}
		}
	}
	for j := range calls {
		if !answered[j] {
			w.Result(&calls[j], &events.Message{Role: events.RoleTool, Content: noResult, ToolCallID: calls[j].ID}, true)
		}
	}
}

// SendableArguments gives the arguments as endpoints take them back: some refuse
// an empty text, and templates break on what is no JSON object.
func SendableArguments(arguments string) string {
	trimmed := strings.TrimLeft(arguments, " \t\r\n")
	if trimmed == "" || trimmed[0] != '{' || !validText(arguments) {
		return "{}"
	}
	return arguments
}

// EmptySchema stands for the parameters of a tool that has none.
const EmptySchema = `{"type":"object","properties":{}}`
