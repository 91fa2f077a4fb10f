package fill

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// allKinds are the types of JSON, in the order in which an open schema is filled.
var allKinds = []string{"string", "object", "array", "integer", "number", "boolean", "null"}

// kinds gives the types that all goals allow, those first that the goals say most about.
func (b *build) kinds() []string {
	kinds := slices.Clone(allKinds)
	var hinted []string
	for _, s := range b.goals {
		if declared := declaredKinds(s); declared != nil {
			kinds = slices.DeleteFunc(kinds, func(kind string) bool { return !slices.Contains(declared, kind) })
			hinted = append(hinted, declared...)
			continue
		}
		if hint := hintedKind(s); hint != "" {
			hinted = append(hinted, hint)
		}
		if s.Not != nil {
			denied := declaredKinds(s.Not)
			kinds = slices.DeleteFunc(kinds, func(kind string) bool { return onlyType(s.Not) && slices.Contains(denied, kind) })
		}
	}
	var ordered []string
	for _, kind := range append(hinted, kinds...) {
		if slices.Contains(kinds, kind) && !slices.Contains(ordered, kind) {
			ordered = append(ordered, kind)
		}
	}
	if slices.Contains(ordered, "integer") { // every integer is a number: one of them is enough
		ordered = slices.DeleteFunc(ordered, func(kind string) bool { return kind == "number" && !b.fraction() })
	}
	return ordered
}

// declaredKinds are the types that a schema names, nil where it names none.
func declaredKinds(s *jsonschema.Schema) []string {
	declared := s.Types
	if s.Type != "" {
		declared = []string{s.Type}
	}
	if slices.Contains(declared, "number") {
		declared = append(slices.Clone(declared), "integer")
	}
	return declared
}

// onlyType reports whether a schema says nothing but a type.
func onlyType(s *jsonschema.Schema) bool {
	bare := jsonschema.Schema{Type: s.Type, Types: s.Types}
	a, errA := bare.MarshalJSON()
	b, errB := s.MarshalJSON()
	return errA == nil && errB == nil && string(a) == string(b)
}

// hintedKind is the type that the keywords of a schema are about.
func hintedKind(s *jsonschema.Schema) string {
	switch {
	case s.Properties != nil, s.Required != nil, s.PatternProperties != nil, s.AdditionalProperties != nil,
		s.PropertyNames != nil, s.MinProperties != nil, s.MaxProperties != nil, s.DependentRequired != nil,
		s.DependentSchemas != nil, s.DependencySchemas != nil, s.DependencyStrings != nil, s.UnevaluatedProperties != nil:
		return "object"
	case s.Items != nil, s.ItemsArray != nil, s.PrefixItems != nil, s.Contains != nil, s.MinItems != nil,
		s.MaxItems != nil, s.UniqueItems, s.UnevaluatedItems != nil:
		return "array"
	case s.Pattern != "", s.MinLength != nil, s.MaxLength != nil, s.Format != "":
		return "string"
	case s.Minimum != nil, s.Maximum != nil, s.ExclusiveMinimum != nil, s.ExclusiveMaximum != nil, s.MultipleOf != nil:
		return "number"
	}
	return ""
}
