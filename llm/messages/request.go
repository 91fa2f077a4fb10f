package messages

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/effort"
	"github.com/convene-run/convene/llm/wire"
)

const (
	// cacheControl marks the end of a prefix that is to be cached. At most four are
	// taken: the tools, the system text, and two places of the history.
	cacheControl = `,"cache_control":{"type":"ephemeral"}`
	// historyMarks are how many places of the history are marked: its end, and the end of
	// the request before, which is found although more than the 20 blocks that the
	// provider looks back lie between.
	historyMarks = 2
)

// writer writes the body of a request.
type writer struct {
	dst     []byte
	req     *llm.Request
	kept    llm.Kept
	refused wire.Fields
	// role is that of the message under construction, "" before the first.
	role string
	// tier is the provider's word for the service tier.
	tier string
	// ends are the places of the closing brace of each user message's last block.
	ends []int
}

func (w *writer) request() {
	req := w.req
	limit := outputLimit(req.Model, req.MaxOutputTokens)
	w.add(`{"model":`).text(req.Model)
	w.add(`,"max_tokens":`).add(strconv.Itoa(limit)).add(`,"stream":true`)
	thinks := w.thinking(limit)
	if req.Temperature != nil && !thinks && sampled(req.Model) && !w.refused.Has(fieldTemperature) {
		w.add(`,"temperature":`)
		w.dst = strconv.AppendFloat(w.dst, *req.Temperature, 'f', -1, 64)
	}
	if w.tier != "" && !w.refused.Has(fieldTier) {
		w.add(`,"service_tier":`).text(w.tier)
	}
	w.tools()
	messages := req.Messages
	if len(messages) > 0 && messages[0].Role == events.RoleSystem {
		if text := messages[0].Content; strings.TrimSpace(text) != "" {
			w.add(`,"system":[{"type":"text","text":`).text(text).cached().add(`}]`)
		}
		messages = messages[1:]
	}
	w.add(`,"messages":[`)
	wire.WriteHistory(w, messages)
	w.close()
	w.mark()
	w.add(`]}`)
}

// thinking asks the model to think, where an effort is named, and reports whether it
// does.
func (w *writer) thinking(limit int) bool {
	level := w.req.Effort
	switch {
	case level == "" || w.refused.Has(fieldThinking):
		return false
	case level == effort.None:
		if off := effort.ClaudeOff(w.req.Model); off != "" {
			w.add(`,"thinking":{"type":`).text(off).add(`}`)
		}
		return false
	}
	if adaptive(w.req.Model) || w.refused.Has(fieldBudget) {
		w.add(`,"thinking":{"type":"adaptive"}`)
		if !w.refused.Has(fieldEffort) {
			w.add(`,"output_config":{"effort":`).text(effort.Word(w.req.Model, level)).add(`}`)
		}
		return true
	}
	tokens := budget(w.req.Model, level, limit)
	if tokens == 0 || w.unthought() {
		return false
	}
	w.add(`,"thinking":{"type":"enabled","budget_tokens":`).add(strconv.Itoa(tokens)).add(`}`)
	return true
}

// unthought reports whether the turn under way has calls without the thinking that
// led to them, because another model made them: the API refuses to think on then,
// until the turn has ended.
func (w *writer) unthought() bool {
	messages := w.req.Messages
	for i := len(messages) - 1; i >= 0 && messages[i].Role != events.RoleUser; i-- {
		m := &messages[i]
		if m.Role == events.RoleAssistant && len(m.ToolCalls) > 0 && !slices.ContainsFunc(w.parts(m), thought) {
			return true
		}
	}
	return false
}

func thought(p part) bool {
	kind := gjson.GetBytes(p.Block, "type").Str
	return kind == "thinking" || kind == "redacted_thinking"
}

func (w *writer) parts(m *events.Message) []part {
	raw, _ := w.kept.Of(m.Extra)
	return readParts(raw)
}

func (w *writer) tools() {
	if len(w.req.Tools) == 0 {
		return
	}
	w.add(`,"tools":[`)
	for i, tool := range w.req.Tools {
		if i > 0 {
			w.add(`,`)
		}
		if tool.Search != nil {
			w.search(tool)
			if i == len(w.req.Tools)-1 {
				w.cached()
			}
			w.add(`}`)
			continue
		}
		w.add(`{"name":`).text(tool.Name)
		if tool.Description != "" {
			w.add(`,"description":`).text(tool.Description)
		}
		parameters := string(tool.Parameters)
		if parameters == "" {
			parameters = wire.EmptySchema
		}
		w.add(`,"input_schema":`).add(parameters)
		if i == len(w.req.Tools)-1 {
			w.cached()
		}
		w.add(`}`)
	}
	w.add(`]`)
	if w.req.ToolChoice != llm.ToolChoiceAuto && !w.refused.Has(fieldToolChoice) {
		w.add(`,"tool_choice":{"type":`).text(string(w.req.ToolChoice)).add(`}`)
	}
}

