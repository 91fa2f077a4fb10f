package runner_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// offering is a tool of the program that answers with its name.
func offering(name string) agent.Tool {
	return agent.Func(llm.Tool{Name: name, Description: "Looks things up."}, events.EffectPure,
		func(context.Context, agent.Invocation, struct{}) (agent.Result, error) {
			return agent.Result{Text: "found by " + name}, nil
		})
}

func offered(req llm.Request) (names []string) {
	for _, tool := range req.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// Each specialist has the tools that it names, or all of the program's; its prompt names
// those alone, and so it is where it is only asked a question.
func TestToolsOfEachSpecialist(t *testing.T) {
	tm := pair()
	tm.Specialists[0].Tools = []string{"search"}
	tm.Specialists[1].Tools = []string{}
	client := llmtest.Script(t,
		llmtest.Agent(boss,
			llmtest.Calls("", llmtest.Call("ask_specialists", args{"question": "What is new?"})),
			llmtest.Calls("", create("alpha", "beta")), llmtest.Calls("", dispatch("alpha", 1), dispatch("beta", 2)), llmtest.Says("Done")),
		llmtest.Agent(alpha, llmtest.Says("Nothing"), llmtest.Calls("", llmtest.Call("search", args{})),
			llmtest.Calls("", write("s", "A"), complete(1)), llmtest.Says("Written")),
		llmtest.Agent(beta, llmtest.Says("Nothing"), llmtest.Calls("", llmtest.Call("search", args{})),
			llmtest.Calls("", write("s", "B"), complete(2)), llmtest.Says("Written")))
	p := playWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{client}, Tools: []agent.Tool{offering("fetch"), offering("search")}}, tm)
	p.completed(t)

	own := []string{"read_tasks", "complete_task", "decline_task", "read_document", "write_section"}
	first := client.Requests(alpha)
	require.Equal(t, []string{"search"}, offered(first[0]), "who is asked has the program's tools alone")
	require.Equal(t, append(slices.Clone(own), "search"), offered(first[1]))
	for _, req := range first {
		require.Contains(t, req.Messages[0].Content, "To look things up you have: search.")
	}
	second := client.Requests(beta)
	require.Empty(t, second[0].Tools)
	require.Equal(t, own, offered(second[1]))
	for _, req := range second {
		require.Contains(t, req.Messages[0].Content, "You have no tools to look things up")
	}
	results := p.results("search")
	slices.Sort(results)
	require.Len(t, results, 2)
	require.Contains(t, results[0], `there is no tool "search"`, "what it was not offered it cannot call")
	require.Equal(t, "found by search", results[1])
	require.NotContains(t, offered(client.Requests(boss)[0]), "search")
}

// A run is resumed with the tools that each specialist was offered when it started,
// whatever the program offers since.
func TestToolsOfAResumedRun(t *testing.T) {
	tm := pair()
	tm.Specialists[0].Tools = []string{"search"}
	log := events.NewMemory()
	first := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Says("late").After(time.Hour)))
	config := runner.Config{Log: log, Models: oneClient{first}, Tools: []agent.Tool{offering("search")}}
	run, err := newWith(t, config).Start(t.Context(), runner.Job{Request: "Go", Team: tm})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(first.Requests(boss)) == 2 }, time.Minute, time.Millisecond)
	run.Halt()
	_, err = run.Wait()
	require.NoError(t, err)

	then := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done")),
		llmtest.Agent(alpha, llmtest.Calls("", llmtest.Call("search", args{})), llmtest.Calls("", write("s", "A"), complete(1)), llmtest.Says("Written")))
	config.Models, config.Tools = oneClient{then}, []agent.Tool{offering("fetch")}
	run, err = newWith(t, config).Resume(t.Context(), events.LocalTenant, run.ID(), runner.Terms{})
	require.NoError(t, err)
	result, err := run.Wait()
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
	requests := then.Requests(alpha)
	require.Contains(t, offered(requests[0]), "search")
	require.NotContains(t, offered(requests[0]), "fetch")
	require.Contains(t, asJSONText(requests[1].Messages), "search is no longer available")
}

