package runner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// box opens the tools that it has, or fails, and keeps the teams that it was asked for.
type box struct {
	tools []agent.Tool
	err   error
	teams []*team.Team
}

func (b *box) Open(_ context.Context, t *team.Team) ([]agent.Tool, error) {
	b.teams = append(b.teams, t)
	return b.tools, b.err
}

// A team's own tools are for those that name them, also by a common beginning: nobody has
// them otherwise. The program's tools are for everybody who names none.
func TestToolsThatATeamSwitchesOn(t *testing.T) {
	tm := pair()
	tm.Tools = &team.Tools{Calculate: &team.CalculateTool{}}
	tm.Specialists[0].Tools = []string{"wiki__*"}
	client := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Calls("", dispatch("alpha", 1), dispatch("beta", 2)), llmtest.Says("Done")),
		llmtest.Agent(alpha, llmtest.Calls("", llmtest.Call("wiki__find", args{})), llmtest.Calls("", write("s", "A"), complete(1)), llmtest.Says("Written")),
		llmtest.Agent(beta, llmtest.Calls("", write("s", "B"), complete(2)), llmtest.Says("Written")))
	opened := &box{tools: []agent.Tool{offering("calculate"), offering("wiki__find"), offering("wiki__read")}}
	p := playWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{client}, Tools: []agent.Tool{offering("fetch")}, Toolbox: opened}, tm)
	p.completed(t)
	require.Equal(t, []string{"wiki__find", "wiki__read"}, offered(client.Requests(alpha)[0])[5:])
	require.Equal(t, []string{"fetch"}, offered(client.Requests(beta)[0])[5:])
	require.Equal(t, []string{"found by wiki__find"}, p.results("wiki__find"))
	require.Equal(t, tm.Tools, opened.teams[0].Tools)
}

// A run is resumed with the tools that its log says the team switches on; where they
// cannot be opened here it is left as it is.
func TestToolsOfATeamThatIsResumed(t *testing.T) {
	tm := pair()
	tm.Tools = &team.Tools{Calculate: &team.CalculateTool{}}
	tm.Specialists[0].Tools = []string{"calculate"}
	log := events.NewMemory()
	first := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Says("late").After(time.Hour)))
	config := runner.Config{Log: log, Models: oneClient{first}, Toolbox: &box{tools: []agent.Tool{offering("calculate")}}}
	run, err := newWith(t, config).Start(t.Context(), runner.Job{Request: "Go", Team: tm})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(first.Requests(boss)) == 2 }, time.Minute, time.Millisecond)
	run.Halt()
	_, err = run.Wait()
	require.NoError(t, err)

	config.Models, config.Toolbox = oneClient{llmtest.Script(t)}, &box{err: errors.New("not consented")}
	_, err = newWith(t, config).Resume(t.Context(), events.LocalTenant, run.ID(), runner.Terms{})
	var input *runner.InputError
	require.ErrorAs(t, err, &input)
	require.EqualError(t, err, "team pair: not consented")

	then := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done")),
		llmtest.Agent(alpha, llmtest.Calls("", llmtest.Call("calculate", args{})), llmtest.Calls("", write("s", "A"), complete(1)), llmtest.Says("Written")))
	again := &box{tools: []agent.Tool{offering("calculate")}}
	config.Models, config.Toolbox = oneClient{then}, again
	run, err = newWith(t, config).Resume(t.Context(), events.LocalTenant, run.ID(), runner.Terms{})
	require.NoError(t, err)
	result, err := run.Wait()
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
	require.Equal(t, tm.Tools, again.teams[0].Tools)
	require.Contains(t, asJSONText(then.Requests(alpha)[1].Messages), "found by calculate")
}

// A team that switches tools on is refused where nobody has them, unless it runs alone.
func TestTeamWithToolsNeedsAToolbox(t *testing.T) {
	tm := pair()
	tm.Tools = &team.Tools{Calculate: &team.CalculateTool{}}
	r := newWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{llmtest.Script(t)}})
	_, err := r.Check(runner.Job{Request: "Go", Team: tm})
	require.EqualError(t, err, "team pair switches on tools (calculate), which this program does not have. Run it with convene, or give the runner a Toolbox")
	_, err = r.Check(runner.Job{Request: "Go", Team: tm, Solo: true})
	require.NoError(t, err)
}
