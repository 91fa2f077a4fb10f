package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// The wire format is that of https://platform.openai.com/docs/api-reference/chat.

type wireRequest struct {
	Model         string          `json:"model"`
	Messages      []wireMessage   `json:"messages"`
	Tools         []wireTool      `json:"tools"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	Effort        string          `json:"reasoning_effort"`
	Tier          string          `json:"service_tier"`
	Stream        bool            `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type wireMessage struct {
	Role       events.Role     `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []wireCall      `json:"tool_calls"`
	ToolCallID events.CallID   `json:"tool_call_id"`
}

type wireCall struct {
	ID       events.CallID `json:"id"`
	Type     string        `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type wireTool struct {
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// request gives the call as the model takes it.
func (w *wireRequest) request() llm.Request {
	req := llm.Request{Model: w.Model}
	if string(w.ToolChoice) == `"none"` {
		req.ToolChoice = llm.ToolChoiceNone
	}
	for _, m := range w.Messages {
		role := m.Role
		if role == "developer" {
			role = events.RoleSystem
		}
		message := events.Message{Role: role, Content: contentText(m.Content), ToolCallID: m.ToolCallID}
		for _, call := range m.ToolCalls {
			message.ToolCalls = append(message.ToolCalls, events.ToolCall{
				ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments,
			})
		}
		req.Messages = append(req.Messages, message)
	}
	for _, t := range w.Tools {
		req.Tools = append(req.Tools, llm.Tool{
			Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters,
		})
	}
	return req
}

// contentText reads content that is a text, null, or a list of parts.
func contentText(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // anything else has no text
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(part.Text)
	}
	return b.String()
}

// rendering is a stream ready to be sent: the bytes of each paced chunk.
type rendering struct {
	id, model, tier string
	created         int64
	chunks          [][]byte
	// tail is what follows the last chunk at once: finish reason, usage, [DONE].
	tail []byte
}

// render makes the bytes of a stream beforehand, so that sending it costs no more
// than the writes.
func render(number int, req *wireRequest, reply events.Reply, cut []chunk, u events.Usage) *rendering {
	r := &rendering{id: fmt.Sprintf("chatcmpl-sim-%d", number), model: req.Model, tier: servedTier(req.Tier), created: time.Now().Unix()}
	head := r.head()
	role := appendDelta(nil, head, `{"role":"assistant","content":""}`, "null")
	for i, c := range cut {
		var b []byte
		if i == 0 {
			b = role
		}
		r.chunks = append(r.chunks, appendChunk(b, head, c, reply))
	}
	if len(cut) == 0 {
		r.tail = role
	}
	r.tail = appendDelta(r.tail, head, "{}", quoted(string(reply.FinishReason)))
	if req.StreamOptions.IncludeUsage {
		r.tail = fmt.Appendf(r.tail, "%s[],\"usage\":%s}\n\n", head, wireUsage(u))
	}
	r.tail = append(r.tail, "data: [DONE]\n\n"...)
	return r
}

// head is what every chunk begins with, up to its choices.
func (r *rendering) head() string {
	return fmt.Sprintf(`data: {"id":%s,"object":"chat.completion.chunk","created":%d,"model":%s,"service_tier":%s,"choices":`,
		quoted(r.id), r.created, quoted(r.model), quoted(r.tier))
}

func appendDelta(b []byte, head, delta, finish string) []byte {
	b = append(b, head...)
	b = append(b, `[{"index":0,"delta":`...)
	b = append(b, delta...)
	b = append(b, `,"finish_reason":`...)
	b = append(b, finish...)
	return append(b, "}]}\n\n"...)
}

func appendChunk(b []byte, head string, c chunk, reply events.Reply) []byte {
	if c.text != "" {
		return appendDelta(b, head, `{"content":`+quoted(c.text)+`}`, "null")
	}
	if c.begins {
		call := reply.ToolCalls[c.call]
		return appendDelta(b, head, fmt.Sprintf(
			`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}`,
			c.call, quoted(string(call.ID)), quoted(call.Name), quoted(c.fragment)), "null")
	}
	return appendDelta(b, head, fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`,
		c.call, quoted(c.fragment)), "null")
}

// renderWhole makes the body of a reply that is not streamed.
func renderWhole(number int, req *wireRequest, reply events.Reply, u events.Usage) []byte {
	message := map[string]any{"role": "assistant", "content": reply.Text}
	if len(reply.ToolCalls) > 0 {
		calls := make([]wireCall, len(reply.ToolCalls))
		for i, call := range reply.ToolCalls {
			calls[i].ID, calls[i].Type = call.ID, "function"
			calls[i].Function.Name, calls[i].Function.Arguments = call.Name, call.Arguments
		}
		message["tool_calls"] = calls
	}
	var b bytes.Buffer
	_ = json.NewEncoder(&b).Encode(map[string]any{ // strings and numbers only: cannot fail
		"id": fmt.Sprintf("chatcmpl-sim-%d", number), "object": "chat.completion", "created": time.Now().Unix(),
		"model": req.Model, "service_tier": servedTier(req.Tier),
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": reply.FinishReason}},
		"usage":   json.RawMessage(wireUsage(u)),
	})
	return b.Bytes()
}

func wireUsage(u events.Usage) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`,
		u.InputTokens, u.OutputTokens, u.Total(), u.CachedInputTokens)
}

// quoted gives a text as JSON.
func quoted(text string) string {
	raw, _ := json.Marshal(text) // a string cannot fail
	return string(raw)
}
