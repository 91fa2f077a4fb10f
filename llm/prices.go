package llm

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"

	"github.com/convene-run/convene/events"
)

// Price is what a model costs, in US dollars per million tokens, and how much it
// takes in.
type Price struct {
	InputUSD float64 `json:"input"`
	// CachedInputUSD is for input that the endpoint had in its cache; nil means the
	// full price of input.
	CachedInputUSD *float64 `json:"cached_input,omitempty"`
	OutputUSD      float64  `json:"output"`
	// Window is the size of the model's context in tokens, 0 if unknown.
	Window int `json:"window,omitempty"`
	// Simulated marks a made-up price.
	Simulated bool `json:"simulated,omitempty"`
}

// Cost is what a call with the given usage costs, in US dollars. Reasoning is part
// of the output.
func (p Price) Cost(u events.Usage) float64 {
	const million = 1e6
	cached := p.InputUSD
	if p.CachedInputUSD != nil {
		cached = *p.CachedInputUSD
	}
	fresh := u.InputTokens - u.CachedInputTokens
	return (float64(fresh)*p.InputUSD + float64(u.CachedInputTokens)*cached + float64(u.OutputTokens)*p.OutputUSD) / million
}

// Prices is a table of prices. It is read-only and safe for concurrent use.
type Prices struct {
	// AsOf is the day of the public price data that the table was last compared with.
	AsOf   string
	models map[string]Price
}

//go:embed prices.json
var builtinPrices []byte

// DefaultPrices is the table that comes with the program.
var DefaultPrices = sync.OnceValue(func() *Prices {
	p, err := ParsePrices(builtinPrices)
	if err != nil {
		panic(fmt.Sprintf("built-in prices: %v", err)) // a test reads the same bytes
	}
	return p
})

// ParsePrices reads a table: {"as_of": "2026-07-24", "models": {"openai/gpt-5":
// {"input": 1.25, "cached_input": 0.125, "output": 10, "window": 400000}}}. A name is
// "provider/model", "provider/*" for all models of a provider, or a model alone.
func ParsePrices(data []byte) (*Prices, error) {
	var file struct {
		AsOf   string           `json:"as_of"`
		Models map[string]Price `json:"models"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	p := &Prices{AsOf: file.AsOf, models: make(map[string]Price, len(file.Models))}
	for name, price := range file.Models {
		if price.InputUSD < 0 || price.OutputUSD < 0 || price.Window < 0 || (price.CachedInputUSD != nil && *price.CachedInputUSD < 0) {
			return nil, fmt.Errorf("read prices: model %q: a number is negative", name)
		}
		p.models[normalName(name)] = price
	}
	return p, nil
}

// With gives a table in which the entries of over take precedence.
func (p *Prices) With(over *Prices) *Prices {
	merged := &Prices{AsOf: p.AsOf, models: maps.Clone(p.models)}
	maps.Copy(merged.models, over.models)
	return merged
}

// datedSuffix is what providers append to the name of a model: a date, a build, or
// the word that stands for the newest.
var datedSuffix = regexp.MustCompile(`(-|@)(20\d\d-?\d\d-?\d\d|\d\d-20\d\d|\d{4}|latest|preview|exp)$`)

// Lookup finds the price of a model: by "provider/model", then by the model alone,
// each also without the vendor's prefix that routers put before it and without a
// date behind it, then by "provider/*".
func (p *Prices) Lookup(provider, model string) (Price, bool) {
	provider, model = normalName(provider), normalName(model)
	for name := strings.TrimPrefix(model, "models/"); ; {
		for tail := name; ; {
			if price, ok := p.models[provider+"/"+tail]; ok {
				return price, true
			}
			if price, ok := p.models[tail]; ok {
				return price, true
			}
			slash := strings.IndexByte(tail, '/')
			if slash < 0 {
				break
			}
			tail = tail[slash+1:]
		}
		shorter := datedSuffix.ReplaceAllString(name, "")
		if shorter == name {
			break
		}
		name = shorter
	}
	price, ok := p.models[provider+"/*"]
	return price, ok
}

// Cost prices a usage; nil where the model has no known price.
func (p *Prices) Cost(provider, model string, u events.Usage) *float64 {
	price, ok := p.Lookup(provider, model)
	if !ok {
		return nil
	}
	cost := price.Cost(u)
	return &cost
}

// Window gives the size of a model's context in tokens, 0 if unknown.
func (p *Prices) Window(provider, model string) int {
	price, _ := p.Lookup(provider, model)
	return price.Window
}

// normalName makes spellings of one name equal: routers write claude-sonnet-4.5
// where the vendor writes claude-sonnet-4-5.
func normalName(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), ".", "-")
}
