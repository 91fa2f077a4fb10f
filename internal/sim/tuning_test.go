package sim_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/sim"
)

// Every API refuses ways to be asked that its provider refuses, and says which tier it
// served the request in.
func TestStrictTuning(t *testing.T) {
	server := httptest.NewServer(sim.NewServer(sim.Options{}))
	t.Cleanup(server.Close)
	for _, c := range []struct{ path, fields, refusal string }{
		{"responses", `"reasoning":{"effort":"xhigh"},"service_tier":"flex"`, ""},
		{"chat/completions", `"reasoning_effort":"minimal","service_tier":"flex"`, ""},
		{"chat/completions", `"reasoning_effort":"most"`, "Supported values for 'reasoning_effort'"},
		{"chat/completions", `"service_tier":"gold"`, "Invalid 'service_tier'"},
		{"responses", `"reasoning":{"effort":"most"}`, "Supported values for 'reasoning.effort'"},
		{"responses", `"service_tier":"gold"`, "Invalid 'service_tier'"},
		{"messages", `"thinking":{"type":"enabled","budget_tokens":1024},"service_tier":"standard_only"`, ""},
		{"messages", `"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}`, ""},
		{"messages", `"thinking":{"type":"off"}`, "does not match any of the expected tags"},
		{"messages", `"thinking":{"type":"enabled","budget_tokens":1000}`, "greater than or equal to 1024"},
		{"messages", `"thinking":{"type":"enabled","budget_tokens":4000}`, "less than max_tokens"},
		{"messages", `"thinking":{"type":"adaptive"},"temperature":0.5`, "may only be set to 1"},
		{"messages", `"output_config":{"effort":"none"}`, "output_config.effort: Input should be"},
		{"messages", `"service_tier":"flex"`, "service_tier: Input should be"},
	} {
		body := `{"model":"m","store":false,"include":["reasoning.encrypted_content"],"input":[{"role":"user","content":"hi"}],` + c.fields + `}`
		tier := "flex"
		switch c.path {
		case "chat/completions":
			body = `{"model":"m","messages":[{"role":"user","content":"hi"}],` + c.fields + `}`
		case "messages":
			tier = "standard"
			body = `{"model":"m","max_tokens":4000,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],` + c.fields + `}`
		}
		status, answer := post(t, server.URL+"/v1/"+c.path, "k", body)
		if c.refusal == "" {
			require.Equal(t, 200, status, answer)
			require.Contains(t, answer, `"service_tier":"`+tier+`"`)
			continue
		}
		require.Equal(t, 400, status, c.fields)
		require.Contains(t, answer, c.refusal)
	}
}