// Say writes a message of the user, behind the results that open its message, with images and
// PDFs behind its text.
func (w *writer) Say(m *events.Message) {
	if strings.TrimSpace(m.Content) != "" { // blank text is refused
		w.block("user").add(`{"type":"text","text":`).text(m.Content).end()
	}
	for i := range m.Parts {
		if w.takes(&m.Parts[i]) && strings.TrimSpace(m.Parts[i].Note()) != "" {
			w.block("user").content(m.Parts[i : i+1])
			w.ends[len(w.ends)-1] = len(w.dst) - 1 // before the brace that closes the part
		}
	}
}

// takes reports whether the model is sent the part of a user's message, whose text says what
// the part is. Claude reads PDFs; of other models behind this API nobody knows.
func (w *writer) takes(p *events.Part) bool {
	if p.Type == events.PartDocument {
		return !w.refused.Has(fieldDocuments) && llm.Family(w.req.Model) == "claude"
	}
	return !w.refused.Has(fieldImages)
}

// Result writes what a call brought.
func (w *writer) Result(call *events.ToolCall, result *events.Message, missing bool) {
	w.block("user").add(`{"type":"tool_result","tool_use_id":`).text(callID(call.ID))
	switch {
	case len(result.Parts) > 0 && !w.refused.Has(fieldImages):
		w.add(`,"content":[`).content(result.Parts).add(`]`)
	case result.Content != "":
		w.add(`,"content":`).text(result.Content)
	}
	if missing {
		w.add(`,"is_error":true`)
	}
	w.end()
}

// content writes the parts of a result; what is no image stands there as text, which
// may not be blank.
func (w *writer) content(parts []events.Part) *writer {
	separator := ""
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Type == events.PartImage:
			w.add(separator + `{"type":"image","source":{"type":"base64","media_type":`).text(p.MediaType)
			w.add(`,"data":"` + base64.StdEncoding.EncodeToString(p.Bytes) + `"}}`)
		case p.Type == events.PartDocument:
			w.add(separator + `{"type":"document","title":`).text(p.Name)
			w.add(`,"source":{"type":"base64","media_type":`).text(p.MediaType)
			w.add(`,"data":"` + base64.StdEncoding.EncodeToString(p.Bytes) + `"}}`)
		case strings.TrimSpace(p.Note()) != "":
			w.add(separator + `{"type":"text","text":`).text(p.Note()).add(`}`)
		default:
			continue
		}
		separator = `,`
	}
	return w
}

// Assistant writes what the model said: its blocks in their place where they were
// kept. Calls stand behind all else: text behind them is refused.
func (w *writer) Assistant(m *events.Message) {
	parts := w.parts(m)
	if len(parts) == 0 && m.Content != "" {
		parts = []part{{Text: &span{0, len(m.Content)}}}
	}
	for _, p := range parts {
		switch {
		case p.Block != nil:
			w.block("assistant").add(string(p.Block))
		case p.Text != nil:
			if text := p.Text.of(m.Content); strings.TrimSpace(text) != "" {
				w.block("assistant").add(`{"type":"text","text":`).text(text)
				for i, citation := range p.Citations {
					w.add([]string{`,"citations":[`, `,`}[min(i, 1)]).add(string(citation))
				}
				if len(p.Citations) > 0 {
					w.add(`]`)
				}
				w.add(`}`)
			}
		}
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		w.block("assistant").add(`{"type":"tool_use","id":`).text(callID(c.ID)).add(`,"name":`).text(c.Name)
		w.add(`,"input":`).add(wire.SendableArguments(c.Arguments)).add(`}`)
	}
}

// block begins the next block of a message of the role.
func (w *writer) block(role string) *writer {
	if role == w.role {
		return w.add(`,`)
	}
	w.close()
	if w.role != "" {
		w.add(`,`)
	}
	w.role = role
	if role == "user" {
		w.ends = append(w.ends, 0)
	}
	return w.add(`{"role":"` + role + `","content":[`)
}

// end closes a block of a user message.
func (w *writer) end() {
	w.ends[len(w.ends)-1] = len(w.dst)
	w.add(`}`)
}

// close ends the message under construction.
func (w *writer) close() {
	if w.role != "" {
		w.add(`]}`)
	}
}

// mark puts the marks of the cache at the end of the newest user messages.
func (w *writer) mark() {
	if w.refused.Has(fieldCache) {
		return
	}
	for i := len(w.ends) - 1; i >= max(0, len(w.ends)-historyMarks); i-- {
		w.dst = slices.Insert(w.dst, w.ends[i], []byte(cacheControl)...)
	}
}

func (w *writer) cached() *writer {
	if w.refused.Has(fieldCache) {
		return w
	}
	return w.add(cacheControl)
}

func (w *writer) add(text string) *writer {
	w.dst = append(w.dst, text...)
	return w
}

func (w *writer) text(text string) *writer {
	w.dst = wire.AppendString(w.dst, text)
	return w
}

// callID gives the id as the API takes it: letters, digits, "_" and "-".
func callID(id events.CallID) string {
	const letters = wire.CallIDLetters + "_-"
	if id != "" && strings.Trim(string(id), letters) == "" {
		return string(id)
	}
	return wire.ShortID(id)
}
