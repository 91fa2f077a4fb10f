package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/internal/lazyregexp"
)

const (
	// maxSchemaBytes bounds the schema of one tool: every request carries it.
	maxSchemaBytes = 64 << 10
	// maxSchemaDepth is deeper than any schema that a person wrote.
	maxSchemaDepth = 40
)

// propertyName is what every endpoint takes as the name of an argument.
var propertyName = lazyregexp.New(`^[a-zA-Z0-9_.-]{1,64}$`)

// adapt makes a schema of arguments into one that every endpoint takes and that arguments
// can be checked against. What it leaves out the server still checks itself. The changes say
// what was left out, but for $schema and $id, which say nothing about arguments. The error
// says why no schema can be made of it. The result is the same bytes for the same schema.
func adapt(from json.RawMessage) (to json.RawMessage, changes []string, err error) {
	if len(from) > maxSchemaBytes {
		return nil, nil, fmt.Errorf("its schema has %d kB, %d kB is the most", len(from)>>10, maxSchemaBytes>>10)
	}
	var root map[string]any
	if err := json.Unmarshal(from, &root); err != nil || root == nil {
		return nil, nil, errors.New("its schema is no JSON object")
	}
	a := &adapter{}
	a.root(root)
	if err := a.visit(root, "", 0); err != nil {
		return nil, a.changes, err
	}
	to, err = json.Marshal(root)
	if err != nil {
		return nil, a.changes, err
	}
	if err := readable(to); err != nil {
		return nil, a.changes, fmt.Errorf("its schema cannot be read: %w", err)
	}
	return to, a.changes, nil
}

// readable tries the schema as it is used later.
func readable(text []byte) error {
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return err
	}
	_, err := schema.Resolve(nil)
	return err
}

type adapter struct{ changes []string }

func (a *adapter) changed(format string, args ...any) {
	a.changes = append(a.changes, fmt.Sprintf(format, args...))
}

// root makes the outermost schema that of an object with properties.
func (a *adapter) root(root map[string]any) {
	for _, key := range []string{"anyOf", "oneOf", "allOf", "enum", "not", "const", "if", "then", "else"} {
		if _, there := root[key]; there {
			delete(root, key)
			a.changed("%s at the top of its schema is left out: endpoints refuse it there", key)
		}
	}
	if kind, there := root["type"]; kind != "object" {
		root["type"] = "object"
		if there {
			a.changed("the type of its arguments is object instead of %v", kind)
		}
	}
	if _, ok := root["properties"].(map[string]any); !ok {
		root["properties"] = map[string]any{}
	}
	if _, ok := root["required"].([]any); !ok {
		delete(root, "required")
	}
}

// visit adapts a schema and those within it. path is where it stands, for the changes.
func (a *adapter) visit(schema map[string]any, path string, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("its schema nests more than %d deep", maxSchemaDepth)
	}
	delete(schema, "$schema")
	delete(schema, "$id")
	delete(schema, "id")
	a.references(schema, path)
	a.patterns(schema, path)
	a.limits(schema, path)
	if properties, ok := schema["properties"].(map[string]any); ok {
		if err := a.properties(schema, properties, path); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(schema)) {
		if err := a.within(schema[key], key, path, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// within visits what a keyword holds: a schema, a list of them, or some by name.
func (a *adapter) within(value any, key, path string, depth int) error {
	switch key {
	case "enum", "const", "default", "examples", "required":
		return nil // values, not schemas
	}
	switch held := value.(type) {
	case map[string]any:
		if key != "properties" && key != "$defs" && key != "definitions" && key != "patternProperties" && key != "dependentSchemas" {
			return a.visit(held, path, depth)
		}
		for _, name := range slices.Sorted(maps.Keys(held)) {
			if one, ok := held[name].(map[string]any); ok {
				if err := a.visit(one, path+"."+name, depth); err != nil {
					return err
				}
			}
		}
	case []any:
		for _, item := range held {
			if one, ok := item.(map[string]any); ok {
				if err := a.visit(one, path, depth); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// properties leaves out arguments whose names endpoints refuse.
func (a *adapter) properties(schema, properties map[string]any, path string) error {
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if propertyName.MatchString(name) {
			continue
		}
		if slices.Contains(required, any(name)) {
			return fmt.Errorf("it requires an argument %q, whose name endpoints refuse", path+"."+name)
		}
		delete(properties, name)
		a.changed("the argument %q is left out: endpoints refuse its name", strings.TrimPrefix(path+"."+name, "."))
	}
	return nil
}

// references leaves out those that lead elsewhere: nothing is fetched.
func (a *adapter) references(schema map[string]any, path string) {
	for _, key := range []string{"$ref", "$dynamicRef"} {
		if target, there := schema[key]; there {
			if text, ok := target.(string); !ok || !strings.HasPrefix(text, "#") {
				delete(schema, key)
				a.changed("a reference to %v%s is left out: it leads out of the schema", target, at(path))
			}
		}
	}
}

// patterns leaves out those that cannot be checked here.
func (a *adapter) patterns(schema map[string]any, path string) {
	if pattern, there := schema["pattern"]; there {
		text, ok := pattern.(string)
		if _, err := regexp.Compile(text); err != nil || !ok {
			delete(schema, "pattern")
			a.changed("the pattern %v%s is left out: it cannot be checked", pattern, at(path))
		}
	}
	if named, ok := schema["patternProperties"].(map[string]any); ok {
		for _, pattern := range slices.Sorted(maps.Keys(named)) {
			if _, err := regexp.Compile(pattern); err != nil {
				delete(named, pattern)
				a.changed("arguments named like %s%s are left out: the pattern cannot be checked", pattern, at(path))
			}
		}
	}
}

// limits leaves out limits as old drafts write them: true beside a number.
func (a *adapter) limits(schema map[string]any, path string) {
	for key, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if exclusive, old := schema[key].(bool); old {
			delete(schema, key)
			if value, there := schema[limit]; there && exclusive {
				schema[key] = value
				delete(schema, limit)
			}
		}
	}
	if kind, ok := schema["required"].(bool); ok { // draft 3
		delete(schema, "required")
		a.changed("required: %v%s is left out: it is not of this draft", kind, at(path))
	}
}

func at(path string) string {
	if path == "" {
		return ""
	}
	return " of " + strings.TrimPrefix(path, ".")
}
