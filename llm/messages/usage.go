package messages

import (
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
)

// counts are what a reply reports so far: the numbers of its end replace those of its
// start, one by one.
type counts struct {
	input, read, written, written1h, output, thought, searches int64
}

// take notes what a usage object says.
func (c *counts) take(v gjson.Result) {
	for path, to := range map[string]*int64{
		"input_tokens": &c.input, "output_tokens": &c.output,
		"cache_read_input_tokens": &c.read, "cache_creation_input_tokens": &c.written,
		"cache_creation.ephemeral_1h_input_tokens": &c.written1h, "output_tokens_details.thinking_tokens": &c.thought,
		"server_tool_use.web_search_requests": &c.searches,
	} {
		if n := v.Get(path); n.Type == gjson.Number && n.Int() >= 0 {
			*to = n.Int()
		}
	}
}

// usage gives the counts as we count: the input includes what was read from the cache
// and written to it. ok is false where nothing is counted.
func (c *counts) usage() (u events.Usage, ok bool) {
	u = events.Usage{
		InputTokens: c.input + c.read + c.written, CachedInputTokens: c.read,
		CacheWriteInputTokens: c.written, CacheWrite1hInputTokens: min(c.written1h, c.written),
		OutputTokens: c.output, ReasoningTokens: min(c.thought, c.output),
		WebSearches: c.searches,
	}
	return u, u.Total() > 0
}
