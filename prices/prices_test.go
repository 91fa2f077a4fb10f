package prices_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/prices"
)

var today = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// Proves R74: a model is found by the names that providers and routers give it.
func TestAModelIsFoundByItsManyNames(t *testing.T) {
	table := prices.Builtin()
	require.NotEmpty(t, table.AsOf)
	for _, c := range []struct {
		provider, model string
		output          float64
	}{
		{"openai", "gpt-5-mini", 2},
		{"openai", "gpt-5-2025-08-07", 10},
		{"openai", "gpt-5.6", 30},
		{"openai", "gpt-5.6-terra", 15},
		{"azure", "gpt-4o-2024-08-06", 10},
		{"anthropic", "claude-haiku-4-5-20251001", 5},
		{"anthropic", "claude-sonnet-4-5", 15},
		{"anthropic", "claude-opus-5", 25},
		{"openrouter", "anthropic/claude-sonnet-4.5", 15},
		{"gemini", "models/gemini-2.5-flash", 2.5},
		{"mistral", "mistral-large-2512", 1.5},
		{"groq", "moonshotai/kimi-k2-instruct-0905", 3},
		{"xai", "GROK-4-0709", 15},
		{"moonshot", "kimi-k2.6", 4},
		{"sim", "whatever", 0.4},
	} {
		model, ok := table.Lookup(c.provider, c.model)
		require.True(t, ok, "%s/%s", c.provider, c.model)
		cost := table.Cost(c.provider, c.model, prices.Call{Usage: events.Usage{OutputTokens: 1e6}, At: today})
		require.NotNil(t, cost, "%s/%s", c.provider, c.model)
		require.InDelta(t, c.output, *cost, 1e-9, "%s/%s", c.provider, c.model)
		require.Equal(t, c.provider == "sim", model.Simulated)
		require.Positive(t, table.Window(c.provider, c.model), "%s/%s", c.provider, c.model)
	}
}

func TestAnUnknownModelHasNoPrice(t *testing.T) {
	for _, model := range []string{"gpt-5-ultra", "llama3.2", "", "gpt", "gpt-5-", "gpt-5", "deepseek-r1"} {
		require.Nil(t, prices.Builtin().Cost("ollama", model, prices.Call{Usage: events.Usage{InputTokens: 1}, At: today}), model)
	}
	require.Zero(t, prices.Builtin().Window("ollama", "llama3.2"))
	require.Equal(t, 400000, prices.Builtin().Window("openai", "gpt-5-2025-08-07"))
	require.Equal(t, 400000, prices.Builtin().Window("", "gpt-5"))
}

