package prices

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// genAISource is where [FromGenAI] takes its figures from.
const genAISource = "github.com/pydantic/genai-prices (MIT), prices/data_slim.json"

// genAIProviders are the providers that are taken over, by the name that they have in
// the public data. Google's Vertex has the prices of Gemini's own API there.
var genAIProviders = map[string]string{
	"anthropic": "anthropic", "aws": "bedrock", "azure": "azure", "cerebras": "cerebras", "deepseek": "deepseek",
	"fireworks": "fireworks", "google": "gemini", "groq": "groq", "mistral": "mistral", "moonshotai": "moonshot",
	"openai": "openai", "openrouter": "openrouter", "together": "together", "x-ai": "xai", "zhipuai": "zai",
}

// Cache writes that live an hour cost twice the input at Anthropic; the public data
// has those that live five minutes only. Source: platform.claude.com, pricing.
const anthropic1hWrite = 2

// The shape of data_slim.json, as far as it is read.
type (
	genAIProvider struct {
		ID     string       `json:"id"`
		Models []genAIModel `json:"models"`
	}
	genAIModel struct {
		ID     string          `json:"id"`
		Match  genAIMatch      `json:"match"`
		Window int             `json:"context_window"`
		Prices json.RawMessage `json:"prices"`
	}
	genAIMatch struct {
		Or         []genAIMatch `json:"or"`
		Equals     string       `json:"equals"`
		StartsWith string       `json:"starts_with"`
	}
	genAIDated struct {
		Constraint struct {
			StartDate string `json:"start_date"`
			StartTime string `json:"start_time"`
		} `json:"constraint"`
		Prices genAIPrices `json:"prices"`
	}
	genAIPrices struct {
		Input      *genAIFigure `json:"input_mtok"`
		CacheRead  *genAIFigure `json:"cache_read_mtok"`
		CacheWrite *genAIFigure `json:"cache_write_mtok"`
		Output     *genAIFigure `json:"output_mtok"`
	}
	// genAIFigure is a number, or one that grows with the size of the request.
	genAIFigure struct {
		Base  float64 `json:"base"`
		Tiers []struct {
			Start int64   `json:"start"`
			Price float64 `json:"price"`
		} `json:"tiers"`
	}
)

func (f *genAIFigure) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '{' {
		return json.Unmarshal(data, &f.Base)
	}
	type plain genAIFigure
	return json.Unmarshal(data, (*plain)(f))
}

// at is the figure for a request of more than so many tokens.
func (f *genAIFigure) at(above int64) *float64 {
	if f == nil {
		return nil
	}
	figure := f.Base
	for _, step := range f.Tiers {
		if step.Start <= above {
			figure = step.Price
		}
	}
	return &figure
}

// FromGenAI makes a table from the public data of pydantic/genai-prices, of which
// asOf is the day. Models that are not priced by tokens of text, and prices that
// depend on the hour, are left out or taken at their most expensive hour.
func FromGenAI(data []byte, asOf string) (*Table, error) {
	var providers []genAIProvider
	if err := json.Unmarshal(data, &providers); err != nil {
		return nil, fmt.Errorf("read %s: %w", genAISource, err)
	}
	models := map[string]*Model{}
	for _, p := range providers {
		provider, known := genAIProviders[p.ID]
		if !known {
			continue
		}
		for i := range p.Models {
			model, err := p.Models[i].convert(provider)
			if err != nil {
				return nil, fmt.Errorf("read %s: %s/%s: %w", genAISource, p.ID, p.Models[i].ID, err)
			}
			if model != nil {
				models[provider+"/"+p.Models[i].ID] = model
			}
		}
	}
	if len(models) == 0 {
		return nil, fmt.Errorf("read %s: no model of a known provider is in it; is it that file?", genAISource)
	}
	addFurther(models)
	return newTable(asOf, genAISource, models), nil
}

func (g *genAIModel) convert(provider string) (*Model, error) {
	dated, err := g.dated()
	if err != nil {
		return nil, err
	}
	model := &Model{Window: g.Window, Also: g.Match.names(g.ID)}
	for _, d := range dated {
		model.Rates = append(model.Rates, d.rates(provider)...)
	}
	if len(model.Rates) == 0 {
		return nil, nil
	}
	return model, nil
}

// dated gives the prices of a model, each with the day from which it holds.
func (g *genAIModel) dated() ([]genAIDated, error) {
	if len(g.Prices) > 0 && g.Prices[0] == '{' {
		var only genAIDated
		err := json.Unmarshal(g.Prices, &only.Prices)
		return []genAIDated{only}, err
	}
	var all []genAIDated
	if err := json.Unmarshal(g.Prices, &all); err != nil {
		return nil, err
	}
	byDay := map[string]genAIDated{}
	for _, d := range all {
		have, taken := byDay[d.Constraint.StartDate]
		if !taken || costsMore(d.Prices, have.Prices) {
			byDay[d.Constraint.StartDate] = d
		}
	}
	list := make([]genAIDated, 0, len(byDay))
	for _, day := range slices.Sorted(maps.Keys(byDay)) {
		list = append(list, byDay[day])
	}
	return list, nil
}

func costsMore(a, b genAIPrices) bool {
	return a.Output != nil && b.Output != nil && a.Output.Base > b.Output.Base
}

// rates gives a rate for each size of request.
func (d *genAIDated) rates(provider string) []Rate {
	p := d.Prices
	if p.Input == nil || p.Output == nil {
		return nil
	}
	sizes := map[int64]bool{0: true}
	for _, f := range []*genAIFigure{p.Input, p.CacheRead, p.CacheWrite, p.Output} {
		if f == nil {
			continue
		}
		for _, step := range f.Tiers {
			sizes[step.Start] = true
		}
	}
	var rates []Rate
	for _, above := range slices.Sorted(maps.Keys(sizes)) {
		r := Rate{
			From: d.Constraint.StartDate, Above: above, InputUSD: *p.Input.at(above), OutputUSD: *p.Output.at(above),
			CachedInputUSD: p.CacheRead.at(above), CacheWriteUSD: p.CacheWrite.at(above),
		}
		if provider == "anthropic" && r.CacheWriteUSD != nil {
			hour := anthropic1hWrite * r.InputUSD
			r.CacheWrite1hUSD = &hour
		}
		rates = append(rates, r)
	}
	return rates
}

// names gives the other names that a model is known by; patterns that are not the
// beginning of a name are left out.
func (m genAIMatch) names(id string) []string {
	var names []string
	add := func(name string) {
		same := func(other string) bool { return normal(other) == normal(name) }
		if name != "" && !same(id) && !slices.ContainsFunc(names, same) {
			names = append(names, name)
		}
	}
	add(m.Equals)
	if m.StartsWith != "" {
		add(m.StartsWith + "*")
	}
	for _, part := range m.Or {
		for _, name := range part.names(id) {
			add(name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return redundant(name, names) })
}

// redundant reports whether a name begins as one that ends in * does.
func redundant(name string, names []string) bool {
	for _, other := range names {
		stem, prefix := strings.CutSuffix(other, "*")
		if prefix && other != name && strings.HasPrefix(normal(name), normal(stem)) && len(stem) < len(name) {
			return true
		}
	}
	return false
}
