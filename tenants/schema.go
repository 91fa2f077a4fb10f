package tenants

import (
	"encoding/json"
	"fmt"

	"github.com/convene-run/convene/internal/structschema"
)

//go:generate go run ./internal/schemagen schema/tenants.schema.json

// JSONSchema gives the JSON Schema (draft 2020-12) of files of tenants, for editors. It is
// made of the types that files are read into, so the two agree on keys.
func JSONSchema() []byte {
	schema, err := structschema.For[content](nil)
	if err != nil {
		panic(fmt.Sprintf("tenants: schema: %v", err)) // the types are constant
	}
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	schema.Title = "convene file of tenants"
	schema.Description = "What each tenant may use and how long its data is kept: convene serve --tenants FILE."
	for part := range structschema.Parts(schema) {
		if part.Type == "integer" || part.Type == "number" {
			part.Minimum = new(0.0)
		}
	}
	schema.Properties["tenants"].MaxProperties = new(maxTenants)
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("tenants: marshal schema: %v", err))
	}
	return append(text, '\n')
}
