package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/endpoint"
)

// server answers like an endpoint and remembers what it was asked.
type server struct {
	*httptest.Server
	models []string
	mu     sync.Mutex
	auth   []string
	asked  []string
	header http.Header
}

func newServer(t *testing.T, models ...string) *server {
	s := &server{models: models}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		var list struct {
			Data []map[string]string `json:"data"`
		}
		for _, m := range s.models {
			list.Data = append(list.Data, map[string]string{"id": m})
		}
		_ = json.NewEncoder(w).Encode(list)
	})
	answer := func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.mu.Lock()
		s.asked = append(s.asked, body.Model)
		s.auth = append(s.auth, r.Header.Get("Authorization"))
		s.header = r.Header
		s.mu.Unlock()
		_, _ = w.Write([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
	}
	mux.HandleFunc("POST /v1/chat/completions", answer)
	mux.HandleFunc("POST /openai/v1/chat/completions", answer)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// env gives an environment in which no Ollama of the machine is found.
func env(pairs ...string) func(string) string {
	values := map[string]string{"OLLAMA_HOST": "127.0.0.1:1"}
	for i := 0; i+1 < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return values[name] }
}

func resolve(t *testing.T, cfg endpoint.Config, specs ...string) llm.Route {
	t.Helper()
	route, err := endpoint.New(cfg).Resolve(specs...)
	require.NoError(t, err)
	return route
}

func call(t *testing.T, target llm.Target) *llm.Completion {
	t.Helper()
	req := llm.Request{Messages: []events.Message{{Role: events.RoleUser, Content: "hello"}}}
	for d, err := range (&llm.Caller{}).Stream(t.Context(), llm.Route{target}, req) {
		require.NoError(t, err)
		if d.Done != nil {
			return d.Done
		}
	}
	t.Fatal("no completion")
	return nil
}

// Proves R70.
func TestWhatPeopleSetFindsAnEndpoint(t *testing.T) {
	for _, c := range []struct {
		env   []string
		spec  string
		names []string // endpoint's name and model, in turn
	}{
		{[]string{"OPENAI_API_KEY", "k"}, "", []string{"openai", "gpt-5-mini"}},
		{[]string{"ANTHROPIC_API_KEY", "k"}, "", []string{"anthropic", "claude-sonnet-5"}},
		{[]string{"ANTHROPIC_API_KEY", "k", "OPENAI_API_KEY", "k"}, "", []string{"openai", "gpt-5-mini"}},
		{[]string{"OPENAI_API_KEY", "k"}, "gpt-5", []string{"openai", "gpt-5"}},
		{[]string{"OPENAI_API_KEY", "k"}, "openai/gpt-5", []string{"openai", "gpt-5"}},
		{[]string{"OPENAI_API_KEY", "k", "CONVENE_MODEL", "o3"}, "", []string{"openai", "o3"}},
		{[]string{"ANTHROPIC_API_KEY", "k"}, "anthropic/claude-sonnet-4-5", []string{"anthropic", "claude-sonnet-4-5"}},
		{[]string{"GOOGLE_API_KEY", "k"}, "gemini/gemini-2.5-flash", []string{"gemini", "gemini-2.5-flash"}},
		{[]string{"OPENROUTER_API_KEY", "k"}, "openrouter/anthropic/claude-sonnet-4.5", []string{"openrouter", "anthropic/claude-sonnet-4.5"}},
		{[]string{"GROQ_API_KEY", "k"}, "groq/openai/gpt-oss-120b", []string{"groq", "openai/gpt-oss-120b"}},
		{[]string{"MISTRAL_API_KEY", "k", "XAI_API_KEY", "k"}, "mistral/m, xai/x", []string{"mistral", "m", "xai", "x"}},
		{[]string{"DEEPSEEK_API_KEY", "k", "TOGETHER_API_KEY", "k"}, "deepseek/d,together/a/b", []string{"deepseek", "d", "together", "a/b"}},
		{[]string{"AZURE_OPENAI_API_KEY", "k", "AZURE_OPENAI_ENDPOINT", "https://x.openai.azure.com/"}, "azure/mine", []string{"azure", "mine"}},
		{nil, "ollama/qwen3,lmstudio/a,vllm/b/c,llamacpp/default", []string{"ollama", "qwen3", "lmstudio", "a", "vllm", "b/c", "llamacpp", "default"}},
		{[]string{"MOONSHOT_API_KEY", "k", "ZAI_API_KEY", "k", "CEREBRAS_API_KEY", "k", "FIREWORKS_API_KEY", "k"}, "moonshot/a,zai/b,cerebras/c,fireworks/accounts/fireworks/models/d",
			[]string{"moonshot", "a", "zai", "b", "cerebras", "c", "fireworks", "accounts/fireworks/models/d"}},
		{[]string{"AWS_BEARER_TOKEN_BEDROCK", "k", "AWS_REGION", "us-west-2", "VERTEX_ACCESS_TOKEN", "k", "GOOGLE_CLOUD_PROJECT", "p", "GOOGLE_CLOUD_LOCATION", "l"},
			"bedrock/openai.gpt-oss-120b-1:0,vertex/google/gemini-2.5-flash", []string{"bedrock", "openai.gpt-oss-120b-1:0", "vertex", "google/gemini-2.5-flash"}},
		{nil, "sim", []string{"sim", "sim"}},
		{[]string{"OPENAI_BASE_URL", "http://localhost:1/v1"}, "sim", []string{"sim", "sim"}},
		{[]string{"OPENAI_BASE_URL", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "k"}, "anthropic/claude-x", []string{"openrouter", "anthropic/claude-x"}},
		{[]string{"OPENAI_BASE_URL", "http://localhost:1/v1", "ANTHROPIC_API_KEY", "k"}, "anthropic/claude-x", []string{"anthropic", "claude-x"}},
		{[]string{"OPENAI_BASE_URL", "http://localhost:1/v1"}, "meta-llama/Llama-3", []string{"localhost:1", "meta-llama/Llama-3"}},
		{[]string{"OPENAI_BASE_URL", "http://localhost:1/v1"}, "openai/gpt-oss-20b", []string{"localhost:1", "openai/gpt-oss-20b"}},
	} {
		var got []string
		for _, target := range resolve(t, endpoint.Config{Env: env(c.env...)}, c.spec) {
			got = append(got, target.Endpoint.Name, target.Model)
		}
		require.Equal(t, c.names, got, "%v %q", c.env, c.spec)
	}
}

