package wire

import (
	"iter"
	"strings"

	"github.com/tidwall/gjson"
)

// Value is a value in a JSON document that is valid ([ValidJSON]), or none. What gjson gives
// of it, it gives too, but it reads no more than it is asked for, and needs little of the
// stack: each reader of a stream has one, and a run has several readers. It shares the
// document's memory.
type Value struct {
	// Raw is the value as it is written, "" where there is none.
	Raw string
	// at is where it begins in the document.
	at int
}

// ValueOf gives the same value.
func ValueOf(v gjson.Result) Value { return Value{Raw: v.Raw, at: v.Index} }

// Result gives the same value.
func (v Value) Result() gjson.Result {
	r := gjson.Parse(v.Raw)
	r.Index = v.at
	return r
}

// Exists reports whether there is a value.
func (v Value) Exists() bool { return v.Raw != "" }

// IsObject reports whether it is an object.
func (v Value) IsObject() bool { return v.begins('{') }

// IsArray reports whether it is an array.
func (v Value) IsArray() bool { return v.begins('[') }

// IsString reports whether it is a string.
func (v Value) IsString() bool { return v.begins('"') }

// IsNumber reports whether it is a number.
func (v Value) IsNumber() bool {
	return v.begins('-') || v.Raw != "" && v.Raw[0] >= '0' && v.Raw[0] <= '9'
}

// IsNull reports whether it is null, or none.
func (v Value) IsNull() bool { return v.Raw == "" || v.begins('n') }

func (v Value) begins(with byte) bool { return v.Raw != "" && v.Raw[0] == with }

// Text is what a string says, "" of anything else.
func (v Value) Text() string {
	if !v.IsString() {
		return ""
	}
	if text := v.Raw[1 : len(v.Raw)-1]; strings.IndexByte(text, '\\') < 0 {
		return text
	}
	return gjson.Parse(v.Raw).Str
}

// Int is the whole number that a value is, or is read as by gjson.
func (v Value) Int() int64 {
	const safe = 15 // digits that are exact in a float, too
	if v.Raw == "" || len(v.Raw) > safe {
		return v.Result().Int()
	}
	var n int64
	for _, b := range []byte(v.Raw) {
		if b < '0' || b > '9' {
			return v.Result().Int()
		}
		n = n*10 + int64(b-'0')
	}
	return n
}

// Members are the keys and values of an object in their order; anything else has none.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if !v.IsObject() {
			return
		}
		for i := v.space(1); i < len(v.Raw) && v.Raw[i] == '"'; i = v.next(i) {
			from := i
			i = v.skip(i)
			key := v.Raw[from:i]
			from = v.space(v.space(i) + 1) // behind the colon
			i = v.skip(from)
			if !yield(Value{Raw: key}.Text(), Value{Raw: v.Raw[from:i], at: v.at + from}) {
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
		for i := v.space(1); i < len(v.Raw) && v.Raw[i] != ']'; i = v.next(i) {
			from := i
			i = v.skip(i)
			if !yield(Value{Raw: v.Raw[from:i], at: v.at + from}) {
				return
			}
		}
	}
}

// next gives where the next key or item begins behind what ends at i, or where the value ends.
func (v Value) next(i int) int {
	if i = v.space(i); i < len(v.Raw) && v.Raw[i] == ',' {
		i = v.space(i + 1)
	}
	return i
}

// space gives where the white space at i ends.
func (v Value) space(i int) int {
	for i < len(v.Raw) && v.Raw[i] <= ' ' {
		i++
	}
	return i
}

// skip gives where the value that begins at i ends.
func (v Value) skip(i int) int {
	for depth := 0; i < len(v.Raw); {
		switch v.Raw[i] {
		case '"':
			i = v.skipString(i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
			continue
		default:
			i = v.skipWord(i)
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// skipString gives where the string that begins at i ends.
func (v Value) skipString(i int) int {
	for i++; ; {
		n := strings.IndexByte(v.Raw[i:], '"')
		if n < 0 {
			return len(v.Raw)
		}
		i += n + 1
		escapes := i - 1
		for v.Raw[escapes-1] == '\\' {
			escapes--
		}
		if (i-1-escapes)%2 == 0 {
			return i
		}
	}
}

// skipWord gives where a number, true, false or null that begins at i ends.
func (v Value) skipWord(i int) int {
	for i < len(v.Raw) && v.Raw[i] > ' ' && v.Raw[i] != ',' && v.Raw[i] != '}' && v.Raw[i] != ']' {
		i++
	}
	return i
}
