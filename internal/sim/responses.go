package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// responses is the dialect of OpenAI's Responses API, as strict as that: it refuses
// reasoning of another account or without the item behind it, its own calls without
// their reasoning, and results that do not answer the calls right before them.
// https://platform.openai.com/docs/api-reference/responses
type responses struct {
	Model        string          `json:"model"`
	Instructions string          `json:"instructions"`
	Input        []responsesItem `json:"input"`
	Tools        []responsesTool `json:"tools"`
	ToolChoice   json.RawMessage `json:"tool_choice"`
	Include      []string        `json:"include"`
	Store        *bool           `json:"store"`
	Stream       bool            `json:"stream"`
	MaxOutput    *int            `json:"max_output_tokens"`
	MaxToolCalls int             `json:"max_tool_calls"`
	Temperature  *float64        `json:"temperature"`
	Tier         string          `json:"service_tier"`
	Reasoning    struct {
		Effort string `json:"effort"`
	} `json:"reasoning"`
	by account
}

type responsesItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Encrypted string          `json:"encrypted_content"`
	Status    string          `json:"status"`
	Action    json.RawMessage `json:"action"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
	// Filters are of the web search.
	Filters struct {
		Allow []string `json:"allowed_domains"`
	} `json:"filters"`
}

const encryptedContent = "reasoning.encrypted_content"

func (d *responses) read(body []byte) error { return json.Unmarshal(body, d) }
func (d *responses) streams() bool          { return d.Stream }
func (d *responses) tier() string           { return servedTier(d.Tier) }

func (d *responses) check(by account) string {
	d.by = by
	switch {
	case d.Store == nil || *d.Store:
		return "Zero data retention: 'store' must be false."
	case !slices.Contains(d.Include, encryptedContent):
		return "'include' must have " + encryptedContent + "."
	case d.MaxOutput != nil && *d.MaxOutput < 16:
		return "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16."
	}
	if wrong := checkTuning(d.Reasoning.Effort, "reasoning.effort", d.Tier); wrong != "" {
		return wrong
	}
	for _, tool := range d.Tools {
		if tool.Type == toolWebSearch {
			continue
		}
		if tool.Type != "function" || tool.Name == "" || tool.Strict == nil {
			return "Missing required parameter: 'tools[0].name', or 'strict' is left to its default."
		}
	}
	return d.checkItems()
}

func (d *responses) checkItems() string {
	open := map[string]bool{}
	reasoned := false
	for i, item := range d.Input {
		if item.Type != "function_call_output" && item.Type != "function_call" && len(open) > 0 {
			return "No tool output found for a function call before item " + fmt.Sprint(i) + "."
		}
		switch item.Type {
		case "reasoning":
			reasoned = true
			if !d.by.opens(events.APIResponses, item.Encrypted) {
				return "The encrypted content " + clipped(item.Encrypted) + " could not be verified."
			}
			if i+1 == len(d.Input) || d.Input[i+1].Type != "function_call" && d.Input[i+1].Type != "web_search_call" && d.Input[i+1].Role != "assistant" {
				return fmt.Sprintf("Item %d of type 'reasoning' was provided without its required following item.", i)
			}
		case "function_call":
			if d.by.own(events.APIResponses, item.CallID) && !reasoned {
				return fmt.Sprintf("Item %d of type 'function_call' was provided without its required item: %s.", i, item.CallID)
			}
			open[item.CallID] = true
		case "function_call_output":
			reasoned = false
			if !open[item.CallID] {
				return "No tool call found for function call output with call_id " + item.CallID + "."
			}
			delete(open, item.CallID)
		case "web_search_call":
			if item.Status != "completed" || len(item.Action) == 0 {
				return fmt.Sprintf("Missing required parameter: 'input[%d].action'.", i)
			}
		default:
			if item.Role != "assistant" {
				reasoned = false
			}
		}
	}
	if len(open) > 0 {
		return "No tool output found for function call."
	}
	return ""
}

// clipped shortens a blob for a message.
func clipped(blob string) string {
	if len(blob) > 8 {
		return blob[:4] + "..." + blob[len(blob)-4:]
	}
	return blob
}

func (d *responses) request() llm.Request {
	req := llm.Request{Model: d.Model}
	if string(d.ToolChoice) == `"none"` {
		req.ToolChoice = llm.ToolChoiceNone
	}
	for _, t := range d.Tools {
		if t.Type == toolWebSearch {
			req.Tools = append(req.Tools, llm.Tool{Name: toolWebSearch, Search: &llm.WebSearch{Allow: t.Filters.Allow, MaxUses: d.MaxToolCalls}})
			continue
		}
		req.Tools = append(req.Tools, llm.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	if d.Instructions != "" {
		req.Messages = append(req.Messages, events.Message{Role: events.RoleSystem, Content: d.Instructions})
	}
	for _, item := range d.Input {
		last := len(req.Messages) - 1
		switch {
		case item.Type == "function_call":
			if last < 0 || req.Messages[last].Role != events.RoleAssistant {
				req.Messages = append(req.Messages, events.Message{Role: events.RoleAssistant})
				last++
			}
			req.Messages[last].ToolCalls = append(req.Messages[last].ToolCalls, events.ToolCall{ID: events.CallID(item.CallID), Name: item.Name, Arguments: item.Arguments})
		case item.Type == "function_call_output":
			req.Messages = append(req.Messages, events.Message{Role: events.RoleTool, ToolCallID: events.CallID(item.CallID), Content: contentText(item.Output)})
		case item.Role != "":
			role := events.Role(item.Role)
			if role == "developer" {
				role = events.RoleSystem
			}
			req.Messages = append(req.Messages, events.Message{Role: role, Content: contentText(item.Content)})
		}
	}
	return req
}

func (d *responses) finish(reply *events.Reply, by account) { by.mark(events.APIResponses, reply) }

// reasoning is the item that every reply begins with.
func (d *responses) reasoning(reply *events.Reply) string {
	return `{"id":"rs_sim","type":"reasoning","summary":[],"encrypted_content":` + quoted(d.by.seal(events.APIResponses, reply)) + `}`
}

func (d *responses) render(number int, reply events.Reply, cut []chunk, u events.Usage) *rendering {
	r := &rendering{}
	var b []byte
	event := func(kind, rest string) {
		b = append(b, "event: response."+kind+"\ndata: {\"type\":\"response."+kind+"\""+rest+"}\n\n"...)
	}
	event("created", `,"response":{"model":`+quoted(d.Model)+`,"output":[]}`)
	event("output_item.added", `,"output_index":0,"item":{"id":"rs_sim","type":"reasoning","encrypted_content":"unfinished"}`)
	event("output_item.done", `,"output_index":0,"item":`+d.reasoning(&reply))
	for i, query := range reply.Searches {
		event("output_item.done", fmt.Sprintf(`,"output_index":%d,"item":%s`, 1+i, searchItem(i, query)))
	}
	message := 1 + len(reply.Searches)
	calls := message
	if reply.Text != "" {
		calls++
	}
	for i, c := range cut {
		if c.text != "" {
			event("output_text.delta", fmt.Sprintf(`,"output_index":%d,"content_index":0,"delta":%s`, message, quoted(c.text)))
			if i+1 == len(cut) || cut[i+1].text == "" {
				event("output_item.done", fmt.Sprintf(`,"output_index":%d,"item":%s`, message, responsesMessage(&reply)))
			}
		} else {
			call := reply.ToolCalls[c.call]
			at := fmt.Sprintf(`,"output_index":%d`, calls+c.call)
			if c.begins {
				event("output_item.added", at+`,"item":`+responsesCall(call, ""))
			}
			event("function_call_arguments.delta", at+`,"delta":`+quoted(c.fragment))
			if c.ends {
				event("function_call_arguments.done", at+`,"arguments":`+quoted(call.Arguments))
				event("output_item.done", at+`,"item":`+responsesCall(call, call.Arguments))
			}
		}
		r.chunks, b = append(r.chunks, b), nil
	}
	if reply.FinishReason == events.FinishLength {
		event("incomplete", `,"response":`+d.response(number, reply, u))
	} else {
		event("completed", `,"response":`+d.response(number, reply, u))
	}
	r.tail = b
	return r
}

func responsesMessage(reply *events.Reply) string {
	return `{"type":"message","role":"assistant","content":[{"type":"output_text","text":` + quoted(reply.Text) + `,"annotations":` + annotations(reply) + `}]}`
}

func responsesCall(call events.ToolCall, arguments string) string {
	return fmt.Sprintf(`{"id":"fc_sim","type":"function_call","call_id":%s,"name":%s,"arguments":%s}`, quoted(string(call.ID)), quoted(call.Name), quoted(arguments))
}

// response is the whole response as it is at its end.
func (d *responses) response(number int, reply events.Reply, u events.Usage) string {
	items := []string{d.reasoning(&reply)}
	for i, query := range reply.Searches {
		items = append(items, searchItem(i, query))
	}
	if reply.Text != "" {
		items = append(items, responsesMessage(&reply))
	}
	for _, call := range reply.ToolCalls {
		items = append(items, responsesCall(call, call.Arguments))
	}
	status := `"completed","incomplete_details":null`
	if reply.FinishReason == events.FinishLength {
		status = `"incomplete","incomplete_details":{"reason":"max_output_tokens"}`
	}
	return fmt.Sprintf(`{"id":"resp-sim-%d","object":"response","created_at":%d,"model":%s,"status":%s,"error":null,"output":[%s],"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"output_tokens":%d,"total_tokens":%d},"service_tier":%s}`,
		number, time.Now().Unix(), quoted(d.Model), status, strings.Join(items, ","), u.InputTokens, u.CachedInputTokens, u.CacheWriteInputTokens, u.OutputTokens, u.Total(), quoted(d.tier()))
}

func (d *responses) renderWhole(number int, reply events.Reply, u events.Usage) []byte {
	return []byte(d.response(number, reply, u))
}

func (d *responses) tell(h http.Header, limit *limitTold, _ time.Time) { limit.openAI(h) }

func (d *responses) refuse(w http.ResponseWriter, status int, code, message string) {
	if strings.Contains(message, "could not be verified") {
		code = "invalid_encrypted_content"
	}
	writeError(w, status, code, message)
}

func (d *responses) fail() []byte {
	return []byte(`{"type":"error","code":"server_error","message":"The simulated stream failed as it was told to.","param":null}`)
}
