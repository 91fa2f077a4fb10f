package endpoint

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// Provider is what somebody set of a provider, known or of their own. What is empty
// stays as it is known.
type Provider struct {
	// BaseURL is where its models are asked, with variables of the environment in it as
	// ${NAME}. A provider that is not known needs one.
	BaseURL string
	// KeyEnv is the environment variable that holds its key, in place of the known ones.
	// A provider that is not known, and has neither KeyEnv nor Key, is sent none.
	KeyEnv string
	// Key gives the key where the variable is not set. It is called once the provider is
	// asked for the first time, by one caller at a time; an error holds for a minute.
	Key func(context.Context) (string, error)
	// API is the one that its models are asked by. Defaults to the known one, else chat.
	API events.API
	// Limits are those of its endpoint, where [Config] gives none.
	Limits llm.LimiterConfig
}

// mergeProviders lays what was set over what is known.
func mergeProviders(set map[string]Provider) []preset {
	all := slices.Clone(presets)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		i := slices.IndexFunc(all, func(p preset) bool { return p.name == name })
		if i < 0 {
			all = append(all, preset{name: name, keyless: true, example: "MODEL"})
			i = len(all) - 1
		}
		all[i].set(set[name])
	}
	return all
}

func (p *preset) set(by Provider) {
	if base := strings.TrimRight(by.BaseURL, "/"); base != "" {
		p.quirks.PublishedOnly = p.quirks.PublishedOnly && base == p.baseURL // else it is not the provider itself that serves there
		p.baseURL, p.configured = base, true
	}
	if by.KeyEnv != "" {
		p.keyVars, p.keyless, p.configured = []string{by.KeyEnv}, false, true
	}
	if by.Key != nil {
		p.keyCommand, p.keyless, p.configured = by.Key, false, true
	}
	if by.API != "" {
		p.api = by.API
	}
}

// limitsOf are those of the endpoint of a provider: what was set for all endpoints comes
// before what was set for this one.
func (r *Resolver) limitsOf(name string) llm.LimiterConfig {
	limits := llm.LimiterConfig{MaxInFlight: r.cfg.Concurrency, RequestsPerMinute: r.cfg.RequestsPerMinute, TokensPerMinute: r.cfg.TokensPerMinute}
	own := r.cfg.Providers[name].Limits
	for _, limit := range []struct{ given, own *int }{
		{&limits.MaxInFlight, &own.MaxInFlight}, {&limits.RequestsPerMinute, &own.RequestsPerMinute}, {&limits.TokensPerMinute, &own.TokensPerMinute},
	} {
		if *limit.given == 0 {
			*limit.given = *limit.own
		}
	}
	return limits
}

// AddressVariables lists the environment variables that say where a known provider is,
// whatever was set.
func AddressVariables(provider string) []string {
	if provider == "openai" {
		return []string{"OPENAI_BASE_URL"}
	}
	for i := range presets {
		if presets[i].name == provider {
			return presets[i].baseVars
		}
	}
	return nil
}

// KeyVariables lists the environment variables that hold a known provider's key, the first
// that is set counts.
func KeyVariables(provider string) []string {
	for i := range presets {
		if presets[i].name == provider {
			return presets[i].keyVars
		}
	}
	return nil
}

// secret is the key of a provider: known, or to be asked for at the first call.
type secret struct {
	key string
	ask func(context.Context) (string, error)
}

// identity tells the endpoints of two keys apart. It is never shown.
func (s secret) identity(p *preset) string {
	if s.ask != nil {
		return "command of " + p.name
	}
	return s.key
}
