package team

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/document"
)

//go:generate go run ./internal/schemagen schema/team.schema.json

// JSONSchema gives the JSON Schema (draft 2020-12) of team files, for editors.
// It is made of the types that [Parse] reads into, so the two agree on keys;
// rules across keys, such as no id twice, are Parse's alone.
func JSONSchema() []byte { return slices.Clone(schemaBytes()) }

var schemaBytes = sync.OnceValue(func() []byte {
	schema, err := fileSchema()
	if err != nil {
		panic(fmt.Sprintf("team: schema of the team file: %v", err)) // the types are constant
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("team: marshal schema: %v", err))
	}
	return append(text, '\n')
})

func fileSchema() (*jsonschema.Schema, error) {
	schema, err := jsonschema.For[fileTeam](&jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[Limits]():   {Type: "object"},
			reflect.TypeFor[rawValue](): {Type: "object"},
		},
	})
	if err != nil {
		return nil, err
	}
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	schema.Title = "convene team file"
	schema.Description = "Who works on a request: a facilitator, specialists, the layout of their document and the limits of a run."
	withoutNull(schema)
	addRules(schema)
	addLimits(schema.Properties["limits"])
	return schema, nil
}

// withoutNull makes optional values absent rather than null: a key without a
// value is a mistake in a team file.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	}
	withoutNull(s.Items)
	for _, property := range s.Properties {
		withoutNull(property)
	}
}

// addRules says what types cannot: patterns, sizes, ranges.
func addRules(s *jsonschema.Schema) {
	s.Properties["name"].Pattern = teamName.String()
	for _, name := range []string{"display_name", "description"} {
		s.Properties[name].MaxLength = new(MaxLineBytes)
	}
	s.Properties["request"].Pattern = `\{\{ *request *\}\}`
	addAgentRules(s.Properties["facilitator"])

	specialists := s.Properties["specialists"]
	specialists.MinItems, specialists.MaxItems = new(1), new(MaxSpecialists)
	addAgentRules(specialists.Items)
	id := specialists.Items.Properties["id"]
	id.Pattern, id.Not = agentID.String(), &jsonschema.Schema{}
	for _, reserved := range ReservedIDs() {
		id.Not.Enum = append(id.Not.Enum, reserved)
	}
	specialists.Items.Properties["description"].Pattern = `\S`
	specialists.Items.Properties["prompt"].Pattern = `\S`

	layout := s.Properties["document"]
	layout.OneOf = []*jsonschema.Schema{{Required: []string{"layout"}}, {Required: []string{"sections"}}}
	for _, known := range namedLayouts {
		layout.Properties["layout"].Enum = append(layout.Properties["layout"].Enum, known.name)
	}
	sections := layout.Properties["sections"]
	sections.MinItems, sections.MaxItems = new(1), new(document.MaxSections)
	slots := sections.Items.Properties["slots"]
	slots.UniqueItems, slots.MaxItems = true, new(document.MaxSlots)
}

func addAgentRules(s *jsonschema.Schema) {
	s.Properties["display_name"].MaxLength = new(MaxLineBytes)
	s.Properties["model"].Pattern = `^\S+$`
	fallbacks := s.Properties["fallback_models"]
	fallbacks.MaxItems, fallbacks.UniqueItems = new(MaxFallbackModels), true
	fallbacks.Items.Pattern = `^\S+$`
	temperature := s.Properties["temperature"]
	temperature.Minimum, temperature.Maximum = new(0.0), new(2.0)
}

func addLimits(s *jsonschema.Schema) {
	s.Properties = map[string]*jsonschema.Schema{}
	s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	for _, b := range bounds {
		property := &jsonschema.Schema{
			Description: fmt.Sprintf("Bound on %s, in %s. Defaults to %s: %s.", b.Description, b.Unit, b.Format(b.Default), b.Reason),
		}
		_, fraction := b.field(new(Limits)).(*float64)
		switch {
		case b.Unit == UnitSeconds:
			property.Type, property.Pattern = "string", `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
			property.Description = fmt.Sprintf("Bound on %s, such as \"90s\" or \"10m\". Defaults to %s: %s.", b.Description, b.Format(b.Default), b.Reason)
		case fraction:
			property.Type, property.Minimum, property.Maximum = "number", new(b.Min), new(b.Max)
		default:
			property.Type, property.Minimum, property.Maximum = "integer", new(b.Min), new(b.Max)
		}
		s.Properties[string(b.Name)] = property
		s.PropertyOrder = append(s.PropertyOrder, string(b.Name))
	}
}
