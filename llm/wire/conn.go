package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/convene-run/convene/internal/lazyregexp"
	"github.com/convene-run/convene/llm"
)

// Conn is the way to one endpoint, for all calls to it. It is safe for concurrent
// use.
type Conn struct {
	cfg Config
	// bases are the addresses that the API may be at, the likeliest first; at is the
	// index of the one that answered.
	bases     []*url.URL
	at        atomic.Int32
	header    http.Header
	transport http.RoundTripper
	// newest is the address that was asked last: a client asks by one path.
	newest atomic.Pointer[address]
	// configError is a base URL that is none: every call answers with it.
	configError error
}

// NewConn makes the way to an endpoint; it does not connect. A BaseURL that is no
// http or https address shows as the error of each call.
func NewConn(cfg Config) *Conn {
	cfg = cfg.withDefaults()
	c := &Conn{cfg: cfg, transport: newTransport(cfg), bases: []*url.URL{{}}}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		c.configError = fmt.Errorf("base URL of %s: want http://HOST/… or https://HOST/…, got %q", cfg.Provider, c.redact(cfg.BaseURL))
		return c
	}
	c.header = make(http.Header)
	for name, values := range cfg.Header {
		c.header[http.CanonicalHeaderKey(name)] = values
	}
	if base.User != nil {
		password, _ := base.User.Password()
		request := http.Request{Header: c.header}
		request.SetBasicAuth(base.User.Username(), password)
		base.User = nil
	}
	c.bases = bases(base)
	c.header.Set("Content-Type", "application/json")
	c.header.Set("Accept", "text/event-stream, application/json")
	c.header.Set("User-Agent", "convene")
	switch {
	case cfg.APIKey == "":
	case cfg.KeyHeader != "":
		c.header.Set(cfg.KeyHeader, cfg.APIKey)
	default:
		c.header.Set("Authorization", "Bearer "+cfg.APIKey)
	}
	return c
}

// Tier gives the provider's word for a service tier, "" where it has no such tier.
func (c *Conn) Tier(tier llm.Tier) string { return c.cfg.Tiers[tier] }

// silence is how long nothing may come of a reply.
func (c *Conn) silence(req *llm.Request) llm.Silence {
	s := req.Silence
	if s.First == 0 {
		s.First = c.cfg.FirstByteTimeout
		if req.Tier == llm.TierFlex && c.Tier(llm.TierFlex) != "" {
			s.First = max(s.First, llm.FlexSilence)
		}
	}
	if s.Next == 0 {
		s.Next = c.cfg.IdleTimeout
	}
	return s
}

// totalTimeout bounds a whole call: one that waits for its first byte for longer has as
// much time for its reply as any other.
func (c *Conn) totalTimeout(s llm.Silence) time.Duration {
	return c.cfg.TotalTimeout + max(0, s.First-c.cfg.FirstByteTimeout)
}

// Provider names the endpoint.
func (c *Conn) Provider() string { return c.cfg.Provider }

// versioned finds the version in an address: …/v1, …/v1beta/openai.
var versioned = lazyregexp.New(`(?i)/(api-)?v\d+[a-z0-9]*(/|$)`)

// bases gives the addresses that an API may be at: people write its address with /v1
// and without.
func bases(base *url.URL) []*url.URL {
	if base.Path == "" {
		base.Path = "/" // a relative path is no request
	}
	with := base.JoinPath("v1")
	switch {
	case versioned.MatchString(base.Path):
		return []*url.URL{base}
	case base.Path == "/":
		return []*url.URL{with, base}
	}
	return []*url.URL{base, with}
}

// URL is the address of a path below the base.
func (c *Conn) URL(path string) *url.URL { return c.bases[c.at.Load()].JoinPath(path) }

// address is that of a path below a base.
type address struct {
	base int
	path string
	url  *url.URL
}

// below gives the address of the path at a base. It is not to be changed.
func (c *Conn) below(base int, path string) *url.URL {
	if a := c.newest.Load(); a != nil && a.base == base && a.path == path {
		return a.url
	}
	a := &address{base: base, path: path, url: c.bases[base].JoinPath(path)}
	c.newest.Store(a)
	return a.url
}

// elsewhere gives the address of the path at the next base, nil if there is none.
func (c *Conn) elsewhere(base int, path string) *url.URL {
	if base+1 >= len(c.bases) {
		return nil
	}
	return c.bases[base+1].JoinPath(path)
}

// SetTransport replaces the way to the network, for tests that answer from memory.
// It is to be called before the first call.
func (c *Conn) SetTransport(t http.RoundTripper) { c.transport = t }

// Close drops the idle connections. Calls under way go on.
func (c *Conn) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Ready reports why a call cannot go out at all.
func (c *Conn) Ready(ctx context.Context, model string) error {
	if c.configError != nil {
		return &llm.Error{Kind: llm.ErrBadRequest, Provider: c.cfg.Provider, Model: model, Cause: c.configError}
	}
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	return nil
}

// contextError tells that the caller, not the endpoint, ended the call.
func contextError(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}
