package messages

import (
	"encoding/json"
)

// part is one block of a reply as it is kept: thinking, and blocks that we do not know,
// whole; of text its place in the reply's, of a call its place among them, so that no
// text is in the log twice.
type part struct {
	Block json.RawMessage `json:"block,omitempty"`
	Text  *span           `json:"text,omitempty"`
	Call  *int            `json:"call,omitempty"`
	// Citations are those of the text, which the provider wants back with it.
	Citations []json.RawMessage `json:"citations,omitempty"`
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

// readParts reads what was kept, nil for what cannot be read.
func readParts(raw json.RawMessage) []part {
	var parts []part
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	return parts
}

// plain reports whether the parts say no more than the reply itself: text, then calls.
func plain(parts []part) bool {
	for _, p := range parts {
		if p.Block != nil || p.Citations != nil {
			return false
		}
	}
	return true
}
