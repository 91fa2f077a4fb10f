package prices

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Unit is the one unit of prices, web_search aside.
const Unit = "usd_per_million_tokens"

// file is a table as it is written.
type file[M entry | json.RawMessage] struct {
	AsOf   string       `json:"as_of,omitempty"`
	Source string       `json:"source,omitempty"`
	Unit   string       `json:"unit,omitempty"`
	Models map[string]M `json:"models"`
}

// entry is a model as it is written: with a list of rates, or with the one that it
// has beside its other fields.
type entry struct {
	Also      []string `json:"also,omitempty"`
	Window    int      `json:"window,omitempty"`
	Simulated bool     `json:"simulated,omitempty"`
	WebSearch *float64 `json:"web_search,omitempty"`
	Rates     []Rate   `json:"rates,omitempty"`

	Input        *float64 `json:"input,omitempty"`
	CachedInput  *float64 `json:"cached_input,omitempty"`
	CacheWrite   *float64 `json:"cache_write,omitempty"`
	CacheWrite1h *float64 `json:"cache_write_1h,omitempty"`
	Output       *float64 `json:"output,omitempty"`
}

// Parse reads a table, in US dollars per million tokens:
//
//	{"as_of": "2026-08-21", "models": {
//	  "openai/gpt-5": {"input": 1.25, "cached_input": 0.125, "output": 10, "window": 400000},
//	  "ollama/*": {"input": 0, "output": 0},
//	  "acme/big": {"rates": [{"input": 2, "output": 8}, {"above": 200000, "input": 4, "output": 12}]}}}
//
// web_search is for 1,000 searches by the provider, beside the tokens.
//
// A name is "provider/model", "provider/*" for all models of a provider that have no
// entry of their own, or a model alone, for every provider. The error names the model
// and what would be accepted.
func Parse(data []byte) (*Table, error) {
	var f file[entry]
	if err := decode(data, &f); err != nil {
		return nil, fmt.Errorf("read prices: %w", whereIn(data, err))
	}
	if f.Unit != "" && f.Unit != Unit {
		return nil, fmt.Errorf("read prices: unit %q is not known; prices are in %s", f.Unit, Unit)
	}
	models := make(map[string]*Model, len(f.Models))
	for _, name := range slices.Sorted(maps.Keys(f.Models)) {
		model, err := f.Models[name].model()
		if err != nil {
			return nil, fmt.Errorf("read prices: model %q: %w", name, err)
		}
		models[slashed(name)] = model
	}
	return newTable(f.AsOf, f.Source, models), nil
}

// slashed gives the name of a model as tables have it: one that stands alone is of every provider.
func slashed(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "/" + name
}

func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected content after the table")
	}
	return nil
}

// whereIn names the model that does not decode, where it is one that makes a file fail as it
// did: all at once, a file decodes in half the time.
func whereIn(data []byte, failed error) error {
	var f file[json.RawMessage]
	if decode(data, &f) != nil {
		return failed
	}
	for _, name := range slices.Sorted(maps.Keys(f.Models)) {
		if err := decode(f.Models[name], &entry{}); err != nil {
			return fmt.Errorf("model %q: %w (a model has also, window, web_search, rates, or input, cached_input, cache_write, cache_write_1h and output)", name, err)
		}
	}
	return failed
}

// model gives what an entry says, or what is wrong with it.
func (e entry) model() (*Model, error) {
	model := &Model{Also: e.Also, Window: e.Window, Simulated: e.Simulated, WebSearchUSD: e.WebSearch, Rates: e.Rates}
	switch single := e.Input != nil || e.Output != nil; {
	case single && len(e.Rates) > 0:
		return nil, errors.New("give either rates or one price, not both")
	case single && (e.Input == nil || e.Output == nil):
		return nil, errors.New("a price needs both input and output")
	case single:
		model.Rates = []Rate{{
			InputUSD: *e.Input, CachedInputUSD: e.CachedInput, CacheWriteUSD: e.CacheWrite, CacheWrite1hUSD: e.CacheWrite1h, OutputUSD: *e.Output,
		}}
	case e.CachedInput != nil || e.CacheWrite != nil || e.CacheWrite1h != nil:
		return nil, errors.New("a price needs both input and output")
	}
	if e.Window < 0 {
		return nil, fmt.Errorf("the window %d is negative", e.Window)
	}
	if usd := or(e.WebSearch, 0); usd < 0 || math.IsInf(usd, 0) {
		return nil, fmt.Errorf("web_search is %g; it cannot be negative", usd)
	}
	for i := range model.Rates {
		if err := model.Rates[i].check(); err != nil {
			return nil, err
		}
	}
	return model, nil
}

func (r *Rate) check() error {
	for _, figure := range []struct {
		name  string
		value float64
	}{
		{"input", r.InputUSD}, {"output", r.OutputUSD}, {"cached_input", or(r.CachedInputUSD, 0)},
		{"cache_write", or(r.CacheWriteUSD, 0)}, {"cache_write_1h", or(r.CacheWrite1hUSD, 0)}, {"above", float64(r.Above)},
	} {
		if figure.value < 0 || math.IsInf(figure.value, 0) {
			return fmt.Errorf("%s is %g; it cannot be negative", figure.name, figure.value)
		}
	}
	if r.From != "" {
		if _, err := time.Parse(time.DateOnly, r.From); err != nil {
			return fmt.Errorf("from %q is not a day, such as 2026-09-01", r.From)
		}
	}
	switch r.Tier {
	case Standard, Flex, Priority:
		return nil
	}
	return fmt.Errorf("tier %q is not known; give flex or priority, or leave it out for the standard tier", r.Tier)
}

// Encode writes the table as [Parse] reads it: a line for each model.
func (t *Table) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"as_of\": %s,\n  \"source\": %s,\n  \"unit\": %s,\n  \"models\": {", quote(t.AsOf), quote(t.Source), quote(Unit))
	for i, name := range t.Names() {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n    %s: %s", quote(strings.TrimPrefix(name, "/")), t.models[name].get().encode())
	}
	b.WriteString("\n  }\n}\n")
	return b.Bytes()
}

func (m *Model) encode() []byte {
	e := entry{Also: m.Also, Window: m.Window, Simulated: m.Simulated, WebSearch: m.WebSearchUSD, Rates: m.Rates}
	if len(m.Rates) == 1 && m.Rates[0].Tier == Standard && m.Rates[0].From == "" && m.Rates[0].Above == 0 {
		r := m.Rates[0]
		e.Rates, e.Input, e.Output = nil, &r.InputUSD, &r.OutputUSD
		e.CachedInput, e.CacheWrite, e.CacheWrite1h = r.CachedInputUSD, r.CacheWriteUSD, r.CacheWrite1hUSD
	}
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // numbers are finite: check has seen them
	}
	return data
}

func quote(s string) []byte {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return data
}
