package wire

import (
	"bytes"
	"unsafe"

	"github.com/tidwall/gjson"
)

// pattern recognises a document that differs from the one before it in nothing but the text
// that both bring, and in values that mean nothing. Nearly all documents of a stream are of
// that kind: what is fixed in them is compared instead of parsed, so that a token costs a
// tenth. Such a document is valid JSON exactly if the one before was, and says the same but
// for the text.
type pattern struct {
	// doc is the document before, and holes are where others may differ, in its order.
	doc   []byte
	holes []hole
	// plain is the newest text without its escapes.
	plain []byte
}

// hole is what stands between two quotes, or a number.
type hole struct {
	from, to       int
	number, isText bool
}

// learn makes a pattern of a document, where the place of all values in it is known.
func (p *pattern) learn(doc []byte, text gjson.Result, idle ...gjson.Result) bool {
	p.doc, p.holes = append(p.doc[:0], doc...), p.holes[:0]
	if !p.cut(text, true) {
		return false
	}
	for _, value := range idle {
		if value.Exists() && !p.cut(value, false) {
			return false
		}
	}
	return true
}

// cut makes a hole of a value.
func (p *pattern) cut(value gjson.Result, isText bool) bool {
	h := hole{from: value.Index, to: value.Index + len(value.Raw), number: value.Type == gjson.Number, isText: isText}
	if h.from <= 0 || h.to > len(p.doc) || string(p.doc[h.from:h.to]) != value.Raw {
		return false
	}
	if value.Type == gjson.String {
		h.from, h.to = h.from+1, h.to-1
	}
	n, _ := h.length(p.doc[h.from:])
	if n != h.to-h.from {
		return false
	}
	at := len(p.holes)
	for at > 0 && p.holes[at-1].from > h.from {
		at--
	}
	p.holes = append(p.holes, hole{})
	copy(p.holes[at+1:], p.holes[at:])
	p.holes[at] = h
	return true
}

// match gives the text of a document that the pattern fits. It is valid until the next one,
// and shares the document's memory.
func (p *pattern) match(doc []byte) (text string, ok bool) {
	from := 0
	for _, h := range p.holes {
		fixed := p.doc[from:h.from]
		if !bytes.HasPrefix(doc, fixed) {
			return "", false
		}
		doc = doc[len(fixed):]
		n, escaped := h.length(doc)
		if n < 0 {
			return "", false
		}
		if h.isText {
			text = unsafe.String(unsafe.SliceData(doc), n)
			if escaped {
				text = p.unescape(text)
			}
		}
		doc, from = doc[n:], h.to
	}
	return text, bytes.Equal(doc, p.doc[from:])
}

// length gives how many of the bytes of rest fill the hole, -1 where they cannot, and whether
// there are escapes among them.
func (h hole) length(rest []byte) (n int, escaped bool) {
	if h.number {
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		if n == 0 || n > 1 && rest[0] == '0' {
			return -1, false
		}
		return n, false
	}
	for n < len(rest) {
		switch b := rest[n]; {
		case b == '"':
			return n, escaped
		case b < ' ':
			return -1, false
		case b != '\\':
			n++
			continue
		}
		size := escapeSize(rest[n:])
		if size == 0 {
			return -1, false
		}
		n, escaped = n+size, true
	}
	return -1, false
}

// escapeSize is the length of the escape that text begins with, 0 if it is none.
func escapeSize(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(text) < 6 {
			return 0
		}
		for _, b := range text[2:6] {
			if (b < '0' || b > '9') && (b|0x20 < 'a' || b|0x20 > 'f') {
				return 0
			}
		}
		return 6
	}
	return 0
}

// escapes are the escapes of one letter.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape gives the text of a valid string. Escapes by number are left to gjson, which
// decides elsewhere too what a half of a character is.
func (p *pattern) unescape(raw string) string {
	p.plain = p.plain[:0]
	for i := 0; i < len(raw); i++ {
		b := raw[i]
		if b == '\\' {
			i++
			if b = escapes[raw[i]]; b == 0 {
				return gjson.Parse(`"` + raw + `"`).Str
			}
		}
		p.plain = append(p.plain, b)
	}
	return unsafe.String(unsafe.SliceData(p.plain), len(p.plain))
}
