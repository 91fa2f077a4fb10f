package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
)

type forecastArgs struct {
	Place string             `json:"place" jsonschema:"A city."`
	Days  int                `json:"days,omitempty" jsonschema:"How far to look ahead."`
	Units *string            `json:"units,omitempty"`
	Near  []near             `json:"near,omitempty"`
	Extra map[string]float64 `json:"extra,omitzero"`
}

type near struct {
	KM float64 `json:"km"`
}

// A schema is what the struct says, in its order: optional is left out, never null.
func TestSchemaOfAStruct(t *testing.T) {
	require.Equal(t, `{"type":"object","properties":{`+
		`"place":{"type":"string","description":"A city."},`+
		`"days":{"type":"integer","description":"How far to look ahead."},`+
		`"units":{"type":"string"},`+
		`"near":{"type":"array","items":{"type":"object","properties":{"km":{"type":"number"}},"required":["km"]}},`+
		`"extra":{"type":"object","additionalProperties":{"type":"number"}}},"required":["place"]}`,
		string(agent.Schema[forecastArgs]()))
	require.Equal(t, `{"type":"object","properties":{}}`, string(agent.Schema[struct{}]()))
	require.PanicsWithValue(t, "agent: schema of string: it is string, not a struct", func() { agent.Schema[string]() })
	require.Panics(t, func() { agent.Schema[struct{ F func() }]() })
}
