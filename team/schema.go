package team

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/structschema"
	"github.com/convene-run/convene/llm/effort"
)

//go:generate go run ./internal/schemagen schema/team.schema.json

// JSONSchema gives the JSON Schema (draft 2020-12) of team files, for editors.
// It is made of the types that [Parse] reads into, so the two agree on keys;
// rules across keys, such as no id twice, are Parse's alone.
func JSONSchema() []byte { return slices.Clone(schemaBytes()) }

var schemaBytes = sync.OnceValue(func() []byte {
	schema, err := fileSchema()
	if err != nil {
		panic(fmt.Sprintf("team: schema of the team file: %v", err)) // the types are constant
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("team: marshal schema: %v", err))
	}
	return append(text, '\n')
})

// durationPattern is a time with its unit.
const durationPattern = `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`

func fileSchema() (*jsonschema.Schema, error) {
	schema, err := structschema.For[fileTeam](map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Limits]():   {Type: "object"},
		reflect.TypeFor[rawValue](): {Type: "object"},
		reflect.TypeFor[Duration](): {Type: "string", Pattern: durationPattern},
	})
	if err != nil {
		return nil, err
	}
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	schema.Title = "convene team file"
	schema.Description = "Who works on a request: a facilitator, specialists, the layout of their document and the limits of a run."
	addRules(schema)
	addLimits(schema.Properties["limits"])
	return schema, nil
}

// addRules says what types cannot: patterns, sizes, ranges.
func addRules(s *jsonschema.Schema) {
	s.Properties["name"].Pattern = teamName.String()
	for _, name := range []string{"display_name", "description"} {
		s.Properties[name].MaxLength = new(maxLineChars)
	}
	s.Properties["request"].Pattern = `\{\{ *request *\}\}`
	addAgentRules(s.Properties["facilitator"])

	specialists := s.Properties["specialists"]
	specialists.MinItems, specialists.MaxItems = new(1), new(maxSpecialists)
	addAgentRules(specialists.Items)
	id := specialists.Items.Properties["id"]
	id.Pattern, id.MaxLength, id.Not = agentID.String(), new(conversation.MaxIDChars), &jsonschema.Schema{}
	for _, reserved := range ReservedIDs() {
		id.Not.Enum = append(id.Not.Enum, reserved)
	}
	tools := specialists.Items.Properties["tools"]
	tools.MaxItems, tools.UniqueItems = new(maxTools), true
	specialists.Items.Properties["description"].Pattern = `\S`
	specialists.Items.Properties["prompt"].Pattern = `\S`

	s.Properties["evidence"].Enum = []any{EvidenceOffered, EvidenceRequired}
	addAbilityRules(specialists.Items)
	addOrchestrationRules(s.Properties["facilitator"])
	addHandoffRules(s.Properties["handoff"])
	addConversationRules(s.Properties["conversation"])
	addMCPRules(s.Properties["mcp"])

	layout := s.Properties["document"]
	layout.OneOf = []*jsonschema.Schema{{Required: []string{"layout"}}, {Required: []string{"sections"}}}
	for _, known := range namedLayouts {
		layout.Properties["layout"].Enum = append(layout.Properties["layout"].Enum, known.name)
	}
	sections := layout.Properties["sections"]
	sections.MinItems, sections.MaxItems = new(1), new(document.MaxSections)
	slots := sections.Items.Properties["slots"]
	slots.UniqueItems, slots.MaxItems = true, new(document.MaxSlots)
}

func addMCPRules(s *jsonschema.Schema) {
	s.PropertyNames = &jsonschema.Schema{Pattern: mcpName.String(), MaxLength: new(maxMCPNameChars), Not: &jsonschema.Schema{Pattern: "^call_"}}
	s.MaxProperties = new(maxMCPServers)
	server := s.AdditionalProperties
	server.OneOf = []*jsonschema.Schema{{Required: []string{"command"}}, {Required: []string{"url"}}}
	server.Properties["url"].Pattern = "^https?://"
	server.Properties["args"].MaxItems = new(maxMCPArgs)
	for _, key := range []string{"env", "headers"} {
		server.Properties[key].AdditionalProperties.Pattern = variable.String()
	}
	for _, key := range []string{"allow", "deny"} {
		server.Properties[key].UniqueItems, server.Properties[key].MaxItems = true, new(maxMCPNames)
	}
	server.Properties["effects"].AdditionalProperties.Enum = []any{events.EffectPure, events.EffectIdempotent, events.EffectEffectful}
}

