package plainjson

import (
	"encoding/json"
	"reflect"
)

// read reads a value of the type.
func (p *plan) read(r *Reader, into reflect.Value) bool {
	if p == nil {
		return false
	}
	switch p.kind {
	case reflect.String:
		text, ok := r.unescaped()
		into.SetString(text)
		return ok
	case reflect.Bool:
		value, ok := r.Bool()
		into.SetBool(value)
		return ok
	case reflect.Int, reflect.Int64:
		n, ok := r.Integer()
		into.SetInt(n)
		return ok && into.Int() == n
	case reflect.Interface:
		value, ok := r.any()
		if ok {
			into.Set(reflect.ValueOf(value))
		}
		return ok
	case reflect.Slice:
		return p.readList(r, into)
	case reflect.Map:
		return readMap(r, into.Addr().Interface().(*map[string]any))
	}
	return p.readStruct(r, into)
}

// unescaped reads a string and gives what it says.
func (r *Reader) unescaped() (text string, ok bool) {
	before := *r
	text, escaped, ok := r.Text()
	if !escaped || !ok {
		return text, ok
	}
	before.space()
	quoted := before.rest[:len(text)+len(`""`)]
	return text, json.Unmarshal([]byte(quoted), &text) == nil
}

// any reads a text, a whole number or a bool, as encoding/json gives them without a type.
func (r *Reader) any() (value any, ok bool) {
	r.space()
	if r.rest == "" {
		return nil, false
	}
	switch c := r.rest[0]; {
	case c == '"':
		return r.unescaped()
	case c == 't' || c == 'f':
		return r.Bool()
	}
	n, ok := r.Integer()
	return float64(n), ok
}

// fewMembers is for how many members a list has room at first: most that models write are short.
const fewMembers = 4

func (p *plan) readList(r *Reader, into reflect.Value) bool {
	more, ok := r.Open('[', ']')
	n := 0
	if more {
		n = fewMembers
	}
	into.Set(reflect.MakeSlice(into.Type(), 0, n))
	for n = 0; more; more, ok = r.More(']') {
		into.Grow(1)
		into.SetLen(n + 1)
		if !p.member.read(r, into.Index(n)) {
			return false
		}
		n++
	}
	return ok
}

func readMap(r *Reader, into *map[string]any) bool {
	more, ok := r.Open('{', '}')
	if *into == nil {
		*into = map[string]any{}
	}
	for ; more; more, ok = r.More('}') {
		name, known := r.Name()
		value, read := r.any()
		if !known || !read {
			return false
		}
		(*into)[name] = value
	}
	return ok
}

// readStruct reads an object. A name that no field has as it is written, or that is given twice,
// is left to encoding/json, which looks for others like it, and reads into what it read before.
func (p *plan) readStruct(r *Reader, into reflect.Value) bool {
	more, ok := r.Open('{', '}')
	var given uint64 // a bit for each field
	for ; more; more, ok = r.More('}') {
		name, known := r.Name()
		i := p.find(name)
		if !known || i < 0 || given&(1<<i) != 0 {
			return false
		}
		given |= 1 << i
		if f := &p.fields[i]; !f.plan.read(r, into.FieldByIndex(f.at)) {
			return false
		}
	}
	return ok
}

// find gives the field of that name, -1 for none.
func (p *plan) find(name string) int {
	for i := range p.fields {
		if p.fields[i].name == name {
			return i
		}
	}
	return -1
}
