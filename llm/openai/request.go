package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	lib "github.com/sashabaranov/go-openai"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/effort"
	"github.com/convene-run/convene/llm/wire"
)

// streamOptions asks for the usage of a streamed reply.
var streamOptions = func() string {
	options, err := json.Marshal(lib.StreamOptions{IncludeUsage: true})
	if err != nil {
		panic(err) // a struct of one bool
	}
	return `,"stream_options":` + string(options)
}()

// appendRequest writes the body of a request, whose beginning may be known. The bytes for a
// history are a prefix of those for the longer history, so that prompt caches hit.
func appendRequest(dst []byte, req *llm.Request, known *beginning, cfg *Config, tag llm.Kept, refused wire.Fields) []byte {
	dst = append(dst, `{"model":`...)
	dst = wire.AppendString(dst, req.Model)
	if len(req.Tools) > 0 {
		if known != nil {
			dst = append(dst, known.toolsText...)
		} else {
			dst = appendTools(dst, req.Tools)
		}
		if req.ToolChoice != llm.ToolChoiceAuto && !refused.Has(fieldToolChoice) {
			dst = append(dst, `,"tool_choice":`...)
			dst = wire.AppendString(dst, string(req.ToolChoice))
		}
	}
	if req.Temperature != nil && effort.Sampled(req.Model, req.Effort) && !refused.Has(fieldTemperature) {
		dst = append(dst, `,"temperature":`...)
		dst = strconv.AppendFloat(dst, *req.Temperature, 'f', -1, 64)
	}
	if req.MaxOutputTokens > 0 {
		dst = append(dst, ',')
		dst = wire.AppendString(dst, outputLimitField(cfg, refused))
		dst = append(dst, ':')
		dst = strconv.AppendInt(dst, int64(req.MaxOutputTokens), 10)
	}
	if cfg.TakesCacheKey && req.CacheKey != "" && !refused.Has(fieldCacheKey) {
		dst = append(dst, `,"prompt_cache_key":`...)
		dst = wire.AppendString(dst, req.CacheKey)
	}
	dst = appendEffort(dst, req, cfg.Thinking)
	if tier := cfg.Tiers[req.Tier]; tier != "" && !refused.Has(fieldTier) {
		dst = wire.AppendString(append(dst, `,"service_tier":`...), tier)
	}
	dst = append(dst, `,"stream":true`...)
	if !refused.Has(fieldStreamOptions) {
		dst = append(dst, streamOptions...)
	}
	dst = append(dst, `,"messages":[`...)
	w := messageWriter{dst: dst, cfg: cfg, tag: tag, shows: !refused.Has(fieldImages)}
	if known != nil {
		w.first, w.firstText = &req.Messages[0], known.systemText
	}
	if cfg.ClaudeCache && llm.Family(req.Model) == "claude" && !refused.Has(fieldCache) {
		w.marked = cacheMarks(req.Messages)
	}
	wire.WriteHistory(&w, req.Messages)
	return append(w.dst, ']', '}')
}

// appendEffort says how much to think, in the words of the model and the field of the
// endpoint.
func appendEffort(dst []byte, req *llm.Request, way Thinking) []byte {
	word := effort.Word(req.Model, req.Effort)
	switch {
	case word == "":
		return dst
	case way == ThinkingObject:
		return append(wire.AppendString(append(dst, `,"reasoning":{"effort":`...), word), '}')
	case way == ThinkingSwitch && word == effort.None:
		return append(dst, `,"thinking":{"type":"disabled"}`...)
	case way == ThinkingSwitch && !effort.Graded(req.Model):
		return append(dst, `,"thinking":{"type":"enabled"}`...)
	}
	return wire.AppendString(append(dst, `,"reasoning_effort":`...), word)
}

