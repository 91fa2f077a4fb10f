package sim

import (
	"net/http"
	"strconv"
	"time"
)

// told is a limit of requests a minute that refills all the time, as those of the large
// providers do, and that replies tell of.
type told struct {
	level float64
	at    time.Time
}

// take lets a request in, or gives the time until one is.
func (b *told) take(now time.Time, perMinute int) time.Duration {
	rate := float64(perMinute) / minute.Seconds()
	if b.at.IsZero() {
		b.level = float64(perMinute)
	} else {
		b.level = min(float64(perMinute), b.level+max(0, now.Sub(b.at).Seconds())*rate)
	}
	b.at = now
	if b.level < 1 {
		return time.Duration((1 - b.level) / rate * float64(time.Second))
	}
	b.level--
	return 0
}

// limitTold is what a reply tells of the limit of requests a minute; nil for nothing.
type limitTold struct {
	limit, remaining int
	// reset is when the whole limit is there again, if nothing is asked until then.
	reset time.Duration
}

func (b *told) tell(perMinute int) *limitTold {
	missing := float64(perMinute) - b.level
	return &limitTold{perMinute, int(b.level), time.Duration(missing / float64(perMinute) * float64(minute))}
}

// openAI writes the headers as OpenAI does.
func (l *limitTold) openAI(h http.Header) {
	h.Set("X-Ratelimit-Limit-Requests", strconv.Itoa(l.limit))
	h.Set("X-Ratelimit-Remaining-Requests", strconv.Itoa(l.remaining))
	h.Set("X-Ratelimit-Reset-Requests", l.reset.Round(time.Millisecond).String())
}

// anthropic writes the headers as Anthropic does.
func (l *limitTold) anthropic(h http.Header, now time.Time) {
	h.Set("Anthropic-Ratelimit-Requests-Limit", strconv.Itoa(l.limit))
	h.Set("Anthropic-Ratelimit-Requests-Remaining", strconv.Itoa(l.remaining))
	h.Set("Anthropic-Ratelimit-Requests-Reset", now.Add(l.reset).UTC().Format(time.RFC3339))
}
