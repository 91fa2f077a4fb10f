package sim_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/internal/sim"
)

// post sends a request and gives status and body.
func post(t *testing.T, url, key, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("X-Api-Key", key)
	response, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(answer)
}

// Both native APIs refuse what their providers refuse.
//
// Proves R78.
func TestStrictResponses(t *testing.T) {
	server := httptest.NewServer(sim.NewServer(sim.Options{}))
	t.Cleanup(server.Close)
	ask := func(key, items string) (int, string) {
		return post(t, server.URL+"/v1/responses", key, `{"model":"m","store":false,"include":["reasoning.encrypted_content"],"input":[`+items+`]}`)
	}
	const user = `{"role":"user","content":[{"type":"input_text","text":"What is the capital of Norway?"}]}`
	status, body := ask("k", user)
	require.Equal(t, 200, status, body)
	reasoning := gjson.Get(body, "output.0").Raw
	require.NotEmpty(t, gjson.Get(reasoning, "encrypted_content").Str)
	const said = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}`
	const call, result = `{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}`, `{"type":"function_call_output","call_id":"c","output":"r"}`
	for items, refusal := range map[string]string{
		user + `,` + reasoning + `,` + said + `,` + user:                                   "",
		user + `,` + call + `,` + result:                                                   "",
		user + `,` + reasoning + `,` + user:                                                "without its required following item",
		user + `,` + reasoning:                                                             "without its required following item",
		user + `,{"type":"reasoning","summary":[],"encrypted_content":"c29tZQ=="},` + said: "could not be verified",
		user + `,` + call + `,` + user + `,` + result:                                      "No tool output found",
		user + `,` + call:                                                                  "No tool output found",
		user + `,` + result + `,` + call:                                                   "No tool call found",
	} {
		status, body := ask("k", items)
		if refusal == "" {
			require.Equal(t, 200, status, body)
			continue
		}
		require.Equal(t, 400, status, items)
		require.Contains(t, body, refusal)
	}
	status, body = ask("another", user+`,`+reasoning+`,`+said+`,`+user)
	require.Equal(t, 400, status)
	require.Equal(t, "invalid_encrypted_content", gjson.Get(body, "error.code").Str)
	status, body = post(t, server.URL+"/v1/responses", "k", `{"model":"m","input":[`+user+`]}`)
	require.Equal(t, 400, status)
	require.Contains(t, body, "'store' must be false")
}

func TestStrictMessages(t *testing.T) {
	server := httptest.NewServer(sim.NewServer(sim.Options{}))
	t.Cleanup(server.Close)
	ask := func(key, items string) (int, string) {
		return post(t, server.URL+"/v1/messages", key, `{"model":"m","max_tokens":100,"messages":[`+items+`]}`)
	}
	const user = `{"role":"user","content":[{"type":"text","text":"What is the capital of Norway?"}]}`
	status, body := ask("k", user)
	require.Equal(t, 200, status, body)
	thinking := gjson.Get(body, "content.0").Raw
	require.NotEmpty(t, gjson.Get(thinking, "signature").Str)
	assistant := func(blocks string) string { return `,{"role":"assistant","content":[` + blocks + `]},` }
	const call, text = `{"type":"tool_use","id":"c","name":"n","input":{}}`, `{"type":"text","text":"x"}`
	const result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"},` + text + `]}`
	marked := strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 5)
	for items, refusal := range map[string]string{
		user + assistant(thinking+`,`+text) + user: "",
		user + assistant(text+`,`+call) + result:   "",
		user + assistant(call+`,`+text) + result:   "`tool_use` ids were found without `tool_result`",
		user + assistant(call) + user:              "`tool_use` ids were found without `tool_result`",
		user + assistant(call) + `{"role":"user","content":[` + text + `,{"type":"tool_result","tool_use_id":"c"}]}`: "`tool_use` ids were found without `tool_result`",
		user + assistant(`{"type":"thinking","thinking":"","signature":"c29tZQ=="},`+text) + user:                    "Invalid `signature`",
		user + assistant(`{"type":"text","text":" "}`) + user:                                                        "non-whitespace",
		user + strings.TrimSuffix(assistant(text), ","):                                                              "prefill",
		`{"role":"user","content":[` + strings.TrimSuffix(marked, ",") + `]}`:                                        "A maximum of 4 blocks with cache_control",
	} {
		status, body := ask("k", items)
		if refusal == "" {
			require.Equal(t, 200, status, body)
			continue
		}
		require.Equal(t, 400, status, items)
		require.Contains(t, body, refusal)
	}
	status, body = ask("another", user+assistant(thinking+`,`+text)+user)
	require.Equal(t, 400, status, body)
}
