package thread

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/convene-run/convene/events"
)

// Conversation is the fold of one agent's talk with its model: all that comes
// after the opening messages, which are a function of the run's configuration.
// It only ever grows at its end, so that prompt caches hit.
type Conversation struct {
	actor    ActorID
	thread   *Thread
	messages []events.Message
	turns    int
	turn     *Turn
	// held are what people said while calls of the turn lacked results.
	held []events.Message
	// said counts what people said. fresh is what they said since the newest reply, missed
	// what they said shortly before it: its request may have been sent by then.
	said          int
	fresh, missed []events.Message
	empty         int
	nudges        map[string]nudge
	finish        events.FinishReason
	doors         map[string]events.API
	summary       string
	// heard is what the user said to a specialist that has the conversation, since it was heard
	// last: a summary does not take its place.
	heard []events.Message
	// earlier are the exchanges of earlier runs, until they are compacted.
	earlier []*exchange
	digest  Digest
}

// nudge counts the synthetic messages for one reason; the newest came after turn.
type nudge struct{ count, turn int }

// Messages are the messages behind the opening. Do not change them. While the
// newest turn lacks results they end before those.
func (c *Conversation) Messages() []events.Message {
	if !c.turn.complete() {
		return c.messages[:len(c.messages):len(c.messages)]
	}
	last := len(c.messages) - 1
	messages := append(c.messages[:last:last], c.turn.sent(c.messages[last]))
	return append(append(messages, c.turn.Results(nil)...), c.held...)
}

// Turns counts the finished model calls.
func (c *Conversation) Turns() int { return c.turns }

// NextTurn is the id of the next model call.
func (c *Conversation) NextTurn() events.ModelCallID { return c.turnID(c.turns + 1) }

// Turn is the turn whose calls lack results, nil if there is none. A turn that broke
// off is open until its rest is in the log or the conversation continues without it.
func (c *Conversation) Turn() *Turn { return c.turn }

// LastTurn is the id of the newest finished model call, "" before the first.
func (c *Conversation) LastTurn() events.ModelCallID {
	if c.turns == 0 {
		return ""
	}
	return c.turnID(c.turns)
}

func (c *Conversation) turnID(n int) events.ModelCallID {
	return events.ModelCallID(string(c.actor) + "." + strconv.Itoa(n))
}

// EmptyReplies counts the newest replies that said nothing: those in a row.
func (c *Conversation) EmptyReplies() int { return c.empty }

// LastFinish says why the model stopped in its newest reply.
func (c *Conversation) LastFinish() events.FinishReason { return c.finish }

// Nudges counts the synthetic messages that were given for the reason.
func (c *Conversation) Nudges(reason string) int { return c.nudges[reason].count }

// TurnsSince counts the model calls since the newest synthetic message for the
// reason.
func (c *Conversation) TurnsSince(reason string) int { return c.turns - c.nudges[reason].turn }

// Summary is what stands for the turns that were compacted away; "" for none.
func (c *Conversation) Summary() string { return c.summary }

// fewMessages is how many messages most specialists' conversations have at most.
const fewMessages = 8

func (c *Conversation) modelCalled(e events.ModelCalled) error {
	c.noteEndpoint(e)
	switch e.Purpose {
	case "":
	case events.PurposeRest:
		return c.rest(e)
	default:
		return nil
	}
	c.goOn()
	if want := c.NextTurn(); e.ID != want {
		return fmt.Errorf("model call %s where %s is next", e.ID, want)
	}
	c.missed, c.fresh = c.fresh, nil
	turn := &Turn{ID: e.ID, Called: true, Cut: e.Interrupted, Extra: e.Reply.Extra}
	if n := len(e.Reply.ToolCalls); n > 0 {
		turn.Calls = make([]Call, 0, n)
	}
	for i, tc := range e.Reply.ToolCalls {
		call := Call{ToolCall: tc, Index: i}
		if early := c.early(i); early != nil {
			call.Started, call.Done = early.Started, early.Done
			call.Result, call.Parts, call.Dispatch, call.Refused = early.Result, early.Parts, early.Dispatch, early.Refused
		}
		turn.Calls = append(turn.Calls, call)
		c.thread.callIDs[tc.ID] = struct{}{}
	}
	c.turns++
	c.finish = e.Reply.FinishReason
	if e.Reply.Empty() && e.Reply.FinishReason != events.FinishPaused {
		c.empty++
		c.endTurn()
		return nil
	}
	c.empty = 0
	if c.messages == nil {
		c.messages = make([]events.Message, 0, fewMessages)
	}
	c.messages = append(c.messages, e.Reply.Message())
	c.turn = turn
	c.settle()
	return nil
}

func (c *Conversation) early(index int) *Call {
	if c.turn == nil || c.turn.Called {
		return nil
	}
	return c.turn.Call(index)
}

func (c *Conversation) callStarted(tool string, ref events.CallRef) (*Call, error) {
	call, err := c.find(tool, ref)
	if err != nil {
		return nil, err
	}
	if call.Started || call.Done {
		return nil, fmt.Errorf("call %d of %s has started already", ref.Index, ref.ModelCall)
	}
	call.Started = true
	return call, nil
}

