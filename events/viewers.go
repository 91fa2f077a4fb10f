package events

import (
	"bytes"
	"slices"
)

// These are what viewers get in place of values that are large and not for them: of
// what an endpoint wants back of a reply or a call, of the bytes of an image, and of what a
// placeholder stands for. The bytes of a key are a key wherever they stand: inside a string the
// quotes would be escaped.
var (
	kept      = sign{[]byte(`"extra":`), []byte(`{"kept":true}`), replies}
	pixels    = sign{[]byte(`"base64":`), []byte(`""`), replies}
	originals = sign{[]byte(`"original":`), []byte(`""`), []Kind{KindValuesReplaced}}
)

type sign struct {
	key, sign []byte
	// kinds are those of events in which the key has that meaning.
	kinds []Kind
}

// replies are the kinds of events that hold replies of models and results of tools.
var replies = []Kind{KindModelCalled, KindAgentStarted, KindToolStarted, KindToolCall, KindDispatchRefused}

// ForViewers gives an event in the form of [Encode] as viewers get it: with a sign, such as
// {"kept":true}, in place of what is large and not for them. The log itself is whole.
//
// Who caused the event, and from where, is left out: that is for who may read the audit.
func ForViewers(body []byte) []byte { return originals.in(ForRestoring(body)) }

// ForRestoring is [ForViewers] for whoever may read what placeholders stand for.
func ForRestoring(body []byte) []byte { return pixels.in(kept.in(WithoutActor(body))) }

// WithoutValues gives an event without what placeholders stand for, and with all else.
func WithoutValues(body []byte) []byte { return originals.in(body) }

// in puts the sign in place of each value that it is for.
func (s sign) in(body []byte) []byte {
	if bytes.Contains(body, s.key) && ofKind(body, s.kinds) {
		return withSign(body, s.key, s.sign)
	}
	return body
}

// WithoutActor gives an event in the form of [Encode] without [Envelope.By]. The bytes of its key are that key before the data, and
// nowhere else.
func WithoutActor(body []byte) []byte {
	head, _, _ := bytes.Cut(body, []byte(`"data":`))
	at := bytes.Index(head, []byte(byMember))
	if at < 0 {
		return body
	}
	behind := body[at+len(byMember):]
	return slices.Concat(body[:at], behind[valueLength(behind):])
}

// withSign puts a sign in place of each value of the key.
func withSign(body, key, sign []byte) []byte {
	out := make([]byte, 0, len(body))
	for {
		at := bytes.Index(body, key)
		if at < 0 {
			return append(out, body...)
		}
		at += len(key)
		out = append(append(out, body[:at]...), sign...)
		body = body[at+valueLength(body[at:]):]
	}
}

// ofKind looks at the type, which stands before the data.
func ofKind(body []byte, kinds []Kind) bool {
	head, _, _ := bytes.Cut(body, []byte(`"data":`))
	for _, kind := range kinds {
		if bytes.Contains(head, []byte(`"type":"`+kind+`"`)) {
			return true
		}
	}
	return false
}

// valueLength is how long the JSON value is that begins the text.
func valueLength(text []byte) int {
	depth, inString, escape := 0, false, false
	for i, b := range text {
		switch {
		case escape:
			escape = false
		case inString:
			escape = b == '\\'
			inString = b != '"'
		case b == '"':
			inString = true
		case b == '{' || b == '[':
			depth++
		case b == '}' || b == ']':
			if depth == 0 {
				return i // a bare value ended before
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case b == ',' && depth == 0:
			return i
		}
	}
	return len(text)
}
