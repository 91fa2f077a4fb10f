package sim

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// Provider is the name that the model gives as its provider.
const Provider = "sim"

// Model is a simulated model. It is an [llm.Client], holds no state and is safe for
// concurrent use.
type Model struct {
	options Options
}

var _ llm.Client = (*Model)(nil)

// New makes a simulated model.
func New(options Options) *Model {
	if options.ChunkBytes <= 0 {
		options.ChunkBytes = defaultChunkBytes
	}
	options.Chunks = min(max(options.Chunks, 0), maxChunks)
	return &Model{options: options}
}

// Stream plays one reply. It fails only when ctx ends.
func (m *Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		start := time.Now()
		reply := m.Reply(req)
		cut := m.chunks(reply)
		pace := m.pace(start, req, reply, cut)
		defer pace.stop()
		var firstToken time.Duration
		for i, chunk := range cut {
			if err := pace.wait(ctx, i); err != nil {
				yield(llm.Delta{}, fmt.Errorf("simulated reply of model=%s: %w", req.Model, err))
				return
			}
			if i == 0 {
				firstToken = time.Since(start)
			}
			if !yieldChunk(yield, chunk, reply) {
				return
			}
		}
		yield(llm.Delta{Done: &llm.Completion{
			Reply: reply, Usage: usage(req, reply), Model: req.Model, Provider: Provider,
			FirstToken: firstToken, Total: time.Since(start), Attempts: 1,
		}}, nil)
	}
}

func yieldChunk(yield func(llm.Delta, error) bool, c chunk, reply events.Reply) bool {
	if c.text != "" && !yield(llm.Delta{Text: c.text}, nil) {
		return false
	}
	if c.fragment != "" && !yield(llm.Delta{Fragment: c.fragment, Index: c.call}, nil) {
		return false
	}
	if c.ends {
		call := reply.ToolCalls[c.call]
		return yield(llm.Delta{Call: &call, Index: c.call}, nil)
	}
	return true
}

// Reply gives the whole reply to a request, without pacing.
func (m *Model) Reply(req llm.Request) events.Reply {
	return m.play(req).finish()
}

// bytesPerToken is how bytes are counted as tokens.
const bytesPerToken = 4

// usage counts tokens from bytes. All but the last message counts as cached once a
// conversation is under way, as it would with a provider's prompt cache.
func usage(req llm.Request, reply events.Reply) events.Usage {
	total, last := 0, 0
	for _, tool := range req.Tools {
		total += len(tool.Name) + len(tool.Description) + len(tool.Parameters)
	}
	for _, message := range req.Messages {
		last = len(message.Role) + len(message.Content)
		for _, call := range message.ToolCalls {
			last += len(call.Name) + len(call.Arguments)
		}
		total += last
	}
	out := len(reply.Text)
	for _, call := range reply.ToolCalls {
		out += len(call.Name) + len(call.Arguments)
	}
	u := events.Usage{InputTokens: tokens(total), OutputTokens: tokens(out), WebSearches: int64(len(reply.Searches))}
	if len(req.Messages) > 2 {
		u.CachedInputTokens = tokens(total - last)
	}
	return u
}

func tokens(bytes int) int64 { return int64((bytes + bytesPerToken - 1) / bytesPerToken) }
