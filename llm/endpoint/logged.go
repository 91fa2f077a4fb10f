package endpoint

import (
	"net"
	"net/url"

	"github.com/convene-run/convene/llm"
)

// ResolveAt gives the route of targets as the log of a run has them: at the addresses
// where they were asked, unless BaseURL or the environment says otherwise. specs are what
// they were resolved from.
//
// A log says nothing about whom a key belongs to. So a key goes to an address of the log
// only where the environment pairs the two: it is the address of the provider whose key
// is set. An address of this machine, and one that was asked without a key, is asked
// without one; any other is refused with a [*NotConfiguredError].
func (r *Resolver) ResolveAt(logged []llm.LoggedTarget, specs ...string) (llm.Route, error) {
	if r.cfg.BaseURL != "" {
		return r.Resolve(specs...)
	}
	route := make(llm.Route, len(logged))
	for i, l := range logged {
		target, err := r.again(l)
		if err != nil {
			return nil, err
		}
		if target.API = l.API; r.cfg.API != "" {
			target.API = r.cfg.API
		}
		route[i] = target
	}
	return route, nil
}

// again finds one target of a log.
func (r *Resolver) again(l llm.LoggedTarget) (llm.Target, error) {
	spec := l.Model
	known := r.presetNamed(l.Provider)
	if known != nil || l.Provider == simProvider || r.cfg.Custom[l.Provider] != nil {
		spec = l.Provider + "/" + l.Model
	}
	switch {
	case l.Address == "", r.cfg.Custom[l.Provider] != nil:
		return r.target(spec)
	case l.Provider == simProvider:
		return r.withoutKey(l, &preset{})
	case known == nil || known.name == "openai" || r.routed(known):
		if r.env("OPENAI_BASE_URL") != "" {
			return r.atBaseURL(r.env("OPENAI_BASE_URL"), "OPENAI_BASE_URL", spec)
		}
	default:
		if base, _ := r.firstSet(known.baseVars); base != "" {
			return r.atPreset(known, l.Model)
		}
	}
	if known != nil && r.servesAt(known, l.Address) {
		return r.atPreset(known, l.Model)
	}
	return r.withoutKey(l, known)
}

// servesAt reports whether an address of a log is the provider's own, or the one that was
// set for it.
func (r *Resolver) servesAt(p *preset, logged string) bool {
	base, err := r.expand(p)
	if err != nil {
		return false
	}
	own, _ := shown(endpointKey{address: base})
	return own == logged
}

// withoutKey finds a target at an address for which no key is known.
func (r *Resolver) withoutKey(l llm.LoggedTarget, known *preset) (llm.Target, error) {
	address, err := r.address(l.Address, "the address in the run's log")
	if err != nil {
		return llm.Target{}, err
	}
	if !l.Keyless && !loopback(address) {
		return llm.Target{}, &NotConfiguredError{
			Reason: "the run was asked at " + l.Address + ", and nothing here says that a key may be sent there",
			Ways: []string{
				"--base-url " + l.Address + " (goes on there, with the key that is set here)",
				"--base-url with another address",
			},
		}
	}
	p := &preset{name: l.Provider, keyless: true, anonymous: true}
	if known != nil {
		p.quirks, p.api = known.quirks, known.api
		p.quirks.PublishedOnly = false // it is not the provider itself that serves there
	}
	client := func() llm.Client { return r.client(p, address.String(), secret{}) }
	return llm.Target{Model: l.Model, Endpoint: r.endpoint(endpointKey{address.String(), "\x00" + simLabel(p)}, p.name, client)}, nil
}

// loopback reports whether an address is of this machine alone.
func loopback(address *url.URL) bool {
	host := address.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
