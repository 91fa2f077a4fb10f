package responses

import (
	"sync"

	"github.com/tidwall/gjson"
)

// strictness remembers which schemas may be asked for strictly: with others the API
// would refuse the request or rewrite the schema. It is safe for concurrent use.
type strictness struct {
	known sync.Map // by schema; a team has a dozen tools, whose schemas never change
}

func (s *strictness) allowed(schema string) bool {
	if known, ok := s.known.Load(schema); ok {
		return known.(bool)
	}
	allowed := strictSchema(gjson.Parse(schema), 0)
	s.known.Store(schema, allowed)
	return allowed
}

// strictDepth bounds the nesting of a strict schema.
// https://platform.openai.com/docs/guides/structured-outputs
const strictDepth = 5

// strictSchema reports whether a schema keeps to what strict mode takes: objects
// that require all their properties and no others.
func strictSchema(schema gjson.Result, depth int) bool {
	if !schema.IsObject() || depth > strictDepth {
		return false
	}
	ok, required := true, map[string]bool{}
	for _, name := range schema.Get("required").Array() {
		required[name.Str] = true
	}
	schema.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "type":
			ok = value.Type == gjson.String
		case "description", "enum", "required":
		case "additionalProperties":
			ok = value.Type == gjson.False
		case "items":
			ok = strictSchema(value, depth+1)
		case "properties":
			value.ForEach(func(name, property gjson.Result) bool {
				ok = required[name.Str] && strictSchema(property, depth+1)
				return ok
			})
		default:
			ok = false
		}
		return ok
	})
	if schema.Get("type").Str == "object" {
		ok = ok && schema.Get("additionalProperties").Type == gjson.False && schema.Get("additionalProperties").Exists()
	}
	return ok
}
