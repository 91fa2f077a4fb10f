package messages

import (
	"context"
	"iter"
	"net/http"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/wire"
)

// version is that of the API that this package speaks.
const version = "2023-06-01"

// Config says how to reach an endpoint. KeyHeader defaults to "x-api-key".
type Config struct {
	wire.Config
}

// Client streams replies of one endpoint. It is safe for concurrent use.
type Client struct {
	*wire.Conn
	refusals *wire.Refusals
}

var _ llm.Client = (*Client)(nil)

// The optional fields of a request.
const (
	fieldTemperature wire.Fields = 1 << iota
	fieldToolChoice
	fieldThinking
	fieldEffort
	fieldCache
	fieldBudget
	fieldTier
	// fieldImages are images in the results of tools.
	fieldImages
	// fieldDocuments are PDFs.
	fieldDocuments
)

// New makes a client; it does not connect. A BaseURL that is no http or https
// address shows as the error of each call.
func New(cfg Config) *Client {
	if cfg.KeyHeader == "" {
		cfg.KeyHeader = "x-api-key"
	}
	header := http.Header{"Anthropic-Version": {version}}
	for name, values := range cfg.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	cfg.Header = header
	return &Client{Conn: wire.NewConn(cfg.Config), refusals: wire.NewRefusals(
		wire.Optional{Words: "temperature", Field: fieldTemperature},
		wire.Optional{Words: "tool_choice", Field: fieldToolChoice},
		wire.Optional{Words: "thinking.type.enabled", Field: fieldBudget},
		wire.Optional{Words: "output_config: Extra inputs", Field: fieldEffort},
		wire.Optional{Words: "'adaptive'", Field: fieldThinking},
		wire.Optional{Words: "adaptive thinking", Field: fieldThinking},
		wire.Optional{Words: "cache_control", Field: fieldCache},
		wire.Optional{Words: "service_tier", Field: fieldTier},
		wire.Optional{Words: "image", Field: fieldImages},
		wire.Optional{Words: "document block", Field: fieldDocuments},
		wire.Optional{Words: "PDF", Field: fieldDocuments},
		wire.Optional{Words: ".pdf.", Field: fieldDocuments},
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
	s := &stream{client: c, kept: llm.KeptFrom(events.APIMessages, c.Provider(), req.Model), leftOut: c.refusals.Of(req.Model)}
	s.Of(c.Conn, req, yield)
	return s.Run(ctx, "messages", s)
}

// refusedBack names the answers to thinking that was sent back and is not taken.
func refusedBack(e *llm.Error) bool {
	if e.Status != http.StatusBadRequest {
		return false
	}
	words := strings.ToLower(e.Message)
	for _, sign := range []string{"invalid `signature`", "signature in `thinking`", "signature: field required", "thinking blocks", "`thinking` or `redacted_thinking`", "invalid `data` in `redacted_thinking`", "invalid signature", "blocks in the latest assistant message cannot be modified"} {
		if strings.Contains(words, sign) {
			return true
		}
	}
	return false
}
