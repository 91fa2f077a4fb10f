package openai

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/llm/wire"
)

// field is one member of a JSON object, its value as sent.
type field struct {
	key string
	raw []byte
}

// extraFields collects the fields that we do not know and that must go back
// unchanged, over all chunks of a reply (WIRE 13).
type extraFields struct {
	fields  []field
	details []*detail
}

// maxExtraFields bounds the fields kept of a message or call; none has more than a
// handful.
const maxExtraFields = 32

// add takes a field: arrays grow from chunk to chunk, of anything else the last
// value counts.
func (e *extraFields) add(key string, raw []byte) {
	if key == reasoningDetails {
		e.addDetails(raw)
		return
	}
	for i := range e.fields {
		if old := &e.fields[i]; old.key == key {
			old.raw = joinArrays(old.raw, raw)
			return
		}
	}
	if len(e.fields) < maxExtraFields {
		e.fields = append(e.fields, field{key, bytes.Clone(raw)})
	}
}

// joinArrays gives the array old with the items of more behind its own, in the
// memory of old; what is no array replaces it.
func joinArrays(old, more []byte) []byte {
	if old[0] != '[' || more[0] != '[' {
		return bytes.Clone(more)
	}
	items := bytes.TrimSpace(more[1 : len(more)-1])
	if len(items) == 0 {
		return old
	}
	joined := append(old[:len(old)-1], ',')
	return append(append(joined, items...), ']')
}

// object gives all fields as one JSON object, nil if there are none.
func (e *extraFields) object() json.RawMessage {
	if len(e.fields) == 0 && len(e.details) == 0 {
		return nil
	}
	out := []byte{'{'}
	for _, f := range e.fields {
		out = appendMember(out, f.key)
		out = append(out, f.raw...)
	}
	if len(e.details) > 0 {
		out = append(appendMember(out, reasoningDetails), '[')
		for i, d := range e.details {
			if i > 0 {
				out = append(out, ',')
			}
			out = d.append(out)
		}
		out = append(out, ']')
	}
	return append(out, '}')
}

// appendMember opens the next member of an object under construction.
func appendMember(out []byte, key string) []byte {
	if out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	return append(wire.AppendString(out, key), ':')
}

// reasoningDetails is the field of OpenRouter whose blocks must come back in the
// order and the wholeness in which the model wrote them.
// https://openrouter.ai/docs/use-cases/reasoning-tokens
const reasoningDetails = "reasoning_details"

// detail is one reasoning block; the pieces of a text block are joined, so that
// the log does not hold an object for each word.
type detail struct {
	kind, index string
	textKey     string
	text        []byte
	fields      []field
}

func (e *extraFields) addDetails(raw []byte) {
	gjson.ParseBytes(raw).ForEach(func(_, item gjson.Result) bool {
		next := newDetail(item)
		if n := len(e.details); n > 0 && e.details[n-1].join(next) {
			return true
		}
		e.details = append(e.details, next)
		return true
	})
}

func newDetail(item gjson.Result) *detail {
	d := &detail{kind: item.Get("type").Str, index: item.Get("index").Raw}
	switch d.kind {
	case "reasoning.text":
		d.textKey = "text"
	case "reasoning.summary":
		d.textKey = "summary"
	}
	if !item.IsObject() {
		d.fields = []field{{raw: []byte(item.Raw)}}
		return d
	}
	item.ForEach(func(key, value gjson.Result) bool {
		if key.Str == d.textKey && value.Type == gjson.String {
			d.text = []byte(value.Str)
			return true
		}
		d.fields = append(d.fields, field{key.Str, []byte(value.Raw)})
		return true
	})
	return d
}

// join adds a following piece of the same text block.
func (d *detail) join(next *detail) bool {
	if d.textKey == "" || d.kind != next.kind || d.index != next.index {
		return false
	}
	d.text = append(d.text, next.text...)
	for _, f := range next.fields {
		if string(f.raw) != "null" {
			d.set(f)
		}
	}
	return true
}

func (d *detail) set(f field) {
	for i := range d.fields {
		if d.fields[i].key == f.key {
			d.fields[i].raw = f.raw
			return
		}
	}
	d.fields = append(d.fields, f)
}

func (d *detail) append(out []byte) []byte {
	if len(d.fields) == 1 && d.fields[0].key == "" {
		return append(out, d.fields[0].raw...)
	}
	out = append(out, '{')
	for _, f := range d.fields {
		out = append(appendMember(out, f.key), f.raw...)
	}
	if d.textKey != "" {
		out = wire.AppendString(appendMember(out, d.textKey), string(d.text))
	}
	return append(out, '}')
}
