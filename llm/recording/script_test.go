package recording_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/recording"
)

// A script answers by what the request is about and how far it has come, whatever else its
// prompts say, and keeps nothing: the same request is answered alike.
func TestScript(t *testing.T) {
	script := &recording.Script{Conversations: []recording.Conversation{
		{System: "reader", Asked: "Oslo", Replies: []recording.Line{
			{Text: "Looking.", Calls: []recording.Call{{Tool: "look", Arguments: json.RawMessage(`{"at":"Oslo"}`)}, {Tool: "now"}}},
			{Text: "Oslo it is.\n"},
		}},
		{Replies: []recording.Line{{Text: "Anything."}}},
	}}
	script.Check(func(place, message string) { t.Error(place, message) })
	first := request("You are a reader.", "earlier", "plan a trip to Oslo")
	for range 2 {
		text, calls, done, err := collect(script, first)
		require.NoError(t, err)
		require.Equal(t, "Looking.", text)
		require.Equal(t, []string{"look", `{"at":"Oslo"}`, "now", "{}"}, []string{calls[0].Name, calls[0].Arguments, calls[1].Name, calls[1].Arguments})
		require.Equal(t, events.FinishToolCalls, done.Reply.FinishReason)
		require.Equal(t, recording.ScriptModel, done.Model)
		require.Zero(t, *done.CostUSD)
	}
	next := first
	next.Messages = append(next.Messages, events.Message{Role: events.RoleAssistant, Content: "Looking."}, events.Message{Role: events.RoleTool, Content: "found"})
	text, _, _, err := collect(script, next)
	require.NoError(t, err)
	require.Equal(t, "Oslo it is.", text)
	text, _, _, err = collect(script, request("You are a reader.", "plan a trip to Rome"))
	require.NoError(t, err)
	require.Equal(t, "Anything.", text)

	next.Messages = append(next.Messages, events.Message{Role: events.RoleAssistant, Content: "Oslo it is."}, events.Message{Role: events.RoleUser, Content: "And then?"})
	_, _, _, err = collect(script, next)
	require.ErrorContains(t, err, `conversation 1 of the script has 2 replies, and is asked for another one, behind user "And then?"`)
	require.Equal(t, llm.ErrBadRequest, llm.KindOf(err))
	script.Conversations = script.Conversations[:1]
	_, _, _, err = collect(script, request("You are a writer.", "Oslo"))
	require.ErrorContains(t, err, `no conversation for a request that ends with user "Oslo" and begins with system "You are a writer."`)
	_, _, _, err = collect(script, llm.Request{})
	require.ErrorContains(t, err, "no messages")
}

func TestScriptSaysWhatItLacks(t *testing.T) {
	check := func(s recording.Script) (found []string) {
		s.Check(func(place, message string) { found = append(found, place+": "+message) })
		return found
	}
	require.Equal(t, []string{"conversations: the script has no conversations"}, check(recording.Script{}))
	require.Equal(t, []string{
		"conversations[0]: the conversation has no replies",
		"conversations[1].replies[0]: the reply has neither a text nor calls",
		"conversations[1].replies[1].calls[0]: the call names no tool",
		"conversations[1].replies[1].calls[0].arguments: arguments are an object, with a value for each name",
	}, check(recording.Script{Conversations: []recording.Conversation{{}, {Replies: []recording.Line{
		{}, {Calls: []recording.Call{{Arguments: json.RawMessage("[]")}}},
	}}}}))
}
