package events

import (
	"encoding/json"
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
	// the message's fields that we do not know but must send back unchanged.
	Reasoning string          `json:"reasoning,omitempty"`
	Extra     json.RawMessage `json:"extra,omitempty"`
	ToolCalls []ToolCall      `json:"tool_calls,omitempty"`
	// ToolCallID is set on a tool message: the call that Content answers.
	ToolCallID CallID `json:"tool_call_id,omitempty"`
}

// ToolCall is one call that a model asked for.
type ToolCall struct {
	ID   CallID `json:"id"`
	Name string `json:"name"`
	// Arguments is the text that the model wrote; it need not be valid JSON.
	Arguments string `json:"arguments"`
	// Extra is a JSON object of fields that we do not know and that must be sent
	// back unchanged with the call (thought signatures and the like).
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
)

// Reply is all that a model answered in one turn.
type Reply struct {
	Text         string          `json:"text,omitempty"`
	Reasoning    string          `json:"reasoning,omitempty"`
	Extra        json.RawMessage `json:"extra,omitempty"`
	ToolCalls    []ToolCall      `json:"tool_calls,omitempty"`
	FinishReason FinishReason    `json:"finish_reason,omitempty"`
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
	// InputTokens includes CachedInputTokens.
	InputTokens       int64 `json:"input_tokens"`
	CachedInputTokens int64 `json:"cached_input_tokens,omitempty"`
	// OutputTokens includes ReasoningTokens.
	OutputTokens    int64 `json:"output_tokens"`
	ReasoningTokens int64 `json:"reasoning_tokens,omitempty"`
	// Estimated is set where the endpoint reported none and the numbers are ours.
	Estimated bool `json:"estimated,omitempty"`
}

// Total is what a token limit counts: input and output.
func (u Usage) Total() int64 { return u.InputTokens + u.OutputTokens }

// Add sums two usages; an estimate in either makes the sum one.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:       u.InputTokens + v.InputTokens,
		CachedInputTokens: u.CachedInputTokens + v.CachedInputTokens,
		OutputTokens:      u.OutputTokens + v.OutputTokens,
		ReasoningTokens:   u.ReasoningTokens + v.ReasoningTokens,
		Estimated:         u.Estimated || v.Estimated,
	}
}
