package runner_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

var errBadRequest = &llm.Error{Kind: llm.ErrBadRequest, Status: 400, Message: "no"}

// halfDone runs the pair until Alpha has done its task and the facilitator's next call is
// refused, which fails the run.
func halfDone(t *testing.T, log events.Log) played {
	t.Helper()
	r := newRunner(t, log, llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Fails(errBadRequest)),
		llmtest.Agent(alpha, llmtest.Calls("", write("First", "The first half."), complete(1)), llmtest.Says("Did it")),
	))
	run, err := r.Start(t.Context(), runner.Job{Request: "Write about both halves", Team: pair()})
	require.NoError(t, err)
	before := ended(t, log, run)
	require.NotEqual(t, events.StatusCompleted, before.Status)
	require.Equal(t, []events.TaskID{2}, before.MissingTasks)
	return before
}

// again continues a run with the client.
func again(t *testing.T, log events.Log, client llm.Client, before played, change ...func(*runner.Job)) *runner.Run {
	t.Helper()
	job := runner.Job{Request: "Write about both halves", Team: pair(), Thread: before.key.Thread, Continues: before.Run}
	for _, c := range change {
		c(&job)
	}
	run, err := newRunner(t, log, client).Start(t.Context(), job)
	require.NoError(t, err)
	return run
}

// Proves R73: a run that continues another one begins with its plan, its document and the
// facilitator's conversation, is told what is open, and counts what it uses itself.
func TestContinuedRun(t *testing.T) {
	log := events.NewMemory()
	before := halfDone(t, log)
	script := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", dispatch("beta", 2)), llmtest.Says("Both halves")),
		llmtest.Agent(beta, llmtest.Calls("", write("Second", "The second half."), complete(2)), llmtest.Says("Did it")),
	)
	run := again(t, log, script, before)
	result, err := run.Wait()
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
	require.Contains(t, result.Document, "The first half.")
	require.Contains(t, result.Document, "The second half.")
	require.Empty(t, result.MissingTasks)
	require.Equal(t, 4, result.ModelCalls, "two of the facilitator's and two of Beta's")
	require.Less(t, result.Usage.Total(), before.Usage.Total()+1)

	asked := script.Requests(boss)[0].Messages
	earlier := before.thread.Current().Facilitator.Messages()
	require.Equal(t, earlier, asked[2:2+len(earlier)], "the conversation goes on where it was")
	told := asked[len(asked)-1]
	require.Equal(t, events.RoleUser, told.Role)
	require.Contains(t, told.Content, "Tasks are still open, because the attempt before this one ended early (the facilitator could not answer: ")
	require.Contains(t, told.Content, "The work of beta")
	require.NotContains(t, told.Content, "The work of alpha")

	envs, err := log.Read(t.Context(), before.key, 0, 0)
	require.NoError(t, err)
	require.Equal(t, before.envs, envs[:len(before.envs)], "nothing is copied or changed")
	started := envs[len(before.envs)].Data.(events.WorkflowStarted)
	require.Equal(t, []any{before.Run, 2, 1}, []any{started.Continues, started.TasksBefore, started.FinishedBefore})
	th := thread.New()
	for _, env := range envs {
		require.NoError(t, th.Apply(env))
	}
	require.Equal(t, events.DispatchID("d2"), th.Current().Dispatches[0].ID, "ids of dispatches count over the thread")
	require.Equal(t, before.Tasks, th.Runs[0].Board.Tasks(), "the run before stays what it was")
	require.Equal(t, before.Document, th.Runs[0].Document.RenderClean())
	summary, err := log.FindRun(t.Context(), events.LocalTenant, string(run.ID()))
	require.NoError(t, err)
	require.Equal(t, []int{2, 2}, []int{summary.FinishedTasks, summary.Tasks})
	require.Equal(t, before.Run, th.Current().Writer(1).ID)
	require.Equal(t, run.ID(), th.Current().Writer(2).ID)
}

