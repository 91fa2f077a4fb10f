package prices

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// Model is what is known of a model.
type Model struct {
	// Also lists other names of the model at its provider. One that ends in * stands
	// for all that begin so.
	Also []string `json:"also,omitempty"`
	// Window is the size of the model's context in tokens, 0 if unknown.
	Window int `json:"window,omitempty"`
	// Simulated marks made-up prices.
	Simulated bool `json:"simulated,omitempty"`
	// WebSearchUSD is what the provider charges for 1,000 web searches of its own, beside
	// the tokens. Nil if unknown.
	WebSearchUSD *float64 `json:"web_search,omitempty"`

	Rates []Rate `json:"rates"`
}

// Table has the prices of models. It never changes and is safe for concurrent use.
type Table struct {
	// AsOf is the day of the public price data that the table was made from, Source
	// where those are.
	AsOf, Source string

	models map[string]*stored // by "provider/model"
	index  map[string]*stored // by every normal name, those with * without it and in prefixes
	// prefixes are the names that end in *, the longest first.
	prefixes []string

	mu sync.Mutex // guards found
	// found are the models that were looked up, nil for those that there are not: at most
	// maxFound of them.
	found map[asked]*Model
}

// asked is a model as its provider names it.
type asked struct{ provider, model string }

// maxFound is more models than a process asks. The names may come from endpoints.
const maxFound = 1000

// alike are providers that serve the models of others at the others' prices.
var alike = map[string][]string{
	"azure":   {"openai"},
	"vertex":  {"gemini", "anthropic"},
	"bedrock": {"anthropic"},
	// A model of no provider in particular is that of its maker.
	"": {"openai", "anthropic", "gemini", "xai", "mistral", "deepseek", "moonshot", "zai"},
}

// newTable makes a table of models by "provider/model".
func newTable(asOf, source string, models map[string]*Model) *Table {
	all := make(map[string]*stored, len(models))
	for name, model := range models {
		all[name] = &stored{also: model.Also, model: model}
	}
	return makeTable(asOf, source, all)
}

func makeTable(asOf, source string, models map[string]*stored) *Table {
	t := &Table{AsOf: asOf, Source: source, models: models, index: make(map[string]*stored, 2*len(models))}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		model := models[name]
		provider, _, _ := strings.Cut(name, "/")
		for _, also := range model.also {
			t.enter(normal(provider+"/"+also), model, false)
		}
	}
	for name, model := range models { // a model's own name counts more than another's
		t.enter(normal(name), model, true)
	}
	slices.SortFunc(t.prefixes, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return t
}

func (t *Table) enter(name string, model *stored, own bool) {
	if _, taken := t.index[name]; taken && !own {
		return
	}
	if strings.HasSuffix(name, "*") && t.index[name] == nil {
		t.prefixes = append(t.prefixes, name)
	}
	t.index[name] = model
}

// With gives a table in which the models of over take precedence.
func (t *Table) With(over *Table) *Table {
	models := maps.Clone(t.models)
	for name, model := range over.models {
		for known := range models {
			if normal(known) == normal(name) {
				delete(models, known)
			}
		}
		models[name] = model
	}
	asOf, source := t.AsOf, t.Source
	if over.AsOf > asOf {
		asOf, source = over.AsOf, over.Source
	}
	return makeTable(asOf, source, models)
}

// Names lists the models as "provider/model", sorted.
func (t *Table) Names() []string { return slices.Sorted(maps.Keys(t.models)) }

// Get gives a model that [Table.Names] lists.
func (t *Table) Get(name string) *Model {
	if s := t.models[name]; s != nil {
		return s.get()
	}
	return nil
}

// Lookup finds a model as its provider names it: with or without the vendor's prefix
// that routers put before it, and without the date behind it.
func (t *Table) Lookup(provider, model string) (*Model, bool) {
	name := asked{provider, model}
	t.mu.Lock()
	defer t.mu.Unlock()
	m, known := t.found[name]
	if !known {
		if t.found == nil || len(t.found) >= maxFound {
			t.found = map[asked]*Model{}
		}
		if s := t.find(provider, model); s != nil {
			m = s.get()
		}
		t.found[name] = m
	}
	return m, m != nil
}

// find is [Table.Lookup] of a model that was not looked up before, nil for none.
func (t *Table) find(provider, model string) *stored {
	provider, model = normal(provider), strings.TrimPrefix(normal(model), "models/")
	for name := model; ; {
		for _, p := range append([]string{provider}, alike[provider]...) {
			if m := t.tails(p, name); m != nil {
				return m
			}
		}
		shorter := datedSuffix.ReplaceAllString(name, "")
		if shorter == name {
			break
		}
		name = shorter
	}
	// A name in a file of one's own may stand alone, for every provider.
	if m := t.index["/"+model]; m != nil {
		return m
	}
	return t.index[provider+"/*"]
}

// tails looks for a name, then for what stands behind each slash of it.
func (t *Table) tails(provider, name string) *stored {
	for tail := name; ; {
		full := provider + "/" + tail
		if m := t.index[full]; m != nil && tail != "" {
			return m
		}
		for _, prefix := range t.prefixes {
			if stem := strings.TrimSuffix(prefix, "*"); !strings.HasSuffix(stem, "/") && strings.HasPrefix(full, stem) {
				return t.index[prefix]
			}
		}
		slash := strings.IndexByte(tail, '/')
		if slash < 0 {
			return nil
		}
		tail = tail[slash+1:]
	}
}

// datedSuffix is what providers append to the name of a model: a date, a build, or
// the word that stands for the newest.
var datedSuffix = lazyregexp.New(`(-|@)(20\d\d-?\d\d-?\d\d|\d\d-20\d\d|\d{4}|latest|preview|exp)$`)

// Cost prices a call; nil where the model, its tier, or searches that it made have no
// known price.
func (t *Table) Cost(provider, model string, call Call) *float64 {
	m, ok := t.Lookup(provider, model)
	if !ok {
		return nil
	}
	rate := m.rateFor(call)
	if rate == nil {
		return nil
	}
	cost := rate.Cost(call.Usage)
	if searches := call.Usage.WebSearches; searches > 0 {
		if m.WebSearchUSD == nil {
			return nil
		}
		cost += float64(searches) * *m.WebSearchUSD / 1000
	}
	return &cost
}

// Window gives the size of a model's context in tokens, 0 if unknown. What a router
// does not say of a model is taken from its maker.
func (t *Table) Window(provider, model string) int {
	m, ok := t.Lookup(provider, model)
	if ok && m.Window == 0 {
		m, ok = t.Lookup("", model)
	}
	if !ok {
		return 0
	}
	return m.Window
}

// normal makes spellings of one name equal: routers write claude-sonnet-4.5 where
// the vendor writes claude-sonnet-4-5.
func normal(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), ".", "-")
}
