package responses

import (
	"context"
	"iter"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/wire"
)

// Config says how to reach an endpoint.
type Config struct {
	wire.Config
}

// Client streams replies of one endpoint. It is safe for concurrent use.
type Client struct {
	*wire.Conn
	refusals *wire.Refusals
	strict   strictness
}

var _ llm.Client = (*Client)(nil)

// The optional fields of a request.
const (
	fieldTemperature wire.Fields = 1 << iota
	fieldOutputLimit
	fieldToolChoice
	fieldInclude
	fieldTier
	fieldStrict
	fieldCacheKey
	// fieldImages are images in the results of tools.
	fieldImages
	// fieldDocuments are PDFs.
	fieldDocuments
)

// New makes a client; it does not connect. A BaseURL that is no http or https
// address shows as the error of each call.
func New(cfg Config) *Client {
	return &Client{Conn: wire.NewConn(cfg.Config), refusals: wire.NewRefusals(
		wire.Optional{Words: "temperature", Field: fieldTemperature},
		wire.Optional{Words: "max_output_tokens", Field: fieldOutputLimit},
		wire.Optional{Words: "tool_choice", Field: fieldToolChoice},
		wire.Optional{Words: "reasoning.encrypted_content", Field: fieldInclude},
		wire.Optional{Words: "Encrypted content is not supported", Field: fieldInclude},
		wire.Optional{Words: "service_tier", Field: fieldTier},
		wire.Optional{Words: "invalid_function_parameters", Field: fieldStrict},
		wire.Optional{Words: "strict", Field: fieldStrict},
		wire.Optional{Words: "prompt_cache_key", Field: fieldCacheKey},
		wire.Optional{Words: "image", Field: fieldImages},
		wire.Optional{Words: "input_file", Field: fieldDocuments},
		wire.Optional{Words: "file_data", Field: fieldDocuments},
		wire.Optional{Words: "PDF", Field: fieldDocuments},
		wire.Optional{Words: "].output", Field: fieldImages},
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
	s := &stream{client: c, kept: llm.KeptFrom(events.APIResponses, c.Provider(), req.Model), leftOut: c.refusals.Of(req.Model)}
	s.Of(c.Conn, req, yield)
	return s.Run(ctx, "responses", s)
}

// refusedBack names the answers to items that were sent back and are not taken: those
// of another account, and those whose next item is missing.
func refusedBack(e *llm.Error) bool {
	return e.Status == 400 && (e.Code == "invalid_encrypted_content" ||
		strings.Contains(e.Message, "encrypted content") && strings.Contains(e.Message, "could not be") ||
		strings.Contains(e.Message, "of type 'reasoning'"))
}
