package responses

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
)

// part is one item of a reply as it is kept: a reasoning item whole, without its id;
// of a message the place of its text, of a call its place in the reply, so that no text
// is in the log twice.
type part struct {
	Item  json.RawMessage `json:"item,omitempty"`
	Text  *span           `json:"text,omitempty"`
	Phase string          `json:"phase,omitempty"`
	Call  *int            `json:"call,omitempty"`
}

// span is a stretch of the reply's text, in bytes.
type span struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// of gives the stretch of a text, as much of it as there is.
func (s span) of(text string) string {
	to := min(s.To, len(text))
	return text[min(max(s.From, 0), max(to, 0)):max(to, 0)]
}

// keepItem gives the form in which a reasoning item goes back, nil where it says
// nothing to its model: the encrypted content works without the item's id, and an id
// without it names what is stored nowhere.
func keepItem(item gjson.Result) json.RawMessage {
	encrypted := item.Get("encrypted_content")
	if encrypted.Str == "" && item.Get("content.0.text").Str == "" {
		return nil
	}
	out := []byte{'{'}
	item.ForEach(func(key, value gjson.Result) bool {
		switch {
		case key.Str == "id", key.Str == "status", key.Str == "encrypted_content" && encrypted.Str == "",
			key.Str == "content" && value.Raw == "[]":
			return true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key.Raw...), ':'), value.Raw...)
		return true
	})
	if !item.Get("summary").Exists() {
		out = append(out, `,"summary":[]`...)
	}
	return append(out, '}')
}

// readParts reads what was kept, nil for what cannot be read.
func readParts(raw json.RawMessage) []part {
	var parts []part
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	return parts
}

// plain reports whether the parts say no more than the reply itself: one message,
// then its calls.
func plain(parts []part) bool {
	texts := 0
	for i, p := range parts {
		switch {
		case p.Item != nil, p.Phase != "":
			return false
		case p.Text != nil:
			if texts++; texts > 1 || i > 0 {
				return false
			}
		}
	}
	return true
}

// left gives the calls of a message that its parts do not name, such as those of a
// turn that was cut.
func left(parts []part, calls []events.ToolCall) []int {
	named := make([]bool, len(calls))
	for _, p := range parts {
		if p.Call != nil && *p.Call >= 0 && *p.Call < len(calls) {
			named[*p.Call] = true
		}
	}
	var rest []int
	for i := range calls {
		if !named[i] {
			rest = append(rest, i)
		}
	}
	return rest
}
