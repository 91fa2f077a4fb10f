package wire_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/llm/wire"
)

// Servers tell a model's window each in their way; the one that it runs with comes
// before the one that it was made with.
func TestWindow(t *testing.T) {
	for name, c := range map[string]struct {
		answers map[string]string
		want    int
	}{
		"vllm":                   {map[string]string{"/v1/models": `{"data":[{"id":"other","max_model_len":1},{"id":"m","max_model_len":8192}]}`}, 8192},
		"llama.cpp":              {map[string]string{"/props": `{"default_generation_settings":{"n_ctx":4096}}`, "/v1/models": `{"data":[{"id":"m","meta":{"n_ctx_train":131072}}]}`}, 4096},
		"ollama, running":        {map[string]string{"/api/ps": `{"models":[{"name":"m:latest","context_length":4096}]}`, "/api/show": `{"model_info":{"qwen3.context_length":40960}}`}, 4096},
		"ollama, not running":    {map[string]string{"/api/ps": `{"models":[]}`, "/api/show": `{"model_info":{"general.x":1,"qwen3.context_length":40960}}`}, 40960},
		"lmstudio":               {map[string]string{"/api/v0/models": `{"data":[{"id":"m","max_context_length":131072,"loaded_context_length":8192}]}`}, 8192},
		"openrouter":             {map[string]string{"/v1/models": `{"data":[{"id":"m","context_length":200000}]}`}, 200000},
		"a model not listed":     {map[string]string{"/v1/models": `{"data":[{"id":"other","context_length":200000}]}`}, 0},
		"one that tells nothing": {map[string]string{"/v1/models": `{"data":[{"id":"m"}]}`, "/props": "<html>"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if answer, ok := c.answers[r.URL.Path]; ok {
					_, _ = io.WriteString(w, answer)
					return
				}
				http.NotFound(w, r)
			}))
			t.Cleanup(server.Close)
			conn := wire.NewConn(wire.Config{Provider: "test", BaseURL: server.URL + "/v1"})
			t.Cleanup(conn.Close)
			require.Equal(t, c.want, conn.Window(t.Context(), "m"))
		})
	}
}
