package runner_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// The agents of the pair, by a stretch of their system prompts.
const (
	boss  = "the facilitator of a team"
	alpha = "You are Alpha, a specialist"
	beta  = "You are Beta, a specialist"
)

// pair is a small team: Alpha and Beta, a document with free sections.
func pair(change ...func(*team.Limits)) *team.Team {
	tm := team.Team{
		Name:     "pair",
		Document: document.Free(),
		Specialists: []team.Specialist{
			{ID: "alpha", Description: "Knows the first half.", Prompt: "Write about the first half."},
			{ID: "beta", Description: "Knows the second half.", Prompt: "Write about the second half."},
		},
	}
	for _, c := range change {
		c(&tm.Limits)
	}
	return &tm
}

type args = map[string]any

// create is a call that makes one task per specialist named.
func create(specialists ...string) events.ToolCall {
	var tasks []args
	for _, s := range specialists {
		tasks = append(tasks, args{"text": "The work of " + s, "assigned_to": s})
	}
	return llmtest.Call("create_tasks", args{"tasks": tasks})
}

func dispatch(specialist string, tasks ...int) events.ToolCall {
	return llmtest.Call("call_"+specialist, args{"task_ids": tasks, "message": "Please"})
}

func write(section, content string) events.ToolCall {
	return llmtest.Call("write_section", args{"section": section, "content": content})
}

func complete(task int) events.ToolCall { return llmtest.Call("complete_task", args{"task_id": task}) }

// played is what a run came to.
type played struct {
	runner.Result
	key    events.ThreadKey
	envs   []events.Envelope
	thread *thread.Thread
}

// play runs the job with the client and checks what holds for every run: it ends,
// its log folds to its result, and workflow_finished comes once and last.
func play(t testing.TB, client llm.Client, tm *team.Team) played {
	t.Helper()
	return playWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{client}}, tm)
}

func playWith(t testing.TB, config runner.Config, tm *team.Team) played {
	t.Helper()
	r, err := runner.New(config)
	require.NoError(t, err)
	run, err := r.Start(t.Context(), runner.Job{Request: "Write about both halves", Team: tm})
	require.NoError(t, err)
	return ended(t, config.Log, run)
}

// ended waits for a run that ends for good.
func ended(t testing.TB, log events.Log, run *runner.Run) played {
	t.Helper()
	p := parked(t, log, run)
	require.True(t, p.Status.Over(), "status %s", p.Status)
	finished := p.of(events.KindWorkflowFinished)
	require.Len(t, finished, 1, "workflow_finished comes once")
	require.Equal(t, events.KindWorkflowFinished, p.envs[len(p.envs)-1].Data.Kind(), "and last")
	require.Equal(t, p.Status, finished[0].Data.(events.WorkflowFinished).Status)
	return p
}

// parked waits until the run is no longer driven.
func parked(t testing.TB, log events.Log, run *runner.Run) played {
	t.Helper()
	result, err := run.Wait()
	require.NoError(t, err)
	p := played{Result: result, key: run.Key(), thread: thread.New()}
	p.envs, err = log.Read(context.Background(), run.Key(), 0, 0)
	require.NoError(t, err)
	for _, env := range p.envs {
		require.NoError(t, p.thread.Apply(env))
		require.Equal(t, run.Key().Thread, env.Thread)
		if _, said := env.Data.(events.UserMessage); !said { // a message is the thread's until a run takes it
			require.Equal(t, run.ID(), env.Run)
		}
		if done, ok := env.Data.(events.ToolCallDone); ok {
			require.False(t, strings.HasPrefix(done.Tool, "call_"), "a dispatch tool has no tool_call of its own")
		}
	}
	require.Equal(t, p.thread.Current().Document.RenderClean(), result.Document, "the log holds all that the result says")
	require.Equal(t, p.thread.Current().Board.Tasks(), result.Tasks)
	return p
}

// of gives the events of a kind.
func (p played) of(kind events.Kind) []events.Envelope {
	var list []events.Envelope
	for _, env := range p.envs {
		if env.Data.Kind() == kind {
			list = append(list, env)
		}
	}
	return list
}

// limits are the bounds that the run has met, each once.
func (p played) limits() []events.Limit {
	var list []events.Limit
	for _, env := range p.of(events.KindLimitReached) {
		e := env.Data.(events.LimitReached)
		if !slices.Contains(list, e.Limit) {
			list = append(list, e.Limit)
		}
	}
	return list
}

// results are the results of the calls of a tool, in order.
func (p played) results(tool string) []string {
	var list []string
	for _, env := range p.envs {
		switch e := env.Data.(type) {
		case events.ToolCallDone:
			if e.Tool == tool {
				list = append(list, e.Result)
			}
		case events.DispatchRefused:
			if e.Tool == tool {
				list = append(list, e.Result)
			}
		case events.AgentFinished:
			if "call_"+string(e.Agent) == tool {
				list = append(list, e.Result)
			}
		}
	}
	return list
}

// warnings are the codes of the run's warnings.
func (p played) warnings() []string {
	var list []string
	for _, env := range p.of(events.KindWarning) {
		list = append(list, env.Data.(events.Warning).Code)
	}
	return list
}

// outcomes says how the dispatches ended.
func (p played) outcomes() []events.Outcome {
	var list []events.Outcome
	for _, env := range p.of(events.KindAgentFinished) {
		list = append(list, env.Data.(events.AgentFinished).Status)
	}
	return list
}

// nudges are the reasons of the engine's messages.
func (p played) nudges() []string {
	var list []string
	for _, env := range p.of(events.KindUserMessage) {
		list = append(list, env.Data.(events.UserMessage).Reason)
	}
	return list
}

func (p played) completed(t testing.TB) {
	t.Helper()
	require.Equal(t, events.StatusCompleted, p.Status, p.Reason)
	require.Empty(t, p.limits())
	require.Empty(t, p.Limit)
}

// met checks that the run met just this bound, and said so with numbers.
func (p played) met(t testing.TB, limit events.Limit) events.LimitReached {
	t.Helper()
	require.Equal(t, []events.Limit{limit}, p.limits())
	e := p.of(events.KindLimitReached)[0].Data.(events.LimitReached)
	require.NotZero(t, e.Value)
	require.NotEmpty(t, e.Consequence)
	return e
}
