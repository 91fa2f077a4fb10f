package plainjson

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// Decode does what json.Unmarshal does, where the text is plain and v points to what plain texts
// are read into: structs and maps of names to anything, texts, whole numbers, bools and lists of
// these. Otherwise it reports false, and v may have some of it. It is safe for concurrent use.
func Decode(text string, v any) bool {
	into := reflect.ValueOf(v).Elem()
	r := NewReader(text)
	return planOf(into.Type()).read(&r, into) && r.End()
}

// plan is how a type is read; nil for one that is left to encoding/json.
type plan struct {
	kind   reflect.Kind
	fields []field // of a struct
	member *plan   // of a list or map
}

// field is one of a struct: how it is named in JSON, and where it is.
type field struct {
	name string
	at   []int
	plan *plan
}

var plans sync.Map // of *plan, by reflect.Type

func planOf(t reflect.Type) *plan {
	if known, there := plans.Load(t); there {
		return known.(*plan)
	}
	p := newPlan(t, maxDepth)
	plans.Store(t, p)
	return p
}

// maxDepth bounds the types that are looked into: what lies deeper may be a type within itself.
const maxDepth = 8

func newPlan(t reflect.Type, depth int) *plan {
	if depth == 0 || decodesItself(t) {
		return nil
	}
	p := &plan{kind: t.Kind()}
	switch p.kind {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64:
		return p
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return p
		}
	case reflect.Map:
		if t == reflect.TypeFor[map[string]any]() {
			return p
		}
	case reflect.Slice:
		if p.member = newPlan(t.Elem(), depth-1); p.member != nil {
			return p
		}
	case reflect.Struct:
		if p.addFields(t, depth) {
			return p
		}
	}
	return nil
}

func decodesItself(t reflect.Type) bool {
	t = reflect.PointerTo(t)
	return t.Implements(reflect.TypeFor[json.Unmarshaler]()) || t.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// maxFields is how many fields a set of them holds.
const maxFields = 64

// addFields reports whether every field is one that is read, under a name of its own.
func (p *plan) addFields(t reflect.Type, depth int) bool {
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous && f.Type.Kind() == reflect.Struct && f.Tag.Get("json") == "" {
			continue // its fields are visible
		}
		name, member := nameOf(f), newPlan(f.Type, depth-1)
		if name == "" || member == nil || names[name] {
			return false
		}
		names[name] = true
		p.fields = append(p.fields, field{name, f.Index, member})
	}
	return len(p.fields) <= maxFields
}

// nameOf is the name that a field's tag gives it, "" for none and for what the tag says beside it.
func nameOf(f reflect.StructField) string {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if !f.IsExported() || name == "-" || options != "" && options != "omitempty" {
		return ""
	}
	return name
}
