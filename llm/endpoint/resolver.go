package endpoint

import (
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
)

// Config is what a program sets in addition to the environment.
type Config struct {
	// Env reads an environment variable. Defaults to [os.Getenv].
	Env func(string) string
	// BaseURL is the address that every model is asked at, whatever provider it
	// names. Empty leaves that to the model's name and OPENAI_BASE_URL.
	BaseURL string
	// API is the one that every model is asked by, whatever its name says. Empty leaves
	// it to the name ("openai/gpt-5?api=chat"), and then to what the provider is known for.
	API events.API
	// Default is the model where none is named. Defaults to the variable
	// CONVENE_MODEL, then to what OPENAI_BASE_URL, OPENAI_API_KEY and ANTHROPIC_API_KEY
	// allow.
	Default string
	// Concurrency bounds the calls in flight at each endpoint. 0 leaves it to what the
	// endpoint takes.
	Concurrency int
	// RequestsPerMinute and TokensPerMinute are the published limits of each endpoint;
	// 0 leaves it to what the endpoint takes.
	RequestsPerMinute, TokensPerMinute int
	// Limiter makes the limiter of an endpoint, which is whole but for that, under the
	// limits that are set: one that asks another process, for instance, so that many share
	// what an endpoint takes. One that has a method State() [llm.LimiterState] is shown to
	// people. Defaults to [llm.NewLimiter], which counts in this process.
	Limiter func(e *llm.Endpoint, limits llm.LimiterConfig) llm.Limiter
	// Providers are what somebody set of providers, by the name that stands before the
	// slash of a model: known ones, and others. The environment comes before them.
	Providers map[string]Provider
	// Custom are clients by the provider's name; they take precedence over presets and
	// the built-in simulated model.
	Custom map[string]llm.Client
}

// Resolver finds the endpoints of models. It is safe for concurrent use.
type Resolver struct {
	cfg     Config
	presets []preset // with what was set of them

	mu        sync.Mutex // guards endpoints
	endpoints map[endpointKey]*llm.Endpoint
}

// endpointKey is what tells two endpoints apart.
type endpointKey struct{ address, key string }

// New makes a resolver; what is wrong with the configuration shows in Resolve.
func New(cfg Config) *Resolver {
	if cfg.Env == nil {
		cfg.Env = os.Getenv
	}
	if cfg.Limiter == nil {
		cfg.Limiter = func(_ *llm.Endpoint, limits llm.LimiterConfig) llm.Limiter { return llm.NewLimiter(limits) }
	}
	return &Resolver{cfg: cfg, presets: mergeProviders(cfg.Providers), endpoints: map[endpointKey]*llm.Endpoint{}}
}

// Resolve gives the route of the models named, the first choice first. Each spec is
// provider/model, or a model alone, or several of these with commas between; the
// empty spec is the default model. An error is a [*NotConfiguredError].
func (r *Resolver) Resolve(specs ...string) (llm.Route, error) {
	var route llm.Route
	for _, spec := range r.split(specs) {
		spec, api := llm.CutAPI(spec)
		if r.cfg.API != "" {
			api = r.cfg.API
		}
		if api != "" && !slices.Contains(APIs(), string(api)) {
			return nil, r.missing("the API %q is not known; those known are %s", api, strings.Join(APIs(), ", "))
		}
		target, err := r.target(spec)
		if err != nil {
			return nil, err
		}
		target.API = api
		if !slices.Contains(route, target) {
			route = append(route, target)
		}
	}
	return route, nil
}

// Endpoints gives the endpoints that have been resolved, to show their limiters.
func (r *Resolver) Endpoints() []*llm.Endpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*llm.Endpoint, 0, len(r.endpoints))
	for _, e := range r.endpoints {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *llm.Endpoint) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Withheld reports whether calls to the address go without a key because only the log of
// a run names it.
func (r *Resolver) Withheld(address string) bool {
	return slices.ContainsFunc(r.Endpoints(), func(e *llm.Endpoint) bool {
		doors, ok := e.Client.(*Doors)
		return ok && doors.withheld != "" && doors.withheld == address
	})
}

