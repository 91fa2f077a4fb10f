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

// Place is a value of a document, and where it begins.
type Place struct {
	Raw string
	At  int
}

// PlaceOf is that of a value that was found in the document as a whole.
func PlaceOf(v gjson.Result) Place { return Place{Raw: v.Raw, At: v.Index} }

// learn makes a pattern of a document, where the place of all values in it is known.
func (p *pattern) learn(doc []byte, text Place, idle ...Place) bool {
	p.doc, p.holes = append(p.doc[:0], doc...), p.holes[:0]
	if !p.cut(text, true) {
		return false
	}
	for _, value := range idle {
		if value.Raw != "" && !p.cut(value, false) {
			return false
		}
	}
	return true
}

// cut makes a hole of a value.
func (p *pattern) cut(value Place, isText bool) bool {
	h := hole{from: value.At, to: value.At + len(value.Raw), isText: isText}
	if h.from <= 0 || h.to > len(p.doc) || string(p.doc[h.from:h.to]) != value.Raw {
		return false
	}
	switch first := value.Raw[0]; {
	case first == '"':
		h.from, h.to = h.from+1, h.to-1
	default:
		h.number = first == '-' || isDigit(first)
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
	if !h.number {
		return stringLength(rest)
	}
	for n < len(rest) && isDigit(rest[n]) {
		n++
	}
	if n == 0 || n > 1 && rest[0] == '0' {
		return -1, false
	}
	return n, false
}

// stringLength gives how many bytes there are before the quote that ends a string, -1 where
// none does or JSON allows no such string, and whether there are escapes among them.
func stringLength[T string | []byte](text T) (n int, escaped bool) {
	for n < len(text) {
		switch b := text[n]; {
		case b == '"':
			return n, escaped
		case b < ' ':
			return -1, false
		case b != '\\':
			n++
			continue
		}
		size := escapeSize(text[n:])
		if size == 0 {
			return -1, false
		}
		n, escaped = n+size, true
	}
	return -1, false
}

// escapeSize is the length of the escape that text begins with, 0 if it is none.
func escapeSize[T string | []byte](text T) int {
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
		for i := 2; i < 6; i++ {
			if b := text[i]; (b < '0' || b > '9') && (b|0x20 < 'a' || b|0x20 > 'f') {
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
