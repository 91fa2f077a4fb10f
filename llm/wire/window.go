package wire

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"
)

// Window asks the server how many tokens a model's window has, 0 where it does not
// tell: in the list of models (vLLM, OpenRouter, Groq, Mistral), or at the addresses of
// their own that llama.cpp, Ollama and LM Studio have. A local server may run a model
// with a smaller window than it was made with; the one that it runs with counts.
func (c *Conn) Window(ctx context.Context, model string) int {
	if c.configError != nil {
		return 0
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.FirstByteTimeout, errSilent)
	defer cancel()
	root := *c.bases[0]
	root.Path, root.RawPath = "/", ""
	for _, ask := range []struct {
		to    *url.URL
		body  string
		found func(gjson.Result) int64
	}{
		{root.JoinPath("api/ps"), "", func(v gjson.Result) int64 { return named(v.Get("models"), model).Get("context_length").Int() }},
		{root.JoinPath("props"), "", func(v gjson.Result) int64 { return v.Get("default_generation_settings.n_ctx").Int() }},
		{root.JoinPath("api/v0/models"), "", func(v gjson.Result) int64 {
			m := named(v.Get("data"), model)
			return first(m, "loaded_context_length", "max_context_length")
		}},
		{c.URL("models"), "", func(v gjson.Result) int64 {
			return first(named(v.Get("data"), model), "max_model_len", "meta.n_ctx", "context_length", "context_window", "max_context_length", "max_input_tokens")
		}},
		{root.JoinPath("api/show"), string(append(AppendString([]byte(`{"model":`), model), '}')), func(v gjson.Result) int64 {
			var window int64
			v.Get("model_info").ForEach(func(key, value gjson.Result) bool {
				if strings.HasSuffix(key.Str, ".context_length") {
					window = value.Int()
				}
				return window == 0
			})
			return window
		}},
	} {
		if window := ask.found(c.look(ctx, ask.to, ask.body)); window > 0 {
			return int(window)
		}
	}
	return 0
}

// look gets a JSON document, an empty one where there is none.
func (c *Conn) look(ctx context.Context, to *url.URL, body string) gjson.Result {
	request := &http.Request{Method: http.MethodGet, URL: to, Host: to.Host, Header: c.header}
	if body != "" {
		request.Method, request.ContentLength = http.MethodPost, int64(len(body))
		request.Body = io.NopCloser(bytes.NewReader([]byte(body)))
	}
	response, err := c.transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return gjson.Result{}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxModelsBytes))
	if err != nil || response.StatusCode != http.StatusOK || !ValidJSON(answer) {
		return gjson.Result{}
	}
	return gjson.ParseBytes(answer)
}

// named finds the model in a list: by its whole name, without ":latest" too.
func named(list gjson.Result, model string) gjson.Result {
	for _, m := range list.Array() {
		for _, key := range []string{"id", "model", "name"} {
			if name := m.Get(key).Str; name != "" && (name == model || name == model+":latest") {
				return m
			}
		}
	}
	return gjson.Result{}
}

// first gives the first of the paths that holds a positive number.
func first(v gjson.Result, paths ...string) int64 {
	for _, path := range paths {
		if n := v.Get(path).Int(); n > 0 {
			return n
		}
	}
	return 0
}
