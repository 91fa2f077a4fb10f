package llm

import (
	"encoding/json"
	"strings"

	"github.com/convene-run/convene/events"
)

// Kept is what an endpoint wants back, unchanged, with the reply or the call that it
// came with: encrypted reasoning, signed thinking, thought signatures. It stands in
// [events.Reply.Extra] and [events.ToolCall.Extra] and means nothing to anybody but
// the model that wrote it.
type Kept struct {
	API      events.API `json:"api"`
	Provider string     `json:"provider"`
	// Family is that of the model, see [Family].
	Family string `json:"family"`
	// Parts are in a form of the API's adapter.
	Parts json.RawMessage `json:"parts"`
}

// KeptFrom says whose parts belong to whom.
func KeptFrom(api events.API, provider, model string) Kept {
	return Kept{API: api, Provider: provider, Family: Family(model)}
}

// With gives the extra field that holds the parts, nil if there are none.
func (k Kept) With(parts json.RawMessage) json.RawMessage {
	if len(parts) == 0 {
		return nil
	}
	k.Parts = parts
	raw, err := json.Marshal(k)
	if err != nil {
		return nil // parts that are no JSON cannot go back either
	}
	return raw
}

// Of gives the parts of an extra field, nil where they came from another API,
// provider or family. Logs of before have no tag: tagged is then false, and the field
// holds what chat completions sent.
func (k Kept) Of(extra json.RawMessage) (parts json.RawMessage, tagged bool) {
	if len(extra) == 0 {
		return nil, true
	}
	var from Kept
	if json.Unmarshal(extra, &from) != nil || from.API == "" || from.Parts == nil {
		return nil, false
	}
	if from.API != k.API || from.Provider != k.Provider || from.Family != k.Family {
		return nil, true
	}
	return from.Parts, true
}

// OneKeeper reports whether what is kept of a further part of a reply can stand behind the
// reply's own extra field: there is none, or one endpoint and family keeps both.
func OneKeeper(reply, further json.RawMessage) bool {
	if len(further) == 0 {
		return true
	}
	var a, b Kept
	if json.Unmarshal(reply, &a) != nil || json.Unmarshal(further, &b) != nil {
		return false
	}
	return a.API == b.API && a.Provider == b.Provider && a.Family == b.Family
}

// Family names the line of models that a model belongs to: "gpt", "claude",
// "deepseek". Models of one family read what another of it has kept, others do not.
func Family(model string) string {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	if at := strings.LastIndexByte(name, '.'); at > 0 && !strings.ContainsFunc(name[:at], digit) {
		name = name[at+1:] // "us.anthropic.claude-…", as Bedrock names them
	}
	end := 0
	for end < len(name) && name[end] >= 'a' && name[end] <= 'z' {
		end++
	}
	switch family := name[:end]; family {
	case "":
		return name
	case "o", "chatgpt", "codex":
		return "gpt"
	default:
		return family
	}
}

func digit(r rune) bool { return r >= '0' && r <= '9' }

// WithoutKept gives the messages without anything that an endpoint wants back.
func WithoutKept(messages []events.Message) []events.Message {
	bare := make([]events.Message, len(messages))
	for i, m := range messages {
		bare[i] = m.WithoutExtra()
	}
	return bare
}

// HasKept reports whether any of the messages carries something of an endpoint.
func HasKept(messages []events.Message) bool {
	for i := range messages {
		if len(messages[i].Extra) > 0 {
			return true
		}
		for j := range messages[i].ToolCalls {
			if len(messages[i].ToolCalls[j].Extra) > 0 {
				return true
			}
		}
	}
	return false
}
