package thread

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/convene-run/convene/events"
)

// Turn is the newest turn of a conversation while calls of it lack results.
type Turn struct {
	ID events.ModelCallID
	// Called is set once the model's whole reply is in the log. Before that the turn
	// holds the calls that started early.
	Called bool
	// Cut is set where the reply broke off and the turn is the calls that had started;
	// Whole once the rest of it was asked for.
	Cut, Whole bool
	Early      events.Early
	// Extra is what the endpoint of the reply wants back with it.
	Extra json.RawMessage
	Calls []Call
}

// Call is one tool call of a turn.
type Call struct {
	events.ToolCall
	Index int
	// Rest is set on a call that came when the rest of a turn was asked for.
	Rest bool
	// Started is set on a call whose start is in the log, Done on one whose result is.
	Started, Done bool
	// Refused is set on a call that was answered without having been run.
	Refused bool
	// Result and Parts are as [events.ToolCallDone] has them.
	Result string
	Parts  []events.Part
	// Dispatch is the dispatch that the call opened, if it did.
	Dispatch events.DispatchID
}

// Call gives the call with that index, nil if the turn has none.
func (t *Turn) Call(index int) *Call {
	for i := range t.Calls {
		if t.Calls[i].Index == index {
			return &t.Calls[i]
		}
	}
	return nil
}

// LacksRest reports whether the reply broke off and the log does not tell that its
// rest was asked for.
func (t *Turn) LacksRest() bool { return t != nil && t.Called && t.Cut && !t.Whole }

// Open reports whether the reply or the result of a call is not in the log.
func (t *Turn) Open() bool { return t != nil && !t.complete() }

// complete reports whether every call of the turn has its result.
func (t *Turn) complete() bool {
	if t == nil || !t.Called {
		return false
	}
	for i := range t.Calls {
		if !t.Calls[i].Done {
			return false
		}
	}
	return true
}

// Results are the tool messages that answer the calls, in their order. A call without
// a result is answered with what pending says of it; nil where there is none.
func (t *Turn) Results(pending func(*Call) string) []events.Message {
	messages := make([]events.Message, len(t.Calls))
	for i := range t.Calls {
		call := &t.Calls[i]
		messages[i] = events.Message{Role: events.RoleTool, Content: call.Result, Parts: call.Parts, ToolCallID: call.ID}
		if !call.Done {
			messages[i].Content = pending(call)
		}
	}
	return messages
}

// maxRefusedChars bounds the arguments of a refused call that stay in the history. The
// result says what was wrong with them; the longest that a model needs to look at to
// correct a mistake are shorter.
const maxRefusedChars = 8 << 10

// sent gives the message of the turn as further requests carry it: long arguments of
// refused calls are left out, and the arguments say so. The log keeps them.
func (t *Turn) sent(said events.Message) events.Message {
	cloned := false
	for i := range t.Calls {
		call := &t.Calls[i]
		if !call.Refused || utf8.RuneCountInString(call.Arguments) <= maxRefusedChars {
			continue
		}
		if !cloned {
			said.ToolCalls, cloned = slices.Clone(said.ToolCalls), true
		}
		said.ToolCalls[call.Index].Arguments = fmt.Sprintf(`{"_clipped":"%d KB"}`, (len(call.Arguments)+999)/1000)
	}
	return said
}

// RestID is the id of the model call that asks for the rest of a turn.
func RestID(turn events.ModelCallID) events.ModelCallID { return turn + "r" }

// rest appends the calls that came when the rest of the turn was asked for.
func (c *Conversation) rest(e events.ModelCalled) error {
	turn := c.turn
	if !turn.LacksRest() || e.ID != RestID(turn.ID) {
		return fmt.Errorf("model call %s asks for the rest of no turn", e.ID)
	}
	turn.Whole = true
	said := &c.messages[len(c.messages)-1]
	said.ToolCalls = said.ToolCalls[:len(said.ToolCalls):len(said.ToolCalls)]
	for _, tc := range e.Reply.ToolCalls {
		said.ToolCalls = append(said.ToolCalls, tc)
		turn.Calls = append(turn.Calls, Call{ToolCall: tc, Index: len(turn.Calls), Rest: true})
		c.thread.callIDs[tc.ID] = struct{}{}
	}
	c.settle()
	return nil
}

// Interrupted gives the reply that the turn is taken for when no more of it will
// come: the calls that had started, and what had streamed before them.
func (t *Turn) Interrupted() events.Reply {
	reply := events.Reply{
		Text: t.Early.Text, Reasoning: t.Early.Reasoning, Extra: t.Early.Extra,
		FinishReason: events.FinishToolCalls,
	}
	for i := range t.Calls {
		reply.ToolCalls = append(reply.ToolCalls, t.Calls[i].ToolCall)
	}
	return reply
}
