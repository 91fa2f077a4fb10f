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

const (
	// maxSampleValues bounds the values of one sample: schemas that refer to
	// themselves have no end.
	maxSampleValues = 500
	// maxSampleBytes bounds a text that a schema wants long.
	maxSampleBytes = 4096
)

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
		if s.Properties[name] != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for name, p := range s.Properties {
		if p != nil && !slices.Contains(names, name) {
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
func (s *schema) sample(text string) any {
	return (&sampler{root: s, text: text}).value(s)
}

// sampler makes one sample.
type sampler struct {
	root *schema
	text string // what strings are filled with
	made int    // values so far
}

func (m *sampler) value(s *schema) any {
	if m.made++; s == nil || m.made > maxSampleValues {
		return nil
	}
	switch {
	case s.Ref != "":
		return m.value(m.root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")])
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Default != nil:
		return s.Default
	}
	for _, choices := range [][]*schema{s.AnyOf, s.OneOf, s.AllOf} {
		if len(choices) > 0 {
			return m.value(choices[0])
		}
	}
	switch {
	case s.is("string"):
		return s.sampleText(m.text)
	case s.is("integer"), s.is("number"):
		return s.sampleNumber()
	case s.is("boolean"):
		return false
	case s.is("array"):
		return m.array(s)
	case s.is("object"), s.Properties != nil:
		return m.object(s)
	}
	return nil
}

func (m *sampler) array(s *schema) []any {
	items := []any{}
	for len(items) < s.MinItems && m.made < maxSampleValues {
		items = append(items, m.value(s.Items))
	}
	return items
}

func (m *sampler) object(s *schema) map[string]any {
	object := map[string]any{}
	for _, name := range s.Required {
		if p := s.Properties[name]; p != nil {
			object[name] = m.value(p)
		}
	}
	return object
}

func (s *schema) sampleText(text string) string {
	if missing := min(s.MinLength, maxSampleBytes) - len(text); missing > 0 {
		text += strings.Repeat(".", missing)
	}
	if s.MaxLength != nil {
		text = clip(text, max(*s.MaxLength, 0))
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
