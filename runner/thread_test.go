package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
)

// said gives the texts of messages behind the system prompt, with who says them.
func said(messages []events.Message) []string {
	var list []string
	for _, m := range messages[1:] {
		list = append(list, string(m.Role)+": "+m.Content)
	}
	return list
}

// ask runs the request in the thread with a facilitator that only answers.
func ask(t *testing.T, log events.Log, thread events.ThreadID, request, answer string) (*runner.Run, []events.Message) {
	t.Helper()
	script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says(answer)))
	run, err := newRunner(t, log, script).Start(t.Context(), runner.Job{Request: request, Team: pair(), Thread: thread})
	require.NoError(t, err)
	_, err = run.Wait()
	require.NoError(t, err)
	return run, script.Requests(boss)[0].Messages
}

// Proves R25: a run in a thread is asked with what was asked and answered before, of the
// facilitator's and the specialists' work nothing else; a fork of it too.
func TestRunSeesEarlierExchanges(t *testing.T) {
	log := events.NewMemory()
	script := llmtest.Script(t, ordinary()...)
	first, err := newRunner(t, log, script).Start(t.Context(), runner.Job{Request: "Write about the first half", Team: pair()})
	require.NoError(t, err)
	result := ended(t, log, first)
	require.NotEmpty(t, result.Answer)
	key := first.Key()

	second, asked := ask(t, log, key.Thread, "Shorter", "Short")
	want := []string{"user: Write about the first half", "assistant: " + result.Answer, "user: Shorter"}
	require.Equal(t, want, said(asked))
	require.Equal(t, script.Requests(boss)[0].Messages[:2], asked[:2], "the prompt begins as the first run's did")
	_, asked = ask(t, log, key.Thread, "Shorter still", "S")
	require.Equal(t, append(want, "assistant: Short", "user: Shorter still"), said(asked))

	envs, err := log.Read(t.Context(), key, 0, 0)
	require.NoError(t, err)
	at := events.Seq(0)
	for _, env := range envs {
		if env.Run == second.ID() && at == 0 {
			at = env.Seq
			require.Equal(t, first.ID(), env.Data.(events.WorkflowStarted).Follows)
		}
	}
	forkScript := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Other")))
	fork, err := newRunner(t, log, forkScript).Fork(t.Context(), "", second.ID(), runner.Change{At: at})
	require.NoError(t, err)
	_, err = fork.Wait()
	require.NoError(t, err)
	require.Equal(t, want, said(forkScript.Requests(boss)[0].Messages))
}

// A thread that outgrows the model's window goes on, compacted: what was said before is
// summarized before the run's first turn, whole, and the summary stands for it in later runs.
func TestLongThreadIsCompacted(t *testing.T) {
	log, table := events.NewMemory(), windowOf(t, 8000)
	ask := func(thread events.ThreadID, request string, replies ...string) (events.ThreadID, [][]events.Message) {
		var steps []llmtest.Step
		for _, reply := range replies {
			steps = append(steps, llmtest.Says(reply))
		}
		script := llmtest.Script(t, llmtest.Agent(boss, steps...))
		r, err := runner.New(runner.Config{Log: log, Models: oneClient{script}, Prices: table})
		require.NoError(t, err)
		run, err := r.Start(t.Context(), runner.Job{Request: request, Team: pair(), Thread: thread})
		require.NoError(t, err)
		result, err := run.Wait()
		require.NoError(t, err)
		require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
		var asked [][]events.Message
		for _, req := range script.Requests(boss) {
			asked = append(asked, req.Messages)
		}
		return run.Key().Thread, asked
	}
	long := strings.Repeat("temple ", 1500)
	thread, _ := ask("", "First", long+"first-end")
	ask(thread, "Second", long+"second-end")
	_, asked := ask(thread, "Third", "Summary of one", "Summary of both", "Three")
	require.Len(t, asked, 3)
	read := asked[0][1].Content + asked[1][1].Content
	require.Contains(t, read, "first-end")
	require.Contains(t, read, "second-end")
	summary := "user: Summary of the conversation so far, which was too long to keep:\n\nSummary of both"
	require.Equal(t, []string{"user: Third", summary}, said(asked[2]))
	_, asked = ask(thread, "Fourth", "Four")
	require.Equal(t, []string{summary, "user: Third", "assistant: Three", "user: Fourth"}, said(asked[0]))
}

// A run that was begun before threads had a history is resumed without one: what was sent
// to its model stays what it was.
func TestRunOfAnOlderLogSeesNoExchanges(t *testing.T) {
	log := events.NewMemory()
	first, _ := ask(t, log, "", "One", "1")
	script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("2")))
	r := newRunner(t, log, script)
	envs, err := log.Read(t.Context(), first.Key(), 0, 0)
	require.NoError(t, err)
	started := envs[0].Data.(events.WorkflowStarted)
	started.Message = "Two"
	epoch, err := log.Claim(t.Context(), first.Key(), "older", false)
	require.NoError(t, err)
	run := events.RunID(strings.Replace(string(first.ID()), "0", "1", 1))
	require.NoError(t, log.Append(context.Background(), first.Key(), epoch, events.Seq(len(envs)), []events.Envelope{{Run: run, Data: started}}))
	require.NoError(t, log.Release(t.Context(), first.Key(), epoch))
	resumed, err := r.Resume(t.Context(), "", run, runner.Terms{})
	require.NoError(t, err)
	_, err = resumed.Wait()
	require.NoError(t, err)
	require.Equal(t, []string{"user: Two"}, said(script.Requests(boss)[0].Messages))
}
