package events_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
)

// Whatever stands where in the starts of runs, a Decoder gives what Decode gives.
func TestDecoder(t *testing.T) {
	config := json.RawMessage(`{"team":{"name":"a"}}`)
	known := json.RawMessage(`"(the configuration of the run before)"`)
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SampledFrom([]json.RawMessage{nil, config, json.RawMessage(`{"config":` + string(config) + `}`), known, json.RawMessage(`null`)})
		words := rapid.SampledFrom([]string{"hello", `"config":` + string(config), `,"config":`})
		var decoder events.Decoder
		for range rapid.IntRange(1, 6).Draw(rt, "runs") {
			body, err := events.Encode(events.Envelope{Run: "r", Seq: 1, Data: events.WorkflowStarted{
				Message: words.Draw(rt, "message"), Team: "t", Layout: values.Draw(rt, "layout"), Config: values.Draw(rt, "config"), Simulated: true,
			}})
			require.NoError(rt, err)
			if more := values.Draw(rt, "twice"); more != nil && rapid.Bool().Draw(rt, "again") {
				body = []byte(strings.TrimSuffix(string(body), "}}") + `,"` + rapid.SampledFrom([]string{"config", "Config", "other"}).Draw(rt, "name") + `":` + string(more) + "}}")
			}
			want, err := events.Decode(body)
			require.NoError(rt, err)
			got, err := decoder.Decode(body)
			require.NoError(rt, err)
			require.Equal(rt, want, got)
		}
	})
}