func outputLimitField(cfg *Config, refused wire.Fields) string {
	if !refused.Has(fieldOutputLimit) {
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
		dst = wire.AppendString(dst, tools[i].Name)
		if tools[i].Description != "" {
			dst = append(dst, `,"description":`...)
			dst = wire.AppendString(dst, tools[i].Description)
		}
		dst = append(dst, `,"parameters":`...)
		if len(tools[i].Parameters) == 0 {
			dst = append(dst, wire.EmptySchema...)
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
	tag   llm.Kept
	wrote bool
	// marked are the messages whose content ends with a mark of the cache.
	marked []*events.Message
	// shows is set where images of the user are sent.
	shows bool
	// firstText is the content of the message first as it is written, where that is known.
	first     *events.Message
	firstText []byte
}

// Say writes a message of the system or the user.
func (w *messageWriter) Say(m *events.Message) {
	w.open(m.Role)
	w.dst = append(w.dst, `,"content":`...)
	marked, shown := slices.Contains(w.marked, m), w.shows && hasImage(m)
	if !marked && !shown {
		w.content(m)
		w.dst = append(w.dst, '}')
		return
	}
	w.dst = append(w.dst, `[{"type":"text","text":`...)
	w.content(m)
	if marked {
		w.dst = append(w.dst, cacheControl...)
	}
	w.dst = append(w.dst, '}')
	if shown {
		w.images(m)
	}
	w.dst = append(w.dst, `]}`...)
}

// cacheControl marks the end of a prefix that Claude is to cache.
const cacheControl = `,"cache_control":{"type":"ephemeral"}`

// content writes the text of a message.
func (w *messageWriter) content(m *events.Message) {
	if m == w.first {
		w.dst = append(w.dst, w.firstText...)
		return
	}
	w.dst = wire.AppendString(w.dst, m.Content)
}

// cacheMarks gives the messages whose ends are marked for Claude's cache: the system text,
// behind the tools; the end of the request; and that of the request before, which is found
// although more than the 20 blocks that the provider looks back lie between. What has no text
// cannot be marked.
func cacheMarks(messages []events.Message) (marked []*events.Message) {
	ends, said := 0, false
	for i := len(messages) - 1; i >= 0; i-- {
		switch m := &messages[i]; {
		case m.Role == events.RoleAssistant:
			said = false
		case strings.TrimSpace(m.Content) == "":
		case m.Role == events.RoleSystem && i == 0:
			marked = append(marked, m)
		case m.Role != events.RoleSystem && ends < 2 && !said:
			ends, said = ends+1, true
			marked = append(marked, m)
		}
	}
	return marked
}

func (w *messageWriter) open(role events.Role) {
	if w.wrote {
		w.dst = append(w.dst, ',')
	}
	w.wrote = true
	w.dst = append(w.dst, `{"role":`...)
	w.dst = wire.AppendString(w.dst, string(role))
}

// Assistant writes what the model said.
func (w *messageWriter) Assistant(m *events.Message) {
	if m.Content == "" && len(m.ToolCalls) == 0 {
		return
	}
	w.open(events.RoleAssistant)
	w.dst = append(w.dst, `,"content":`...)
	if m.Content == "" {
		w.dst = append(w.dst, `null`...)
	} else {
		w.dst = wire.AppendString(w.dst, m.Content)
	}
	k, foreign := w.returned(m.Extra)
	field := w.reasoning(m, k, foreign)
	w.extra(k.Fields, "role", "content", "tool_calls", field)
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
	w.dst = wire.AppendString(w.dst, w.callID(c.ID))
	w.dst = append(w.dst, `,"type":"function","function":{"name":`...)
	w.dst = wire.AppendString(w.dst, c.Name)
	w.dst = append(w.dst, `,"arguments":`...)
	w.dst = wire.AppendString(w.dst, wire.SendableArguments(c.Arguments))
	k, _ := w.returned(c.Extra)
	if len(k.Fields) > 0 {
		w.extra([]byte(gjson.GetBytes(k.Fields, "function").Raw), "name", "arguments")
	}
	w.dst = append(w.dst, '}')
	w.extra(k.Fields, "id", "type", "function")
	w.dst = append(w.dst, '}')
}

// Result writes what a call brought, as text: endpoints take nothing else there.
func (w *messageWriter) Result(call *events.ToolCall, result *events.Message, _ bool) {
	w.open(events.RoleTool)
	w.dst = append(w.dst, `,"tool_call_id":`...)
	w.dst = wire.AppendString(w.dst, w.callID(call.ID))
	w.dst = append(w.dst, `,"content":`...)
	if !slices.Contains(w.marked, result) {
		w.dst = append(wire.AppendString(w.dst, result.Content), '}')
		return
	}
	w.dst = wire.AppendString(append(w.dst, `[{"type":"text","text":`...), result.Content)
	w.dst = append(append(w.dst, cacheControl...), `}]}`...)
}

func (w *messageWriter) member(key string) {
	w.dst = append(w.dst, ',')
	w.dst = append(wire.AppendString(w.dst, key), ':')
}

// extra writes the members of a stored JSON object, but for those already there.
func (w *messageWriter) extra(object []byte, except ...string) {
	if len(object) == 0 || w.cfg.PublishedOnly || !wire.ValidJSON(object) {
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
	return wire.ShortID(id)
}

func isShortID(id string) bool {
	return len(id) == wire.CallIDLength && strings.Trim(id, wire.CallIDLetters) == ""
}
