package messages

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/wire"
)

// stream is the reply of one call under way. It lives on the goroutine of its
// consumer.
type stream struct {
	wire.Call
	client *Client
	kept   llm.Kept
	// leftOut are the fields that the model is known to refuse.
	leftOut wire.Fields

	blocks []*block
	// calls are the blocks that are calls; announced those already handed on, always the
	// first of them.
	calls     []*block
	announced []events.ToolCall
	// length is how much text there is, in bytes.
	length int
	cited  []events.CitedPage
	counts counts
	finish events.FinishReason
	over   bool

	// adds takes the text of the newest delta, and of those that repeat it, for the block of.
	adds func(s *stream, of *block, text string) error
	of   *block
}

var _ wire.Protocol = (*stream)(nil)

// Encode writes the request.
func (s *stream) Encode(dst []byte) []byte {
	w := writer{dst: dst, req: s.Request(), kept: s.kept, tier: s.client.Tier(s.Request().Tier), refused: s.leftOut}
	w.request()
	return w.dst
}

// State says how far the reply has come: it is whole once it says why it stopped.
func (s *stream) State() wire.State {
	switch {
	case s.over:
		return wire.StateOver
	case s.finish != "":
		return wire.StateFinished
	}
	return wire.StateOpen
}

// Refused looks at an answer that is no 200.
func (s *stream) Refused(e *llm.Error, param string) error {
	if wire.NothingThere(e) {
		e.Instead = events.APIChat
		return e
	}
	if refusedBack(e) {
		return wire.RefusedKept(e)
	}
	return s.client.refusals.Look(s.Request(), e, param)
}

// Document takes one event of the stream, or a whole message.
func (s *stream) Document(document wire.Value) error {
	root := document.Result()
	switch root.Get("type").Str {
	case "message_start":
		message := root.Get("message")
		s.Named(message.Get("model").Str)
		s.count(message.Get("usage"))
	case "content_block_start":
		return s.begin(root.Get("index").Int(), root.Get("content_block"))
	case "content_block_delta":
		return s.more(s.block(root), root.Get("delta"))
	case "content_block_stop":
		return s.end(s.block(root))
	case "message_delta":
		s.count(root.Get("usage"))
		return s.stopped(root.Get("delta"))
	case "message_stop":
		s.over = true
	case "message":
		return s.whole(root)
	case "error":
		return s.ErrorIn(root)
	case "":
		if failure := root.Get("error"); failure.Exists() && failure.Type != gjson.Null {
			return s.ErrorIn(root)
		}
	}
	return nil // pings, and what is new
}

// whole takes the answer of an endpoint that did not stream.
func (s *stream) whole(message gjson.Result) error {
	s.Named(message.Get("model").Str)
	s.count(message.Get("usage"))
	for i, object := range message.Get("content").Array() {
		if err := s.begin(int64(i), object); err != nil {
			return err
		}
		if err := s.end(s.blocks[len(s.blocks)-1]); err != nil {
			return err
		}
	}
	s.over = true
	return s.stopped(message)
}

func (s *stream) count(usage gjson.Result) {
	s.Served(usage.Get("service_tier").Str)
	s.counts.take(usage)
	if u, ok := s.counts.usage(); ok {
		s.Counted(u)
	}
}

// stopped takes why the reply ended.
// https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
func (s *stream) stopped(delta gjson.Result) error {
	switch reason := delta.Get("stop_reason").Str; reason {
	case "":
	case "end_turn", "stop_sequence":
		s.finish = events.FinishStop
	case "tool_use":
		s.finish = events.FinishToolCalls
	case "max_tokens", "model_context_window_exceeded":
		s.finish = events.FinishLength
	case "pause_turn":
		s.finish = events.FinishPaused
	case "refusal":
		return s.refusal(delta.Get("stop_details"))
	default:
		s.finish = events.FinishReason([]byte(reason))
	}
	return nil
}

// refusal is the error of a reply that the model or its provider will not give. What
// there is of its text is not to be used.
func (s *stream) refusal(details gjson.Result) error {
	text := details.Get("explanation").Str
	if text == "" {
		text = "the model refused to answer"
	}
	if category := details.Get("category").Str; category != "" {
		text += " (category: " + category + ")"
	}
	return s.Failure(llm.ErrRefused, "%s", text)
}

// announce hands on the calls that are whole, in their order.
func (s *stream) announce() error {
	for len(s.announced) < len(s.calls) {
		if len(s.announced) == wire.MaxToolCalls {
			return s.TooManyCalls()
		}
		b := s.calls[len(s.announced)]
		if !b.ended {
			return nil
		}
		call := b.final(s.Request().Messages, s.announced)
		s.announced = append(s.announced, call)
		if err := s.AddCall(b.call, &call, s.keep()); err != nil {
			return err
		}
	}
	return nil
}

// keep gives what goes back with the reply as it is now.
func (s *stream) keep() json.RawMessage {
	var parts []part
	for _, b := range s.blocks {
		switch kept := b.kept(); {
		case kept != nil:
			parts = append(parts, part{Block: kept})
		case b.kind == kindText && b.at.To > b.at.From:
			at := b.at
			parts = append(parts, part{Text: &at, Citations: b.citations})
		case b.call >= 0 && b.call < len(s.announced):
			index := b.call
			parts = append(parts, part{Call: &index})
		}
	}
	if plain(parts) {
		return nil
	}
	raw, err := json.Marshal(parts)
	if err != nil {
		return nil // blocks are valid JSON
	}
	return s.kept.With(raw)
}

// Reply gives the whole reply. A call that the end of the output cut off is as whole
// as it will be.
func (s *stream) Reply() (events.Reply, error) {
	for _, b := range s.blocks {
		b.ended = true
	}
	if err := s.announce(); err != nil {
		return events.Reply{}, err
	}
	return events.Reply{ToolCalls: s.announced, Extra: s.keep(), FinishReason: s.finish, Searches: s.searches(), Cited: s.cited}, nil
}
