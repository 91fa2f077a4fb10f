package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"strings"

	lib "github.com/sashabaranov/go-openai"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// noResult answers a call in the history that has no result: endpoints refuse a
// call without one.
const noResult = "(no result: the call was not run)"

// streamOptions asks for the usage of a streamed reply.
var streamOptions = func() string {
	options, err := json.Marshal(lib.StreamOptions{IncludeUsage: true})
	if err != nil {
		panic(err) // a struct of one bool
	}
	return `,"stream_options":` + string(options)
}()

// appendRequest writes the body of a request. The bytes for a history are a prefix
// of those for the longer history, so that prompt caches hit.
func appendRequest(dst []byte, req *llm.Request, cfg *Config, refused parameters) []byte {
	dst = append(dst, `{"model":`...)
	dst = appendString(dst, req.Model)
	if len(req.Tools) > 0 {
		dst = appendTools(dst, req.Tools)
		if req.ToolChoice != llm.ToolChoiceAuto && !refused.has(parameterToolChoice) {
			dst = append(dst, `,"tool_choice":`...)
			dst = appendString(dst, string(req.ToolChoice))
		}
	}
	if req.Temperature != nil && !refused.has(parameterTemperature) {
		dst = append(dst, `,"temperature":`...)
		dst = strconv.AppendFloat(dst, *req.Temperature, 'f', -1, 64)
	}
	if req.MaxOutputTokens > 0 {
		dst = append(dst, ',')
		dst = appendString(dst, outputLimitField(cfg, refused))
		dst = append(dst, ':')
		dst = strconv.AppendInt(dst, int64(req.MaxOutputTokens), 10)
	}
	dst = append(dst, `,"stream":true`...)
	if !refused.has(parameterStreamOptions) {
		dst = append(dst, streamOptions...)
	}
	dst = append(dst, `,"messages":[`...)
	w := messageWriter{dst: dst, cfg: cfg}
	w.history(req.Messages)
	return append(w.dst, ']', '}')
}

