package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
)

// A request says the same whether others that began like it went out before, and what it says
// whatever began under its key before.
func TestRequestsThatBeginAlike(t *testing.T) {
	r := newRecorder(t)
	connected := client(t, openai.Config{Config: wire.Config{BaseURL: r.URL}, ClaudeCache: true})
	sent := func(key string, edit func(*llm.Request)) string {
		req := llm.Request{
			Model: "m", CacheKey: key,
			Tools: []llm.Tool{{Name: "one", Description: "does \"one\"", Parameters: json.RawMessage(`{"type":"object"}`)}},
			Messages: []events.Message{
				{Role: events.RoleSystem, Content: "be\nbrief"}, {Role: events.RoleUser, Content: "be\nbrief"},
			},
		}
		edit(&req)
		require.NoError(t, collect(t, connected, req).err)
		return r.bodies[len(r.bodies)-1]
	}
	seen := map[string]bool{}
	for name, edit := range map[string]func(*llm.Request){
		"as it is":           func(*llm.Request) {},
		"another prompt":     func(r *llm.Request) { r.Messages[0].Content = "be long" },
		"the prompt marked":  func(r *llm.Request) { r.Model = "claude-1" },
		"no prompt":          func(r *llm.Request) { r.Messages = r.Messages[1:] },
		"another name":       func(r *llm.Request) { r.Tools[0].Name = "two" },
		"another use":        func(r *llm.Request) { r.Tools[0].Description = "does two" },
		"other parameters":   func(r *llm.Request) { r.Tools[0].Parameters = json.RawMessage(`{}`) },
		"another tool":       func(r *llm.Request) { r.Tools = append(r.Tools, llm.Tool{Name: "two"}) },
		"no tools":           func(r *llm.Request) { r.Tools = nil },
		"more of a history":  func(r *llm.Request) { r.Messages = append(r.Messages, r.Messages...) },
		"a choice of a tool": func(r *llm.Request) { r.ToolChoice = llm.ToolChoiceNone },
	} {
		want := sent("", edit)
		require.False(t, seen[want], name)
		seen[want] = true
		sent("agent", func(*llm.Request) {})
		for range 2 {
			require.Equal(t, want, sent("agent", edit), name)
		}
	}
}
