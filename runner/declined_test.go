package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
)

func declineTask(task int, reason string) events.ToolCall {
	return llmtest.Call("decline_task", args{"task_id": task, "reason": reason})
}

// Proves R7, R79: what a specialist cannot do is said: in the log, to the facilitator,
// in the run's status and in its result.
func TestDeclinedTask(t *testing.T) {
	script := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "alpha")), llmtest.Calls("", dispatch("alpha", 1, 2)),
			llmtest.Calls("", llmtest.Call("get_plan_status", args{})), llmtest.Says("Half"), llmtest.Says("Half of it")),
		llmtest.Agent(alpha,
			llmtest.Calls("", llmtest.Call("write_section", args{"section": "a", "content": "A", "task_id": 1}), complete(1), declineTask(2, "no sources\nfor it"), declineTask(7, "x")),
			llmtest.Says("All is done.\n\n2/2 done")))
	p := play(t, script, pair())
	require.Equal(t, events.StatusDegraded, p.Status)
	require.Equal(t, []events.TaskID{2}, p.MissingTasks)
	require.Equal(t, "1 of 2 tasks stayed open: task 2 (alpha): declined: no sources for it", p.Reason)
	require.Equal(t, []events.Task{
		{ID: 1, Text: "The work of alpha", AssignedTo: "alpha", Finished: true},
		{ID: 2, Text: "The work of alpha", AssignedTo: "alpha", Declined: "no sources for it"},
	}, p.Tasks)
	require.Equal(t, []string{"open_tasks"}, p.nudges(), "the specialist has said how its tasks stand")
	require.Contains(t, p.results("decline_task")[0], "Task 2 is declined")
	require.Contains(t, p.results("decline_task")[1], "Error: Task 7 is not yours")
	told := "alpha left tasks open:\n1/2 done, declined: 2\n- [x] 1 (alpha) The work of alpha\n" +
		"- [ ] 2 (alpha, declined) The work of alpha\n  declined: no sources for it\n\nIt says:\n> All is done.\n>\n> 2/2 done"
	require.Equal(t, []string{told}, p.results("call_alpha"))
	require.Contains(t, p.results("get_plan_status")[0], "declined: no sources for it")
}

// Proves R7: a task that replaces a declined one makes the plan whole; one that is not
// declined cannot be replaced.
func TestDeclinedTaskIsReplaced(t *testing.T) {
	instead := func(replaces ...int) events.ToolCall {
		return llmtest.Call("create_tasks", args{"tasks": []args{{"text": "The same by beta", "assigned_to": "beta", "replaces": replaces}}})
	}
	p := play(t, llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", instead(1), dispatch("alpha", 1)),
			llmtest.Calls("", instead(1)), llmtest.Calls("", dispatch("beta", 2), dispatch("alpha", 1)), llmtest.Says("Done")),
		llmtest.Agent(alpha, llmtest.Calls("", declineTask(1, "not my field")), llmtest.Says("I cannot")),
		llmtest.Agent(beta, llmtest.Calls("", write("b", "B"), complete(2)), llmtest.Says("Did it"))), pair())
	p.completed(t)
	require.Empty(t, p.MissingTasks)
	require.Contains(t, p.results("create_tasks")[1], "task 1 is not one that its specialist has declined")
	require.Contains(t, p.results("call_alpha")[1], "task 2 was created in its place")
	require.Equal(t, []events.TaskID{1}, p.Tasks[1].Replaces)
	require.Equal(t, 1, p.thread.Current().RunSummary.Tasks, "what is replaced no longer counts")
	require.Equal(t, 1, p.thread.Current().RunSummary.FinishedTasks)
}

// Proves R7: a specialist that ends without having written, done or declined a task is
// told once; what is then still unwritten stays open and is not smoothed over.
func TestUnwrittenTasksStayOpen(t *testing.T) {
	two := llmtest.Agent(boss, llmtest.Calls("", create("alpha", "alpha")), llmtest.Calls("", dispatch("alpha", 1, 2)), llmtest.Says("Done"), llmtest.Says("Done, in part"))
	named := func(task int) events.ToolCall {
		return llmtest.Call("write_section", args{"section": "a", "content": "A", "task_id": task})
	}
	for name, c := range map[string]struct {
		steps   []llmtest.Step
		told    string
		missing []events.TaskID
		auto    int
	}{
		"never":            {[]llmtest.Step{llmtest.Says("Here it is"), llmtest.Says("Here it is, I said")}, "open: 1, 2", []events.TaskID{1, 2}, 0},
		"one of two":       {[]llmtest.Step{llmtest.Calls("", named(1)), llmtest.Says("Did both"), llmtest.Says("Did both")}, "open: 2", []events.TaskID{2}, 1},
		"which is unknown": {[]llmtest.Step{llmtest.Calls("", write("a", "A")), llmtest.Says("Did both"), llmtest.Says("Did both")}, "open: 1, 2", []events.TaskID{1, 2}, 0},
		"corrected":        {[]llmtest.Step{llmtest.Says("Here it is"), llmtest.Calls("", named(1), named(2)), llmtest.Says("Now")}, "open: 1, 2", nil, 2},
		"declined then":    {[]llmtest.Step{llmtest.Calls("", named(1), complete(1)), llmtest.Says("Done"), llmtest.Calls("", declineTask(2, "no")), llmtest.Says("Now")}, "open: 2", []events.TaskID{2}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			lead := two
			if c.missing == nil {
				lead = llmtest.Agent(boss, llmtest.Calls("", create("alpha", "alpha")), llmtest.Calls("", dispatch("alpha", 1, 2)), llmtest.Says("Done"))
			}
			p := play(t, llmtest.Script(t, lead, llmtest.Agent(alpha, c.steps...)), pair())
			require.Equal(t, c.missing, p.MissingTasks)
			require.Equal(t, c.missing == nil, p.Status == events.StatusCompleted, p.Reason)
			require.Equal(t, []events.Outcome{events.OutcomeOK}, p.outcomes())
			nudge := p.of(events.KindUserMessage)[0].Data.(events.UserMessage)
			require.Equal(t, "unwritten_tasks", nudge.Reason)
			require.True(t, nudge.Synthetic)
			require.Contains(t, nudge.Content, c.told)
			require.Equal(t, 1, strings.Count(strings.Join(p.nudges(), " "), "unwritten_tasks"), "it is told once")
			auto := 0
			for _, code := range p.warnings() {
				if code == events.WarnTaskAutoCompleted {
					auto++
				}
			}
			require.Equal(t, c.auto, auto)
			if c.missing != nil && c.missing[0] == 1 {
				require.Contains(t, p.Reason, "its specialist ended without writing it")
			}
		})
	}
}

