package thread_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// By which API a conversation was answered, and that its endpoint refused what it was
// sent back, is in the log, so that the next request is a function of it.
func TestHowAnEndpointIsAsked(t *testing.T) {
	h := begin(t)
	extra := json.RawMessage(`{"api":"responses"}`)
	call := events.ToolCall{ID: "c1", Name: "x", Extra: extra}
	first := turn("f.1", call)
	first.Provider, first.API, first.Reply.Extra = "p", events.APIResponses, extra
	h.add("", first)
	h.add("", result("f.1", 0, call, "r"))
	conv := h.th.Current().Conversation(thread.Facilitator)
	require.Equal(t, map[string]events.API{"p": events.APIResponses}, conv.Doors())
	before := conv.Messages()
	require.Equal(t, extra, before[0].Extra)

	second := turn("f.2")
	second.Provider, second.API, second.KeptDropped, second.Reply.Extra = "q", events.APIChat, true, extra
	h.add("", second)
	require.Equal(t, map[string]events.API{"p": events.APIResponses, "q": events.APIChat}, conv.Doors())
	after := conv.Messages()
	require.Empty(t, after[0].Extra)
	require.Empty(t, after[0].ToolCalls[0].Extra)
	require.Equal(t, extra, after[2].Extra, "the reply itself keeps what came with it")
	require.Equal(t, extra, before[0].Extra, "what was given out stays as it is")
}

// A turn that the provider paused says nothing to anybody yet, and is sent back.
func TestAPausedTurn(t *testing.T) {
	h := begin(t)
	h.add("", events.ModelCalled{ID: "f.1", Reply: events.Reply{Extra: json.RawMessage(`{"api":"messages"}`), FinishReason: events.FinishPaused}})
	conv := h.th.Current().Conversation(thread.Facilitator)
	require.Zero(t, conv.EmptyReplies())
	require.Len(t, conv.Messages(), 1)
	require.Nil(t, conv.Turn())
}
