// Package deltas streams replies that are known already.
package deltas

import (
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// Yield sends a reply as deltas: reasoning, text, then each call with its
// arguments in two fragments.
func Yield(yield func(llm.Delta, error) bool, reply events.Reply) bool {
	if reply.Reasoning != "" && !yield(llm.Delta{Reasoning: reply.Reasoning}, nil) {
		return false
	}
	for word := range strings.SplitAfterSeq(reply.Text, " ") {
		if word != "" && !yield(llm.Delta{Text: word}, nil) {
			return false
		}
	}
	for i, call := range reply.ToolCalls {
		half := len(call.Arguments) / 2
		for _, fragment := range []string{call.Arguments[:half], call.Arguments[half:]} {
			if fragment != "" && !yield(llm.Delta{Fragment: fragment, Index: i}, nil) {
				return false
			}
		}
		if !yield(llm.Delta{Call: &call, Index: i}, nil) {
			return false
		}
	}
	return true
}
