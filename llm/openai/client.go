package openai

import (
	"context"
	"iter"
	"slices"

	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/wire"
)

// Client streams replies of one endpoint. It is safe for concurrent use.
type Client struct {
	*wire.Conn
	cfg      Config
	refusals *wire.Refusals
	// beginnings are written once for all requests that have them.
	beginnings beginnings
}

var _ llm.Client = (*Client)(nil)

// The optional fields of a request.
const (
	fieldTemperature wire.Fields = 1 << iota
	fieldOutputLimit
	fieldStreamOptions
	fieldToolChoice
	fieldCacheKey
	fieldTier
	fieldCache
	// fieldImages are images in messages of the user.
	fieldImages
)

// New makes a client; it does not connect. A BaseURL that is no http or https
// address shows as the error of each call.
func New(cfg Config) *Client {
	cfg = cfg.withDefaults()
	return &Client{cfg: cfg, Conn: wire.NewConn(cfg.Config), refusals: wire.NewRefusals(
		wire.Optional{Words: "temperature", Field: fieldTemperature},
		wire.Optional{Words: "stream_options", Field: fieldStreamOptions},
		wire.Optional{Words: "max_tokens", Field: fieldOutputLimit},
		wire.Optional{Words: "max_completion_tokens", Field: fieldOutputLimit},
		wire.Optional{Words: "tool_choice", Field: fieldToolChoice},
		wire.Optional{Words: "prompt_cache_key", Field: fieldCacheKey},
		wire.Optional{Words: "service_tier", Field: fieldTier},
		wire.Optional{Words: "cache_control", Field: fieldCache},
	)}
}

// Stream implements [llm.Client]: one attempt, no retry.
func (c *Client) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return c.refusals.Stream(ctx, req, c.attempt)
}

func (c *Client) attempt(ctx context.Context, req *llm.Request, yield func(llm.Delta, error) bool) error {
	if err := c.Ready(ctx, req.Model); err != nil {
		return err
	}
	if slices.ContainsFunc(req.Tools, func(t llm.Tool) bool { return t.Search != nil }) {
		return &llm.Error{Kind: llm.ErrBadRequest, Provider: c.Provider(), Model: req.Model, Message: "web_search is the provider's own search, and chat completions have none: " +
			"give the specialist a model of OpenAI (api: responses) or Anthropic (api: messages), or take web_search from its tools"}
	}
	s := newStream(c, req, yield)
	defer s.release()
	return s.Run(ctx, "chat/completions", s)
}
