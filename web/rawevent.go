package web

import (
	"encoding/json"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/convene-run/convene/events"
)

// rawEvent is an event as the log keeps it.
type rawEvent []byte

// MarshalJSON gives the bytes as they are.
func (e rawEvent) MarshalJSON() ([]byte, error) { return e, nil }

// eventSchema is the name of the schema of all events.
const eventSchema = "Event"

// Schema describes the events for the OpenAPI document: one envelope for each kind, told
// apart by type.
func (rawEvent) Schema(registry huma.Registry) *huma.Schema {
	reference := &huma.Schema{Ref: "#/components/schemas/" + eventSchema}
	schemas := registry.Map()
	if schemas[eventSchema] != nil {
		return reference
	}
	var known jsonSchema
	if err := json.Unmarshal([]byte(events.JSONSchema()), &known); err != nil {
		panic(err) // it is ours
	}
	all := &huma.Schema{Description: "One event of a log, by type.", Discriminator: &huma.Discriminator{PropertyName: "type", Mapping: map[string]string{}}}
	for kind, data := range known.Defs {
		schemas["event_data_"+kind] = data.described()
	}
	for i := range known.OneOf {
		envelope := known.OneOf[i].described()
		kind := known.OneOf[i].Title
		envelope.Properties["data"] = &huma.Schema{Ref: "#/components/schemas/event_data_" + kind}
		schemas["event_"+kind] = envelope
		ref := "#/components/schemas/event_" + kind
		all.OneOf = append(all.OneOf, &huma.Schema{Ref: ref})
		all.Discriminator.Mapping[kind] = ref
	}
	schemas[eventSchema] = all
	return reference
}

// jsonSchema is as much of JSON Schema as that of the log has.
type jsonSchema struct {
	Title, Description, Format, ContentEncoding string

	Type       jsonTypes              `json:"type"`
	Const      any                    `json:"const"`
	Minimum    *float64               `json:"minimum"`
	Required   []string               `json:"required"`
	Items      *jsonSchema            `json:"items"`
	Properties map[string]*jsonSchema `json:"properties"`
	Defs       map[string]*jsonSchema `json:"$defs"`
	OneOf      []*jsonSchema          `json:"oneOf"`
}

// UnmarshalJSON implements [json.Unmarshaler]. A schema that is just "true" takes anything.
func (s *jsonSchema) UnmarshalJSON(body []byte) error {
	if string(body) == "true" {
		return nil
	}
	type plain jsonSchema
	return json.Unmarshal(body, (*plain)(s))
}

// jsonTypes is a type, or a list of them.
type jsonTypes []string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *jsonTypes) UnmarshalJSON(body []byte) error {
	var one string
	if json.Unmarshal(body, &one) == nil {
		*t = jsonTypes{one}
		return nil
	}
	return json.Unmarshal(body, (*[]string)(t))
}

// described gives the schema as the OpenAPI document has it.
func (s *jsonSchema) described() *huma.Schema {
	described := &huma.Schema{
		Title: s.Title, Description: s.Description, Format: s.Format, ContentEncoding: s.ContentEncoding,
		Minimum: s.Minimum, Required: s.Required, Nullable: slices.Contains(s.Type, "null"),
	}
	for _, name := range s.Type {
		if name != "null" {
			described.Type = name
		}
	}
	switch s.Const.(type) {
	case string:
		described.Type, described.Enum = huma.TypeString, []any{s.Const}
	case float64:
		described.Type, described.Enum = huma.TypeInteger, []any{s.Const}
	}
	if s.Items != nil {
		described.Items = s.Items.described()
	}
	if s.Properties != nil {
		described.Properties = map[string]*huma.Schema{}
		for name, property := range s.Properties {
			described.Properties[name] = property.described()
		}
	}
	return described
}
