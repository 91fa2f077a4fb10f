package sim

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
)

// schema is what the model reads of a JSON Schema.
type schema struct {
	Type        any                `json:"type"`
	Description string             `json:"description"`
	Enum        []any              `json:"enum"`
	Const       any                `json:"const"`
	Default     any                `json:"default"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Items       *schema            `json:"items"`
	Minimum     *float64           `json:"minimum"`
	Maximum     *float64           `json:"maximum"`
	MinLength   int                `json:"minLength"`
	MaxLength   *int               `json:"maxLength"`
	MinItems    int                `json:"minItems"`
	AnyOf       []*schema          `json:"anyOf"`
	OneOf       []*schema          `json:"oneOf"`
	AllOf       []*schema          `json:"allOf"`
	Ref         string             `json:"$ref"`
	Defs        map[string]*schema `json:"$defs"`
}

// maxSchemaDepth ends schemas that refer to themselves.
const maxSchemaDepth = 16

// parseSchema reads a schema; what cannot be read is an object without properties.
func parseSchema(raw json.RawMessage) *schema {
	var s schema
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return &schema{Type: "object"}
	}
	return &s
}

// is reports whether the schema names the type, alone or beside null.
func (s *schema) is(name string) bool {
	switch t := s.Type.(type) {
	case string:
		return t == name
	case []any:
		return slices.Contains(t, any(name))
	}
	return false
}

// names gives the properties in a fixed order: the required ones as listed, then
// the others by name.
func (s *schema) names() []string {
	var names, others []string
	for _, name := range s.Required {
		if s.Properties[name] != nil {
			names = append(names, name)
		}
	}
	for name := range s.Properties {
		if !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	sort.Strings(others)
	return append(names, others...)
}

// property gives the first property that fits, "" if none does.
func (s *schema) property(fits func(name string, p *schema) bool) string {
	for _, name := range s.names() {
		if fits(name, s.Properties[name]) {
			return name
		}
	}
	return ""
}

// enumStrings gives the enum's values as text, without null.
func (s *schema) enumStrings() []string {
	var values []string
	for _, v := range s.Enum {
		if v != nil {
			values = append(values, jsonText(v))
		}
	}
	return values
}

// jsonText gives a string as it is and everything else as JSON.
func jsonText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	raw, _ := json.Marshal(v)
	return string(raw)
}

// sample gives a minimal value that satisfies the schema: enums by their first
// value, numbers by their minimum, objects by their required properties.
func (s *schema) sample(text string) any { return s.sampleIn(s, text, 0) }

func (s *schema) sampleIn(root *schema, text string, depth int) any {
	if depth > maxSchemaDepth {
		return nil
	}
	switch {
	case s.Ref != "":
		if target := root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]; target != nil {
			return target.sampleIn(root, text, depth+1)
		}
		return nil
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Default != nil:
		return s.Default
	}
	for _, choices := range [][]*schema{s.AnyOf, s.OneOf, s.AllOf} {
		if len(choices) > 0 {
			return choices[0].sampleIn(root, text, depth+1)
		}
	}
	switch {
	case s.is("string"):
		return s.sampleText(text)
	case s.is("integer"), s.is("number"):
		return s.sampleNumber()
	case s.is("boolean"):
		return false
	case s.is("array"):
		items := make([]any, s.MinItems)
		for i := range items {
			if s.Items != nil {
				items[i] = s.Items.sampleIn(root, text, depth+1)
			}
		}
		return items
	case s.is("object"), s.Properties != nil:
		object := map[string]any{}
		for _, name := range s.Required {
			if p := s.Properties[name]; p != nil {
				object[name] = p.sampleIn(root, text, depth+1)
			}
		}
		return object
	}
	return nil
}

func (s *schema) sampleText(text string) string {
	for len(text) < s.MinLength {
		text += "."
	}
	if s.MaxLength != nil {
		text = clip(text, *s.MaxLength)
	}
	return text
}

func (s *schema) sampleNumber() float64 {
	switch {
	case s.Minimum != nil:
		return *s.Minimum
	case s.Maximum != nil && *s.Maximum < 1:
		return *s.Maximum
	}
	return 1
}
