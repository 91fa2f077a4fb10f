package openai

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/wire"
)

// kept is what goes back with a message or a call: fields that the endpoint is known
// to want, and the field that its reasoning came in, whose text is the message's.
type kept struct {
	ReasoningField string          `json:"reasoning_field,omitempty"`
	Fields         json.RawMessage `json:"fields,omitempty"`
}

// echoed are the fields that some endpoint wants back: thought signatures of Gemini
// (also through LiteLLM and Copilot), signed or encrypted thinking. Others are no
// endpoint's wish, and strict ones refuse them.
var echoed = map[string]bool{
	reasoningDetails: true, "extra_content": true, "thought_signature": true, "thinking_blocks": true, "provider_specific_fields": true,
	"reasoning_opaque": true, "encrypted_content": true, "reasoning_signature": true, "signature": true,
}

// keepReply gives what goes back with the reply, tagged with whose it is.
func (s *stream) keepReply() json.RawMessage {
	k := kept{Fields: s.extra.object()}
	if len(s.extra.details) == 0 { // those hold the same reasoning, signed
		k.ReasoningField = s.reasoningField
	}
	return s.tagged(k)
}

// keepCall gives what goes back with a call.
func (s *stream) keepCall(fields json.RawMessage) json.RawMessage {
	return s.tagged(kept{Fields: fields})
}

func (s *stream) tagged(k kept) json.RawMessage {
	if k.ReasoningField == "" && k.Fields == nil || s.client.cfg.PublishedOnly {
		return nil
	}
	raw, err := json.Marshal(k)
	if err != nil {
		return nil // its fields are valid JSON
	}
	return s.tag.With(raw)
}

// returned gives what a message or call carries for this endpoint. Logs of before have
// the fields alone.
func (w *messageWriter) returned(extra json.RawMessage) (k kept, foreign bool) {
	if len(extra) == 0 || w.cfg.PublishedOnly {
		return kept{}, false
	}
	parts, tagged := w.tag.Of(extra)
	switch {
	case !tagged:
		return kept{Fields: extra}, false
	case parts == nil:
		return kept{}, true
	}
	return readKept(parts), false
}

// readKept reads what was kept, nothing where it is not as [stream.tagged] wrote it.
func readKept(parts json.RawMessage) (k kept) {
	if json.Unmarshal(parts, &k) != nil {
		return kept{}
	}
	return k
}

// reasoning writes the reasoning of a message in the field that the endpoint wants it
// in: the one it came in, present even when empty. What another model thought is not
// for this one.
func (w *messageWriter) reasoning(m *events.Message, k kept, foreign bool) (field string) {
	field = k.ReasoningField
	if w.cfg.ReasoningField != "" {
		field = w.cfg.ReasoningField
	}
	if field == "" || w.cfg.PublishedOnly || gjson.GetBytes(k.Fields, reasoningDetails).Exists() && w.cfg.ReasoningField == "" {
		return field
	}
	w.member(field)
	if foreign {
		w.dst = append(w.dst, `""`...)
	} else {
		w.dst = wire.AppendString(w.dst, m.Reasoning)
	}
	return field
}
