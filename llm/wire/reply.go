package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// held is what has come and the consumer has not got yet: text, reasoning, text in the
// arguments of one call, or a whole call. All text that one read brings is handed on at once, so
// that the layers between here and the consumer cost a read, not a token, and before the next
// read, so that nothing waits for what has not come. What is held when more comes is handed on
// with [llm.Delta.More].
type held struct {
	kind piece
	// text and reasoning are how much of each the consumer has.
	text, reasoning int
	index           int
	// call is a delta with a whole call.
	call llm.Delta
}

// piece is a kind of what streams.
type piece int

const (
	nothing piece = iota
	someText
	someReasoning
	someFragment
	someCall
)

// AddCall hands a whole call on. After the first failure of the consumer it gives that again.
func (s *Call) AddCall(index int, call *events.ToolCall, extra json.RawMessage) error {
	s.came()
	if err := s.follow(); err != nil {
		return err
	}
	s.held.kind, s.held.call = someCall, llm.Delta{Call: call, Index: index, Extra: extra}
	return nil
}

func (s *Call) came() {
	s.Content = true
	if s.first == 0 {
		s.first = time.Since(s.sent)
	}
}

func (s *Call) give(d llm.Delta) error {
	if s.emitErr == nil && !s.yield(d, nil) {
		s.emitErr = errStopped
	}
	return s.emitErr
}

// hold makes room for more of a kind.
func (s *Call) hold(kind piece) error {
	s.came()
	if s.held.kind != kind {
		if err := s.follow(); err != nil {
			return err
		}
		s.held.kind = kind
	}
	return s.emitErr
}

// handOn gives the consumer what is held, as the last before a wait.
func (s *Call) handOn() error { return s.giveHeld(false) }

// follow gives the consumer what is held, with more to follow.
func (s *Call) follow() error { return s.giveHeld(true) }

func (s *Call) giveHeld(more bool) error {
	h, d := &s.held, llm.Delta{}
	switch h.kind {
	case nothing:
		return s.emitErr
	case someText:
		d.Text, h.text = s.text.String()[h.text:], s.text.Len()
	case someReasoning:
		d.Reasoning, h.reasoning = s.reasoning.String()[h.reasoning:], s.reasoning.Len()
	case someFragment:
		d.Fragment, d.Index, s.fragment = string(s.fragment), h.index, s.fragment[:0]
	case someCall:
		d = h.call
	}
	h.kind, d.More = nothing, more
	return s.give(d)
}

// Err is the first failure of the consumer.
func (s *Call) Err() error { return s.emitErr }

// AddText hands new text on.
func (s *Call) AddText(text string) error {
	if text == "" {
		return nil
	}
	if err := s.hold(someText); err != nil {
		return err
	}
	s.text.WriteString(text)
	return s.Grow(len(text))
}

// AddReasoning hands new reasoning on.
func (s *Call) AddReasoning(text string) error {
	if text == "" {
		return nil
	}
	if err := s.hold(someReasoning); err != nil {
		return err
	}
	s.reasoning.WriteString(text)
	return s.Grow(len(text))
}

// AddFragment hands new text in a call's arguments on. Its failure is kept for
// [Call.Err].
func (s *Call) AddFragment(index int, text string) {
	if s.held.index != index {
		_ = s.follow() // kept in emitErr
	}
	if s.hold(someFragment) == nil {
		s.fragment, s.held.index = append(s.fragment, text...), index
	}
}

// Grow counts bytes of the reply and reports one that is over its bound.
func (s *Call) Grow(bytes int) error {
	s.size += bytes
	if s.size > s.conn.cfg.MaxReplyBytes {
		return s.tooLarge()
	}
	return nil
}

// Unthink takes the last bytes of the reasoning back: they turned out to be text.
func (s *Call) Unthink(last string) {
	_ = s.handOn() // kept in emitErr
	kept := strings.TrimSuffix(s.reasoning.String(), last)
	s.reasoning.Reset()
	s.reasoning.WriteString(kept)
	s.held.reasoning = len(kept)
}

// Rethink makes reasoning of all the text so far: that is what it turned out to be.
func (s *Call) Rethink() error {
	err := s.handOn()
	s.reasoning.WriteString(s.text.String())
	s.text.Reset()
	s.held.text, s.held.reasoning = 0, s.reasoning.Len()
	return err
}

// Counted notes the usage that the endpoint reports; the last one holds.
func (s *Call) Counted(u events.Usage) { s.usage, s.usageSeen = u, true }

// Served notes the service tier that the endpoint says it served the request in; the
// names of the ordinary one say nothing.
func (s *Call) Served(tier string) {
	switch tier {
	case "":
	case "default", "standard", "auto":
		s.tier = ""
	default:
		s.tier = strings.Clone(tier)
	}
}

// Charged notes what the endpoint says the request cost, in US dollars.
func (s *Call) Charged(costUSD float64) { s.charged = &costUSD }

// Named notes the model as the endpoint names it.
func (s *Call) Named(model string) {
	if model != "" && model != s.model {
		s.model = strings.Clone(model)
	}
}

// clip shortens a line for an error message.
func clip(line []byte) string {
	const most = 200
	if len(line) > most {
		return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(string(line[:most]), ""), len(line))
	}
	return strings.ToValidUTF8(string(line), "\uFFFD")
}

// TooManyCalls is the error of a reply with more calls than [MaxToolCalls].
func (s *Call) TooManyCalls() error {
	return s.Failure(llm.ErrReplyTooLarge, "more than %d tool calls in one reply (the bound of a reply)", MaxToolCalls)
}
