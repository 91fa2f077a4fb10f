package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/convene-run/convene/llm"
)

// rateLimits reads what an endpoint says of its limits in the headers of a reply: those
// of OpenAI and its many followers (WIRE2 15), else those of Anthropic (WIRE2 28). Nil
// where it says nothing.
func rateLimits(h http.Header, now time.Time) *llm.RateLimits {
	if !tellsLimits(h) {
		return nil // most do not, and looking for each name costs
	}
	found := llm.RateLimits{
		Requests: openAILimit(h, "Requests", now),
		Tokens:   openAILimit(h, "Tokens", now),
	}
	if found == (llm.RateLimits{}) {
		found = llm.RateLimits{
			Requests:     anthropicLimit(h, "Requests", now),
			Tokens:       anthropicLimit(h, "Tokens", now),
			InputTokens:  anthropicLimit(h, "Input-Tokens", now),
			OutputTokens: anthropicLimit(h, "Output-Tokens", now),
		}
	}
	if found == (llm.RateLimits{}) {
		return nil
	}
	return &found
}

func tellsLimits(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "Anthropic-Ratelimit-") {
			return true
		}
	}
	return false
}

// openAILimit reads the limit of one kind. Its reset is "17ms" or "2m59.56s" at OpenAI,
// seconds at Azure, and left out by xAI.
func openAILimit(h http.Header, of string, now time.Time) *llm.RateLimit {
	limit := rateLimit(h.Get("X-Ratelimit-Limit-"+of), h.Get("X-Ratelimit-Remaining-"+of))
	if limit != nil {
		limit.Reset = bounded(resetTime(h.Get("X-Ratelimit-Reset-"+of), now))
	}
	return limit
}

// anthropicLimit reads the limit of one kind. Its reset is a time by the endpoint's
// clock, which the Date of the reply tells.
func anthropicLimit(h http.Header, of string, now time.Time) *llm.RateLimit {
	limit := rateLimit(h.Get("Anthropic-Ratelimit-"+of+"-Limit"), h.Get("Anthropic-Ratelimit-"+of+"-Remaining"))
	if limit == nil {
		return nil
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	if at, err := time.Parse(time.RFC3339, strings.TrimSpace(h.Get("Anthropic-Ratelimit-"+of+"-Reset"))); err == nil {
		limit.Reset = bounded(max(0, at.Sub(now)))
	}
	return limit
}

// rateLimit reads a limit and what is left of it; nil where either is missing, or no
// sensible number.
func rateLimit(limit, remaining string) *llm.RateLimit {
	most, err := strconv.ParseInt(strings.TrimSpace(limit), 10, 64)
	if err != nil || most <= 0 {
		return nil
	}
	left, err := strconv.ParseInt(strings.TrimSpace(remaining), 10, 64)
	if err != nil || left < 0 {
		return nil
	}
	return &llm.RateLimit{Limit: most, Remaining: min(left, most)}
}

// bounded keeps the reset of no limit longer than a year away.
func bounded(d time.Duration) time.Duration {
	return milliseconds(float64(d) / float64(time.Millisecond))
}