func (r *Resolver) split(specs []string) []string {
	var all []string
	for _, spec := range specs {
		name, api := llm.CutAPI(spec)
		if strings.TrimSpace(name) == "" {
			spec = r.defaultSpec()
		} else {
			api = ""
		}
		for one := range strings.SplitSeq(spec, ",") {
			if one = strings.TrimSpace(one); one != "" {
				all = append(all, llm.WithAPI(one, api))
			}
		}
		if len(all) == 0 && api != "" {
			all = append(all, llm.WithAPI("", api))
		}
	}
	if len(all) == 0 {
		return []string{strings.TrimSpace(r.defaultSpec())}
	}
	return all
}

func (r *Resolver) defaultSpec() string {
	if r.cfg.Default != "" {
		return r.cfg.Default
	}
	return r.env("CONVENE_MODEL")
}

func (r *Resolver) env(name string) string { return strings.TrimSpace(r.cfg.Env(name)) }

// firstSet gives the first of the variables that is set, and its name.
func (r *Resolver) firstSet(names []string) (value, name string) {
	for _, name := range names {
		if value := r.env(name); value != "" {
			return value, name
		}
	}
	return "", ""
}

// target finds one model. The empty spec is whatever the environment allows.
func (r *Resolver) target(spec string) (llm.Target, error) {
	provider, model, named := strings.Cut(spec, "/")
	if !named {
		provider, model = spec, ""
	}
	if client := r.cfg.Custom[provider]; client != nil {
		return r.custom(provider, model, client), nil
	}
	if r.cfg.BaseURL != "" {
		return r.atBaseURL(r.cfg.BaseURL, "--base-url", spec)
	}
	known := r.presetNamed(provider)
	switch {
	case provider == simProvider:
		return r.custom(simProvider, model, nil), nil
	case known != nil && known.name != "openai" && named && !r.routed(known):
		return r.atPreset(known, model)
	case known != nil && !named:
		return llm.Target{}, r.unnamed(known)
	case known == nil && named && r.env("OPENAI_BASE_URL") == "":
		return llm.Target{}, r.missing("the provider %q of the model %q is not known; those known are %s", provider, spec, strings.Join(providerNames(r.presets), ", "))
	}
	return r.openAI(spec)
}

// routed reports whether a name that begins with a provider's is meant for the
// base URL that is set: a router's models are named so, and the provider's own key
// is not there.
func (r *Resolver) routed(p *preset) bool {
	key, _ := r.firstSet(p.keyVars)
	return r.env("OPENAI_BASE_URL") != "" && key == "" && !p.keyless && !p.configured
}

// custom gives a client in this process.
func (r *Resolver) custom(provider, model string, client llm.Client) llm.Target {
	if model == "" {
		model = provider
	}
	return llm.Target{Model: model, Endpoint: r.endpoint(endpointKey{address: "custom:" + provider}, provider, func() llm.Client {
		if client == nil {
			return sim.New(sim.Options{})
		}
		return client
	})}
}

// openAI finds a model by the variables that everyone sets.
func (r *Resolver) openAI(spec string) (llm.Target, error) {
	if base := r.env("OPENAI_BASE_URL"); base != "" {
		return r.atBaseURL(base, "OPENAI_BASE_URL", spec)
	}
	model := strings.TrimPrefix(spec, "openai/")
	openAI, anthropic := r.presetNamed("openai"), r.presetNamed("anthropic")
	switch {
	case model != "" && (openAI.configured || r.hasKey(openAI)):
		return r.atPreset(openAI, model)
	case model != "":
		return llm.Target{}, r.missing("the model %q needs OPENAI_API_KEY or a base URL", model)
	case r.hasKey(openAI):
		return r.atPreset(openAI, defaultOpenAIModel)
	case r.hasKey(anthropic):
		return r.atPreset(anthropic, defaultAnthropicModel)
	}
	return llm.Target{}, r.missing("no model is configured")
}

