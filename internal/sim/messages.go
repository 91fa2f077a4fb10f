package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/lazyregexp"
	"github.com/convene-run/convene/llm"
)

// messages is the dialect of Anthropic's Messages API, as strict as that: it refuses
// thinking of another account, its own calls without their thinking, results that do
// not open the next message, text behind calls, blank text and a fifth mark of the cache.
// https://platform.claude.com/docs/en/api/messages
type messages struct {
	Model     string         `json:"model"`
	MaxTokens int            `json:"max_tokens"`
	System    []messageBlock `json:"system"`
	Messages  []wholeMessage `json:"messages"`
	Tools     []messagesTool `json:"tools"`
	Choice    struct {
		Type string `json:"type"`
	} `json:"tool_choice"`
	Stream      bool     `json:"stream"`
	Temperature *float64 `json:"temperature"`
	Tier        string   `json:"service_tier"`
	Thinking    struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
	Output struct {
		Effort string `json:"effort"`
	} `json:"output_config"`
	by account
}

type wholeMessage struct {
	Role    string         `json:"role"`
	Content []messageBlock `json:"content"`
}

type messageBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Cache     json.RawMessage `json:"cache_control"`
	Citations []struct {
		Encrypted string `json:"encrypted_index"`
	} `json:"citations"`
}

type messagesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       json.RawMessage `json:"cache_control"`
	// Allow and MaxUses are of the web search.
	Allow   []string `json:"allowed_domains"`
	MaxUses int      `json:"max_uses"`
}

// maxCacheMarks is how many marks of the cache are taken.
const maxCacheMarks = 4

var messagesID = lazyregexp.New(`^[a-zA-Z0-9_-]+$`)

func (d *messages) read(body []byte) error { return json.Unmarshal(body, d) }
func (d *messages) streams() bool          { return d.Stream }

// tier is the ordinary one: nobody has bought capacity here.
func (d *messages) tier() string { return "standard" }

