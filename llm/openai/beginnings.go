package openai

import (
	"bytes"
	"slices"
	"sync"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/wire"
)

// maxBeginnings bounds the beginnings that are kept: more agents than work at a time, at some
// tens of kilobytes each.
const maxBeginnings = 64

// beginning is what all requests of one agent begin with, written once: its tools and its system
// prompt, which are most of what a request says. It is never changed.
type beginning struct {
	tools  []llm.Tool
	system string
	// toolsText is the member of a request, systemText a JSON string.
	toolsText, systemText []byte
}

// beginnings are those of the newest agents, by [llm.Request.CacheKey]. It is safe for
// concurrent use.
type beginnings struct {
	mu    sync.Mutex // guards known
	known map[string]*beginning
}

// of gives the beginning of a request, nil where it does not say that others begin alike.
func (b *beginnings) of(req *llm.Request) *beginning {
	if req.CacheKey == "" || len(req.Messages) == 0 || req.Messages[0].Role != events.RoleSystem {
		return nil
	}
	b.mu.Lock()
	known := b.known[req.CacheKey]
	b.mu.Unlock()
	if known != nil && known.begins(req) {
		return known
	}
	known = &beginning{
		tools: slices.Clone(req.Tools), system: req.Messages[0].Content,
		toolsText: appendTools(nil, req.Tools), systemText: wire.AppendString(nil, req.Messages[0].Content),
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil || len(b.known) >= maxBeginnings {
		b.known = map[string]*beginning{}
	}
	b.known[req.CacheKey] = known
	return known
}

// begins reports whether the request begins so. Agents hand on the same texts each time, which
// are not compared then.
func (b *beginning) begins(req *llm.Request) bool {
	return b.system == req.Messages[0].Content && slices.EqualFunc(b.tools, req.Tools, func(x, y llm.Tool) bool {
		return x.Name == y.Name && x.Description == y.Description && bytes.Equal(x.Parameters, y.Parameters)
	})
}
