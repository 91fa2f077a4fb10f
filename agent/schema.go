package agent

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/internal/structschema"
)

// Schema gives the JSON Schema of a tool's arguments, inferred from the struct In: the
// properties are its fields in their order, named by the json tags and described by the
// jsonschema tags; those without omitempty or omitzero are required. Arguments that In
// does not have are let pass. adjust may say what a type cannot. The same type always
// gives the same bytes.
//
// It panics if In is no struct, or holds what has no schema, such as a function: that
// is a mistake in the program.
func Schema[In any](adjust ...func(*jsonschema.Schema)) json.RawMessage {
	schema, err := structschema.For[In](nil)
	if err == nil && schema.Type != "object" {
		err = fmt.Errorf("it is %s, not a struct", schema.Type)
	}
	if err != nil {
		panic(fmt.Sprintf("agent: schema of %T: %v", *new(In), err))
	}
	for part := range structschema.Parts(schema) {
		if part.Properties != nil || part == schema {
			part.AdditionalProperties = nil
		}
	}
	if schema.Properties == nil {
		schema.Properties = map[string]*jsonschema.Schema{}
	}
	for _, change := range adjust {
		change(schema)
	}
	body, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("agent: marshal the schema of %T: %v", *new(In), err)) // of our own making
	}
	return body
}
