package effort_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/llm/effort"
)

// Proves the table of each family: which levels a model takes, and by which word.
func TestFamilies(t *testing.T) {
	for model, want := range map[string]string{
		"openai/gpt-5":                "low=low medium=medium high=high max=high",
		"gpt-5-mini-2025-08-07":       "low=low medium=medium high=high max=high",
		"gpt-5-pro":                   "high=high max=high",
		"gpt-5.1":                     "none=none low=low medium=medium high=high max=high",
		"gpt-5.1-codex-max":           "low=low medium=medium high=high max=xhigh",
		"gpt-5-codex":                 "low=low medium=medium high=high max=high",
		"gpt-5.2-chat-latest":         "medium=medium",
		"gpt-5.3-chat-latest":         "none=",
		"gpt-5.3-codex":               "low=low medium=medium high=high max=xhigh",
		"gpt-5.1-codex-mini":          "low=low medium=medium high=high max=high",
		"o3-deep-research":            "medium=medium",
		"o3-mini":                     "low=low medium=medium high=high max=high",
		"gpt-5.4-mini":                "none=none low=low medium=medium high=high max=xhigh",
		"gpt-5.4-pro":                 "medium=medium high=high max=xhigh",
		"gpt-5.6-terra":               "none=none low=low medium=medium high=high max=max",
		"o4-mini":                     "low=low medium=medium high=high max=high",
		"o1-mini":                     "none=",
		"openai/gpt-oss-120b":         "low=low medium=medium high=high max=high",
		"gpt-4.1-mini":                "none=",
		"gpt-4o":                      "none=",
		"claude-3-5-haiku-20241022":   "none=",
		"claude-sonnet-4-5":           "none=none low=low medium=medium high=high max=max",
		"anthropic/claude-opus-4-6":   "none=none low=low medium=medium high=high max=max",
		"claude-opus-4-20250514":      "none=none low=low medium=medium high=high max=max",
		"claude-fable-5":              "low=low medium=medium high=high max=max",
		"claude-opus-5":               "none=none low=low medium=medium high=high max=max",
		"claude-opus-5-5":             "low=low medium=medium high=high max=max",
		"grok-3-mini":                 "low=low high=high max=high",
		"grok-3":                      "none=",
		"xai/grok-4":                  "",
		"grok-4.3":                    "none=none low=low medium=medium high=high max=high",
		"grok-4.20-0309-reasoning":    "",
		"grok-4.20-multi-agent-0309":  "low=low medium=medium high=high max=xhigh",
		"grok-4.5":                    "low=low medium=medium high=high max=high",
		"grok-build-0.1":              "",
		"grok-4-1-fast-reasoning":     "",
		"grok-4.20-non-reasoning":     "none=",
		"google/gemini-2.5-flash":     "none=none low=low medium=medium high=high max=high",
		"gemini-3.1-pro-preview":      "low=low medium=medium high=high max=high",
		"gemini-3-pro-preview":        "low=low high=high max=high",
		"deepseek-ai/deepseek-v4-pro": "none=none low=low medium=medium high=high max=max",
		"glm-4.7":                     "none=none high=high max=high",
		"glm-5-turbo":                 "none=none high=high max=high",
		"glm-5.1":                     "none=none high=high max=high",
		"zai-org/GLM-5.2":             "none=none low=low medium=medium high=high max=max",
		"glm-5.3-flash":               "low=low high=high max=max",
		"kimi-k3":                     "low=low high=high max=max",
		"kimi-k2.5":                   "none=none high=high max=high",
	} {
		levels, known := effort.Takes(model)
		require.True(t, known, model)
		var got []string
		for _, level := range levels {
			got = append(got, level+"="+effort.Word(model, level))
			require.NoError(t, effort.Check(model, level))
		}
		require.Equal(t, want, strings.Join(got, " "), model)
	}
}

// Proves that a model that nothing is known of is sent the level as it is.
func TestUnknownModels(t *testing.T) {
	for _, model := range []string{"qwen3", "Qwen/Qwen3-8B", "gpt-6", "gpt-5.7", "glm-5.4", "grok-4.7", "claude-opus-6", "my-deployment", "o5", "gpt-50", ""} {
		_, known := effort.Takes(model)
		require.False(t, known, model)
		require.NoError(t, effort.Check(model, "max"))
		require.Equal(t, "max", effort.Word(model, "max"))
		require.True(t, effort.Sampled(model, "max"))
	}
}

func TestRefusalsSayWhatIsTaken(t *testing.T) {
	for _, c := range []struct{ model, level, want string }{
		{"openai/gpt-5", "none", `model openai/gpt-5 does not accept the effort "none", only low, medium, high or max. Set one of these, or leave effort out`},
		{"gpt-4.1", "low", `model gpt-4.1 does not think, so it accepts no effort "low". Leave it out, or choose a model that thinks`},
		{"grok-4", "low", `model grok-4 accepts no effort: its thinking cannot be adjusted. Leave effort "low" out`},
	} {
		require.EqualError(t, effort.Check(c.model, c.level), c.want)
	}
	require.NoError(t, effort.Check("gpt-4.1", ""))
}

func TestTemperature(t *testing.T) {
	require.False(t, effort.Sampled("openai/gpt-5.4", "low"))
	require.True(t, effort.Sampled("openai/gpt-5.4", "none"))
	require.True(t, effort.Sampled("openai/gpt-5.4", ""))
	require.True(t, effort.Sampled("deepseek-v4-pro", "high"))
}
