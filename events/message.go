package events

import (
	"encoding/json"
	"slices"
	"strings"
)

// Role says who speaks in a message.
type Role string

// The roles of the chat completions format.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a conversation with a model, as a fold over the log
// yields it. It is no event of its own.
type Message struct {
	Role    Role   `json:"role"`
	Content string `json:"content,omitempty"`
	// Reasoning and Extra are of an assistant message: what the model thought, and
	// what its endpoint wants back unchanged.
	Reasoning string          `json:"reasoning,omitempty"`
	Extra     json.RawMessage `json:"extra,omitempty"`
	ToolCalls []ToolCall      `json:"tool_calls,omitempty"`
	// ToolCallID is set on a tool message: the call that Content answers.
	ToolCallID CallID `json:"tool_call_id,omitempty"`
	// Parts are [ToolCallDone.Parts] of a tool message, Content its Result.
	Parts []Part `json:"parts,omitempty"`
}

// WithoutExtra gives the message without what its endpoint wants back.
func (m Message) WithoutExtra() Message {
	m.Extra = nil
	if len(m.ToolCalls) > 0 {
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for i := range m.ToolCalls {
			m.ToolCalls[i].Extra = nil
		}
	}
	return m
}

// API names the API that a model is asked by.
type API string

// The APIs: chat completions, which most endpoints offer, OpenAI's Responses and
// Anthropic's Messages.
const (
	APIChat      API = "chat"
	APIResponses API = "responses"
	APIMessages  API = "messages"
)

// ToolCall is one call that a model asked for.
type ToolCall struct {
	ID   CallID `json:"id"`
	Name string `json:"name"`
	// Arguments is the text that the model wrote; it need not be valid JSON.
	Arguments string `json:"arguments"`
	// Extra is a JSON object of what the endpoint wants back unchanged with the call
	// (thought signatures and the like), tagged with whose it is.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// FinishReason says why a model stopped.
type FinishReason string

// The finish reasons that the loop tells apart. Others pass through as sent.
const (
	FinishStop          FinishReason = "stop"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishLength        FinishReason = "length"
	FinishContentFilter FinishReason = "content_filter"
	// FinishPaused: the provider paused the turn and goes on when it is sent back.
	FinishPaused FinishReason = "pause_turn"
)

// Reply is all that a model answered in one turn.
type Reply struct {
	Text         string          `json:"text,omitempty"`
	Reasoning    string          `json:"reasoning,omitempty"`
	Extra        json.RawMessage `json:"extra,omitempty"`
	ToolCalls    []ToolCall      `json:"tool_calls,omitempty"`
	FinishReason FinishReason    `json:"finish_reason,omitempty"`
	// Searches are what the provider searched the web for while it wrote the reply, in
	// order; Cited the pages that the text cites.
	Searches []string    `json:"searches,omitempty"`
	Cited    []CitedPage `json:"cited,omitempty"`
}

// CitedPage is a web page that a provider's own search found and a reply cites.
type CitedPage struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	// Quote is the passage of the page that is cited, word for word; "" where the provider
	// does not say.
	Quote string `json:"quote,omitempty"`
}

// Empty reports whether the reply says nothing: no tool call, and no text beyond
// white space.
func (r Reply) Empty() bool { return len(r.ToolCalls) == 0 && r.Blank() }

// Blank reports whether the reply has no text beyond white space.
func (r Reply) Blank() bool { return strings.TrimSpace(r.Text) == "" }

// Message gives the assistant message that the reply becomes in the history.
func (r Reply) Message() Message {
	return Message{
		Role: RoleAssistant, Content: r.Text, Reasoning: r.Reasoning,
		Extra: r.Extra, ToolCalls: r.ToolCalls,
	}
}

// Usage counts the tokens of model calls.
type Usage struct {
	// InputTokens includes CachedInputTokens and CacheWriteInputTokens.
	InputTokens       int64 `json:"input_tokens"`
	CachedInputTokens int64 `json:"cached_input_tokens,omitempty"`
	// CacheWriteInputTokens were written to the provider's cache, and cost more than
	// others where it charges for that; CacheWrite1hInputTokens are those of them that
	// it keeps for an hour, which cost more still.
	CacheWriteInputTokens   int64 `json:"cache_write_input_tokens,omitempty"`
	CacheWrite1hInputTokens int64 `json:"cache_write_1h_input_tokens,omitempty"`
	// OutputTokens includes ReasoningTokens.
	OutputTokens    int64 `json:"output_tokens"`
	ReasoningTokens int64 `json:"reasoning_tokens,omitempty"`
	// WebSearches are those of the provider's own search, which it charges for by the piece.
	WebSearches int64 `json:"web_searches,omitempty"`
	// Estimated is set where the endpoint reported none and the numbers are ours.
	Estimated bool `json:"estimated,omitempty"`
}

// Total is what a token limit counts: input and output.
func (u Usage) Total() int64 { return u.InputTokens + u.OutputTokens }

// UncachedShare is the part of the input that did not come from the provider's cache,
// from 0 to 1; 0 where there was no input.
func (u Usage) UncachedShare() float64 {
	if u.InputTokens <= 0 {
		return 0
	}
	return float64(u.InputTokens-u.CachedInputTokens) / float64(u.InputTokens)
}

// Add sums two usages; an estimate in either makes the sum one.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:       u.InputTokens + v.InputTokens,
		CachedInputTokens: u.CachedInputTokens + v.CachedInputTokens,

		CacheWriteInputTokens:   u.CacheWriteInputTokens + v.CacheWriteInputTokens,
		CacheWrite1hInputTokens: u.CacheWrite1hInputTokens + v.CacheWrite1hInputTokens,

		OutputTokens:    u.OutputTokens + v.OutputTokens,
		ReasoningTokens: u.ReasoningTokens + v.ReasoningTokens,
		WebSearches:     u.WebSearches + v.WebSearches,
		Estimated:       u.Estimated || v.Estimated,
	}
}
