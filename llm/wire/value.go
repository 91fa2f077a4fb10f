package wire

import (
	"iter"

	"github.com/tidwall/gjson"
)

// Value is a value in a document that was parsed, or none. What gjson gives of it, it gives too,
// but each byte of the document was looked at once, however deep the value lies. It shares the
// document's memory and is valid until the next document is parsed.
type Value struct {
	doc *document
	n   int32 // its node
}

// Exists reports whether there is a value.
func (v Value) Exists() bool { return v.doc != nil }

// Raw is the value as it is written, "" where there is none.
func (v Value) Raw() string {
	if v.doc == nil {
		return ""
	}
	return v.doc.raw(v.n)
}

// at is where the value begins in the document.
func (v Value) at() int {
	if v.doc == nil {
		return 0
	}
	return int(v.doc.nodes[v.n].from)
}

// Place is where the value stands.
func (v Value) Place() Place { return Place{Raw: v.Raw(), At: v.at()} }

// Result gives the same value.
func (v Value) Result() gjson.Result {
	r := gjson.Parse(v.Raw())
	r.Index = v.at()
	return r
}

// IsObject reports whether it is an object.
func (v Value) IsObject() bool { return v.begins() == '{' }

// IsArray reports whether it is an array.
func (v Value) IsArray() bool { return v.begins() == '[' }

// IsString reports whether it is a string.
func (v Value) IsString() bool { return v.begins() == '"' }

// IsNumber reports whether it is a number.
func (v Value) IsNumber() bool {
	b := v.begins()
	return b == '-' || isDigit(b)
}

// IsNull reports whether it is null, or none.
func (v Value) IsNull() bool {
	b := v.begins()
	return b == 0 || b == 'n'
}

// begins gives the first byte, 0 where there is no value.
func (v Value) begins() byte {
	if v.doc == nil {
		return 0
	}
	return v.doc.text[v.doc.nodes[v.n].from]
}

// Text is what a string says, "" of anything else.
func (v Value) Text() string {
	if !v.IsString() {
		return ""
	}
	return v.doc.said(v.n)
}

// Int is the whole number that a value is, or is read as by gjson.
func (v Value) Int() int64 {
	const safe = 15 // digits that are exact in a float, too
	raw := v.Raw()
	if raw == "" || len(raw) > safe {
		return v.Result().Int()
	}
	var n int64
	for i := range len(raw) {
		if !isDigit(raw[i]) {
			return v.Result().Int()
		}
		n = n*10 + int64(raw[i]-'0')
	}
	return n
}

// Members are the keys and values of an object in their order; anything else has none.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if !v.IsObject() {
			return
		}
		nodes := v.doc.nodes
		for key := v.n + 1; key < nodes[v.n].next; key = nodes[key+1].next {
			if !yield(v.doc.said(key), Value{v.doc, key + 1}) {
				return
			}
		}
	}
}

// Items are the values of an array in their order; anything else has none.
func (v Value) Items() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if !v.IsArray() {
			return
		}
		nodes := v.doc.nodes
		for item := v.n + 1; item < nodes[v.n].next; item = nodes[item].next {
			if !yield(Value{v.doc, item}) {
				return
			}
		}
	}
}

// said gives what a string says.
func (d *document) said(n int32) string {
	raw := d.raw(n)
	if d.nodes[n].escaped {
		return gjson.Parse(raw).Str
	}
	return raw[1 : len(raw)-1]
}

// raw gives a value as it is written.
func (d *document) raw(n int32) string { return d.text[d.nodes[n].from:d.nodes[n].to] }

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
