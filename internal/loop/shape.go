package loop

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/bits"
	"slices"

	"github.com/convene-run/convene/internal/plainjson"
)

// shape is a schema that says no more than most tools do. Arguments that fit it fit the
// schema, without being taken apart into maps first; about others it says nothing.
type shape struct {
	Type        string            `json:"type"`
	Description string            `json:"description"`
	Properties  map[string]*shape `json:"properties"`
	Required    []string          `json:"required"`
	Items       *shape            `json:"items"`
	Enum        []string          `json:"enum"`
	Minimum     *float64          `json:"minimum"`
	Maximum     *float64          `json:"maximum"`
}

// shapeOf gives the shape of a schema, nil where the schema says more than a shape can, or is
// none.
func shapeOf(schema json.RawMessage) *shape {
	decoder := json.NewDecoder(bytes.NewReader(schema))
	decoder.DisallowUnknownFields()
	var s *shape
	if decoder.Decode(&s) != nil || !s.whole() {
		return nil
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil
	}
	return s
}

// whole reports whether no member lacks its schema: nothing else could keep what a shape says
// from being one.
func (s *shape) whole() bool {
	if s == nil || s.Items != nil && !s.Items.whole() {
		return false
	}
	for _, member := range s.Properties {
		if !member.whole() {
			return false
		}
	}
	return true
}

// takes reports whether arguments are sure to be JSON that fits.
func (s *shape) takes(arguments string) bool {
	if s == nil {
		return false
	}
	r := plainjson.NewReader(arguments)
	return s.fits(&r) && r.End()
}

// fits reports whether the next value is sure to fit, and goes behind it.
func (s *shape) fits(r *plainjson.Reader) bool {
	if s == nil || s.Enum != nil && s.Type != "string" {
		return false
	}
	switch s.Type {
	case "string":
		text, escaped, isText := r.Text()
		return isText && (s.Enum == nil || slices.Contains(s.Enum, text) && !escaped)
	case "boolean":
		_, isBool := r.Bool()
		return isBool
	case "integer":
		i, isInteger := r.Integer()
		n := float64(i)
		return isInteger && (s.Minimum == nil || n >= *s.Minimum) && (s.Maximum == nil || n <= *s.Maximum)
	case "array":
		more, ok := r.Open('[', ']')
		for ; more; more, ok = r.More(']') {
			if !s.Items.fits(r) {
				return false
			}
		}
		return ok
	case "object":
		return s.fitsObject(r)
	}
	return false
}

func (s *shape) fitsObject(r *plainjson.Reader) bool {
	var given uint64 // a bit for each required member
	more, ok := r.Open('{', '}')
	for ; more; more, ok = r.More('}') {
		name, known := r.Name()
		if !known || !s.Properties[name].fits(r) {
			return false
		}
		if i := slices.Index(s.Required, name); i >= 0 {
			given |= 1 << i
		}
	}
	return ok && bits.OnesCount64(given) == len(s.Required)
}