func (c *Conversation) callDone(done events.ToolCallDone) error {
	ref := done.CallRef
	call, err := c.find(done.Tool, ref)
	if err != nil {
		return err
	}
	if call.Done {
		return fmt.Errorf("call %d of %s has a result already", ref.Index, ref.ModelCall)
	}
	call.Done, call.Result, call.Parts = true, done.Result, done.Parts
	call.Refused = done.Failed && !call.Started
	c.settle()
	return nil
}

// started reports whether the call's start is in the log: it reaches outside.
func (c *Conversation) started(ref events.CallRef) bool {
	if c.turn == nil || c.turn.ID != ref.ModelCall {
		return false
	}
	call := c.turn.Call(ref.Index)
	return call != nil && call.Started
}

// find gives the call that ref means. A call of a turn that is not in the log yet
// has started early and opens the turn.
func (c *Conversation) find(tool string, ref events.CallRef) (*Call, error) {
	if c.turn == nil || c.turn.ID != ref.ModelCall {
		next := c.NextTurn()
		if ref.ModelCall == next {
			c.goOn()
		}
		if c.turn == nil && ref.ModelCall != next {
			return nil, fmt.Errorf("call of %s where %s is next", ref.ModelCall, next)
		}
	}
	if c.turn == nil {
		c.turn = &Turn{ID: ref.ModelCall}
	}
	if c.turn.ID != ref.ModelCall {
		return nil, fmt.Errorf("call of %s while %s is under way", ref.ModelCall, c.turn.ID)
	}
	if call := c.turn.Call(ref.Index); call != nil {
		return call, nil
	}
	if c.turn.Called {
		return nil, fmt.Errorf("model call %s has no call %d", ref.ModelCall, ref.Index)
	}
	if ref.Early != nil {
		c.turn.Early = *ref.Early
	}
	c.turn.Calls = append(c.turn.Calls, Call{
		Index:    ref.Index,
		ToolCall: events.ToolCall{ID: ref.CallID, Name: tool, Arguments: ref.Arguments, Extra: ref.Extra},
	})
	c.thread.callIDs[ref.CallID] = struct{}{}
	return &c.turn.Calls[len(c.turn.Calls)-1], nil
}

// settle moves the results of a finished turn into the history, in call order.
func (c *Conversation) settle() {
	if c.turn.complete() && !c.turn.LacksRest() {
		c.goOn()
	}
}

// goOn settles a turn whose calls all have results, with its rest or without.
func (c *Conversation) goOn() {
	if c.turn.complete() {
		c.goBehind()
	}
}

// goBehind is goOn for a turn that is complete: who looks whether it is needs little stack.
func (c *Conversation) goBehind() {
	last := len(c.messages) - 1
	c.messages[last] = c.turn.sent(c.messages[last])
	c.messages = append(c.messages, c.turn.Results(nil)...)
	c.endTurn()
}

// endTurn makes room for what was said meanwhile.
func (c *Conversation) endTurn() {
	c.messages = append(c.messages, c.held...)
	c.turn, c.held = nil, nil
}

func (c *Conversation) say(e events.UserMessage) error {
	message := events.Message{Role: events.RoleUser, Content: e.Content}
	if e.Synthetic {
		c.goOn()
	} else {
		c.said++
	}
	if c.turn != nil {
		if e.Synthetic {
			return fmt.Errorf("a message between the calls of %s and their results", c.turn.ID)
		}
		c.held = append(c.held, message)
		return nil
	}
	if e.Synthetic {
		if c.nudges == nil {
			c.nudges = map[string]nudge{}
		}
		c.nudges[e.Reason] = nudge{count: c.nudges[e.Reason].count + 1, turn: c.turns}
	} else {
		c.fresh = append(c.fresh, message)
	}
	c.messages = append(c.messages, message)
	return nil
}

// Said counts what people have said to the agent, its opening aside.
func (c *Conversation) Said() int { return c.said }

// Missed are the last n texts that people said before the newest reply and after the one
// before it.
func (c *Conversation) Missed(n int) []string {
	var texts []string
	for _, m := range c.missed[max(0, len(c.missed)-n):] {
		texts = append(texts, m.Content)
	}
	return texts
}

// unread is what people said that the agent may not have read.
func (c *Conversation) unread() []events.Message { return slices.Concat(c.missed, c.held, c.fresh) }

// Heard counts the messages that a summary of the history leaves: what the user said last to
// a specialist that has the conversation.
func (c *Conversation) Heard() int { return len(c.heard) }

// Digest is how far a history is summarized that takes several calls.
type Digest struct {
	// Steps counts those calls. Summary is what they made of the first Covered bytes of
	// the history's transcript.
	Steps   int
	Covered int
	Summary string
}

// Digest gives how far the summary of the history has come, the zero Digest where none
// was begun.
func (c *Conversation) Digest() Digest { return c.digest }

// compact puts a summary in the place of the messages so far, once it is of all of them.
func (c *Conversation) compact(e events.HistoryCompacted) error {
	c.goOn()
	if c.turn != nil {
		return fmt.Errorf("history compacted between the calls of %s and their results", c.turn.ID)
	}
	if e.CoveredBytes > 0 {
		c.digest = Digest{Steps: c.digest.Steps + 1, Covered: e.CoveredBytes, Summary: e.Summary}
		return nil
	}
	c.earlier, c.messages, c.summary, c.digest = nil, slices.Clone(c.heard), e.Summary, Digest{}
	return nil
}
