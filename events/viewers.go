package events

import (
	"bytes"
)

// signs are what viewers get in place of values that are large and not for them: of
// what an endpoint wants back of a reply or a call, and of the bytes of an image. The
// bytes of a key are a key wherever they stand: inside a string the quotes would be
// escaped.
var signs = []struct{ key, sign []byte }{
	{[]byte(`"extra":`), []byte(`{"kept":true}`)},
	{[]byte(`"base64":`), []byte(`""`)},
}

// signed are the kinds of events in which the keys have that meaning.
var signed = [][]byte{
	[]byte(`"type":"` + KindModelCalled + `"`), []byte(`"type":"` + KindAgentStarted + `"`), []byte(`"type":"` + KindToolStarted + `"`),
	[]byte(`"type":"` + KindToolCall + `"`), []byte(`"type":"` + KindDispatchRefused + `"`),
}

// ForViewers gives an event in the form of [Encode] as viewers get it: with a sign, such as
// {"kept":true}, in place of what is large and not for them. The log itself, and its export
// as JSON lines, are whole.
func ForViewers(body []byte) []byte {
	for _, s := range signs {
		if bytes.Contains(body, s.key) && ofSignedKind(body) {
			body = withSign(body, s.key, s.sign)
		}
	}
	return body
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

// ofSignedKind looks at the type, which stands before the data.
func ofSignedKind(body []byte) bool {
	head, _, _ := bytes.Cut(body, []byte(`"data":`))
	for _, kind := range signed {
		if bytes.Contains(head, kind) {
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