// hasKey reports whether a provider's key is set, or can be asked for.
func (r *Resolver) hasKey(p *preset) bool {
	key, _ := r.firstSet(p.keyVars)
	return key != "" || p.keyCommand != nil
}

// atBaseURL finds a model at an address that somebody set.
func (r *Resolver) atBaseURL(base, setBy, spec string) (llm.Target, error) {
	address, err := r.address(base, setBy)
	if err != nil {
		return llm.Target{}, err
	}
	p := r.presetAt(address.Hostname())
	if p == nil {
		p = r.unknownHost(address, spec)
	}
	key, err := r.key(p)
	if err != nil {
		return llm.Target{}, err
	}
	model := r.modelAt(p, spec)
	client := func() llm.Client { return r.client(p, address.String(), key) }
	// A simulated model behind HTTP is an endpoint of its own: it is labelled.
	target := llm.Target{Model: model, Endpoint: r.endpoint(endpointKey{address.String(), key.identity(p) + "\x00" + simLabel(p)}, p.name, client)}
	if model == "" {
		target.Model, err = r.onlyModel(target.Endpoint)
	}
	return target, err
}

func simLabel(p *preset) string {
	if p.name == simProvider {
		return simProvider
	}
	return ""
}

// unknownHost makes a preset for an address that is nobody's: with the key of the
// provider that the model names, else OpenAI's, which is what compatible servers
// are given.
func (r *Resolver) unknownHost(address *url.URL, spec string) *preset {
	p := &preset{name: address.Host, keyVars: []string{"OPENAI_API_KEY"}, keyless: true}
	if r.cfg.Providers["openai"].BaseURL == "" {
		p.keyVars = r.presetNamed("openai").keyVars // else that variable belongs to the address that was set
	}
	provider, _, _ := strings.Cut(spec, "/")
	if named := r.presetNamed(provider); named != nil && r.modelAt(p, spec) != spec {
		p.name, p.quirks, p.api = named.name, named.quirks, named.api
		p.quirks.PublishedOnly = false // it is not the provider itself that serves there
		if r.hasKey(named) {
			p.keyVars, p.keyCommand = named.keyVars, named.keyCommand
		}
	}
	if provider == simProvider {
		p.name = simProvider
	}
	return p
}

// modelAt gives the name that the endpoint knows: without the provider in front,
// but for names that are a model's own. "openai/gpt-oss-…" is how those open models
// are published.
func (r *Resolver) modelAt(p *preset, spec string) string {
	provider, model, named := strings.Cut(spec, "/")
	switch {
	case !named, strings.HasPrefix(spec, "openai/gpt-oss"):
		return spec
	case provider == p.name:
		return model
	case len(p.hosts) == 0 && r.presetNamed(provider) != nil, provider == simProvider:
		return model
	}
	return spec
}

// atPreset finds a model at the provider's own address.
func (r *Resolver) atPreset(p *preset, model string) (llm.Target, error) {
	if model == "" {
		return llm.Target{}, r.unnamed(p)
	}
	key, err := r.key(p)
	if err != nil {
		return llm.Target{}, err
	}
	base, setBy := r.firstSet(p.baseVars)
	switch {
	case base == "" && p.baseURL == "" && len(p.baseVars) > 0:
		return llm.Target{}, unset(p, p.baseVars[:1])
	case base == "" && p.baseURL == "":
		return llm.Target{}, addressless(p)
	case base == "":
		setBy = "the base_url of the provider " + p.name
		if base, err = r.expand(p); err != nil {
			return llm.Target{}, err
		}
	case p.name == "ollama":
		base = ollamaURL(base)
	}
	address, err := r.address(base, setBy)
	if err != nil {
		return llm.Target{}, err
	}
	if p.name == "azure" && strings.Trim(address.Path, "/") == "" {
		address = address.JoinPath("openai/v1")
	}
	client := func() llm.Client { return r.client(p, address.String(), key) }
	return llm.Target{Model: model, Endpoint: r.endpoint(endpointKey{address.String(), key.identity(p) + "\x00"}, p.name, client)}, nil
}

