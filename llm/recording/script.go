package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/internal/deltas"
)

// ScriptProvider and ScriptModel are what replies of a [Script] are said to come from.
const (
	ScriptProvider = "script"
	ScriptModel    = "written-by-hand"
)

// Script is the model's side of conversations, written by hand: everything else, such as
// tools and the check of quotes, is real. Unlike a recording it does not depend on the
// words of prompts. It is a client that holds no state, so a run that is resumed goes on
// where it was. Safe for concurrent use once it has been checked.
type Script struct {
	Conversations []Conversation `json:"conversations"`
}

var _ llm.Client = (*Script)(nil)

// Conversation is what one agent is to say.
type Conversation struct {
	// System is a text that the agent's system prompt contains, Asked one that a message
	// to it contains. Empty ones fit any. The first conversation that fits is played.
	System string `json:"system"`
	Asked  string `json:"asked"`
	// Replies are played in order: a request gets the one behind those it has already.
	Replies []Line `json:"replies"`
}

// Line is one reply: a text, calls of tools, or both.
type Line struct {
	Text  string `json:"text"`
	Calls []Call `json:"calls"`
}

// Call is a call of a tool.
type Call struct {
	Tool string `json:"tool"`
	// Arguments are an object; empty means {}.
	Arguments json.RawMessage `json:"arguments"`
}

// Check says what a script lacks: problem is told the place, as in
// "conversations[0].replies", and what is wrong there.
func (s *Script) Check(problem func(place, message string)) {
	if len(s.Conversations) == 0 {
		problem("conversations", "the script has no conversations")
	}
	for i, c := range s.Conversations {
		place := fmt.Sprintf("conversations[%d]", i)
		if len(c.Replies) == 0 {
			problem(place, "the conversation has no replies")
		}
		for k, line := range c.Replies {
			line.check(func(within, message string) { problem(fmt.Sprintf("%s.replies[%d]%s", place, k, within), message) })
		}
	}
}

func (l *Line) check(problem func(within, message string)) {
	if l.Text == "" && len(l.Calls) == 0 {
		problem("", "the reply has neither a text nor calls")
	}
	for i, call := range l.Calls {
		within := fmt.Sprintf(".calls[%d]", i)
		if call.Tool == "" {
			problem(within, "the call names no tool")
		}
		if len(call.Arguments) > 0 && call.Arguments[0] != '{' {
			problem(within+".arguments", "arguments are an object, with a value for each name")
		}
	}
}

// Stream plays the reply that is next in the conversation of the request. A request that
// the script has nothing for fails with an error that quotes its beginning and its end.
func (s *Script) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		reply, err := s.next(req.Messages)
		if err == nil {
			err = ctx.Err()
		} else {
			err = &llm.Error{Kind: llm.ErrBadRequest, Message: err.Error(), Provider: ScriptProvider, Model: req.Model}
		}
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		if deltas.Yield(yield, reply) {
			free := 0.0
			yield(llm.Delta{Done: &llm.Completion{Reply: reply, Model: ScriptModel, Provider: ScriptProvider, CostUSD: &free, Attempts: 1}}, nil)
		}
	}
}

// next finds the reply to a history.
func (s *Script) next(history []events.Message) (events.Reply, error) {
	for i := range s.Conversations {
		c := &s.Conversations[i]
		turn, fits := c.turn(history)
		switch {
		case !fits:
		case turn < len(c.Replies):
			return c.Replies[turn].reply(turn), nil
		default:
			return events.Reply{}, fmt.Errorf("conversation %d of the script has %d replies, and is asked for another one, behind %s", i+1, turn, last(history))
		}
	}
	if len(history) == 0 {
		return events.Reply{}, errors.New("the request has no messages")
	}
	return events.Reply{}, fmt.Errorf("the script has no conversation for a request that ends with %s and begins with %s", last(history), shown(history[0]))
}

// turn counts the replies in a history, and says whether the conversation is for it.
func (c *Conversation) turn(history []events.Message) (turn int, fits bool) {
	system, asked := c.System == "", c.Asked == ""
	for _, m := range history {
		switch m.Role {
		case events.RoleSystem:
			system = system || strings.Contains(m.Content, c.System)
		case events.RoleUser:
			asked = asked || strings.Contains(m.Content, c.Asked)
		case events.RoleAssistant:
			turn++
		}
	}
	return turn, system && asked
}

func (l *Line) reply(turn int) events.Reply {
	reply := events.Reply{Text: strings.TrimSpace(l.Text), FinishReason: events.FinishStop}
	for i, call := range l.Calls {
		arguments := string(call.Arguments)
		if arguments == "" {
			arguments = "{}"
		}
		id := events.CallID(fmt.Sprintf("call_%d_%d", turn+1, i+1))
		reply.ToolCalls = append(reply.ToolCalls, events.ToolCall{ID: id, Name: call.Tool, Arguments: arguments})
		reply.FinishReason = events.FinishToolCalls
	}
	return reply
}

// shownChars is how much of a message an error quotes.
const shownChars = 160

func last(history []events.Message) string { return shown(history[len(history)-1]) }

func shown(m events.Message) string {
	return fmt.Sprintf("%s %q", m.Role, chars.Clip(m.Content, shownChars))
}
