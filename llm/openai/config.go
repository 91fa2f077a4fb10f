package openai

import "github.com/convene-run/convene/llm/wire"

// MaxToolCalls bounds the calls of one reply.
const MaxToolCalls = wire.MaxToolCalls

// Config says how to reach an endpoint. BaseURL defaults to
// https://api.openai.com/v1, Provider to "openai".
type Config struct {
	wire.Config

	// OutputLimitField is the field for [llm.Request.MaxOutputTokens]. Defaults to
	// "max_tokens", which all but the newest models of OpenAI know.
	OutputLimitField string
	// ReasoningField is the field in which the endpoint wants the reasoning of an
	// assistant message with tool calls back. Empty sends none.
	ReasoningField string
	// Thinking is how the endpoint is told how much to think. Defaults to the field
	// "reasoning_effort".
	Thinking Thinking
	// PublishedOnly leaves out the extra fields of messages and calls: the endpoint
	// writes none and refuses those that a fallback's model wrote.
	PublishedOnly bool
	// ClaudeCache marks for Claude what is to be cached: the system text, and where the request
	// and the one before it end, results of tools too: the endpoint has to pass on the mark of a
	// part of them. Other models cache by themselves.
	ClaudeCache bool
	// TakesCacheKey says that the endpoint takes [llm.Request.CacheKey].
	TakesCacheKey bool
	// ChargesUSD says that the cost in the endpoint's usage is what it charges, in US
	// dollars.
	ChargesUSD bool
	// ShortCallIDs rewrites call ids to the nine letters and digits that Mistral
	// demands.
	ShortCallIDs bool
}

// Thinking is a way to tell an endpoint how much to think.
type Thinking string

// The ways beside the usual field.
const (
	// ThinkingSwitch is a "thinking" that is enabled or disabled (DeepSeek, Z.ai,
	// Moonshot), with the usual field for models that take degrees.
	ThinkingSwitch Thinking = "switch"
	// ThinkingObject is a "reasoning" with an "effort" (OpenRouter).
	ThinkingObject Thinking = "object"
)

func (c Config) withDefaults() Config {
	for field, value := range map[*string]string{
		&c.Provider: "openai", &c.BaseURL: "https://api.openai.com/v1", &c.OutputLimitField: "max_tokens",
	} {
		if *field == "" {
			*field = value
		}
	}
	return c
}
