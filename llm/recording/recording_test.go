package recording_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/llm/recording"
)

func request(system string, contents ...string) llm.Request {
	req := llm.Request{Model: "m", Messages: []events.Message{{Role: events.RoleSystem, Content: system}}}
	for _, content := range contents {
		req.Messages = append(req.Messages, events.Message{Role: events.RoleUser, Content: content})
	}
	return req
}

// collect plays a stream to its end.
func collect(client llm.Client, req llm.Request) (text string, calls []events.ToolCall, done *llm.Completion, err error) {
	for delta, e := range client.Stream(context.Background(), req) {
		if e != nil {
			return text, calls, done, e
		}
		text += delta.Text
		if delta.Call != nil {
			calls = append(calls, *delta.Call)
		}
		if delta.Done != nil {
			done = delta.Done
		}
	}
	return text, calls, done, nil
}

// What was recorded is played back to the letter, errors included.
func TestRecordAndReplay(t *testing.T) {
	limited := &llm.Error{Kind: llm.ErrRateLimited, Status: 429, Code: "slow", Message: "wait", RetryAfter: 2 * time.Second, Provider: "p"}
	script := llmtest.Script(t, llmtest.Agent("",
		llmtest.Fails(limited), llmtest.Says("hello there"), llmtest.Calls("", llmtest.Call("look", "{}")), llmtest.Fails(errors.New("odd"))))
	var file bytes.Buffer
	recorder := recording.Record(script, &file)
	one, two, three := request("s", "one"), request("s", "two"), request("s", "three")
	for _, req := range []llm.Request{one, one, two, three} {
		_, _, _, _ = collect(recorder, req)
	}
	require.NoError(t, recorder.Err())
	require.Equal(t, 4, strings.Count(file.String(), "\n"))

	player, err := recording.Replay(&file)
	require.NoError(t, err)
	_, calls, _, err := collect(player, two)
	require.NoError(t, err)
	require.Equal(t, "look", calls[0].Name)
	_, _, _, err = collect(player, one)
	var known *llm.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, limited.RetryAfter, known.RetryAfter)
	require.Equal(t, limited.Status, known.Status)
	for range 2 { // the last reply stays
		text, _, done, err := collect(player, one)
		require.NoError(t, err)
		require.Equal(t, "hello there", text)
		require.EqualValues(t, 110, done.Usage.Total())
	}
	_, _, _, err = collect(player, three)
	require.EqualError(t, err, "odd")
}

func TestReplayMissShowsTheDifference(t *testing.T) {
	var file bytes.Buffer
	recorder := recording.Record(llmtest.Script(t, llmtest.Agent("", llmtest.Says("a"), llmtest.Says("b"))), &file)
	_, _, _, _ = collect(recorder, request("s", "far away"))
	_, _, _, _ = collect(recorder, request("s", "plan a trip to Rome"))
	player, err := recording.Replay(&file)
	require.NoError(t, err)
	_, _, _, err = collect(player, request("s", "plan a trip to Oslo"))
	require.ErrorContains(t, err, "nearest is number 2")
	require.ErrorContains(t, err, "messages[1] differs")
	require.ErrorContains(t, err, "Rome")
	require.ErrorContains(t, err, "Oslo")
	changed := request("s", "plan a trip to Rome")
	changed.MaxOutputTokens = 7
	_, _, _, err = collect(player, changed)
	require.ErrorContains(t, err, "beside the messages")
}

func TestReplayRefusesBrokenRecordings(t *testing.T) {
	for text, complaint := range map[string]string{"{": "line 1", "\n{}": "neither a reply nor an error", "[]": "line 1"} {
		_, err := recording.Replay(strings.NewReader(text))
		require.ErrorContains(t, err, complaint)
	}
	player, err := recording.Replay(strings.NewReader(""))
	require.NoError(t, err)
	_, _, _, err = collect(player, request("s"))
	require.ErrorContains(t, err, "recording is empty")
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestRecorderKeepsItsFirstError(t *testing.T) {
	recorder := recording.Record(llmtest.Script(t, llmtest.Agent("", llmtest.Says("a"))), brokenWriter{})
	_, _, _, err := collect(recorder, request("s"))
	require.NoError(t, err)
	require.ErrorContains(t, recorder.Err(), "disk full")
}

// Parallel agents read each other's work in the order of the moment.
func TestReplayForgivesOtherToolResults(t *testing.T) {
	with := func(result string) llm.Request {
		req := request("s", "go")
		req.Messages = append(req.Messages,
			events.Message{Role: events.RoleAssistant, ToolCalls: []events.ToolCall{{ID: "c1", Name: "look", Arguments: "{}"}}},
			events.Message{Role: events.RoleTool, ToolCallID: "c1", Content: result})
		return req
	}
	var file bytes.Buffer
	recorder := recording.Record(llmtest.Script(t, llmtest.Agent("", llmtest.Says("one"), llmtest.Says("two"))), &file)
	for _, result := range []string{"first", "second"} {
		_, _, _, _ = collect(recorder, with(result))
	}
	player, err := recording.Replay(&file)
	require.NoError(t, err)
	for _, step := range [][2]string{{"second", "two"}, {"third", "one"}, {"fourth", "two"}} {
		text, _, _, err := collect(player, with(step[0]))
		require.NoError(t, err)
		require.Equal(t, step[1], text)
	}
	require.Equal(t, "m", player.Sources()[0].Model)
}