func (d *messages) check(by account) string {
	d.by = by
	if d.MaxTokens <= 0 {
		return "max_tokens: Field required"
	}
	if wrong := d.checkTuning(); wrong != "" {
		return wrong
	}
	if n := d.cacheMarks(); n > maxCacheMarks {
		return fmt.Sprintf("A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	}
	if len(d.Messages) == 0 || d.Messages[0].Role != "user" {
		return "messages: first message must use the \"user\" role"
	}
	if d.Messages[len(d.Messages)-1].Role != "user" {
		return "This model does not support assistant message prefill. The conversation must end with a user message."
	}
	for i, m := range d.Messages {
		if wrong := d.checkMessage(i, m); wrong != "" {
			return wrong
		}
	}
	return ""
}

// checkTuning looks at how the model is asked.
func (d *messages) checkTuning() string {
	thinks := d.Thinking.Type == "enabled" || d.Thinking.Type == "adaptive"
	switch {
	case !slices.Contains([]string{"", "enabled", "adaptive", "disabled", "between_tools"}, d.Thinking.Type):
		return "thinking: Input tag '" + d.Thinking.Type + "' found using 'type' does not match any of the expected tags"
	case d.Thinking.Type == "enabled" && (d.Thinking.Budget < 1024 || d.Thinking.Budget >= d.MaxTokens):
		return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024, and less than max_tokens"
	case thinks && d.Temperature != nil && *d.Temperature != 1:
		return "`temperature` may only be set to 1 when thinking is enabled."
	case !slices.Contains([]string{"", "low", "medium", "high", "xhigh", "max"}, d.Output.Effort):
		return "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"
	case !slices.Contains([]string{"", "auto", "standard_only"}, d.Tier):
		return "service_tier: Input should be 'auto' or 'standard_only'"
	}
	return ""
}

func (d *messages) cacheMarks() int {
	n := 0
	count := func(mark json.RawMessage) {
		if len(mark) > 0 {
			n++
		}
	}
	for _, t := range d.Tools {
		count(t.Cache)
	}
	for _, b := range d.System {
		count(b.Cache)
	}
	for _, m := range d.Messages {
		for _, b := range m.Content {
			count(b.Cache)
		}
	}
	return n
}

func (d *messages) checkMessage(i int, m wholeMessage) string {
	var calls []string
	thought := false
	for j, b := range m.Content {
		if wrong := d.checkSearch(b); wrong != "" {
			return fmt.Sprintf("messages.%d.content.%d: %s", i, j, wrong)
		}
		switch b.Type {
		case "text":
			if strings.TrimSpace(b.Text) == "" {
				return "messages: text content blocks must contain non-whitespace text"
			}
			if len(calls) > 0 {
				return orderRefusal(i, calls)
			}
		case "thinking":
			thought = true
			if !d.by.opens(events.APIMessages, b.Signature) {
				return fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
			}
		case "tool_use":
			if !messagesID.MatchString(b.ID) || len(b.Input) == 0 || b.Input[0] != '{' {
				return fmt.Sprintf("messages.%d.content.%d.tool_use: String should match pattern '^[a-zA-Z0-9_-]+$', and input be a dictionary", i, j)
			}
			if d.by.own(events.APIMessages, b.ID) && !thought {
				return fmt.Sprintf("messages.%d.content.%d.type: Expected `thinking`, but found `tool_use`", i, j)
			}
			calls = append(calls, b.ID)
		}
	}
	if len(calls) == 0 {
		return ""
	}
	if i+1 == len(d.Messages) || !answers(d.Messages[i+1], calls) {
		return orderRefusal(i, calls)
	}
	return ""
}

func orderRefusal(i int, calls []string) string {
	return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i, strings.Join(calls, ", "))
}

// answers reports whether a message opens with a result for each of the calls.
func answers(m wholeMessage, calls []string) bool {
	open := map[string]bool{}
	for _, id := range calls {
		open[id] = true
	}
	for _, b := range m.Content {
		if b.Type != "tool_result" || !open[b.ToolUseID] {
			break
		}
		delete(open, b.ToolUseID)
	}
	return m.Role == "user" && len(open) == 0
}

func (d *messages) request() llm.Request {
	req := llm.Request{Model: d.Model}
	if d.Choice.Type == "none" {
		req.ToolChoice = llm.ToolChoiceNone
	}
	for _, t := range d.Tools {
		if t.Type == searchOfMessages {
			req.Tools = append(req.Tools, llm.Tool{Name: toolWebSearch, Search: &llm.WebSearch{Allow: t.Allow, MaxUses: t.MaxUses}})
			continue
		}
		req.Tools = append(req.Tools, llm.Tool{Name: t.Name, Description: t.Description, Parameters: t.InputSchema})
	}
	for _, b := range d.System {
		req.Messages = append(req.Messages, events.Message{Role: events.RoleSystem, Content: b.Text})
	}
	for _, m := range d.Messages {
		req.Messages = append(req.Messages, m.plain()...)
	}
	return req
}

// plain gives a message as the model reads it.
func (m wholeMessage) plain() []events.Message {
	var list []events.Message
	said := events.Message{Role: events.RoleAssistant}
	for _, b := range m.Content {
		switch {
		case b.Type == "tool_result":
			list = append(list, events.Message{Role: events.RoleTool, ToolCallID: events.CallID(b.ToolUseID), Content: contentText(b.Content)})
		case b.Type == "tool_use":
			said.ToolCalls = append(said.ToolCalls, events.ToolCall{ID: events.CallID(b.ID), Name: b.Name, Arguments: string(b.Input)})
		case b.Type == "text" && m.Role == "user":
			list = append(list, events.Message{Role: events.RoleUser, Content: b.Text})
		case b.Type == "text":
			said.Content += b.Text
		}
	}
	if m.Role == "assistant" {
		list = append(list, said)
	}
	return list
}

func (d *messages) finish(reply *events.Reply, by account) { by.mark(events.APIMessages, reply) }

func (d *messages) render(number int, reply events.Reply, cut []chunk, u events.Usage) *rendering {
	r := &rendering{}
	var b []byte
	event := func(kind, rest string) {
		b = append(b, "event: "+kind+"\ndata: {\"type\":\""+kind+"\""+rest+"}\n\n"...)
	}
	event("message_start", fmt.Sprintf(`,"message":{"id":"msg-sim-%d","type":"message","role":"assistant","model":%s,"content":[],"usage":%s}`, number, quoted(d.Model), messagesUsage(u, 1)))
	sealed := d.by.seal(events.APIMessages, &reply)
	event("content_block_start", `,"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}`)
	event("content_block_delta", `,"index":0,"delta":{"type":"signature_delta","signature":`+quoted(sealed)+`}`)
	event("content_block_stop", `,"index":0`)
	index, text := 0, false
	for _, block := range searchBlocks(&reply, sealed) {
		index++
		event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, index, block))
		event("content_block_stop", fmt.Sprintf(`,"index":%d`, index))
	}
	for i, c := range cut {
		if c.text != "" {
			if !text {
				index, text = index+1, true
				event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":{"type":"text","text":""}`, index))
				for _, citation := range citations(&reply, sealed) {
					event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{"type":"citations_delta","citation":%s}`, index, citation))
				}
			}
			event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{"type":"text_delta","text":%s}`, index, quoted(c.text)))
			if i+1 == len(cut) || cut[i+1].text == "" {
				event("content_block_stop", fmt.Sprintf(`,"index":%d`, index))
			}
		} else {
			if c.begins {
				call := reply.ToolCalls[c.call]
				index++
				event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}`, index, quoted(string(call.ID)), quoted(call.Name)))
			}
			event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{"type":"input_json_delta","partial_json":%s}`, index, quoted(c.fragment)))
			if c.ends {
				event("content_block_stop", fmt.Sprintf(`,"index":%d`, index))
			}
		}
		r.chunks, b = append(r.chunks, b), nil
	}
	event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":"%s","stop_sequence":null},"usage":%s`, stopReason(reply), messagesUsage(u, u.OutputTokens)))
	event("message_stop", "")
	r.tail = b
	return r
}

