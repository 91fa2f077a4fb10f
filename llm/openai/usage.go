package openai

import (
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
)

// parseUsage reads a usage object; ok is false where it counts nothing.
//
// The output includes the reasoning and the input what was cached, wherever an endpoint
// leaves them out (WIRE 11), which shows in a total above the sum, or in a part above
// its whole: both are paid for.
func parseUsage(v gjson.Result) (u events.Usage, ok bool) {
	if !v.IsObject() {
		return u, false
	}
	u.InputTokens = count(v, "prompt_tokens", "input_tokens")
	u.OutputTokens = count(v, "completion_tokens", "output_tokens")
	u.CachedInputTokens = count(v, "prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens")
	u.CacheWriteInputTokens = count(v, "prompt_tokens_details.cache_write_tokens", "cache_creation_input_tokens")
	u.ReasoningTokens = count(v, "completion_tokens_details.reasoning_tokens", "reasoning_tokens")
	cache := u.CachedInputTokens + u.CacheWriteInputTokens
	switch hidden := count(v, "total_tokens") - u.Total(); {
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

// count gives the first of the paths that holds a positive number.
func count(v gjson.Result, paths ...string) int64 {
	for _, path := range paths {
		if n := v.Get(path).Int(); n > 0 {
			return n
		}
	}
	return 0
}
