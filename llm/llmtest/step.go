package llmtest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/convene-run/convene/events"
)

// Step is what a scripted agent does with one request.
type Step struct {
	reply events.Reply
	usage events.Usage
	err   error
	whole bool // whether err, if any, comes after the deltas
	after time.Duration
}

// Says answers with text.
func Says(text string) Step {
	return Step{reply: events.Reply{Text: text, FinishReason: events.FinishStop}, usage: defaultUsage}
}

// Citing adds pages that the model's provider found in a search of its own.
func (s Step) Citing(pages ...events.CitedPage) Step {
	s.reply.Cited = pages
	return s
}

// Calls answers with tool calls, and with text before them if it is not empty.
func Calls(text string, calls ...events.ToolCall) Step {
	return Step{reply: events.Reply{Text: text, ToolCalls: calls, FinishReason: events.FinishToolCalls}, usage: defaultUsage}
}

// Replies answers with a reply as it is, its finish reason and extra fields included.
func Replies(reply events.Reply) Step { return Step{reply: reply, usage: defaultUsage} }

// Fails fails before the first delta.
func Fails(err error) Step { return Step{err: err} }

// defaultUsage is what a step counts as unless it says otherwise.
var defaultUsage = events.Usage{InputTokens: 100, OutputTokens: 10}

// Breaking sends all deltas of the step and then fails instead of being done.
func (s Step) Breaking(err error) Step {
	s.err, s.whole = err, true
	return s
}

// After waits before the first delta, or before the failure. The wait ends with the
// request's context.
func (s Step) After(wait time.Duration) Step {
	s.after = wait
	return s
}

// Using sets the usage of the step.
func (s Step) Using(usage events.Usage) Step {
	s.usage = usage
	return s
}

// Call makes a tool call. args is marshalled, except that a string is taken as the
// arguments' text as it is, valid or not. The id is made when the step is played.
func Call(name string, args any) events.ToolCall {
	if text, ok := args.(string); ok {
		return events.ToolCall{Name: name, Arguments: text}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		panic(fmt.Sprintf("llmtest: arguments of %s: %v", name, err))
	}
	return events.ToolCall{Name: name, Arguments: string(raw)}
}