// expand puts the variables of the environment into a provider's address.
func (r *Resolver) expand(p *preset) (string, error) {
	missing := ""
	base := os.Expand(p.baseURL, func(name string) string {
		value := r.env(name)
		if value == "" {
			missing = name
		}
		return value
	})
	if missing != "" {
		return "", unset(p, []string{missing})
	}
	return base, nil
}

// ollamaURL reads OLLAMA_HOST, which may be a host, a port, an address to listen
// on, or a URL.
func ollamaURL(host string) string {
	if strings.Contains(host, "://") {
		address, err := url.Parse(host)
		if err == nil && strings.Trim(address.Path, "/") == "" {
			return address.JoinPath("v1").String()
		}
		return host
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, "11434"
	}
	if name == "" || name == "0.0.0.0" || name == "::" {
		name = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(name, port) + "/v1"
}

// address checks a base URL before anything starts.
func (r *Resolver) address(base, setBy string) (*url.URL, error) {
	address, err := url.Parse(base)
	if err != nil || address.Host == "" || (address.Scheme != "http" && address.Scheme != "https") {
		return nil, r.missing("%s is no address of an endpoint; write http://HOST:PORT/v1 or https://HOST/v1", setBy)
	}
	address.Path = strings.TrimRight(address.Path, "/")
	return address, nil
}

// key finds the provider's key.
func (r *Resolver) key(p *preset) (secret, error) {
	key, name := r.firstSet(p.keyVars)
	switch {
	case key == "" && p.keyCommand != nil:
		return secret{ask: p.keyCommand}, nil
	case key == "" && !p.keyless:
		return secret{}, unset(p, p.keyVars)
	case badKey(key):
		return secret{}, r.missing("%s holds characters that no key has (spaces, line ends)", name)
	}
	return secret{key: key}, nil
}

func (r *Resolver) client(p *preset, base string, key secret) llm.Client {
	cfg := p.quirks
	cfg.Provider, cfg.BaseURL, cfg.APIKey = p.name, base, key.key
	if p.name == "openai" && !p.anonymous {
		cfg.Header = cfg.Header.Clone()
		for name, variable := range map[string]string{"Openai-Organization": "OPENAI_ORG_ID", "Openai-Project": "OPENAI_PROJECT_ID"} {
			if value := r.env(variable); value != "" {
				if cfg.Header == nil {
					cfg.Header = map[string][]string{}
				}
				cfg.Header.Set(name, value)
			}
		}
	}
	doors := newDoors(p.api, cfg, key.ask)
	if p.anonymous {
		doors.withheld, _ = shown(endpointKey{address: base})
	}
	return doors
}

// endpoint gives the endpoint of an address and a key, made once.
func (r *Resolver) endpoint(key endpointKey, name string, client func() llm.Client) *llm.Endpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.endpoints[key]; e != nil {
		return e
	}
	address, keyless := shown(key)
	e := &llm.Endpoint{Name: name, Address: address, Simulated: name == simProvider, Keyless: keyless, Client: client(), Health: &llm.Health{}}
	e.Limiter = r.cfg.Limiter(e, r.limitsOf(name))
	r.endpoints[key] = e
	return e
}

// shown is an address as logs and people may have it: without user info, query and
// fragment. A model in this process has none. keyless says that nothing secret is sent
// there.
func shown(key endpointKey) (address string, keyless bool) {
	u, err := url.Parse(key.address)
	if err != nil || u.Host == "" {
		return "", true
	}
	secret, _, _ := strings.Cut(key.key, "\x00")
	keyless = secret == "" && u.User == nil && u.RawQuery == ""
	u.User, u.RawQuery, u.ForceQuery, u.Fragment = nil, "", false, ""
	return u.String(), keyless
}
