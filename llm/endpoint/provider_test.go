package endpoint_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/endpoint"
)

// What was set of a provider: another address, another variable, an API, limits, and a
// provider that is not known.
func TestProvidersThatWereSet(t *testing.T) {
	s := newServer(t)
	for _, c := range []struct {
		name, spec, provider, model, auth string
		set                               endpoint.Provider
		env                               []string
	}{
		{"of one's own", "acme/big", "acme", "big", "Bearer acme-key", endpoint.Provider{BaseURL: s.URL + "/v1/", KeyEnv: "ACME"}, []string{"ACME", "acme-key", "OPENAI_API_KEY", "other"}},
		{"without a key", "acme/a/b", "acme", "a/b", "", endpoint.Provider{BaseURL: s.URL + "/v1"}, []string{"OPENAI_API_KEY", "other"}},
		{"a variable in the address", "acme/big", "acme", "big", "Bearer k", endpoint.Provider{BaseURL: "http://${ACME_HOST}/v1", KeyEnv: "ACME"}, []string{"ACME", "k", "ACME_HOST", strings.TrimPrefix(s.URL, "http://")}},
		{"a known one elsewhere", "groq/m", "groq", "m", "Bearer g", endpoint.Provider{BaseURL: s.URL + "/v1"}, []string{"GROQ_API_KEY", "g"}},
		{"OpenAI elsewhere", "openai/m", "openai", "m", "Bearer work", endpoint.Provider{BaseURL: s.URL + "/v1", KeyEnv: "WORK", API: events.APIChat}, []string{"WORK", "work", "OPENAI_API_KEY", "private"}},
		{"no provider named", "m", "openai", "m", "Bearer work", endpoint.Provider{BaseURL: s.URL + "/v1", KeyEnv: "WORK", API: events.APIChat}, []string{"WORK", "work"}},
		{"beside OPENAI_BASE_URL", "acme/big", "acme", "big", "", endpoint.Provider{BaseURL: s.URL + "/v1"}, []string{"OPENAI_BASE_URL", "http://127.0.0.1:1/v1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.asked, s.auth = nil, nil
			set := map[string]endpoint.Provider{c.provider: c.set}
			target := resolve(t, endpoint.Config{Env: env(c.env...), Providers: set}, c.spec)[0]
			require.Equal(t, c.provider, target.Endpoint.Name)
			require.Equal(t, c.provider, call(t, target).Provider)
			require.Equal(t, []string{c.model}, s.asked)
			require.Equal(t, []string{c.auth}, s.auth)

			again, err := endpoint.New(endpoint.Config{Env: env(c.env...), Providers: set}).ResolveAt(llm.Route{target}.Logged())
			require.NoError(t, err)
			require.Equal(t, target.Endpoint.Address, again[0].Endpoint.Address)
			require.Equal(t, target.Endpoint.Keyless, again[0].Endpoint.Keyless)
		})
	}
}

// A provider without a key: its own variable is named, and no other's.
func TestNoKeyNamesItsOwnVariableAlone(t *testing.T) {
	set := map[string]endpoint.Provider{"acme": {BaseURL: "https://acme.example/v1", KeyEnv: "ACME_KEY"}, "openai": {KeyEnv: "WORK_KEY"}}
	for spec, variable := range map[string]string{"acme/m": "ACME_KEY", "openai/m": "WORK_KEY", "m": "WORK_KEY", "anthropic/m": "ANTHROPIC_API_KEY"} {
		_, err := endpoint.New(endpoint.Config{Env: env("GROQ_API_KEY", "g", "OPENAI_API_KEY", "k"), Providers: set}).Resolve(spec)
		var missing *endpoint.NotConfiguredError
		require.ErrorAs(t, err, &missing)
		require.ErrorContains(t, err, variable+" is not set")
		for _, other := range []string{"ACME_KEY", "WORK_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GROQ_API_KEY"} {
			require.Equal(t, other == variable, strings.Contains(err.Error(), other), "%s: %v", other, err)
		}
	}
	_, err := endpoint.New(endpoint.Config{Env: env(), Providers: map[string]endpoint.Provider{"acme": {}}}).Resolve("acme/m")
	require.ErrorContains(t, err, "acme has no base_url")
	require.NotContains(t, err.Error(), "OPENAI", "another provider's variables set nothing here")
	require.ErrorContains(t, err, "convene config trust")
	_, err = endpoint.New(endpoint.Config{Env: env(), Providers: set}).Resolve("acne/m")
	require.ErrorContains(t, err, "xai, ")
	require.ErrorContains(t, err, "acme")
}

// What was set of a provider belongs to the address that it was set for.
func TestASetKeyStaysAtItsAddress(t *testing.T) {
	asked := false
	set := map[string]endpoint.Provider{"openai": {BaseURL: "https://gateway.example/v1", KeyEnv: "GATEWAY", Key: func(context.Context) (string, error) {
		asked = true
		return "k", nil
	}}}
	_, err := endpoint.New(endpoint.Config{Env: env("GATEWAY", "g"), Providers: set, BaseURL: "https://api.openai.com/v1"}).Resolve("gpt-5")
	require.ErrorContains(t, err, "OPENAI_API_KEY is not set")
	_, err = endpoint.New(endpoint.Config{Env: env("GATEWAY", "g"), Providers: set}).ResolveAt([]llm.LoggedTarget{{Provider: "openai", Model: "m", Address: "https://evil.example/v1"}}, "m")
	require.ErrorContains(t, err, "nothing here says that a key may be sent there")
	require.False(t, asked)
}

