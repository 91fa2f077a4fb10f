package openai

import (
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
)

// parseUsage reads a usage object; ok is false where it counts nothing.
//
// Some endpoints leave the reasoning out of completion_tokens, which shows in a
// total above the sum (WIRE 11): it is paid for as output and counted as such.
func parseUsage(v gjson.Result) (u events.Usage, ok bool) {
	if !v.IsObject() {
		return u, false
	}
	u.InputTokens = count(v, "prompt_tokens", "input_tokens")
	u.OutputTokens = count(v, "completion_tokens", "output_tokens")
	u.CachedInputTokens = count(v, "prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens")
	u.ReasoningTokens = count(v, "completion_tokens_details.reasoning_tokens", "reasoning_tokens")
	total := count(v, "total_tokens")
	if hidden := total - u.Total(); hidden > 0 {
		u.OutputTokens += hidden
	}
	if total == 0 && u.ReasoningTokens > u.OutputTokens {
		u.OutputTokens += u.ReasoningTokens
	}
	u.ReasoningTokens = min(u.ReasoningTokens, u.OutputTokens)
	u.CachedInputTokens = min(u.CachedInputTokens, u.InputTokens)
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
