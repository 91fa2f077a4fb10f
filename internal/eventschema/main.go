// Command eventschema writes the JSON Schema of the log, made from the Go structs
// of package events. It stands apart because events imports the standard library
// alone.
//
//	go generate ./events
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/events"
)

func main() {
	path := flag.String("o", "schema/events.schema.json", "file to write")
	flag.Parse()
	body, err := generate()
	if err == nil {
		err = os.WriteFile(*path, body, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "eventschema:", err)
		os.Exit(1)
	}
}

// generate gives the schema of one event, a line of the log, as indented JSON.
func generate() ([]byte, error) {
	schema := &jsonschema.Schema{
		Schema:      "https://json-schema.org/draft/2020-12/schema",
		Title:       "Event of a convene log",
		Description: "One line of an exported log, or one message of a live stream. Readers ignore fields that they do not know.",
		Defs:        map[string]*jsonschema.Schema{},
	}
	actor, err := schemaOf(reflect.TypeFor[events.Actor]())
	if err != nil {
		return nil, err
	}
	actor.Description = "who caused the event from outside, and from where; absent where an agent or the engine did, and for viewers"
	schema.Defs[actorDef] = actor
	for _, kind := range events.Kinds() {
		data, err := dataSchema(kind)
		if err != nil {
			return nil, err
		}
		schema.Defs[string(kind)] = data
		schema.OneOf = append(schema.OneOf, envelopeSchema(kind))
	}
	body, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, body, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// actorDef is the name of what an envelope says of who caused it.
const actorDef = "actor"

// dataSchema describes the payload of a kind.
func dataSchema(kind events.Kind) (*jsonschema.Schema, error) {
	env, err := events.Decode(fmt.Appendf(nil, `{"v":1,"seq":1,"time":"2026-01-01T00:00:00Z","type":%q,"data":{}}`, kind))
	if err != nil {
		return nil, err
	}
	schema, err := schemaOf(reflect.TypeOf(env.Data))
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", kind, err)
	}
	return schema, nil
}

func schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[json.RawMessage](): {},
			reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
			reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		},
	})
	if err != nil {
		return nil, err
	}
	open(schema)
	return schema, nil
}

// open lets objects have further fields: payloads may gain some.
func open(schema *jsonschema.Schema) {
	if schema == nil {
		return
	}
	schema.AdditionalProperties = nil
	for _, property := range schema.Properties {
		open(property)
	}
	open(schema.Items)
}

// envelopeSchema describes an event of one kind.
func envelopeSchema(kind events.Kind) *jsonschema.Schema {
	one, version := 1.0, any(events.Version)
	name := any(kind)
	text := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: description}
	}
	return &jsonschema.Schema{
		Title: string(kind),
		Type:  "object",
		Properties: map[string]*jsonschema.Schema{
			"v":           {Const: &version, Description: "version of envelope and payload"},
			"tenant_id":   text("whose data it is"),
			"thread_id":   text("the stream that the event is in"),
			"run_id":      text("the run that the event belongs to"),
			"seq":         {Type: "integer", Minimum: &one, Description: "place in the thread, from 1 without gaps"},
			"time":        {Type: "string", Format: "date-time", Description: "UTC; never before the previous event's"},
			"type":        {Const: &name},
			"agent":       text("the agent whose event it is; absent for the run's own"),
			"dispatch_id": text("the dispatch whose event it is"),
			"by":          {Ref: "#/$defs/" + actorDef},
			"data":        {Ref: "#/$defs/" + string(kind)},
		},
		Required:      []string{"v", "tenant_id", "thread_id", "run_id", "seq", "time", "type", "data"},
		PropertyOrder: []string{"v", "tenant_id", "thread_id", "run_id", "seq", "time", "type", "agent", "dispatch_id", "by", "data"},
	}
}
