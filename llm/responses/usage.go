package responses

import (
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
)

// parseUsage reads a usage object; ok is false where it counts nothing: incomplete
// replies have zeros, failed ones null.
func parseUsage(v gjson.Result) (u events.Usage, ok bool) {
	u = events.Usage{
		InputTokens: v.Get("input_tokens").Int(), OutputTokens: v.Get("output_tokens").Int(),
		CachedInputTokens:     v.Get("input_tokens_details.cached_tokens").Int(),
		CacheWriteInputTokens: v.Get("input_tokens_details.cache_write_tokens").Int(),
		ReasoningTokens:       v.Get("output_tokens_details.reasoning_tokens").Int(),
	}
	u.CachedInputTokens = min(max(u.CachedInputTokens, 0), u.InputTokens)
	u.CacheWriteInputTokens = min(max(u.CacheWriteInputTokens, 0), u.InputTokens-u.CachedInputTokens)
	u.ReasoningTokens = min(max(u.ReasoningTokens, 0), u.OutputTokens)
	return u, u.InputTokens > 0 && u.OutputTokens >= 0
}
