package runner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// A specialist with more tools than models choose well among finds and calls them through
// two. Another one with few is offered those.
func TestManyTools(t *testing.T) {
	type city struct {
		City string `json:"city"`
	}
	opened := &box{tools: []agent.Tool{agent.Func(llm.Tool{Name: "geo__weather", Description: "Gives the forecast of a city."}, events.EffectEffectful,
		func(_ context.Context, in agent.Invocation, args city) (agent.Result, error) {
			return agent.Result{Text: in.Tool + " of " + args.City}, nil
		})}}
	for i := range 50 {
		opened.tools = append(opened.tools, offering(fmt.Sprintf("geo__t%02d", i)))
	}
	tm := pair()
	tm.Tools = &team.Tools{Calculate: &team.CalculateTool{}}
	tm.Approve = map[string]team.Approve{"geo__weather": team.ApproveNever}
	tm.Specialists[0].Tools = []string{"geo__*"}
	tm.Specialists[1].Tools = []string{"geo__weather"}
	client := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Calls("", dispatch("alpha", 1), dispatch("beta", 2)), llmtest.Says("Done")),
		llmtest.Agent(alpha,
			llmtest.Calls("", llmtest.Call("find_tool", args{"query": "forecast city"}), llmtest.Call("find_tool", args{}), llmtest.Call("find_tool", args{"query": "nothing"})),
			llmtest.Calls("", llmtest.Call("use_tool", args{"name": "geo__weather", "arguments": args{"city": "Kyoto"}}),
				llmtest.Call("use_tool", args{"name": "geo__weather", "arguments": args{"city": 7}}), llmtest.Call("use_tool", args{"name": "geo__no"}),
				llmtest.Call("use_tool", args{"name": "geo__t07"})),
			llmtest.Calls("", write("s", "A"), complete(1)), llmtest.Says("Written")),
		llmtest.Agent(beta, llmtest.Calls("", write("s", "B"), complete(2)), llmtest.Says("Written")))
	p := playWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{client}, Toolbox: opened}, tm)
	p.completed(t)
	require.Equal(t, []string{"find_tool", "use_tool"}, offered(client.Requests(alpha)[0])[5:7])
	require.NotContains(t, offered(client.Requests(alpha)[0]), "geo__t07")
	require.Equal(t, "geo__weather", offered(client.Requests(beta)[0])[5])
	found := strings.Join(p.results("find_tool"), "\n\n")
	require.Contains(t, found, "geo__weather: Gives the forecast of a city.\narguments: {\"type\":\"object\"")
	require.Contains(t, found, "Your tools: geo__weather, geo__t00")
	require.Contains(t, found, `No tool matches "nothing". Your tools: geo__weather, geo__t00`)
	used := strings.Join(p.results("use_tool"), "\n\n")
	require.Contains(t, used, "geo__weather of Kyoto")
	require.Contains(t, used, "the arguments of geo__weather do not fit its schema")
	require.Contains(t, used, `there is no tool "geo__no"`)
	require.Contains(t, used, "found by geo__t07")
}
