package events

import _ "embed"

//go:embed schema/events.schema.json
var jsonSchema string

// JSONSchema gives the JSON Schema (2020-12) of one event: an object with oneOf, an envelope
// for each kind, whose data is the definition of that name in $defs.
func JSONSchema() string { return jsonSchema }
