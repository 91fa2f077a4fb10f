package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/prices"
)

//go:generate go run ./schemagen schema/config.schema.json

// JSONSchema gives the JSON Schema (draft 2020-12) of configuration files, for editors.
// It is made of the types that files are read into, so the two agree on keys.
func JSONSchema() []byte {
	schema, err := jsonschema.For[content](&jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): modelSchema()},
	})
	if err != nil {
		panic(fmt.Sprintf("config: schema: %v", err)) // the types are constant
	}
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	schema.Title = "convene configuration"
	schema.Description = "The user's config.yaml, in the folder that `convene config path` names, or a project's .convene/config.yaml, which comes first."
	withoutNull(schema)
	providers := schema.Properties["providers"]
	providers.PropertyNames = &jsonschema.Schema{Pattern: providerName.String(), Not: &jsonschema.Schema{Const: new(any(reserved))}}
	p := providers.AdditionalProperties.Properties
	p["base_url"].Pattern = `^https?://.`
	p["key_env"].Pattern = variableName.String()
	for _, api := range endpoint.APIs() {
		p["api"].Enum = append(p["api"].Enum, api)
	}
	for _, limit := range p["limits"].Properties {
		limit.Minimum = new(1.0)
	}
	hook := schema.Properties["webhooks"].Items
	hook.Properties["url"].Pattern = `^https?://.`
	hook.Properties["secret_env"].Pattern = variableName.String()
	for _, kind := range events.Kinds() {
		hook.Properties["kinds"].Items.Enum = append(hook.Properties["kinds"].Items.Enum, string(kind))
	}
	schema.Properties["prices"].Properties["unit"].Enum = []any{prices.Unit}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("config: marshal schema: %v", err))
	}
	return append(text, '\n')
}

// withoutNull makes optional values absent rather than null: a key without a value is a
// mistake.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	}
	withoutNull(s.AdditionalProperties)
	withoutNull(s.Items)
	for _, property := range s.Properties {
		withoutNull(property)
	}
}

// modelSchema is that of a model's prices, which package prices reads.
func modelSchema() *jsonschema.Schema {
	usd := func(of string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "number", Minimum: new(0.0), Description: "US dollars per million tokens of " + of + "."}
	}
	figures := func() map[string]*jsonschema.Schema {
		return map[string]*jsonschema.Schema{
			"input": usd("input"), "output": usd("output"), "cached_input": usd("input that comes from the cache"),
			"cache_write": usd("input written to the cache"), "cache_write_1h": usd("input written to the cache for an hour"),
		}
	}
	nothing := &jsonschema.Schema{Not: &jsonschema.Schema{}}
	rate := &jsonschema.Schema{Type: "object", Properties: figures(), Required: []string{"input", "output"}, AdditionalProperties: nothing}
	rate.Properties["tier"] = &jsonschema.Schema{Type: "string", Enum: []any{string(prices.Flex), string(prices.Priority)}, Description: "Service tier. Defaults to the standard one."}
	rate.Properties["from"] = &jsonschema.Schema{Type: "string", Description: "Day from which it holds, such as 2026-09-01."}
	rate.Properties["above"] = &jsonschema.Schema{Type: "integer", Minimum: new(0.0), Description: "Input tokens above which it holds for the whole request."}
	model := &jsonschema.Schema{Type: "object", Properties: figures(), AdditionalProperties: nothing}
	model.Properties["window"] = &jsonschema.Schema{Type: "integer", Minimum: new(0.0), Description: "Tokens that the model takes in."}
	model.Properties["also"] = &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}, Description: "Other names of the model; one that ends in * stands for all that begin so."}
	model.Properties["simulated"] = &jsonschema.Schema{Type: "boolean", Description: "Marks made-up prices."}
	model.Properties["rates"] = &jsonschema.Schema{Type: "array", Items: rate, Description: "Several prices, by tier, day and size of the request, in place of one."}
	return model
}