// Proves R74: what a call costs depends on its caches, its tier, its day and its size,
// which reprices the whole of it.
func TestRates(t *testing.T) {
	table := prices.Builtin()
	long := events.Usage{InputTokens: 300_000, CachedInputTokens: 100_000, CacheWriteInputTokens: 50_000, OutputTokens: 10_000}
	short := events.Usage{InputTokens: 200_000, CachedInputTokens: 100_000, CacheWriteInputTokens: 50_000, OutputTokens: 10_000}
	for _, c := range []struct {
		what            string
		provider, model string
		call            prices.Call
		cost            float64 // below 0: unknown
	}{
		{"below the step", "openai", "gpt-5.6-terra", prices.Call{Usage: short, At: today}, 0.05*2.5 + 0.1*0.25 + 0.05*3.125 + 0.01*15},
		{"above the step", "openai", "gpt-5.6-terra", prices.Call{Usage: long, At: today}, 0.15*5 + 0.1*0.5 + 0.05*6.25 + 0.01*22.5},
		{"at the step", "openai", "gpt-5.4", prices.Call{Usage: events.Usage{InputTokens: 272_000}, At: today}, 0.272 * 2.5},
		{"flex", "openai", "gpt-5-mini", prices.Call{Usage: events.Usage{OutputTokens: 1e6}, Tier: "flex", At: today}, 1},
		{"flex above the step", "openai", "gpt-5.6-terra", prices.Call{Usage: long, Tier: "flex", At: today}, (0.15*5 + 0.1*0.5 + 0.05*6.25 + 0.01*22.5) / 2},
		{"priority", "openai", "gpt-5-mini", prices.Call{Usage: events.Usage{OutputTokens: 1e6}, Tier: "priority", At: today}, 3.6},
		{"fast is priority", "openai", "gpt-5-mini", prices.Call{Usage: events.Usage{OutputTokens: 1e6}, Tier: "fast", At: today}, 3.6},
		{"priority without a rate", "openai", "gpt-5-nano", prices.Call{Usage: events.Usage{OutputTokens: 1e6}, Tier: "priority", At: today}, -1},
		{"flex without a rate", "groq", "openai/gpt-oss-20b", prices.Call{Usage: events.Usage{OutputTokens: 1e6}, Tier: "flex", At: today}, 0.3},
		{"the ordinary tier by its names", "openai", "gpt-5-mini", prices.Call{Usage: events.Usage{OutputTokens: 1e6}, Tier: "default", At: today}, 2},
		{"a write of five minutes", "anthropic", "claude-opus-5", prices.Call{Usage: events.Usage{InputTokens: 1e6, CacheWriteInputTokens: 1e6}, At: today}, 6.25},
		{"a write of an hour", "anthropic", "claude-opus-5", prices.Call{Usage: events.Usage{InputTokens: 1e6, CacheWriteInputTokens: 1e6, CacheWrite1hInputTokens: 1e6}, At: today}, 10},
		{"before a price rose", "anthropic", "claude-sonnet-5", prices.Call{Usage: events.Usage{OutputTokens: 1e6}, At: time.Date(2026, 8, 31, 23, 0, 0, 0, time.UTC)}, 10},
		{"after it rose", "anthropic", "claude-sonnet-5", prices.Call{Usage: events.Usage{OutputTokens: 1e6}, At: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)}, 15},
	} {
		cost := table.Cost(c.provider, c.model, c.call)
		if c.cost < 0 {
			require.Nil(t, cost, c.what)
			continue
		}
		require.NotNil(t, cost, c.what)
		require.InDelta(t, c.cost, *cost, 1e-9, c.what)
	}
}

func TestOwnPricesComeFirst(t *testing.T) {
	own, err := prices.Parse([]byte(`{"models":{"gpt-7":{"input":1,"output":1},"openai/GPT-5":{"input":1,"output":1},"ollama/*":{"input":0,"output":0}}}`))
	require.NoError(t, err)
	both := prices.Builtin().With(own)
	call := prices.Call{Usage: events.Usage{InputTokens: 2_000_000, CachedInputTokens: 1_000_000}, At: today}
	require.Equal(t, 2.0, *both.Cost("openai", "gpt-5", call), "cached input costs the full price where none is given")
	require.Equal(t, 2.0, *both.Cost("acme", "gpt-7", call), "a name alone is a model of any provider")
	require.Equal(t, 0.0, *both.Cost("ollama", "llama3.2", call), "free because somebody said so")
	require.Equal(t, 1.375, *prices.Builtin().Cost("openai", "gpt-5", call), "the built-in table is as it was")
	again, err := prices.Parse(both.Encode())
	require.NoError(t, err)
	require.Equal(t, string(both.Encode()), string(again.Encode()))
}

func TestAMistakeInATableIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                        "unexpected EOF",
		`{"unit":"eur_per_token"}`: `unit "eur_per_token" is not known; prices are in usd_per_million_tokens`,
		`{"models":{"x":{"input":-1,"output":1}}}`:                          `"x": input is -1; it cannot be negative`,
		`{"models":{"x":{"input":1}}}`:                                      `"x": a price needs both input and output`,
		`{"models":{"x":{"cached_input":1}}}`:                               `a price needs both`,
		`{"models":{"x":{"input":1,"output":1,"rates":[{"input":1}]}}}`:     `either rates or one price`,
		`{"models":{"x":{"input_eur":1}}}`:                                  `unknown field "input_eur" (a model has also`,
		`{"models":{"x":{"rates":[{"input":1,"output":1,"tier":"gold"}]}}}`: `tier "gold" is not known; give flex or priority`,
		`{"models":{"x":{"rates":[{"input":1,"output":1,"from":"May"}]}}}`:  `from "May" is not a day`,
		`{"models":{"x":{"window":-1,"input":1,"output":1}}}`:               `the window -1 is negative`,
		`{"models":{}} {}`: "unexpected content after",
	} {
		_, err := prices.Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// The public data is read as it is published: figures, steps, days, names.
func TestTableOfPublicData(t *testing.T) {
	data, err := os.ReadFile("testdata/genai.json")
	require.NoError(t, err)
	table, err := prices.FromGenAI(data, "2026-01-02")
	require.NoError(t, err)
	require.Equal(t, "2026-01-02", table.AsOf)
	require.Contains(t, table.Source, "MIT")
	cost := func(provider, model string, u events.Usage, at time.Time) float64 {
		c := table.Cost(provider, model, prices.Call{Usage: u, At: at})
		require.NotNil(t, c, model)
		return *c
	}
	require.Equal(t, 3.0, cost("xai", "brain-2-fast", events.Usage{OutputTokens: 1e6}, today), "a name by its beginning")
	require.Equal(t, 3.0, cost("xai", "brain", events.Usage{OutputTokens: 1e6}, today))
	require.Equal(t, 4.0, cost("xai", "stepped", events.Usage{InputTokens: 1e6}, today))
	require.Equal(t, 7.0, cost("xai", "dated", events.Usage{OutputTokens: 1e6}, today))
	require.Equal(t, 6.0, cost("xai", "dated", events.Usage{OutputTokens: 1e6}, time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)))
	require.Equal(t, 1.1, cost("deepseek", "hourly", events.Usage{OutputTokens: 1e6}, today), "the most expensive hour")
	require.Nil(t, table.Get("xai/pictures"), "not priced by tokens of text")
	require.Zero(t, table.Get("nobody/else"))
	_, err = prices.FromGenAI([]byte(`[]`), "2026-01-02")
	require.ErrorContains(t, err, "is it that file?")
	_, err = prices.FromGenAI([]byte(`{"models":{}}`), "2026-01-02")
	require.Error(t, err)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"as_of":"2026-01-01","models":{"openai/x":{"rates":[{"input":1,"output":2,"above":5}]},"y/*":{"input":0,"output":0}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := prices.Parse(data)
		if err != nil {
			return
		}
		again, err := prices.Parse(table.Encode())
		require.NoError(t, err)
		require.Equal(t, table.Names(), again.Names())
		table.Cost("openai", "x", prices.Call{At: today})
	})
}

// Searches of the provider cost what it charges for each, beside the tokens, and make the
// cost of a call unknown where nobody knows that.
func TestWebSearchFee(t *testing.T) {
	table, err := prices.Parse([]byte(`{"models": {"acme/big": {"input": 1, "output": 2, "web_search": 10}, "acme/plain": {"input": 1, "output": 2}}}`))
	require.NoError(t, err)
	call := prices.Call{Usage: events.Usage{InputTokens: 1_000_000, WebSearches: 3}}
	require.InDelta(t, 1.03, *table.Cost("acme", "big", call), 1e-9)
	require.Nil(t, table.Cost("acme", "plain", call))
	again, err := prices.Parse(table.Encode())
	require.NoError(t, err)
	require.InDelta(t, 1.03, *again.Cost("acme", "big", call), 1e-9)
	require.InDelta(t, 0.01, *prices.Builtin().Get("openai/gpt-5").WebSearchUSD/1000, 1e-9)
	_, err = prices.Parse([]byte(`{"models": {"a/b": {"input": 1, "output": 2, "web_search": -1}}}`))
	require.ErrorContains(t, err, "web_search is -1; it cannot be negative")
}
