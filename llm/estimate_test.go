package llm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// What is sent counts, and once: thinking goes back as text or within Extra, and Content
// has the texts of all parts but images.
func TestEstimateCountsWhatIsSent(t *testing.T) {
	thought := strings.Repeat("x", 400)
	for name, c := range map[string]struct {
		message events.Message
		tokens  int64
	}{
		"text":      {events.Message{Content: thought}, 104},
		"reasoning": {events.Message{Reasoning: thought}, 104},
		"extra":     {events.Message{Reasoning: "short", Extra: []byte(`"` + thought[2:] + `"`)}, 104},
		"calls":     {events.Message{ToolCalls: []events.ToolCall{{Name: "look", Arguments: thought[4:], Extra: []byte(thought)}}}, 208},
		"image": {events.Message{Content: thought, Parts: []events.Part{
			{Type: events.PartText, Text: thought}, {Type: events.PartImage, Bytes: make([]byte, 1<<20)},
		}}, 1704},
	} {
		usage := llm.EstimateUsage(&llm.Request{Messages: []events.Message{c.message}}, nil)
		require.Equal(t, c.tokens, usage.InputTokens, name)
		require.True(t, usage.Estimated)
	}
}

// A reply that is still to come counts as a usual one, one that came as what it is.
func TestEstimateOfAReply(t *testing.T) {
	require.Positive(t, llm.EstimateUsage(&llm.Request{}, nil).OutputTokens)
	require.Zero(t, llm.EstimateUsage(&llm.Request{}, &events.Reply{}).OutputTokens)
	usage := llm.EstimateUsage(&llm.Request{}, &events.Reply{Text: "12345678", Reasoning: "1234"})
	require.Equal(t, events.Usage{OutputTokens: 3, ReasoningTokens: 1, Estimated: true}, usage)
}