func addConversationRules(s *jsonschema.Schema) {
	rules, pipeline, window := s.Properties["rules"], s.Properties["pipeline"], s.Properties["memory_window"]
	rules.MaxItems, pipeline.MinItems, pipeline.MaxItems = new(MaxRules), new(1), new(conversation.MaxStages)
	window.Minimum, window.Maximum = new(float64(minMemoryWindow)), new(float64(MaxMemoryWindow))
	for _, phase := range []*jsonschema.Schema{pipeline.Items.Properties["phase"], s.Properties["phases"].Items.Properties["phase"]} {
		phase.MaxLength, phase.Pattern = new(maxStateChars), `\S`
	}
}

func addAbilityRules(s *jsonschema.Schema) {
	states := s.Properties["workflow_states"]
	states.MaxItems, states.UniqueItems = new(MaxWorkflowStates), true
	states.Items.MaxLength, states.Items.Pattern = new(maxStateChars), `\S`
	s.Properties["handoff_triggers"].MaxItems = new(MaxTriggers)
	between(s.Properties["max_session_duration_seconds"], 0, maxSessionSeconds)
	addOrchestrationRules(s)
}

func addOrchestrationRules(s *jsonschema.Schema) {
	strategies := s.Properties["supported_delegation_strategies"]
	strategies.UniqueItems = true
	for _, strategy := range Strategies() {
		strategies.Items.Enum = append(strategies.Items.Enum, strategy)
	}
	between(s.Properties["max_concurrent_delegations"], 0, maxDelegations)
}

func addHandoffRules(s *jsonschema.Schema) {
	between(s.Properties["recent_message_count"], 0, conversation.MaxRecentMessages)
	between(s.Properties["keep_state_days"], 0, maxKeepStateDays)
	s.Properties["second"].Enum = []any{SecondReject, SecondQueue}
	s.Properties["sources"].UniqueItems = true
	s.Properties["aliases"].MaxProperties = new(maxAliases)
	target := s.Properties["targets"].Items
	target.Properties["triggers"].MaxItems = new(MaxTriggers)
	between(target.Properties["estimated_duration_seconds"], 0, maxDurationSeconds)
}

func between(s *jsonschema.Schema, least, most float64) { s.Minimum, s.Maximum = &least, &most }

func addAgentRules(s *jsonschema.Schema) {
	s.Properties["display_name"].MaxLength = new(maxLineChars)
	s.Properties["model"].Pattern = `^\S+$`
	s.Properties["api"].Enum = []any{events.APIResponses, events.APIMessages, events.APIChat}
	fallbacks := s.Properties["fallback_models"]
	fallbacks.MaxItems, fallbacks.UniqueItems = new(maxFallbackModels), true
	fallbacks.Items.Pattern = `^\S+$`
	for _, level := range effort.Levels() {
		s.Properties["effort"].Enum = append(s.Properties["effort"].Enum, level)
	}
	for _, tier := range Tiers() {
		s.Properties["tier"].Enum = append(s.Properties["tier"].Enum, tier)
	}
	output := s.Properties["max_output_tokens"]
	output.Minimum, output.Maximum = new(0.0), new(float64(maxOutputTokens))
	temperature := s.Properties["temperature"]
	temperature.Minimum, temperature.Maximum = new(0.0), new(2.0)
}

func addLimits(s *jsonschema.Schema) {
	s.Properties = map[string]*jsonschema.Schema{}
	s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	for _, b := range bounds {
		property := &jsonschema.Schema{
			Description: fmt.Sprintf("Bound on %s, in %s. Defaults to %s: %s.", b.Description, b.Unit, b.Format(b.Default), b.Reason),
		}
		_, fraction := b.field(new(Limits)).(*float64)
		switch {
		case b.Unit == UnitSeconds:
			property.Type, property.Pattern = "string", durationPattern
			property.Description = fmt.Sprintf("Bound on %s, such as \"90s\" or \"10m\". Defaults to %s: %s.", b.Description, b.Format(b.Default), b.Reason)
		case fraction:
			property.Type, property.Minimum, property.Maximum = "number", new(b.Min), new(b.Max)
		default:
			property.Type, property.Minimum, property.Maximum = "integer", new(b.Min), new(b.Max)
		}
		s.Properties[string(b.Name)] = property
		s.PropertyOrder = append(s.PropertyOrder, string(b.Name))
	}
}