// A call of the run before that has no result is answered as of unknown outcome, so that
// the conversation is one that an endpoint takes.
func TestContinuedRunWithAnOpenCall(t *testing.T) {
	log := events.NewMemory()
	client := gate(llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Calls("On it", dispatch("alpha", 1))),
	), alpha)
	defer close(client.open)
	r := newRunner(t, log, client)
	run, err := r.Start(t.Context(), runner.Job{Request: "Write about both halves", Team: pair()})
	require.NoError(t, err)
	<-client.entered
	require.NoError(t, run.Cancel("never mind"))
	before := ended(t, log, run)

	script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Enough"), llmtest.Says("Enough")))
	_, err = again(t, log, script, before).Wait()
	require.NoError(t, err)
	open := map[events.CallID]bool{}
	for _, m := range script.Requests(boss)[0].Messages {
		for _, call := range m.ToolCalls {
			open[call.ID] = true
		}
		if m.Role == events.RoleTool {
			require.True(t, open[m.ToolCallID])
			delete(open, m.ToolCallID)
		}
	}
	require.Empty(t, open)
}

// A continued run is killed, resumed, continued and forked as any other.
func TestContinuedRunIsARun(t *testing.T) {
	log := events.NewMemory()
	before := halfDone(t, log)
	refused := llmtest.Script(t, llmtest.Agent(boss, llmtest.Fails(errBadRequest)))
	run := again(t, log, refused, before)
	_, err := run.Wait()
	require.NoError(t, err)
	second := played{Result: runner.Result{Run: run.ID()}, key: before.key}

	end := func() []llmtest.Part {
		return []llmtest.Part{
			llmtest.Agent(boss, llmtest.Calls("", dispatch("beta", 2)), llmtest.Says("Both halves")),
			llmtest.Agent(beta, llmtest.Calls("", write("Second", "The second half."), complete(2)), llmtest.Says("Did it")),
		}
	}
	client := gate(llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", dispatch("beta", 2)))), beta)
	third := again(t, log, client, second)
	<-client.entered
	third.Halt()
	parkedAt, err := third.Wait()
	require.NoError(t, err)
	require.Equal(t, events.StatusSuspended, parkedAt.Status)
	close(client.open)
	resumed, err := newRunner(t, log, llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Says("Both halves")),
		llmtest.Agent(beta, llmtest.Calls("", write("Second", "The second half."), complete(2)), llmtest.Says("Did it")),
	)).Resume(t.Context(), "", third.ID(), runner.Terms{})
	require.NoError(t, err)
	result, err := resumed.Wait()
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
	require.Contains(t, result.Document, "The first half.")

	summary, err := log.FindRun(t.Context(), events.LocalTenant, string(third.ID()))
	require.NoError(t, err)
	fork, err := newRunner(t, log, llmtest.Script(t, end()...)).Fork(t.Context(), "", third.ID(), runner.Change{At: summary.FirstSeq})
	require.NoError(t, err)
	result, err = fork.Wait()
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
	require.Contains(t, result.Document, "The first half.")
	envs, err := log.Read(t.Context(), fork.Key(), 0, 0)
	require.NoError(t, err)
	th := thread.New()
	for _, env := range envs {
		require.NoError(t, th.Apply(env))
	}
	require.Equal(t, th.Runs[1].ID, th.Current().Started.Continues, "it goes on from the copy")
}

// What cannot be continued is refused, and nothing is begun.
func TestContinuingWhatCannotBe(t *testing.T) {
	log := events.NewMemory()
	before := halfDone(t, log)
	for name, c := range map[string]struct {
		change func(*runner.Job)
		why    string
	}{
		"no such run":    {func(j *runner.Job) { j.Continues = "019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4b00" }, "no such run"},
		"another thread": {func(j *runner.Job) { j.Thread = "" }, "no such run"},
		"another layout": {func(j *runner.Job) { j.Team = builtin(t, "trip") }, "another layout"},
		"another kind":   {func(j *runner.Job) { j.Solo = true }, "has a single agent"},
	} {
		t.Run(name, func(t *testing.T) {
			job := runner.Job{Request: "Again", Team: pair(), Thread: before.key.Thread, Continues: before.Run}
			c.change(&job)
			_, err := newRunner(t, log, llmtest.Script(t)).Start(t.Context(), job)
			var input *runner.InputError
			require.ErrorAs(t, err, &input)
			require.Contains(t, strings.ToLower(err.Error()), c.why)
		})
	}
}
