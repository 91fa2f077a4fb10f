package responses

import (
	"encoding/base64"
	"strconv"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/effort"
	"github.com/convene-run/convene/llm/wire"
)

// minOutputTokens is the smallest limit that the API takes.
const minOutputTokens = 16

// writer writes the body of a request. The bytes for a history are a prefix of those
// for the longer history, so that prompt caches hit.
type writer struct {
	dst     []byte
	req     *llm.Request
	kept    llm.Kept
	refused wire.Fields
	// tier is the provider's word for the service tier.
	tier   string
	strict *strictness
	wrote  bool
}

func (w *writer) request() {
	req := w.req
	w.add(`{"model":`).text(req.Model)
	messages := req.Messages
	if len(messages) > 0 && messages[0].Role == events.RoleSystem {
		w.add(`,"instructions":`).text(messages[0].Content)
		messages = messages[1:]
	}
	w.tools()
	w.maxSearches()
	if req.Temperature != nil && effort.Sampled(req.Model, req.Effort) && !w.refused.Has(fieldTemperature) {
		w.add(`,"temperature":`)
		w.dst = strconv.AppendFloat(w.dst, *req.Temperature, 'f', -1, 64)
	}
	if req.MaxOutputTokens > 0 && !w.refused.Has(fieldOutputLimit) {
		w.add(`,"max_output_tokens":`)
		w.dst = strconv.AppendInt(w.dst, int64(max(req.MaxOutputTokens, minOutputTokens)), 10)
	}
	if word := effort.Word(req.Model, req.Effort); word != "" {
		w.add(`,"reasoning":{"effort":`).text(word).add(`}`)
	}
	if w.tier != "" && !w.refused.Has(fieldTier) {
		w.add(`,"service_tier":`).text(w.tier)
	}
	if req.CacheKey != "" && !w.refused.Has(fieldCacheKey) {
		w.add(`,"prompt_cache_key":`).text(req.CacheKey)
	}
	w.add(`,"store":false`)
	if !w.refused.Has(fieldInclude) {
		w.add(`,"include":["reasoning.encrypted_content"]`)
	}
	w.add(`,"stream":true,"input":[`)
	wire.WriteHistory(w, messages)
	w.add(`]}`)
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
			w.search(tool.Search)
			continue
		}
		w.add(`{"type":"function","name":`).text(tool.Name)
		if tool.Description != "" {
			w.add(`,"description":`).text(tool.Description)
		}
		parameters := string(tool.Parameters)
		if parameters == "" {
			parameters = wire.EmptySchema
		}
		w.add(`,"parameters":`).add(parameters)
		// Left out it would be true, and the schema be rewritten.
		strict := !w.refused.Has(fieldStrict) && w.strict.allowed(parameters)
		w.add(`,"strict":`).add(strconv.FormatBool(strict)).add(`}`)
	}
	w.add(`]`)
	if w.req.ToolChoice != llm.ToolChoiceAuto && !w.refused.Has(fieldToolChoice) {
		w.add(`,"tool_choice":`).text(string(w.req.ToolChoice))
	}
}

// Say writes a message of the system or the user, with images and PDFs behind its
// text.
func (w *writer) Say(m *events.Message) {
	role := "user"
	if m.Role == events.RoleSystem {
		role = "developer"
	}
	w.open(`{"role":"` + role + `","content":[{"type":"input_text","text":`).text(m.Content).add(`}`)
	for i := range m.Parts {
		if w.takes(&m.Parts[i]) {
			w.add(`,`).part(&m.Parts[i])
		}
	}
	w.add(`]}`)
}

// takes reports whether the model is sent the part of a user's message, whose text says what
// the part is. OpenAI's models read PDFs; of others behind this API nobody knows.
func (w *writer) takes(p *events.Part) bool {
	if p.Type == events.PartDocument {
		return !w.refused.Has(fieldDocuments) && llm.Family(w.req.Model) == "gpt"
	}
	return !w.refused.Has(fieldImages)
}

// Assistant writes what the model said: its items in their order where they were
// kept, else its text and then its calls.
func (w *writer) Assistant(m *events.Message) {
	raw, _ := w.kept.Of(m.Extra)
	parts := readParts(raw)
	if len(parts) == 0 {
		w.message(m.Content, "")
		for i := range m.ToolCalls {
			w.call(&m.ToolCalls[i])
		}
		return
	}
	for i, p := range parts {
		switch {
		case p.Item != nil && (isSearch(p.Item) || followed(parts[i+1:], m)):
			w.open(string(p.Item))
		case p.Text != nil:
			w.message(p.Text.of(m.Content), p.Phase)
		case p.Call != nil && *p.Call >= 0 && *p.Call < len(m.ToolCalls):
			w.call(&m.ToolCalls[*p.Call])
		}
	}
	for _, i := range left(parts, m.ToolCalls) {
		w.call(&m.ToolCalls[i])
	}
}

// followed reports whether a reasoning item still has an item behind it, without
// which it is refused: a turn that was cut may have lost it.
func followed(parts []part, m *events.Message) bool {
	for _, p := range parts {
		if isSearch(p.Item) || p.Text != nil && p.Text.of(m.Content) != "" || p.Call != nil && *p.Call >= 0 && *p.Call < len(m.ToolCalls) {
			return true
		}
	}
	return false
}

func (w *writer) message(text, phase string) {
	if text == "" {
		return
	}
	w.open(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":`).text(text).add(`}]`)
	if phase != "" {
		w.add(`,"phase":`).text(phase)
	}
	w.add(`}`)
}

func (w *writer) call(c *events.ToolCall) {
	w.open(`{"type":"function_call","call_id":`).text(string(c.ID))
	w.add(`,"name":`).text(c.Name).add(`,"arguments":`).text(wire.SendableArguments(c.Arguments)).add(`}`)
}

// Result writes what a call brought.
func (w *writer) Result(call *events.ToolCall, result *events.Message, _ bool) {
	w.open(`{"type":"function_call_output","call_id":`).text(string(call.ID)).add(`,"output":`)
	if len(result.Parts) == 0 || w.refused.Has(fieldImages) {
		w.text(result.Content).add(`}`)
		return
	}
	separator := `[`
	for i := range result.Parts {
		w.add(separator).part(&result.Parts[i])
		separator = `,`
	}
	w.add(`]}`)
}

// part writes a part of a result; what is no image stands there as text.
func (w *writer) part(p *events.Part) {
	data := "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Bytes)
	switch p.Type {
	case events.PartImage:
		w.add(`{"type":"input_image","detail":"auto","image_url":`).text(data).add(`}`)
	case events.PartDocument:
		w.add(`{"type":"input_file","filename":`).text(p.Name).add(`,"file_data":`).text(data).add(`}`)
	default:
		w.add(`{"type":"input_text","text":`).text(p.Note()).add(`}`)
	}
}

// open begins the next item.
func (w *writer) open(text string) *writer {
	if w.wrote {
		w.add(`,`)
	}
	w.wrote = true
	return w.add(text)
}

func (w *writer) add(text string) *writer {
	w.dst = append(w.dst, text...)
	return w
}

func (w *writer) text(text string) *writer {
	w.dst = wire.AppendString(w.dst, text)
	return w
}