// Proves R4: a task whose entry is refused is not completed behind it in the same turn: the
// specialist has not read yet that nothing was written.
func TestTaskIsNotCompletedBehindARefusedEntry(t *testing.T) {
	entry := func(task int, content string) events.ToolCall {
		return llmtest.Call("write_section", args{"section": "a", "content": content, "task_id": task})
	}
	p := play(t, llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "alpha")), llmtest.Calls("", dispatch("alpha", 1, 2)), llmtest.Says("Done")),
		llmtest.Agent(alpha, llmtest.Calls("", entry(1, "A"), entry(1, ""), entry(2, "B"), complete(1), complete(2)),
			llmtest.Calls("", entry(1, "A, continued"), complete(1)), llmtest.Says("Did both"))), pair())
	p.completed(t)
	results := p.results("complete_task")
	require.Len(t, results, 3)
	require.Equal(t, "Error: task 1 stays open: an entry for it was refused in this turn. Write it first", results[0])
	require.Contains(t, results[1], "Done. Still open: 1.")
	require.Contains(t, results[2], "All your tasks are done")
	require.Empty(t, p.warnings())
}

// A specialist that was told of its unwritten tasks is not told again after a resume.
func TestUnwrittenTasksAreToldOnceAcrossProcesses(t *testing.T) {
	log := events.NewMemory()
	script := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done"), llmtest.Says("Done, in part")),
		llmtest.Agent(alpha, llmtest.Says("Here"), llmtest.Says("Here, I said")))
	held := make(chan struct{})
	client := stage(script, alpha, 2, func(ctx context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
		close(held)
		<-ctx.Done()
		yield(llm.Delta{}, ctx.Err())
	})
	run := start(t, owned(t, log, client, "driver"))
	<-held
	run.Halt()
	require.Equal(t, events.StatusSuspended, parked(t, log, run).Status)
	resumed, err := owned(t, log, script, "other").Resume(t.Context(), "", run.ID(), runner.Terms{})
	require.NoError(t, err)
	p := ended(t, log, resumed)
	require.Equal(t, events.StatusDegraded, p.Status)
	require.Equal(t, []string{"unwritten_tasks", "open_tasks"}, p.nudges())
}

// Proves R79: a run whose tools all failed, or brought nothing, is not completed; one
// that was answered directly, or by specialists who were asked, is.
func TestToolsThatBringNothing(t *testing.T) {
	for name, c := range map[string]struct {
		lead   []llmtest.Step
		reason string
	}{
		"garbled": {
			[]llmtest.Step{llmtest.Calls("", llmtest.Call("create_tasks", `{"tasks": [`)), llmtest.Calls("", llmtest.Call("call_alpha", `{"task`)), llmtest.Says("All done")},
			"no tool call succeeded, of 2",
		},
		"unknown": {[]llmtest.Step{llmtest.Calls("", llmtest.Call("search", args{})), llmtest.Says("Found")}, "no tool call succeeded, of 1"},
		"only looked": {
			[]llmtest.Step{llmtest.Calls("", llmtest.Call("get_plan_status", args{})), llmtest.Says("All done")},
			"tools were called, but nothing was planned, written or answered",
		},
		"direct": {[]llmtest.Step{llmtest.Says("Hello")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t, llmtest.Script(t, llmtest.Agent(boss, c.lead...)), pair())
			require.Equal(t, c.reason, p.Reason)
			require.Equal(t, c.reason == "", p.Status == events.StatusCompleted)
			require.False(t, p.Fallback, "the answer is given, for what it is worth")
		})
	}
}

// The simulated model declines, too: every specialist its last task. One of them is
// replaced and done, the others are named.
func TestSimulatedSpecialistsDecline(t *testing.T) {
	p := play(t, sim.New(sim.Options{Behaviour: sim.BehaveDecline}), builtin(t, "trip"))
	require.Equal(t, events.StatusDegraded, p.Status)
	declined, replaced := 0, 0
	for _, task := range p.Tasks {
		if task.Declined != "" {
			declined++
		}
		replaced += len(task.Replaces)
		require.True(t, task.Finished || task.Declined != "", task)
	}
	require.Equal(t, len(builtin(t, "trip").Specialists), declined)
	require.Equal(t, 1, replaced)
	require.Len(t, p.MissingTasks, declined-1)
	require.Contains(t, p.Answer, "declined")
}
