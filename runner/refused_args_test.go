package runner_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
)

// Arguments that were refused are sent back in full once at most: where they are long
// the history says how long they were. The log keeps them.
func TestLongRefusedArgumentsAreNotResent(t *testing.T) {
	var flood []string
	for range 10_000 {
		flood = append(flood, "alpha")
	}
	long := strings.Repeat("x", 9000)
	calls := []events.ToolCall{
		create(flood...),
		llmtest.Call("create_tasks", `{"tasks": [`+long),
		llmtest.Call("call_alpha", args{"task_ids": long}),
		llmtest.Call("fly", args{"to": long}),
		llmtest.Call("fly", args{"to": long[:8000]}),
		create("alpha"),
	}
	script := llmtest.Script(t, ordinary()[1], llmtest.Agent(boss,
		llmtest.Calls("", calls...), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done")))
	p := play(t, script, pair())
	require.Equal(t, events.StatusCompleted, p.Status, p.Reason)
	for _, req := range script.Requests(boss)[1:] {
		sent := req.Messages[2].ToolCalls
		require.Len(t, sent, len(calls))
		for i, want := range []string{`{"_clipped":"511 KB"}`, `{"_clipped":"10 KB"}`, `{"_clipped":"10 KB"}`, `{"_clipped":"10 KB"}`, calls[4].Arguments, calls[5].Arguments} {
			require.Equal(t, want, sent[i].Arguments)
			require.True(t, json.Valid([]byte(sent[i].Arguments)))
		}
		size := 0
		for _, m := range req.Messages[2:] {
			size += len(m.Content)
		}
		require.Less(t, size, 4000, "no result repeats them either")
	}
	logged := p.of(events.KindModelCalled)[0].Data.(events.ModelCalled).Reply.ToolCalls
	for i := range calls {
		require.Equal(t, calls[i].Arguments, logged[i].Arguments)
	}
}

// Arguments of a call that was run stay, whatever came of it.
func TestLongArgumentsThatWereRunStay(t *testing.T) {
	text := strings.Repeat("A long entry. ", 1000)
	script := llmtest.Script(t, ordinary()[0],
		llmtest.Agent(alpha, llmtest.Calls("", write("a", text), complete(1)), llmtest.Says("Did it")))
	play(t, script, pair()).completed(t)
	sent := script.Requests(alpha)[1].Messages[2].ToolCalls[0]
	require.Contains(t, sent.Arguments, text)
}
