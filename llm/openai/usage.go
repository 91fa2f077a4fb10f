package openai

import (
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/wire"
)

// parseUsage reads a usage object; ok is false where it counts nothing.
//
// The output includes the reasoning and the input what was cached, wherever an endpoint
// leaves them out (WIRE 11), which shows in a total above the sum, or in a part above
// its whole: both are paid for.
func parseUsage(v wire.Value) (u events.Usage, ok bool) {
	if !v.IsObject() {
		return u, false
	}
	var c counts
	for key, value := range v.Members() {
		c.take(key, value)
	}
	u.InputTokens = positive(c.prompt, c.input)
	u.OutputTokens = positive(c.completion, c.output)
	u.CachedInputTokens = positive(c.cachedDetail, c.cacheHit, c.cacheRead, c.cached)
	u.CacheWriteInputTokens = positive(c.cacheWriteDetail, c.cacheCreation)
	u.ReasoningTokens = positive(c.reasoningDetail, c.reasoning)
	cache := u.CachedInputTokens + u.CacheWriteInputTokens
	switch hidden := max(0, c.total) - u.Total(); {
	case hidden > 0 && cache > 0 && hidden == cache+u.ReasoningTokens:
		u.InputTokens += cache
		u.OutputTokens += u.ReasoningTokens
	case hidden > 0 && cache > 0 && hidden == cache:
		u.InputTokens += cache
	case hidden > 0:
		u.OutputTokens += hidden
	}
	if cache > u.InputTokens {
		u.InputTokens += cache
	}
	if u.ReasoningTokens > u.OutputTokens {
		u.OutputTokens += u.ReasoningTokens
	}
	return u, u.Total() > 0
}

// counts are the numbers of a usage object under the names that endpoints give them.
type counts struct {
	prompt, input, completion, output, total  int64
	cachedDetail, cacheHit, cacheRead, cached int64
	cacheWriteDetail, cacheCreation           int64
	reasoningDetail, reasoning                int64
}

// take notes one member.
func (c *counts) take(key string, value wire.Value) {
	switch key {
	case "prompt_tokens":
		c.prompt = value.Int()
	case "input_tokens":
		c.input = value.Int()
	case "completion_tokens":
		c.completion = value.Int()
	case "output_tokens":
		c.output = value.Int()
	case "total_tokens":
		c.total = value.Int()
	case "prompt_cache_hit_tokens":
		c.cacheHit = value.Int()
	case "cache_read_input_tokens":
		c.cacheRead = value.Int()
	case "cached_tokens":
		c.cached = value.Int()
	case "cache_creation_input_tokens":
		c.cacheCreation = value.Int()
	case "reasoning_tokens":
		c.reasoning = value.Int()
	case "prompt_tokens_details":
		for key, value := range value.Members() {
			switch key {
			case "cached_tokens":
				c.cachedDetail = value.Int()
			case "cache_write_tokens":
				c.cacheWriteDetail = value.Int()
			}
		}
	case "completion_tokens_details":
		for key, value := range value.Members() {
			if key == "reasoning_tokens" {
				c.reasoningDetail = value.Int()
			}
		}
	}
}

// positive gives the first that is.
func positive(counts ...int64) int64 {
	for _, n := range counts {
		if n > 0 {
			return n
		}
	}
	return 0
}