func TestABaseURLIsAsked(t *testing.T) {
	for _, c := range []struct{ flag, spec, model, name string }{
		{"--base-url", "some-model", "some-model", ""},
		{"--base-url", "openai/gpt-5", "gpt-5", "openai"},
		{"--base-url", "openai/gpt-oss-20b", "openai/gpt-oss-20b", ""},
		{"--base-url", "deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V3", ""},
		{"--base-url", "sim", "sim", "sim"},
		{"--base-url", "", "the-only-one", ""},
		{"OPENAI_BASE_URL", "some-model", "some-model", ""},
		{"OPENAI_BASE_URL", "", "the-only-one", ""},
	} {
		t.Run(c.flag+" "+c.spec, func(t *testing.T) {
			s := newServer(t, "the-only-one")
			cfg := endpoint.Config{Env: env("OPENAI_API_KEY", "sk-a-key-of-the-test"), BaseURL: s.URL + "/v1/"}
			if c.flag == "OPENAI_BASE_URL" {
				cfg = endpoint.Config{Env: env("OPENAI_API_KEY", "sk-a-key-of-the-test", "OPENAI_BASE_URL", s.URL+"/v1")}
			}
			route := resolve(t, cfg, c.spec)
			if c.name == "" {
				c.name = strings.TrimPrefix(s.URL, "http://")
			}
			require.Equal(t, c.name, route[0].Endpoint.Name)
			done := call(t, route[0])
			require.Equal(t, c.name, done.Provider)
			require.Equal(t, []string{c.model}, s.asked)
			require.Equal(t, []string{"Bearer sk-a-key-of-the-test"}, s.auth)
		})
	}
}

func TestProvidersGetTheKeyTheirWay(t *testing.T) {
	s := newServer(t)
	call(t, resolve(t, endpoint.Config{Env: env("AZURE_OPENAI_API_KEY", "azure-key", "AZURE_OPENAI_ENDPOINT", s.URL)}, "azure/d")[0])
	require.Equal(t, "azure-key", s.header.Get("Api-Key"))
	require.Empty(t, s.header.Get("Authorization"))

	call(t, resolve(t, endpoint.Config{Env: env("ANTHROPIC_API_KEY", "a-key"), BaseURL: s.URL + "/v1"}, "anthropic/claude?api=chat")[0])
	require.Equal(t, "Bearer a-key", s.header.Get("Authorization"))

	call(t, resolve(t, endpoint.Config{Env: env("OLLAMA_HOST", strings.TrimPrefix(s.URL, "http://"))}, "ollama/q")[0])
	require.Empty(t, s.header.Get("Authorization"), "no key, no header")
	require.Equal(t, []string{"d", "claude", "q"}, s.asked)
}