// A team that names a tool which nobody offers is refused, with the place and the
// nearest name, before anything is written.
func TestUnknownToolIsRefused(t *testing.T) {
	tm, err := team.Parse("look.yaml", []byte("name: look\nspecialists:\n  - id: a\n    description: d\n    prompt: p\n    tools: [fetch, serach]\n"))
	require.NoError(t, err)
	r := newWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{llmtest.Script(t)}, Tools: []agent.Tool{offering("fetch"), offering("search")}})
	_, err = r.Check(runner.Job{Request: "Go", Team: tm})
	var wrong *team.FileError
	require.ErrorAs(t, err, &wrong)
	require.EqualError(t, err, `look.yaml:6:20: unknown tool "serach"; did you mean "search"? the tools here are fetch, search`)
	_, err = newWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{llmtest.Script(t)}}).Start(t.Context(), runner.Job{Request: "Go", Team: tm})
	require.ErrorContains(t, err, `look.yaml:6:13: unknown tool "fetch"; the built-in tools, which the team switches on under "tools:", are`)
}

// alien is a handler that convene does not know.
type alien struct{}

func (alien) ToolHandler() {}

// Tools that cannot be offered are refused when the runner is made.
func TestToolsThatCannotBeOffered(t *testing.T) {
	for message, tools := range map[string][]agent.Tool{
		"tool fetch: a handler of type runner_test.alien cannot be run; give it an agent.External":                            {{Tool: llm.Tool{Name: "fetch", Parameters: agent.Schema[struct{}]()}, Handler: alien{}}},
		"tool call_home: names that begin with call_ are reserved for calling specialists; rename it, for example to do_home": {offering("call_home")},
		`tool "look up": no model can be offered this name; write at most 64 letters, digits, _ or -`:                         {offering("look up")},
		"tool fetch: a second tool of this name; rename one of them":                                                          {offering("fetch"), offering("fetch")},
		"tool fetch: it does nothing; give it a handler":                                                                      {{Tool: offering("fetch").Tool}},
	} {
		_, err := runner.New(runner.Config{Log: events.NewMemory(), Models: oneClient{llmtest.Script(t)}, Tools: tools})
		require.EqualError(t, err, "new runner: "+message)
	}
	r := newWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{llmtest.Script(t)}, Tools: []agent.Tool{offering("write_section")}})
	_, err := r.Check(runner.Job{Request: "Go", Team: pair()})
	require.ErrorContains(t, err, "tool write_section: a second tool of this name")
}

// Proves the ids of the sources: one of 255 characters with hyphens works, by a tool whose name
// every endpoint takes, and is told from another that begins alike.
func TestLongAgentIDs(t *testing.T) {
	tm := pair()
	long := strings.Repeat("agent-", 42)
	tm.Specialists[0].ID, tm.Specialists[1].ID = events.AgentID(long+"one"), events.AgentID(long+"two")
	tm.Specialists[0].Prompt, tm.Specialists[1].Prompt = "You are ONE.", "You are TWO."
	one, two := string(tm.Specialists[0].ID), string(tm.Specialists[1].ID)
	require.Len(t, one, 255)
	by := func(id string, task int) events.ToolCall {
		return llmtest.Call(loop.DispatchTool(events.AgentID(id)), args{"task_ids": []int{task}, "message": "Please"})
	}
	client := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create(one, two)), llmtest.Calls("", by(one, 1), by(two, 2)), llmtest.Says("Done")),
		llmtest.Agent("ONE", llmtest.Calls("", write("s", "A"), complete(1)), llmtest.Says("Written")),
		llmtest.Agent("TWO", llmtest.Calls("", write("s", "B"), complete(2)), llmtest.Says("Written")))
	p := playWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{client}}, tm)
	p.completed(t)
	for _, name := range offered(client.Requests(boss)[0]) {
		require.LessOrEqual(t, len(name), 64)
	}
	require.NotEqual(t, loop.DispatchTool(events.AgentID(one)), loop.DispatchTool(events.AgentID(two)))
}
