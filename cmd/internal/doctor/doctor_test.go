package doctor_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/cmd/internal/doctor"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// endpoint answers everything, and says what was cached and thought.
type endpoint struct {
	caches bool
	seen   map[string]bool
	asked  []llm.Request
}

func (e *endpoint) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	e.asked = append(e.asked, req)
	return func(yield func(llm.Delta, error) bool) {
		prompt := req.Messages[0].Content
		done := llm.Completion{Usage: events.Usage{InputTokens: int64(len(prompt) / 4), OutputTokens: 2}}
		if e.caches && e.seen[prompt] {
			done.Usage.CachedInputTokens = done.Usage.InputTokens - 1
		}
		e.seen[prompt] = true
		if req.Effort != "" {
			done.Usage.ReasoningTokens = 7
		}
		if len(req.Tools) > 0 && req.ToolChoice == llm.ToolChoiceAuto {
			for _, tool := range req.Tools {
				done.Reply.ToolCalls = append(done.Reply.ToolCalls, events.ToolCall{Name: tool.Name, Arguments: `{"city":"Kyoto"}`})
			}
		}
		_ = yield(llm.Delta{Text: "a"}, nil) && yield(llm.Delta{Text: "b"}, nil) && yield(llm.Delta{Done: &done}, nil)
	}
}

func examine(e *endpoint, model string) map[string]doctor.Finding {
	e.seen = map[string]bool{}
	found := map[string]doctor.Finding{}
	for f := range doctor.Examine(context.Background(), llm.Target{Endpoint: &llm.Endpoint{Name: "test", Client: e}, Model: model}) {
		found[f.Check] = f
	}
	return found
}

// Proves that doctor says whether an effort is accepted, and whether what is sent twice is
// cached, in a few calls.
func TestEffortAndCache(t *testing.T) {
	e := &endpoint{caches: true}
	found := examine(e, "gpt-5.1")
	require.Equal(t, doctor.Finding{Mark: doctor.Good, Check: "effort", Detail: "low is accepted; the model accepts none, low, medium, high, max (7 tokens of thinking)"}, found["effort"])
	require.Equal(t, doctor.Good, found["cache"].Mark)
	require.Regexp(t, `^\d+ of \d+ tokens sent a second time came from the cache$`, found["cache"].Detail)
	require.Len(t, e.asked, 6)

	e = &endpoint{}
	found = examine(e, "gpt-4.1")
	require.Equal(t, doctor.Finding{Mark: doctor.Good, Check: "effort", Detail: "the model does not think"}, found["effort"])
	require.Equal(t, doctor.Weak, found["cache"].Mark)
	for _, req := range e.asked {
		require.Empty(t, req.Effort, "what is known is not asked")
	}
	require.Equal(t, "the model decides how much it thinks; effort cannot be set", examine(&endpoint{}, "grok-4")["effort"].Detail)
}