// messagesUsage counts as the API does: the input without what is cached.
func messagesUsage(u events.Usage, output int64) string {
	return fmt.Sprintf(`{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":%d,"server_tool_use":{"web_search_requests":%d},"service_tier":"standard"}`,
		u.InputTokens-u.CachedInputTokens-u.CacheWriteInputTokens, u.CachedInputTokens, u.CacheWriteInputTokens, output, u.WebSearches)
}

func stopReason(reply events.Reply) string {
	switch {
	case reply.FinishReason == events.FinishLength:
		return "max_tokens"
	case len(reply.ToolCalls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (d *messages) renderWhole(number int, reply events.Reply, u events.Usage) []byte {
	sealed := d.by.seal(events.APIMessages, &reply)
	blocks := append([]string{`{"type":"thinking","thinking":"","signature":` + quoted(sealed) + `}`}, searchBlocks(&reply, sealed)...)
	if reply.Text != "" {
		blocks = append(blocks, `{"type":"text","text":`+quoted(reply.Text)+`,"citations":[`+strings.Join(citations(&reply, sealed), ",")+`]}`)
	}
	for _, call := range reply.ToolCalls {
		input := call.Arguments
		if !json.Valid([]byte(input)) {
			input = "{}"
		}
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":%s}`, quoted(string(call.ID)), quoted(call.Name), input))
	}
	return fmt.Appendf(nil, `{"id":"msg-sim-%d","type":"message","role":"assistant","model":%s,"content":[%s],"stop_reason":"%s","stop_sequence":null,"usage":%s}`,
		number, quoted(d.Model), strings.Join(blocks, ","), stopReason(reply), messagesUsage(u, u.OutputTokens))
}

func (d *messages) tell(h http.Header, limit *limitTold, now time.Time) { limit.anthropic(h, now) }

func (d *messages) refuse(w http.ResponseWriter, status int, code, message string) {
	kind := map[int]string{400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}[status]
	if kind == "" {
		kind = "api_error"
	}
	writeJSON(w, status, map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}})
}

func (d *messages) fail() []byte {
	return []byte(`{"type":"error","error":{"type":"overloaded_error","message":"The simulated stream failed as it was told to."}}`)
}