func outputLimitField(cfg *Config, refused parameters) string {
	if !refused.has(parameterOutputLimit) {
		return cfg.OutputLimitField
	}
	if cfg.OutputLimitField == "max_tokens" {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

func appendTools(dst []byte, tools []llm.Tool) []byte {
	dst = append(dst, `,"tools":[`...)
	for i := range tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"`+string(lib.ToolTypeFunction)+`","function":{"name":`...)
		dst = appendString(dst, tools[i].Name)
		if tools[i].Description != "" {
			dst = append(dst, `,"description":`...)
			dst = appendString(dst, tools[i].Description)
		}
		dst = append(dst, `,"parameters":`...)
		if len(tools[i].Parameters) == 0 {
			dst = append(dst, `{"type":"object","properties":{}}`...)
		} else {
			dst = append(dst, tools[i].Parameters...)
		}
		dst = append(dst, '}', '}')
	}
	return append(dst, ']')
}

// messageWriter appends messages.
type messageWriter struct {
	dst   []byte
	cfg   *Config
	wrote bool
}

// history writes the messages. An assistant message with calls is followed by
// exactly one tool message for each of them, before anything else, in the order
// of the history; what breaks that rule in the history is mended.
func (w *messageWriter) history(messages []events.Message) {
	for i := 0; i < len(messages); i++ {
		m := &messages[i]
		switch m.Role {
		case events.RoleTool:
			// an answer to no call: endpoints refuse it
		case events.RoleAssistant:
			w.assistant(m)
			answers := i + 1
			for i+1 < len(messages) && messages[i+1].Role == events.RoleTool {
				i++
			}
			w.answers(m.ToolCalls, messages[answers:i+1])
		default:
			w.open(m.Role)
			w.dst = append(w.dst, `,"content":`...)
			w.dst = appendString(w.dst, m.Content)
			w.dst = append(w.dst, '}')
		}
	}
}

func (w *messageWriter) open(role events.Role) {
	if w.wrote {
		w.dst = append(w.dst, ',')
	}
	w.wrote = true
	w.dst = append(w.dst, `{"role":`...)
	w.dst = appendString(w.dst, string(role))
}

// assistant writes an assistant message. One that says nothing and calls nothing
// is left out: some endpoints refuse it.
func (w *messageWriter) assistant(m *events.Message) {
	if m.Content == "" && len(m.ToolCalls) == 0 {
		return
	}
	w.open(events.RoleAssistant)
	w.dst = append(w.dst, `,"content":`...)
	if m.Content == "" {
		w.dst = append(w.dst, `null`...)
	} else {
		w.dst = appendString(w.dst, m.Content)
	}
	if w.cfg.ReasoningField != "" && m.Reasoning != "" && len(m.ToolCalls) > 0 {
		w.member(w.cfg.ReasoningField)
		w.dst = appendString(w.dst, m.Reasoning)
	}
	w.extra(m.Extra, "role", "content", "tool_calls", w.cfg.ReasoningField)
	if len(m.ToolCalls) > 0 {
		w.dst = append(w.dst, `,"tool_calls":[`...)
		for i := range m.ToolCalls {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			w.call(&m.ToolCalls[i])
		}
		w.dst = append(w.dst, ']')
	}
	w.dst = append(w.dst, '}')
}

func (w *messageWriter) call(c *events.ToolCall) {
	w.dst = append(w.dst, `{"id":`...)
	w.dst = appendString(w.dst, w.callID(c.ID))
	w.dst = append(w.dst, `,"type":"function","function":{"name":`...)
	w.dst = appendString(w.dst, c.Name)
	w.dst = append(w.dst, `,"arguments":`...)
	w.dst = appendString(w.dst, sendableArguments(c.Arguments))
	if len(c.Extra) > 0 {
		w.extra([]byte(gjson.GetBytes(c.Extra, "function").Raw), "name", "arguments")
	}
	w.dst = append(w.dst, '}')
	w.extra(c.Extra, "id", "type", "function")
	w.dst = append(w.dst, '}')
}

// sendableArguments gives the arguments as endpoints take them back: some refuse
// an empty text, and templates break on what is no JSON object.
func sendableArguments(arguments string) string {
	trimmed := strings.TrimLeft(arguments, " \t\r\n")
	if trimmed == "" || trimmed[0] != '{' || !validText(arguments) {
		return "{}"
	}
	return arguments
}

func (w *messageWriter) answers(calls []events.ToolCall, messages []events.Message) {
	answered := make([]bool, len(calls))
	for i := range messages {
		for j := range calls {
			if calls[j].ID == messages[i].ToolCallID && !answered[j] {
				answered[j] = true
				w.answer(calls[j].ID, messages[i].Content)
				break
			}
		}
	}
	for j := range calls {
		if !answered[j] {
			w.answer(calls[j].ID, noResult)
		}
	}
}

func (w *messageWriter) answer(id events.CallID, content string) {
	w.open(events.RoleTool)
	w.dst = append(w.dst, `,"tool_call_id":`...)
	w.dst = appendString(w.dst, w.callID(id))
	w.dst = append(w.dst, `,"content":`...)
	w.dst = appendString(w.dst, content)
	w.dst = append(w.dst, '}')
}

func (w *messageWriter) member(key string) {
	w.dst = append(w.dst, ',')
	w.dst = append(appendString(w.dst, key), ':')
}

// extra writes the members of a stored JSON object, but for those already there.
func (w *messageWriter) extra(object []byte, except ...string) {
	if len(object) == 0 || w.cfg.PublishedOnly || !validJSON(object) {
		return
	}
	gjson.ParseBytes(bytes.TrimSpace(object)).ForEach(func(key, value gjson.Result) bool {
		if key.Type != gjson.String {
			return false // no object
		}
		for _, name := range except {
			if key.Str == name {
				return true
			}
		}
		w.member(key.Str)
		w.dst = append(w.dst, value.Raw...)
		return true
	})
}

// callID gives the id as the endpoint takes it: the same for the call and its
// answer, in every request.
func (w *messageWriter) callID(id events.CallID) string {
	if !w.cfg.ShortCallIDs || isShortID(string(id)) {
		return string(id)
	}
	sum := sha256.Sum256([]byte(id))
	short := make([]byte, callIDLength)
	for i := range short {
		short[i] = callIDLetters[int(sum[i])%len(callIDLetters)]
	}
	return string(short)
}

func isShortID(id string) bool {
	return len(id) == callIDLength && strings.Trim(id, callIDLetters) == ""
}
