// Package structschema infers JSON Schemas from Go structs: names from the json tags,
// descriptions from the jsonschema tags, fields with omitempty or omitzero optional.
package structschema

import (
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// For gives the schema of In. What is optional is left out rather than null: no value
// is null. known are types whose schema is given. The error says which part of In no
// schema can describe.
func For[In any](known map[reflect.Type]*jsonschema.Schema) (*jsonschema.Schema, error) {
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		return nil, err
	}
	for part := range Parts(schema) {
		part.Types = slices.DeleteFunc(part.Types, func(t string) bool { return t == "null" })
		if len(part.Types) == 1 {
			part.Type, part.Types = part.Types[0], nil
		}
	}
	return schema, nil
}

// Parts goes over a schema and all that it is made of: properties, items and the
// values of maps.
func Parts(schema *jsonschema.Schema) func(yield func(*jsonschema.Schema) bool) {
	return func(yield func(*jsonschema.Schema) bool) { visit(schema, yield) }
}

func visit(schema *jsonschema.Schema, yield func(*jsonschema.Schema) bool) bool {
	if schema == nil {
		return true
	}
	if !yield(schema) || !visit(schema.Items, yield) || !visit(schema.AdditionalProperties, yield) {
		return false
	}
	for _, property := range schema.Properties {
		if !visit(property, yield) {
			return false
		}
	}
	return true
}
