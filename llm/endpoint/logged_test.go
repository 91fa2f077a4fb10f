package endpoint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/endpoint"
)

// A run is resumed where it was asked, unless the environment says otherwise.
func TestTargetsOfALogAreFoundAgain(t *testing.T) {
	const local, far = "http://127.0.0.1:8080/v1", "https://models.example/v1"
	for name, c := range map[string]struct {
		env     []string
		baseURL string
		logged  llm.LoggedTarget
		address string // "" where it is refused
		keyless bool
	}{
		"a local server":      {[]string{"OPENAI_API_KEY", "k"}, "", llm.LoggedTarget{Provider: "127.0.0.1:8080", Model: "qwen", Address: local}, local, true},
		"named localhost":     {nil, "", llm.LoggedTarget{Provider: "localhost:1", Model: "a/b", Address: "http://localhost:1/v1"}, "http://localhost:1/v1", true},
		"IPv6":                {nil, "", llm.LoggedTarget{Provider: "[::1]:1", Model: "m", Address: "http://[::1]:1/v1"}, "http://[::1]:1/v1", true},
		"a provider's model":  {[]string{"ANTHROPIC_API_KEY", "k"}, "", llm.LoggedTarget{Provider: "anthropic", Model: "claude", Address: local}, local, true},
		"simulated over HTTP": {nil, "", llm.LoggedTarget{Provider: "sim", Model: "sim", Address: local}, local, true},
		"in the process":      {nil, "", llm.LoggedTarget{Provider: "sim", Model: "sim"}, "", true},
		"keyless elsewhere":   {[]string{"OPENAI_API_KEY", "k"}, "", llm.LoggedTarget{Provider: "models.example", Model: "m", Address: far, Keyless: true}, far, true},
		"the provider's own":  {[]string{"GROQ_API_KEY", "k"}, "", llm.LoggedTarget{Provider: "groq", Model: "m", Address: "https://api.groq.com/openai/v1"}, "https://api.groq.com/openai/v1", false},
		"OpenAI":              {[]string{"OPENAI_API_KEY", "k"}, "", llm.LoggedTarget{Provider: "openai", Model: "m", Address: "https://api.openai.com/v1"}, "https://api.openai.com/v1", false},
		"the variable equal":  {[]string{"OPENAI_API_KEY", "k", "OPENAI_BASE_URL", far}, "", llm.LoggedTarget{Provider: "models.example", Model: "m", Address: far}, far, false},
		"the variable other":  {[]string{"OPENAI_API_KEY", "k", "OPENAI_BASE_URL", local}, "", llm.LoggedTarget{Provider: "models.example", Model: "m", Address: far}, local, false},
		"the flag":            {[]string{"OPENAI_API_KEY", "k"}, far, llm.LoggedTarget{Provider: "127.0.0.1:8080", Model: "m", Address: local}, far, false},
		"Ollama moved":        {[]string{"OLLAMA_HOST", "127.0.0.1:5"}, "", llm.LoggedTarget{Provider: "ollama", Model: "m", Address: local}, "http://127.0.0.1:5/v1", true},
	} {
		t.Run(name, func(t *testing.T) {
			route, err := endpoint.New(endpoint.Config{Env: env(c.env...), BaseURL: c.baseURL}).ResolveAt([]llm.LoggedTarget{c.logged}, c.logged.Model)
			require.NoError(t, err)
			e := route[0].Endpoint
			require.Equal(t, c.address, e.Address)
			require.Equal(t, c.keyless, e.Keyless)
			require.Equal(t, c.logged.Model, route[0].Model)
			if c.baseURL == "" && c.env == nil {
				require.Equal(t, c.logged.Provider, e.Name)
			}
		})
	}
	for name, vars := range map[string][]string{
		"a key of another":  {"OPENAI_API_KEY", "sk-mine", "GROQ_API_KEY", "g"},
		"no key at all":     nil,
		"another local one": {"OLLAMA_HOST", "127.0.0.1:5"},
	} {
		for _, provider := range []string{"models.example", "openai", "groq"} {
			_, err := endpoint.New(endpoint.Config{Env: env(vars...)}).ResolveAt([]llm.LoggedTarget{{Provider: provider, Model: "m", Address: far}}, "m")
			var missing *endpoint.NotConfiguredError
			require.True(t, errors.As(err, &missing), "%s %s: %v", name, provider, err)
			require.ErrorContains(t, err, far)
			require.ErrorContains(t, err, "--base-url "+far)
		}
	}
}

// Nothing of this environment's accounts goes to an address that only a log names.
func TestNoKeyGoesToAnAddressOfALog(t *testing.T) {
	s := newServer(t)
	address := s.URL + "/v1"
	vars := env("OPENAI_API_KEY", "sk-mine", "OPENAI_ORG_ID", "org-mine", "ANTHROPIC_API_KEY", "a", "GROQ_API_KEY", "g")
	for _, provider := range []string{strings.TrimPrefix(s.URL, "http://"), "openai", "anthropic", "groq", "sim"} {
		route, err := endpoint.New(endpoint.Config{Env: vars}).ResolveAt([]llm.LoggedTarget{{Provider: provider, Model: "m", Address: address}}, "m")
		require.NoError(t, err)
		call(t, route[0])
		for _, header := range []string{"Authorization", "Api-Key", "X-Api-Key", "Openai-Organization"} {
			require.Empty(t, s.header.Get(header), "%s %s", provider, header)
		}
	}
	require.Len(t, s.asked, 5)

	route, err := endpoint.New(endpoint.Config{Env: vars, BaseURL: address}).ResolveAt([]llm.LoggedTarget{{Provider: "openai", Model: "m", Address: address}}, "openai/m")
	require.NoError(t, err)
	call(t, route[0])
	require.Equal(t, "Bearer sk-mine", s.header.Get("Authorization"), "the flag pairs the two")
}

// What a route is logged as leads back to it, with nothing secret in it.
func TestARouteIsLogged(t *testing.T) {
	cfg := endpoint.Config{Env: env("OPENAI_API_KEY", "k"), BaseURL: "http://me:sesame@127.0.0.1:9/v1?key=sesame"}
	require.Equal(t, []llm.LoggedTarget{{Provider: "127.0.0.1:9", Model: "m", Address: "http://127.0.0.1:9/v1"}}, resolve(t, cfg, "m").Logged())
	cfg = endpoint.Config{Env: env(), BaseURL: "http://127.0.0.1:9/v1"}
	require.Equal(t, []llm.LoggedTarget{{Provider: "127.0.0.1:9", Model: "m", Address: "http://127.0.0.1:9/v1", Keyless: true}}, resolve(t, cfg, "m").Logged())
	require.Nil(t, resolve(t, endpoint.Config{Env: env()}, "sim").Logged())

	logged := resolve(t, cfg, "m?api=chat").Logged()
	route, err := endpoint.New(endpoint.Config{Env: env()}).ResolveAt(logged, "m?api=chat")
	require.NoError(t, err)
	require.Equal(t, logged, route.Logged(), "it is asked by the same API")
	require.NotEmpty(t, logged[0].API)
}
