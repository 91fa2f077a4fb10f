package llmtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
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

// loudly catches what a test double says to its test.
type loudly struct {
	testing.TB
	said     []string
	cleanups []func()
}

func (l *loudly) Helper()                      {}
func (l *loudly) Failed() bool                 { return false }
func (l *loudly) Errorf(f string, args ...any) { l.said = append(l.said, fmt.Sprintf(f, args...)) }
func (l *loudly) Fatalf(f string, args ...any) { l.Errorf(f, args...) }
func (l *loudly) Cleanup(f func())             { l.cleanups = append(l.cleanups, f) }

func TestScriptPlaysEachAgentsSteps(t *testing.T) {
	broken := &llm.Error{Kind: llm.ErrBrokenStream}
	client := llmtest.Script(t,
		llmtest.Agent("", llmtest.Says("anybody")),
		llmtest.Agent("lead",
			llmtest.Calls("Plan first.", llmtest.Call("create_tasks", map[string]any{"n": 1}), llmtest.Call("bad", "{")),
			llmtest.Fails(&llm.Error{Kind: llm.ErrServer, Status: 503}),
			llmtest.Calls("", llmtest.Call("late", "{}")).Breaking(broken)),
		llmtest.Agent("food", llmtest.Says("Eat well.").Using(events.Usage{InputTokens: 3, OutputTokens: 4})))

	text, calls, done, err := collect(client, request("You lead", "go"))
	require.NoError(t, err)
	require.Equal(t, "Plan first.", text)
	require.Equal(t, []string{"create_tasks", "bad"}, []string{calls[0].Name, calls[1].Name})
	require.Equal(t, `{"n":1}`, calls[0].Arguments)
	require.Equal(t, "{", calls[1].Arguments)
	require.NotEqual(t, calls[0].ID, calls[1].ID)
	require.Equal(t, events.FinishToolCalls, done.Reply.FinishReason)

	text, _, done, err = collect(client, request("You know food", "go"))
	require.NoError(t, err)
	require.Equal(t, "Eat well.", text)
	require.EqualValues(t, 7, done.Usage.Total())

	_, _, _, err = collect(client, request("You lead", "go"))
	require.Equal(t, llm.ErrServer, llm.KindOf(err))
	_, calls, done, err = collect(client, request("You lead", "go"))
	require.ErrorIs(t, err, broken)
	require.Len(t, calls, 1, "the call had streamed in before the stream broke")
	require.Nil(t, done)
	_, _, _, err = collect(client, request("nobody", "go"))
	require.NoError(t, err)
	require.Len(t, client.Requests("lead"), 3)
}

func TestScriptSaysWhatIsMissingOrLeftOver(t *testing.T) {
	test := &loudly{TB: t}
	client := llmtest.Script(test, llmtest.Agent("lead", llmtest.Says("one")), llmtest.Agent("food", llmtest.Says("never")))
	_, _, _, err := collect(client, request("You lead", "first"))
	require.NoError(t, err)
	_, _, _, err = collect(client, request("You lead", "second"))
	require.ErrorContains(t, err, "used up")
	_, _, _, err = collect(client, request("stranger", "third"))
	require.ErrorContains(t, err, "no agent of the script matches")
	for _, cleanup := range test.cleanups {
		cleanup()
	}
	require.Len(t, test.said, 3)
	require.Contains(t, test.said[0], `"second"`)
	require.Contains(t, test.said[2], `1 steps of agent "food"`)
}

func TestDelaysEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := llmtest.Script(t, llmtest.Agent("", llmtest.Says("late").After(time.Hour), llmtest.Says("later").After(time.Hour)))
		start := time.Now()
		_, _, _, err := collect(client, request("x"))
		require.NoError(t, err)
		require.Equal(t, time.Hour, time.Since(start))
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, err = range client.Stream(ctx, request("x")) {
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestRequirePrefixes(t *testing.T) {
	tools := []llm.Tool{{Name: "a", Parameters: json.RawMessage(`{}`)}}
	first, second, other := request("s", "one"), request("s", "one", "two"), request("s", "ONE", "two")
	llmtest.RequirePrefixes(t, []llm.Request{first, second})
	for _, pair := range [][]llm.Request{{first, other}, {second, first}, {first, {Messages: second.Messages, Tools: tools}}} {
		test := &loudly{TB: t}
		llmtest.RequirePrefixes(test, pair)
		require.Len(t, test.said, 1)
		require.Contains(t, test.said[0], "request 2 does not continue request 1")
	}
}