// Nothing configured is an error that lists the ways; a simulated answer is never
// given unasked.
func TestNothingConfigured(t *testing.T) {
	for _, c := range []struct {
		env    []string
		base   string
		spec   string
		says   []string
		saysNo string
	}{
		{nil, "", "", []string{"no model is configured", "OPENAI_API_KEY", "--base-url", "--model sim", "anthropic", "groq"}, "Ollama answers"},
		{[]string{"GROQ_API_KEY", "k"}, "", "", []string{"--model groq/llama-3.3-70b-versatile (GROQ_API_KEY is set)"}, ""},
		{nil, "", "gpt-5", []string{`the model "gpt-5" needs OPENAI_API_KEY`}, ""},
		{nil, "", "anthropic/claude", []string{"ANTHROPIC_API_KEY is not set"}, ""},
		{nil, "", "gemini/x", []string{"GEMINI_API_KEY or GOOGLE_API_KEY is not set"}, ""},
		{nil, "", "azure/x", []string{"AZURE_OPENAI_API_KEY is not set"}, ""},
		{[]string{"AWS_BEARER_TOKEN_BEDROCK", "k"}, "", "bedrock/x", []string{"AWS_REGION is not set, which bedrock needs"}, ""},
		{[]string{"AZURE_OPENAI_API_KEY", "k"}, "", "azure/x", []string{"AZURE_OPENAI_ENDPOINT is not set"}, ""},
		{[]string{"OPENAI_API_KEY", "k"}, "", "antropic/claude", []string{`provider "antropic"`, "anthropic"}, ""},
		{[]string{"OPENAI_API_KEY", "k"}, "", "anthropic", []string{"names a provider alone", "anthropic/claude-sonnet-5"}, ""},
		{[]string{"ANTHROPIC_API_KEY", "k"}, "", "anthropic/", []string{"names a provider alone", "--model anthropic/"}, ""},
		{nil, "localhost:8080", "m", []string{"--base-url is no address"}, ""},
		{[]string{"OPENAI_BASE_URL", "ftp://x"}, "", "m", []string{"OPENAI_BASE_URL is no address"}, ""},
		{[]string{"OPENAI_API_KEY", "se\ncret"}, "", "m", []string{"OPENAI_API_KEY holds characters"}, "cret"},
	} {
		_, err := endpoint.New(endpoint.Config{Env: env(c.env...), BaseURL: c.base}).Resolve(c.spec)
		var missing *endpoint.NotConfiguredError
		require.True(t, errors.As(err, &missing), "%v %q: %v", c.env, c.spec, err)
		for _, text := range c.says {
			require.ErrorContains(t, err, text)
		}
		if c.saysNo != "" {
			require.NotContains(t, err.Error(), c.saysNo)
		}
	}
}

func TestALocalOllamaIsOffered(t *testing.T) {
	s := newServer(t, "qwen3", "llama3.2")
	_, err := endpoint.New(endpoint.Config{Env: env("OLLAMA_HOST", s.URL)}).Resolve("")
	require.ErrorContains(t, err, "--model ollama/qwen3 (a local Ollama answers; it has qwen3, llama3.2)")
}

func TestSeveralModelsAndNoneNamed(t *testing.T) {
	s := newServer(t, "a", "b")
	_, err := endpoint.New(endpoint.Config{Env: env(), BaseURL: s.URL + "/v1"}).Resolve("")
	require.ErrorContains(t, err, "has 2 models (a, b) and none is named")
}

func TestEndpointsAreShared(t *testing.T) {
	r := endpoint.New(endpoint.Config{Env: env("OPENAI_API_KEY", "k", "GROQ_API_KEY", "g"), Concurrency: 7})
	first, err := r.Resolve("openai/a", "groq/b", "openai/a")
	require.NoError(t, err)
	require.Len(t, first, 2, "a target is tried once")
	second, err := r.Resolve("c", "sim")
	require.NoError(t, err)
	require.Same(t, first[0].Endpoint, second[0].Endpoint, "same address and key, same limiter")
	require.NotSame(t, first[0].Endpoint, first[1].Endpoint)
	require.Equal(t, 7, first[0].Endpoint.Limiter.(*llm.LocalLimiter).State().Limit)
	require.Len(t, r.Endpoints(), 3)
}

type fake struct{}

func (fake) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{Done: &llm.Completion{}}, nil) }
}

func TestClientsOfOnesOwn(t *testing.T) {
	cfg := endpoint.Config{Env: env(), Custom: map[string]llm.Client{"mine": fake{}, "sim": fake{}}, Default: "mine/x"}
	route := resolve(t, cfg, "", "sim")
	require.Equal(t, fake{}, route[0].Endpoint.Client)
	require.Equal(t, "x", route[0].Model)
	require.Equal(t, "mine", call(t, route[0]).Provider)
	require.Equal(t, fake{}, route[1].Endpoint.Client)
}

// What is shown and logged of an address names no user and no secret.
func TestTheAddressShownHasNoSecrets(t *testing.T) {
	for base, shown := range map[string]string{
		"http://me:sesame@localhost:1/v1/?key=sesame#sesame": "http://localhost:1/v1",
		"https://host/v1": "https://host/v1",
	} {
		e := resolve(t, endpoint.Config{Env: env(), BaseURL: base}, "m")[0].Endpoint
		require.Equal(t, shown, e.Address)
		require.NotNil(t, e.Health)
	}
	require.Empty(t, resolve(t, endpoint.Config{Env: env()}, "sim")[0].Endpoint.Address)
}
