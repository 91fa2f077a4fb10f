package wire

import (
	"fmt"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// Emit hands a delta to the consumer. After the first failure it gives that again.
func (s *Call) Emit(d llm.Delta) error {
	if s.emitErr != nil {
		return s.emitErr
	}
	s.Content = true
	if s.first == 0 {
		s.first = time.Since(s.sent)
	}
	if !s.yield(d, nil) {
		s.emitErr = errStopped
	}
	return s.emitErr
}

// Err is the first failure of Emit.
func (s *Call) Err() error { return s.emitErr }

// AddText hands new text on.
func (s *Call) AddText(text string) error {
	if text == "" {
		return nil
	}
	s.text.WriteString(text)
	if err := s.Grow(len(text)); err != nil {
		return err
	}
	return s.Emit(llm.Delta{Text: strings.Clone(text)})
}

// AddReasoning hands new reasoning on.
func (s *Call) AddReasoning(text string) error {
	if text == "" {
		return nil
	}
	s.reasoning.WriteString(text)
	if err := s.Grow(len(text)); err != nil {
		return err
	}
	return s.Emit(llm.Delta{Reasoning: strings.Clone(text)})
}

// AddFragment hands new text in a call's arguments on. Its failure is kept for
// [Call.Err].
func (s *Call) AddFragment(index int, text string) {
	_ = s.Emit(llm.Delta{Fragment: strings.Clone(text), Index: index}) // kept in emitErr
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
	kept := strings.TrimSuffix(s.reasoning.String(), last)
	s.reasoning.Reset()
	s.reasoning.WriteString(kept)
}

// Rethink makes reasoning of all the text so far: that is what it turned out to be.
func (s *Call) Rethink() error {
	s.reasoning.WriteString(s.text.String())
	s.text.Reset()
	return nil
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
