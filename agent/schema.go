package agent

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/document"
)

// Property is one argument of a tool.
type Property struct {
	Name     string
	Schema   *jsonschema.Schema
	Required bool
}

// Parameters writes the JSON Schema of a tool's arguments: the same properties
// always give the same bytes, in the order given.
func Parameters(properties ...Property) json.RawMessage {
	schema := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for _, p := range properties {
		schema.Properties[p.Name] = p.Schema
		schema.PropertyOrder = append(schema.PropertyOrder, p.Name)
		if p.Required {
			schema.Required = append(schema.Required, p.Name)
		}
	}
	body, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("marshal a tool schema: %v", err)) // our own literals: a defect
	}
	return body
}

// PlaceProperties are the arguments that address the document. A reading tool
// requires none of them.
func PlaceProperties(layout document.Layout, reading bool) []Property {
	var properties []Property
	for _, p := range layout.Params() {
		schema := &jsonschema.Schema{Type: p.Type, Description: p.Description}
		for _, value := range p.Enum {
			schema.Enum = append(schema.Enum, value)
		}
		if p.Min != nil {
			schema.Minimum = jsonschema.Ptr(float64(*p.Min))
		}
		if p.Max != nil {
			schema.Maximum = jsonschema.Ptr(float64(*p.Max))
		}
		properties = append(properties, Property{Name: p.Name, Schema: schema, Required: p.Required && !reading})
	}
	return properties
}

// Text is the schema of a string argument.
func Text(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: description}
}

// Integer is the schema of an integer argument.
func Integer(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Description: description}
}

// List is the schema of an argument that is a list.
func List(item *jsonschema.Schema, description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: item, Description: description}
}
