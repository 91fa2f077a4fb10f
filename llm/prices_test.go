package llm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

func TestPricesFindAModelByItsManyNames(t *testing.T) {
	prices := llm.DefaultPrices()
	require.NotEmpty(t, prices.AsOf)
	for _, c := range []struct {
		provider, model string
		output          float64
	}{
		{"openai", "gpt-5-mini", 2},
		{"openai", "gpt-5-2025-08-07", 10},
		{"azure", "gpt-4o-2024-08-06", 10},
		{"anthropic", "claude-haiku-4-5-20251001", 5},
		{"openrouter", "anthropic/claude-sonnet-4.5", 15},
		{"gemini", "models/gemini-2.5-flash", 2.5},
		{"gemini", "gemini-2.5-flash-preview-09-2025", 2.5},
		{"mistral", "mistral-large-latest", 1.5},
		{"groq", "moonshotai/kimi-k2-instruct-0905", 3},
		{"xai", "GROK-4-0709", 15},
		{"sim", "whatever", 0.4},
	} {
		price, ok := prices.Lookup(c.provider, c.model)
		require.True(t, ok, "%s/%s", c.provider, c.model)
		require.Equal(t, c.output, price.OutputUSD, "%s/%s", c.provider, c.model)
		require.Equal(t, c.provider == "sim", price.Simulated)
		require.Positive(t, price.Window)
	}
}

func TestAnUnknownModelHasNoPrice(t *testing.T) {
	for _, model := range []string{"gpt-5-ultra", "llama3.2", "", "gpt", "gpt-5-"} {
		require.Nil(t, llm.DefaultPrices().Cost("ollama", model, events.Usage{InputTokens: 1}), model)
	}
	require.Zero(t, llm.DefaultPrices().Window("ollama", "llama3.2"))
	require.Equal(t, 400000, llm.DefaultPrices().Window("openai", "gpt-5-2025-08-07"))
	require.Equal(t, 400000, llm.DefaultPrices().Window("", "gpt-5"))
}

func TestPricesCanBeOverridden(t *testing.T) {
	own, err := llm.ParsePrices([]byte(`{"models":{"gpt-5":{"input":1,"output":1},"ollama/*":{"input":0,"output":0}}}`))
	require.NoError(t, err)
	both := llm.DefaultPrices().With(own)
	usage := events.Usage{InputTokens: 2_000_000, CachedInputTokens: 1_000_000}
	require.Equal(t, 2.0, *both.Cost("openai", "gpt-5", usage), "cached input costs the full price where none is given")
	require.Equal(t, 0.0, *both.Cost("ollama", "llama3.2", usage), "free because somebody said so")
	require.Equal(t, 1.375, *llm.DefaultPrices().Cost("openai", "gpt-5", usage), "the built-in table is as it was")
	_, err = llm.ParsePrices([]byte(`{"models":{"x":{"input":-1}}}`))
	require.ErrorContains(t, err, `"x"`)
	_, err = llm.ParsePrices([]byte(`{`))
	require.Error(t, err)
}
