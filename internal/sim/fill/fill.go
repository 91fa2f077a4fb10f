// Package fill makes a JSON value that fits a JSON Schema, for a model that is only
// played.
//
// It searches: it builds a value for what the schema asks at each place, has it checked
// by the validator that will judge the whole, and tries again with other choices where
// it does not fit. Simple schemas fit at once. The search is bounded, and equal input
// gives an equal value.
//
//	value, ok := fill.Value(schema, "A quiet week in Kyoto", 1)
package fill

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// maxTries bounds the values that are built for one place.
	maxTries = 64
	// maxBuilds bounds the values that one round of the search builds: several times
	// what a schema of 32 kB needs, and less than a second of work.
	maxBuilds = 6_000
	// maxItems and maxRunes bound what a schema can ask to be long.
	maxItems = 2_000
	maxRunes = 64 << 10
)

// depths are the rounds of the search: how deep a value may nest. A schema that refers
// to itself would otherwise be followed without end.
var depths = []int{3, 6, 12, 40}

// Value gives a value that fits the schema, and whether there is one that was found.
// Texts that the schema leaves open are filled with text.
func Value(schema json.RawMessage, text string, seed uint64) (any, bool) {
	var root jsonschema.Schema
	if json.Unmarshal(schema, &root) != nil {
		return nil, false
	}
	index, err := newIndex(&root)
	if err != nil {
		return nil, false
	}
	for _, depth := range depths {
		f := &filler{index: index, text: text, dice: rand.New(rand.NewPCG(seed, uint64(depth))), depth: depth, left: maxBuilds}
		if value, ok := f.value([]*jsonschema.Schema{&root}, 0, 0); ok {
			return value, true
		}
	}
	return nil, false
}

// filler is one round of the search.
type filler struct {
	*index
	text  string
	dice  *rand.Rand
	depth int
	left  int
}

// value gives a value that fits all goals. Different variants are different values, as
// far as the goals allow.
func (f *filler) value(goals []*jsonschema.Schema, depth, variant int) (any, bool) {
	if depth > f.depth {
		return nil, false
	}
	for try := range maxTries {
		if f.left--; f.left < 0 {
			return nil, false
		}
		b := &build{filler: f, depth: depth, variant: variant, try: try, first: true}
		if !b.expand(goals) {
			continue
		}
		if value, ok := b.value(); ok && f.fits(value, goals) {
			return value, true
		}
	}
	return nil, false
}

// build is one attempt at a value.
type build struct {
	*filler
	depth, variant, try int
	// first is set until the first choice: that one goes through all that there is to
	// choose from, from one try to the next; the others are drawn.
	first bool
	// goals are all schemas that hold for the value, with those that they refer to.
	goals []*jsonschema.Schema
}

// pick chooses one of n. The first try takes the first of everything.
func (b *build) pick(n int) int {
	switch {
	case n < 2:
		return 0
	case b.first:
		b.first = false
		return b.try % n
	case b.try == 0:
		return 0
	}
	return b.dice.IntN(n)
}

// expand collects what holds together with the schemas, choosing where there is a
// choice. It reports whether a value is possible.
func (b *build) expand(schemas []*jsonschema.Schema) bool {
	for len(schemas) > 0 {
		s := schemas[0]
		schemas = schemas[1:]
		if s == nil || b.has(s) {
			continue
		}
		if isFalse(s) {
			return false
		}
		b.goals = append(b.goals, s)
		schemas = append(schemas, s.AllOf...)
		for _, choice := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
			if len(choice) > 0 {
				schemas = append(schemas, choice[b.pick(len(choice))])
			}
		}
		if s.Ref != "" {
			schemas = append(schemas, b.target(s, s.Ref))
		}
		if s.DynamicRef != "" {
			schemas = append(schemas, b.target(s, s.DynamicRef))
		}
		if s.If != nil {
			if b.pick(2) == 0 {
				schemas = append(schemas, s.If, s.Then)
			} else {
				schemas = append(schemas, s.Else)
			}
		}
	}
	return true
}

func (b *build) has(s *jsonschema.Schema) bool {
	for _, goal := range b.goals {
		if goal == s {
			return true
		}
	}
	return false
}

// isFalse reports whether nothing fits the schema: {"not": {}} is how false is read.
func isFalse(s *jsonschema.Schema) bool {
	if s.Not == nil {
		return false
	}
	text, err := json.Marshal(s.Not)
	return err == nil && (string(text) == "true" || string(text) == "{}")
}

// value builds what the goals ask for.
func (b *build) value() (any, bool) {
	if value, ok := b.given(); ok {
		return value, true
	}
	if values, listed := b.listed(); listed {
		for i := range values {
			if v := values[(i+b.variant+b.try)%len(values)]; b.fits(v, b.goals) {
				return v, true
			}
		}
		return nil, false
	}
	kinds := b.kinds()
	if len(kinds) == 0 {
		return nil, false
	}
	switch kinds[b.pick(len(kinds))] {
	case "object":
		return b.object()
	case "array":
		return b.array()
	case "string":
		return b.string()
	case "integer":
		return b.number(true)
	case "number":
		return b.number(false)
	case "boolean":
		return (b.variant+b.try)%2 == 0, true
	}
	return nil, true
}

// given is the value that the schema itself shows: its default, or an example.
func (b *build) given() (any, bool) {
	if b.try > 0 || b.variant > 0 {
		return nil, false
	}
	for _, s := range b.goals {
		var value any
		if len(s.Default) > 0 && json.Unmarshal(s.Default, &value) == nil && b.fits(value, b.goals) {
			return value, true
		}
		for _, example := range s.Examples {
			if b.fits(example, b.goals) {
				return example, true
			}
		}
	}
	return nil, false
}

// listed gives the values that a goal lists, and whether one does.
func (b *build) listed() ([]any, bool) {
	for _, s := range b.goals {
		switch {
		case s.Const != nil:
			return []any{*s.Const}, true
		case s.Enum != nil:
			return s.Enum, true
		}
	}
	return nil, false
}
