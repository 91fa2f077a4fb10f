package recording

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/internal/compare"
)

// exchange is one line of a recording.
type exchange struct {
	Key      string          `json:"key"`
	Request  recordedRequest `json:"request"`
	Reply    *events.Reply   `json:"reply,omitempty"`
	Usage    *events.Usage   `json:"usage,omitempty"`
	Model    string          `json:"model,omitempty"`
	Provider string          `json:"provider,omitempty"`
	CostUSD  *float64        `json:"cost_usd,omitempty"`
	Error    *recordedError  `json:"error,omitempty"`
}

// recordedRequest is what of a request is sent, and so what tells requests apart.
type recordedRequest struct {
	Model           string           `json:"model"`
	Messages        []events.Message `json:"messages"`
	Tools           []llm.Tool       `json:"tools,omitempty"`
	ToolChoice      llm.ToolChoice   `json:"tool_choice,omitempty"`
	Temperature     *float64         `json:"temperature,omitempty"`
	MaxOutputTokens int              `json:"max_output_tokens,omitempty"`
	Effort          string           `json:"effort,omitempty"`
	Tier            llm.Tier         `json:"tier,omitempty"`
}

type recordedError struct {
	Kind         llm.ErrorKind `json:"kind"`
	Status       int           `json:"status,omitempty"`
	Code         string        `json:"code,omitempty"`
	Message      string        `json:"message"`
	RetryAfterMS int64         `json:"retry_after_ms,omitempty"`
}

func recorded(req llm.Request) recordedRequest {
	return recordedRequest{
		Model: req.Model, Messages: req.Messages, Tools: req.Tools, ToolChoice: req.ToolChoice,
		Temperature: req.Temperature, MaxOutputTokens: req.MaxOutputTokens, Effort: req.Effort, Tier: req.Tier,
	}
}

func (r recordedRequest) key() string {
	sum := sha256.Sum256([]byte(compare.JSON(r)))
	return hex.EncodeToString(sum[:8])
}

// Recorder is a client that passes requests on and writes each with its reply as a
// line of JSON, to be played by [Replay]. Safe for concurrent use.
type Recorder struct {
	client llm.Client

	// mu guards out and err.
	mu  sync.Mutex
	out io.Writer
	err error
}

var _ llm.Client = (*Recorder)(nil)

// Record makes a recorder in front of client that appends to out. The recording
// holds prompts and replies in full; keys are not in it.
func Record(client llm.Client, out io.Writer) *Recorder {
	return &Recorder{client: client, out: out}
}

// Err gives the first error of writing. Requests are answered regardless.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Stream passes the request on. What the caller breaks off, and what ends because
// ctx does, is not recorded.
func (r *Recorder) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for delta, err := range r.client.Stream(ctx, req) {
			switch {
			case err != nil && ctx.Err() == nil:
				r.write(failure(req, err))
			case delta.Done != nil:
				done := delta.Done
				r.write(exchange{
					Request: recorded(req), Reply: &done.Reply, Usage: &done.Usage,
					Model: done.Model, Provider: done.Provider, CostUSD: done.CostUSD,
				})
			}
			if !yield(delta, err) {
				return
			}
		}
	}
}

func failure(req llm.Request, err error) exchange {
	e := exchange{Request: recorded(req), Error: &recordedError{Kind: llm.KindOf(err), Message: err.Error()}}
	if known, ok := asEndpointError(err); ok {
		e.Provider = known.Provider
		e.Error.Status, e.Error.Code, e.Error.Message = known.Status, known.Code, known.Message
		e.Error.RetryAfterMS = int64(known.RetryAfter / time.Millisecond)
	}
	return e
}

func (r *Recorder) write(e exchange) {
	e.Key = e.Request.key()
	line, err := json.Marshal(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		_, err = r.out.Write(append(line, '\n'))
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("record request key=%s: %w", e.Key, err)
	}
}
