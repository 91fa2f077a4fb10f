package openai

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"sync"

	"github.com/convene-run/convene/llm"
)

// Client streams replies of one endpoint. It is safe for concurrent use.
type Client struct {
	cfg       Config
	chat      *url.URL
	models    *url.URL
	header    http.Header
	transport http.RoundTripper
	// configError is a base URL that is none: every call answers with it.
	configError error

	// refusedMu guards refused: the parameters that each model turned out not to take.
	refusedMu sync.Mutex
	refused   map[string]parameters
}

var _ llm.Client = (*Client)(nil)

// New makes a client; it does not connect. A BaseURL that is no http or https
// address shows as the error of each call.
func New(cfg Config) *Client {
	cfg = cfg.withDefaults()
	c := &Client{cfg: cfg, transport: newTransport(cfg), refused: map[string]parameters{}}
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
	if base.Path == "" {
		base.Path = "/" // a relative path is no request
	}
	c.chat, c.models = base.JoinPath("chat/completions"), base.JoinPath("models")
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

// Close drops the idle connections. Calls under way go on.
func (c *Client) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Stream implements [llm.Client]: one attempt, no retry.
func (c *Client) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		err := c.attempt(ctx, &req, yield)
		var refused *refusedParameter
		for tries := 0; errors.As(err, &refused) && tries < maxRefusedParameters; tries++ {
			c.learn(req.Model, refused.parameter)
			err = c.attempt(ctx, &req, yield)
		}
		if errors.As(err, &refused) {
			err = refused.err
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(llm.Delta{}, err)
		}
	}
}

func (c *Client) attempt(ctx context.Context, req *llm.Request, yield func(llm.Delta, error) bool) error {
	if c.configError != nil {
		return &llm.Error{Kind: llm.ErrBadRequest, Provider: c.cfg.Provider, Model: req.Model, Cause: c.configError}
	}
	if err := ctx.Err(); err != nil {
		return contextError(ctx)
	}
	s := &stream{client: c, req: req, parent: ctx, yield: yield}
	s.calls.grew = s.grew
	s.calls.history = req.Messages
	body := newRequestBody()
	defer body.release()
	body.data = appendRequest(body.data, req, &c.cfg, c.refusals(req.Model))
	return s.run(body)
}

// contextError tells that the caller, not the endpoint, ended the call.
func contextError(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}
