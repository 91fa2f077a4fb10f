package messages

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/wire"
)

// The kinds of blocks that we know; others are kept as they are.
const (
	kindText     = "text"
	kindThinking = "thinking"
	kindCall     = "tool_use"
)

// blockBytes is what a block counts beside its text, so that endless empty ones are
// bounded too.
const blockBytes = 128

// block is one block of a reply under way.
type block struct {
	index int64
	kind  string
	// raw is the block as it began, of a kind that is kept whole.
	raw []byte
	// at is the stretch of a text.
	at span
	// citations are those of a text, as they go back.
	citations []json.RawMessage
	// thinking and signature are of a thinking block.
	thinking, signature strings.Builder
	// args are the input of a call, or of a tool of the provider.
	args strings.Builder
	// call is the place of a call in the reply.
	call     int
	id, name string
	ended    bool
}

// begin takes the start of a block.
func (s *stream) begin(index int64, object gjson.Result) error {
	b := &block{index: index, kind: strings.Clone(object.Get("type").Str), call: -1}
	s.blocks = append(s.blocks, b)
	if err := s.Grow(blockBytes); err != nil {
		return err
	}
	switch b.kind {
	case kindText:
		b.at = span{s.length, s.length}
		for _, citation := range object.Get("citations").Array() {
			if err := s.cite(b, citation); err != nil {
				return err
			}
		}
		return s.write(b, object.Get("text").Str)
	case kindThinking:
		b.signature.WriteString(object.Get("signature").Str)
		return s.think(b, object.Get("thinking").Str)
	case kindCall:
		b.call, b.id, b.name = len(s.calls), strings.Clone(object.Get("id").Str), strings.Clone(object.Get("name").Str)
		s.calls = append(s.calls, b)
		s.Content = true
		if input := object.Get("input"); input.IsObject() && strings.Trim(input.Raw, "{} \n\t\r") != "" {
			return s.argue(b, input.Raw)
		}
		return nil
	}
	b.raw = []byte(object.Raw)
	s.Content = true
	return s.Grow(len(b.raw))
}

// block finds the block that an event is about: that of its index, else the newest.
func (s *stream) block(event gjson.Result) *block {
	for i := len(s.blocks) - 1; i >= 0; i-- {
		if s.blocks[i].index == event.Get("index").Int() {
			return s.blocks[i]
		}
	}
	return nil
}

// more takes a delta of a block.
func (s *stream) more(b *block, delta gjson.Result) error {
	if b == nil || b.ended {
		return nil
	}
	switch delta.Get("type").Str {
	case "text_delta":
		return s.add(b, delta.Get("text"), (*stream).write)
	case "thinking_delta":
		return s.add(b, delta.Get("thinking"), (*stream).think)
	case "signature_delta":
		b.signature.WriteString(delta.Get("signature").Str)
		return s.Grow(len(delta.Get("signature").Str))
	case "input_json_delta":
		return s.add(b, delta.Get("partial_json"), (*stream).argue)
	case "citations_delta":
		return s.cite(b, delta.Get("citation"))
	}
	return nil
}

// add adds text to a block.
func (s *stream) add(b *block, text gjson.Result, adds func(*stream, *block, string) error) error {
	s.adds, s.of = adds, b
	if text.Type == gjson.String {
		s.Repeats(wire.PlaceOf(text))
	}
	return adds(s, b, text.Str)
}

// Again adds text to the same block, as long as it has not ended: its end is an event of its own.
func (s *stream) Again(text string) error { return s.adds(s, s.of, text) }

func (s *stream) write(b *block, text string) error {
	if b.kind != kindText || text == "" {
		return nil
	}
	if b.at.From == b.at.To {
		b.at.From = s.length
	}
	s.length += len(text)
	b.at.To = s.length
	return s.AddText(text)
}

func (s *stream) think(b *block, text string) error {
	if b.kind != kindThinking {
		return nil
	}
	b.thinking.WriteString(text)
	return s.AddReasoning(text)
}

func (s *stream) argue(b *block, text string) error {
	if text == "" {
		return nil
	}
	b.args.WriteString(text)
	if err := s.Grow(len(text)); err != nil {
		return err
	}
	if b.call >= 0 {
		s.AddFragment(b.call, text)
	}
	return s.Err()
}

// end takes the end of a block: a call is whole with it.
func (s *stream) end(b *block) error {
	if b == nil || b.ended {
		return nil
	}
	b.ended = true
	if b.call < 0 {
		return nil
	}
	return s.announce()
}

// final gives a call as it is announced.
func (b *block) final(history []events.Message, announced []events.ToolCall) events.ToolCall {
	args := b.args.String()
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	return events.ToolCall{ID: wire.UniqueID(b.id, history, announced), Name: b.name, Arguments: args}
}

// kept gives the block as it goes back, nil for one that cannot: thinking without its
// signature is refused.
func (b *block) kept() json.RawMessage {
	switch b.kind {
	case kindThinking:
		if b.signature.Len() == 0 {
			return nil
		}
		out := wire.AppendString([]byte(`{"type":"thinking","thinking":`), b.thinking.String())
		out = wire.AppendString(append(out, `,"signature":`...), b.signature.String())
		return append(out, '}')
	case kindText, kindCall:
		return nil
	}
	if !b.ended {
		return nil
	}
	if input := b.args.String(); gjson.Valid(input) && b.args.Len() > 0 {
		return withInput(b.raw, input)
	}
	return b.raw
}

// withInput gives the block of a provider's tool with the input that streamed.
func withInput(raw []byte, input string) json.RawMessage {
	out := []byte{'{'}
	gjson.ParseBytes(raw).ForEach(func(key, value gjson.Result) bool {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, key.Raw...), ':')
		if key.Str == "input" {
			out = append(out, input...)
		} else {
			out = append(out, value.Raw...)
		}
		return true
	})
	return append(out, '}')
}