// The variable that was set for OpenAI's key is the one for compatible servers too, unless
// it was set for an address.
func TestTheVariableOfCompatibleServers(t *testing.T) {
	s := newServer(t)
	for base, auth := range map[string]string{"": "Bearer work", "https://gateway.example/v1": "Bearer private"} {
		s.auth = nil
		call(t, resolve(t, endpoint.Config{
			Env:       env("WORK", "work", "OPENAI_API_KEY", "private", "OPENAI_BASE_URL", s.URL+"/v1"),
			Providers: map[string]endpoint.Provider{"openai": {BaseURL: base, KeyEnv: "WORK"}},
		}, "m")[0])
		require.Equal(t, []string{auth}, s.auth)
	}
}

// A key that has to be asked for is, once, and by the first call only.
func TestAKeyIsAskedForAtTheFirstCall(t *testing.T) {
	s := newServer(t)
	var asked atomic.Int32
	set := map[string]endpoint.Provider{"acme": {BaseURL: s.URL + "/v1", KeyEnv: "ACME", Key: func(context.Context) (string, error) {
		asked.Add(1)
		return "from-the-command", nil
	}}}
	cfg := endpoint.Config{Env: env(), Providers: set}
	target := resolve(t, cfg, "acme/m")[0]
	require.False(t, target.Endpoint.Keyless)
	require.Zero(t, asked.Load())
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			_, err := ask(t, target, nil)
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 1, asked.Load())
	require.Equal(t, "Bearer from-the-command", s.auth[7])

	// The variable comes before it.
	cfg.Env = env("ACME", "from-the-variable")
	call(t, resolve(t, cfg, "acme/m")[0])
	require.Equal(t, "Bearer from-the-variable", s.auth[8])
	require.EqualValues(t, 1, asked.Load())
}

func TestAKeyThatCannotBeHad(t *testing.T) {
	s := newServer(t)
	for name, key := range map[string]func(context.Context) (string, error){
		"locked":  func(context.Context) (string, error) { return "", errors.New("the store is locked") },
		"empty":   func(context.Context) (string, error) { return "", nil },
		"no key":  func(context.Context) (string, error) { return "se cret", nil },
		"no text": func(context.Context) (string, error) { return "se\x00cret", nil },
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			set := map[string]endpoint.Provider{"acme": {BaseURL: s.URL + "/v1", Key: func(ctx context.Context) (string, error) {
				asked++
				return key(ctx)
			}}}
			target := resolve(t, endpoint.Config{Env: env(), Providers: set}, "acme/m")[0]
			for range 2 {
				_, err := ask(t, target, nil)
				require.Equal(t, llm.ErrAuthentication, llm.KindOf(err))
				require.NotContains(t, err.Error(), "cret")
			}
			require.Equal(t, 1, asked, "not for every call")
			require.Empty(t, s.asked)
		})
	}
}

// Each provider has limits of its own; those for all endpoints come before.
func TestLimitsOfAProvider(t *testing.T) {
	set := map[string]endpoint.Provider{"acme": {BaseURL: "http://acme.example/v1", Limits: llm.LimiterConfig{MaxInFlight: 3, RequestsPerMinute: 60, TokensPerMinute: 1000}}}
	state := func(cfg endpoint.Config, spec string) llm.LimiterState {
		cfg.Env, cfg.Providers = env(), set
		return resolve(t, cfg, spec)[0].Endpoint.Limiter.(*llm.LocalLimiter).State()
	}
	acme, other := state(endpoint.Config{}, "acme/m"), state(endpoint.Config{}, "ollama/m")
	require.Equal(t, []int{3, 60, 1000}, []int{acme.Limit, acme.RequestsPerMinute, acme.TokensPerMinute})
	require.Equal(t, []int{0, 0}, []int{other.RequestsPerMinute, other.TokensPerMinute})
	require.NotEqual(t, 3, other.Limit)
	acme = state(endpoint.Config{RequestsPerMinute: 7}, "acme/m")
	require.Equal(t, []int{3, 7, 1000}, []int{acme.Limit, acme.RequestsPerMinute, acme.TokensPerMinute})
}

// A call that was cancelled while the key was asked for says nothing about the key.
func TestACancelledCallAsksForTheKeyAgain(t *testing.T) {
	s := newServer(t)
	asked := 0
	ctx, cancel := context.WithCancel(t.Context())
	set := map[string]endpoint.Provider{"acme": {BaseURL: s.URL + "/v1", Key: func(ctx context.Context) (string, error) {
		if asked++; asked == 1 {
			cancel()
			return "", errors.New("interrupted")
		}
		return "the-key", nil
	}}}
	target := resolve(t, endpoint.Config{Env: env(), Providers: set}, "acme/m")[0]
	for _, err := range target.Endpoint.Client.Stream(ctx, llm.Request{Model: "m"}) {
		require.ErrorIs(t, err, context.Canceled)
	}
	call(t, target)
	require.Equal(t, 2, asked)
	require.Equal(t, []string{"Bearer the-key"}, s.auth)
}
