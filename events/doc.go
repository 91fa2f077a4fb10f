// Package events is the language of a run: ids, the envelope, the closed set of
// event kinds, their codec, and the [Log] that keeps them.
//
// A run is its log. Every fact is an event, appended durably before anyone acts
// on it; the task board, the document, the conversations and the bill are folds
// over the log, and nothing else holds state. The package knows no agent, no
// model and no database: it imports only the standard library. [NewMemory] is a
// log for tests and small programs, events/sqlite the durable one.
//
// Wire form: JSON with snake_case names, RFC 3339 UTC times with nanoseconds,
// and units in the names of numbers (elapsed_ms, cost_usd).
//
// The JSON Schema of the wire form is schema/events.schema.json.
package events

//go:generate go run ../internal/eventschema -o schema/events.schema.json
