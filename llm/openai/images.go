package openai

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/wire"
)

// imageRefusals are words of answers to an image by endpoints whose model takes none. Servers
// agree neither on them nor on the status: llama.cpp answers with a 500, routers with a 404.
var imageRefusals = []string{"image", "multimodal", "multi-modal", "vision", "must be a string", "should be a valid string"}

// refusesImages reports whether an answer is about the images that the request has.
func refusesImages(req *llm.Request, e *llm.Error) bool {
	if !slices.ContainsFunc(req.Messages, func(m events.Message) bool { return m.Role == events.RoleUser && hasImage(&m) }) {
		return false
	}
	words := strings.ToLower(e.Message)
	return slices.ContainsFunc(imageRefusals, func(sign string) bool { return strings.Contains(words, sign) })
}

func hasImage(m *events.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p events.Part) bool { return p.Type == events.PartImage && len(p.Bytes) > 0 })
}

// images appends the images of a message, behind its text.
func (w *messageWriter) images(m *events.Message) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == events.PartImage && len(p.Bytes) > 0 {
			w.dst = append(w.dst, `,{"type":"image_url","image_url":{"url":`...)
			w.dst = wire.AppendString(w.dst, "data:"+p.MediaType+";base64,"+base64.StdEncoding.EncodeToString(p.Bytes))
			w.dst = append(w.dst, `}}`...)
		}
	}
}
