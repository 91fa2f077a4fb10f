package sim_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/sim"
)

// Whatever the body, the server answers or refuses; it does not fail.
func FuzzChatRequest(f *testing.F) {
	f.Add(`{"model":"m","stream":true,"messages":[{"role":"user","content":"Plan 2 days"}]}`)
	f.Add(`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"tools":[{"function":{"name":"create_tasks","parameters":{"properties":{"tasks":{"type":"array","items":{"$ref":"#/$defs/t"}}},"$defs":{"t":{"properties":{"w":{"enum":[1,null]}}}}}}},{"function":{"name":"call_x"}}]}`)
	f.Add(`{"messages":[{"role":"user","content":"Your tasks: 1"}],"tools":[{"function":{"name":"write_section","parameters":{"required":["s"],"properties":{"s":{"$ref":"#"},"t":{"type":"string","enum":[]}}}}}]}`)
	f.Add(`{"messages":[{"role":"user","content":"x"}],"tools":[{"function":{"name":"f","parameters":{"required":["a"],"properties":{"a":{"type":"array","minItems":-1},"b":{"type":"string","minLength":1000000000}}}}}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		server := sim.NewServer(sim.Options{Chunks: 5})
		response := httptest.NewRecorder()
		server.ServeHTTP(response, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest}, response.Code)
		require.Zero(t, server.Report().InFlight)
	})
}

func FuzzParseFaults(f *testing.F) {
	f.Add("rpm=3,tell-limits,retry-after=none")
	f.Add("503=10%,429-above=8,cut=5%,stall=1%:2s,rpm=3,retry-after=1s,key=k")
	f.Fuzz(func(t *testing.T, text string) {
		faults, err := sim.ParseFaults(text)
		if err != nil {
			require.Empty(t, faults)
			return
		}
		total := 0.0
		for _, fault := range faults.Random {
			require.GreaterOrEqual(t, fault.Rate, 0.0)
			total += fault.Rate
		}
		require.LessOrEqual(t, total, 1.001)
	})
}
