package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// retryAfter reads how long an endpoint asks to wait (WIRE 18): retry-after-ms, or
// Retry-After in seconds or as a date, else the reset of whichever budget the
// x-ratelimit and anthropic-ratelimit headers show as used up. 0 where nothing is said.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil && ms > 0 {
		return milliseconds(ms)
	}
	if value := strings.TrimSpace(h.Get("Retry-After")); value != "" {
		if s, err := strconv.ParseFloat(value, 64); err == nil {
			return milliseconds(s * 1000)
		}
		if at, err := http.ParseTime(value); err == nil {
			return max(0, at.Sub(now))
		}
	}
	var longest time.Duration
	for _, of := range []string{"Requests", "Tokens"} {
		if h.Get("X-Ratelimit-Remaining-"+of) == "0" {
			longest = max(longest, resetTime(h.Get("X-Ratelimit-Reset-"+of), now))
		}
	}
	for _, of := range []string{"Requests", "Tokens", "Input-Tokens", "Output-Tokens"} {
		if h.Get("Anthropic-Ratelimit-"+of+"-Remaining") == "0" {
			if at, err := time.Parse(time.RFC3339, h.Get("Anthropic-Ratelimit-"+of+"-Reset")); err == nil {
				longest = max(longest, at.Sub(now))
			}
		}
	}
	if longest == 0 && h.Get("X-Ratelimit-Remaining") == "0" {
		longest = resetTime(h.Get("X-Ratelimit-Reset"), now)
	}
	return longest
}

// retryWords is how some write the wait into the message alone.
var retryWords = lazyregexp.New(`(?i)(?:try again|retry) (?:in|after) ((?:[0-9.]+ ?(?:ms|h|m|s))+|[0-9.]+ ?(?:seconds?|milliseconds?|minutes?))`)

// retryAfterText reads the wait from a message: "Please try again in 11.054s", 0 where
// it says none.
func retryAfterText(message string) time.Duration {
	found := retryWords.FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	text := strings.ReplaceAll(found[1], " ", "")
	for word, unit := range map[string]string{"milliseconds": "ms", "millisecond": "ms", "minutes": "m", "minute": "m", "seconds": "s", "second": "s"} {
		if strings.HasSuffix(text, word) && !strings.HasSuffix(text, "milli"+word) {
			text = strings.TrimSuffix(text, word) + unit
			break
		}
	}
	wait, err := time.ParseDuration(strings.ToLower(text))
	if err != nil {
		return 0
	}
	return milliseconds(float64(wait.Milliseconds()))
}

// resetTime reads "1s", "6m0s", "250ms", seconds, or an epoch in seconds or
// milliseconds.
func resetTime(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if d, err := time.ParseDuration(value); err == nil {
		return max(0, d)
	}
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil || n <= 0:
		return 0
	case n > 1e11:
		return max(0, time.UnixMilli(int64(n)).Sub(now))
	case n > 1e8:
		return max(0, time.Unix(int64(n), 0).Sub(now))
	}
	return milliseconds(n * 1000)
}

// milliseconds bounds what it converts, so that no header overflows a duration.
func milliseconds(ms float64) time.Duration {
	const longest = float64(365 * 24 * time.Hour / time.Millisecond)
	if !(ms > 0) { // also NaN
		return 0
	}
	return time.Duration(min(ms, longest) * float64(time.Millisecond))
}
