package prices

import (
	"strings"
	"time"

	"github.com/convene-run/convene/events"
)

// Rate is what a model costs under one set of conditions, in US dollars per million
// tokens.
type Rate struct {
	// Tier is the service tier that the rate is for; "" is the standard one.
	Tier Tier `json:"tier,omitempty"`
	// From is the day on which the rate begins to hold, as 2026-09-01; "" for always.
	From string `json:"from,omitempty"`
	// Above is the number of input tokens over which the rate holds for the whole
	// request, 0 for every request.
	Above int64 `json:"above,omitempty"`

	InputUSD float64 `json:"input"`
	// CachedInputUSD is for input that the provider had in its cache. Nil means the
	// full price of input.
	CachedInputUSD *float64 `json:"cached_input,omitempty"`
	// CacheWriteUSD is for input that the provider put into its cache. Nil means the
	// full price of input.
	CacheWriteUSD *float64 `json:"cache_write,omitempty"`
	// CacheWrite1hUSD is for input that it keeps there for an hour. Nil means as
	// CacheWriteUSD.
	CacheWrite1hUSD *float64 `json:"cache_write_1h,omitempty"`
	OutputUSD       float64  `json:"output"`
}

// Cost is what a call with the given usage costs at this rate, in US dollars.
// Reasoning is part of the output.
func (r *Rate) Cost(u events.Usage) float64 {
	const million = 1e6
	write5m := u.CacheWriteInputTokens - u.CacheWrite1hInputTokens
	fresh := u.InputTokens - u.CachedInputTokens - u.CacheWriteInputTokens
	write := or(r.CacheWriteUSD, r.InputUSD)
	return (float64(fresh)*r.InputUSD +
		float64(u.CachedInputTokens)*or(r.CachedInputUSD, r.InputUSD) +
		float64(write5m)*write +
		float64(u.CacheWrite1hInputTokens)*or(r.CacheWrite1hUSD, write) +
		float64(u.OutputTokens)*r.OutputUSD) / million
}

func or(figure *float64, otherwise float64) float64 {
	if figure != nil {
		return *figure
	}
	return otherwise
}

// Tier is a service tier: how soon a provider serves a request, and at what price.
type Tier string

// The tiers that have prices of their own. Other names that providers give the
// ordinary service mean [Standard].
const (
	Standard Tier = ""
	Flex     Tier = "flex"
	Priority Tier = "priority"
)

// tierOf reads a tier as providers name it in requests and replies.
func tierOf(name string) Tier {
	switch t := strings.ToLower(name); t {
	case "flex", "priority":
		return Tier(t)
	case "fast": // what Responses calls it in requests
		return Priority
	}
	return Standard
}

// Call is what the price of a call depends on.
type Call struct {
	Usage events.Usage
	// Tier is the service tier as the provider named it, "" where it named none.
	Tier string
	// At is when the call was made.
	At time.Time
}

// rateFor gives the rate of a call, nil where it is unknown: a tier that costs more
// than the ordinary one and has no rates must not be taken for it. One that is
// cheaper and has none costs no more than the ordinary one.
func (m *Model) rateFor(call Call) *Rate {
	tier := tierOf(call.Tier)
	if rate := m.newest(tier, call); rate != nil {
		return rate
	}
	if tier == Priority {
		return nil
	}
	return m.newest(Standard, call)
}

// newest gives the rate of a tier that holds at the time and for the size of a call.
func (m *Model) newest(tier Tier, call Call) *Rate {
	day := call.At.UTC().Format(time.DateOnly)
	var best *Rate
	for i := range m.Rates {
		r := &m.Rates[i]
		if r.Tier != tier || r.From > day || r.Above > 0 && call.Usage.InputTokens <= r.Above {
			continue
		}
		if best == nil || r.From > best.From || r.From == best.From && r.Above > best.Above {
			best = r
		}
	}
	return best
}
