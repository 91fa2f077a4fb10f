package fill_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/sim/fill"
)

// schemas are answers as teams ask for them, and what the keywords of JSON Schema can
// make hard.
var schemas = map[string]string{
	"report": `{"type":"object","required":["title","findings"],"additionalProperties":false,"properties":{
		"title":{"type":"string","minLength":5,"maxLength":12},"date":{"type":"string","format":"date","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
		"findings":{"type":"array","minItems":2,"uniqueItems":true,"items":{"type":"object","required":["risk","score"],"properties":{
			"risk":{"enum":["low","high"]},"score":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":0.5}}}}}}`,
	"text":             `{"type":"string","pattern":"^[A-Z]{3}-\\d{2,}$","minLength":20}`,
	"several patterns": `{"type":"string","allOf":[{"pattern":"[0-9]"},{"pattern":"x{3}"},{"minLength":30}]}`,
	"multiples":        `{"type":"integer","multipleOf":6,"minimum":100,"allOf":[{"multipleOf":4},{"not":{"enum":[108,120]}}]}`,
	"below zero":       `{"type":"integer","exclusiveMaximum":-3,"multipleOf":5}`,
	"cents":            `{"type":"number","multipleOf":0.01,"exclusiveMinimum":0.5,"maximum":0.52}`,
	"none of these":    `{"enum":[1,2,"three",null],"not":{"type":"integer"}}`,
	"tree": `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","required":["value","children"],"unevaluatedProperties":false,
		"properties":{"value":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`,
	"list":          `{"$id":"https://example.com/list","type":"object","required":["next"],"properties":{"next":{"anyOf":[{"$ref":"list"},{"type":"null"}]}}}`,
	"draft 7":       `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"pair":{"items":[{"type":"string"},{"type":"integer"}],"additionalItems":false,"minItems":2}},"type":"array","items":{"$ref":"#/definitions/pair"},"minItems":1}`,
	"one of":        `{"oneOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"],"properties":{"b":{"const":7}}}],"required":["b"]}`,
	"condition":     `{"type":"object","required":["kind"],"properties":{"kind":{"enum":["trip","stay"]},"nights":{"type":"integer","minimum":1}},"if":{"properties":{"kind":{"const":"stay"}}},"then":{"required":["nights"]},"else":{"properties":{"nights":false}}}`,
	"contains":      `{"type":"array","contains":{"type":"integer","minimum":5},"minContains":2,"maxContains":3,"prefixItems":[{"type":"string"}],"items":{"type":"integer"},"minItems":5,"uniqueItems":true}`,
	"names":         `{"type":"object","minProperties":3,"propertyNames":{"pattern":"^x_[a-z]+$"},"additionalProperties":{"type":"integer"}}`,
	"dependents":    `{"type":"object","required":["card"],"dependentRequired":{"card":["address"]},"dependentSchemas":{"address":{"properties":{"address":{"minLength":3},"zip":{"type":"string"}},"required":["zip"]}},"unevaluatedProperties":false,"properties":{"card":{"type":"integer"},"address":{"type":"string"}}}`,
	"anything":      `{}`,
	"anything else": `{"not":{"type":"string"}}`,
	"deep":          `{"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":1,"items":{"type":"object","required":["b"],"properties":{"b":{"type":"object","required":["c"],"properties":{"c":{"oneOf":[{"type":"string","maxLength":2},{"type":"string","minLength":2}]}}}}}}}}`,
	"a tuple":       `{"type":"array","prefixItems":[{"const":"at"},{"type":"number","minimum":-90,"maximum":90}],"items":false,"minItems":2}`,
	"long list":     `{"type":"array","minItems":200,"uniqueItems":true,"items":{"type":"string","maxLength":4}}`,
}

func TestValueFitsItsSchema(t *testing.T) {
	for name, text := range schemas {
		t.Run(name, func(t *testing.T) {
			var schema jsonschema.Schema
			require.NoError(t, json.Unmarshal([]byte(text), &schema))
			resolved, err := schema.Resolve(nil)
			require.NoError(t, err)
			value, ok := fill.Value(json.RawMessage(text), "A quiet week in Kyoto", 1)
			require.True(t, ok)
			require.NoError(t, resolved.Validate(value))
			again, _ := fill.Value(json.RawMessage(text), "A quiet week in Kyoto", 1)
			require.Equal(t, value, again, "the same value every time")
		})
	}
}

// All that a schema names is filled, not only what it requires: that is what a person
// wants to see of an answer that is played.
func TestValueFillsAllThatIsNamed(t *testing.T) {
	value, ok := fill.Value(json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},"mail":{"format":"email"}}}`), "Kyoto", 1)
	require.True(t, ok)
	require.Equal(t, map[string]any{"title": "Kyoto", "tags": []any{"Kyoto"}, "mail": "person1@example.com"}, value)
}

// What nothing can fit is said so, in bounded time.
func TestValueThatCannotBe(t *testing.T) {
	for _, text := range []string{
		`false`, `{"type":"integer","minimum":2,"maximum":1}`, `{"type":"string","pattern":"^a$","minLength":2}`,
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","required":["n"],"properties":{"n":{"$ref":"#/$defs/n"}}}}}`,
		`{"allOf":[{"enum":[1,2]},{"enum":[3]}]}`, `{"required":["a"],"properties":{"a":false},"type":"object"}`, `no schema`,
	} {
		_, ok := fill.Value(json.RawMessage(text), "Kyoto", 1)
		require.False(t, ok, text)
	}
}
