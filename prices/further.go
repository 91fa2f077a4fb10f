package prices

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// furtherFile has what the public data lacks.
//
//go:embed further.json
var furtherFile []byte

// further is what is known of models beyond the public data. Sources:
// developers.openai.com, flex processing; openai.com, priority processing; the
// providers' own lists of models and of prices of tools.
type further struct {
	// Windows are sizes of contexts: where the data has none, or one that is not to be
	// had without asking for it.
	Windows map[string]int `json:"windows"`
	// FlexHalf names models that cost half in the flex tier.
	FlexHalf []string `json:"flex_half"`
	// Priority has the rates of models in the priority tier.
	Priority map[string]Rate `json:"priority"`
	// WebSearch is what providers charge for 1,000 searches of their own.
	WebSearch map[string]float64 `json:"web_search"`
}

var beyond = sync.OnceValue(func() (f further) {
	if err := json.Unmarshal(furtherFile, &f); err != nil {
		panic(fmt.Sprintf("further facts of models: %v", err)) // a test reads the same bytes
	}
	return f
})

// addFurther gives models what the public data lacks.
func addFurther(models map[string]*Model) {
	t := beyond()
	for name, window := range t.Windows {
		if model := models[name]; model != nil {
			model.Window = window
		}
	}
	for _, name := range t.FlexHalf {
		model := models[name]
		if model == nil {
			continue
		}
		for _, r := range model.Rates { // of the standard tier: no other was added yet
			model.Rates = append(model.Rates, r.half())
		}
	}
	for name, rate := range t.Priority {
		if model := models[name]; model != nil {
			rate.Tier = Priority
			model.Rates = append(model.Rates, rate)
		}
	}
	for name, model := range models {
		provider, _, _ := strings.Cut(name, "/")
		if usd, ok := t.WebSearch[provider]; ok {
			model.WebSearchUSD = &usd
		}
	}
}

// half is the rate of the flex tier.
func (r Rate) half() Rate {
	halved := func(figure *float64) *float64 {
		if figure == nil {
			return nil
		}
		half := *figure / 2
		return &half
	}
	r.Tier = Flex
	r.InputUSD, r.OutputUSD = r.InputUSD/2, r.OutputUSD/2
	r.CachedInputUSD, r.CacheWriteUSD, r.CacheWrite1hUSD = halved(r.CachedInputUSD), halved(r.CacheWriteUSD), halved(r.CacheWrite1hUSD)
	return r
}
