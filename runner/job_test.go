package runner_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/specialists"
)

// A run id that the log has is refused, in that thread and in any other, and nothing is
// written.
func TestStartRefusesARunThatTheLogHas(t *testing.T) {
	log := events.NewMemory()
	id, err := uuid.NewV7()
	require.NoError(t, err)
	r := owned(t, log, llmtest.Script(t, ordinary()...), "driver")
	job := runner.Job{Request: "Write", Team: pair(), Run: events.RunID(id.String())}
	first, err := r.Start(t.Context(), job)
	require.NoError(t, err)
	p := ended(t, log, first)
	for _, thread := range []events.ThreadID{"", p.Thread} {
		job.Thread = thread
		_, err = r.Start(t.Context(), job)
		var input *runner.InputError
		require.ErrorAs(t, err, &input)
		require.ErrorContains(t, err, "the log already has run "+id.String())
		_, _, err = r.Delegate(t.Context(), job, facilitator.Delegation{Question: "How?"})
		require.ErrorAs(t, err, &input)
	}
	runs, err := log.Runs(t.Context(), events.RunQuery{})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	envs, err := log.Read(t.Context(), p.key, 0, 0)
	require.NoError(t, err)
	require.Len(t, envs, len(p.envs))
}

// timetable is a specialist that writes one entry.
func timetable(context.Context, specialists.Assignment) (specialists.Contribution, error) {
	return specialists.Contribution{Entries: []specialists.Entry{{Place: args{"section": "a"}, Content: "Train 7."}}, Summary: "Found."}, nil
}

// Functions are those of specialists that the job's team has.
func TestFunctionsThatDoNotFitTheJob(t *testing.T) {
	r := owned(t, events.NewMemory(), llmtest.Script(t), "driver")
	for complaint, job := range map[string]runner.Job{
		`"gamma", but team pair has no such specialist: it has alpha, beta`: {Functions: runner.Functions{"alpha": timetable, "gamma": timetable}},
		`specialist "beta" is nil`:      {Functions: runner.Functions{"beta": nil}},
		"a solo run has no specialists": {Functions: runner.Functions{"alpha": timetable}, Solo: true},
	} {
		job.Request, job.Team = "Write", pair()
		_, checked := r.Check(job)
		_, started := r.Start(t.Context(), job)
		_, _, delegated := r.Delegate(t.Context(), job, facilitator.Delegation{Question: "How?"})
		for _, err := range []error{checked, started, delegated} {
			var input *runner.InputError
			require.ErrorAs(t, err, &input)
			require.ErrorContains(t, err, complaint)
		}
	}
}

// functionRun is parked while Alpha, a function, is at work.
func functionRun(t *testing.T, log events.Log) *runner.Run {
	t.Helper()
	script := llmtest.Script(t, interrupted())
	job := job
	job.Team = pair()
	job.Functions = runner.Functions{"alpha": func(ctx context.Context, _ specialists.Assignment) (specialists.Contribution, error) {
		return specialists.Contribution{}, heeds(ctx)
	}}
	run, err := owned(t, log, script, "driver").Start(t.Context(), job)
	require.NoError(t, err)
	for len(run.Live()) < 2 {
		time.Sleep(time.Millisecond)
	}
	run.Halt()
	require.Equal(t, events.StatusSuspended, parked(t, log, run).Status)
	return run
}

// Proves R73: a run whose specialist is a function continues with that function, or not at
// all: no model takes its place, and the run stays as it was.
func TestFunctionIsGivenAgainOnResume(t *testing.T) {
	log := events.NewMemory()
	run := functionRun(t, log)
	before, err := log.Read(t.Context(), run.Key(), 0, 0)
	require.NoError(t, err)
	require.Empty(t, before[0].Data.(events.WorkflowStarted).Agents[1].Models, "a function asks no model")

	other := owned(t, log, llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Done"))), "other")
	_, resumed := other.Resume(t.Context(), "", run.ID(), runner.Terms{})
	_, replaced := other.Resume(t.Context(), "", run.ID(), runner.Terms{Functions: runner.Functions{"beta": timetable}})
	_, forked := other.Fork(t.Context(), "", run.ID(), runner.Change{At: 4})
	for _, err := range []error{resumed, replaced, forked} {
		var input *runner.InputError
		require.ErrorAs(t, err, &input)
		require.ErrorContains(t, err, `specialist "alpha"`)
		require.ErrorContains(t, err, string(run.ID()))
	}
	_, err = other.Resume(t.Context(), "", run.ID(), runner.Terms{Functions: runner.Functions{"alpha": timetable, "gamma": timetable}})
	require.ErrorContains(t, err, `"gamma"`)
	after, err := log.Read(t.Context(), run.Key(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, before, after)
	runs, err := log.Runs(t.Context(), events.RunQuery{})
	require.NoError(t, err)
	require.Len(t, runs, 1, "nothing was copied")

	again, err := other.Resume(t.Context(), "", run.ID(), runner.Terms{Functions: runner.Functions{"alpha": timetable}})
	require.NoError(t, err)
	p := ended(t, log, again)
	require.Equal(t, events.StatusCompleted, p.Status, p.Reason)
	require.Contains(t, p.Document, "Train 7.")
}

// A fork of such a run has its function too, whatever model the others ask.
func TestForkWithAFunction(t *testing.T) {
	log := events.NewMemory()
	run := functionRun(t, log)
	other := owned(t, log, llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done"))), "other")
	fork, err := other.Fork(t.Context(), "", run.ID(), runner.Change{At: 4, Model: "another", Functions: runner.Functions{"alpha": timetable}})
	require.NoError(t, err)
	p := ended(t, log, fork)
	require.Equal(t, events.StatusCompleted, p.Status, p.Reason)
	require.Contains(t, p.Document, "Train 7.")
	require.Empty(t, p.envs[0].Data.(events.WorkflowStarted).Agents[1].Models)
}

// A team that was changed is refused, whatever else is different in the job; the runs
// that it was given to before go on as they began.
func TestChangedTeamIsRefused(t *testing.T) {
	log := events.NewMemory()
	script := llmtest.Script(t, ordinary()...)
	client := gate(script, alpha)
	r := owned(t, log, client, "driver")
	tm := pair()
	job := runner.Job{Request: "Write", Team: tm}
	run, err := r.Start(t.Context(), job)
	require.NoError(t, err)
	<-client.entered
	tm.Specialists[0].Prompt = "Another prompt"
	for _, changed := range []runner.Job{job, {Request: "Write", Team: tm, Model: "other"}, {Request: "Write", Team: tm, Solo: true}} {
		_, err = r.Start(t.Context(), changed)
		var input *runner.InputError
		require.ErrorAs(t, err, &input)
		require.ErrorContains(t, err, "team pair was changed")
	}
	close(client.open)
	ended(t, log, run).completed(t)
	require.NotContains(t, script.Requests(alpha)[1].Messages[0].Content, "Another prompt")
	copied := *tm
	_, err = r.Check(runner.Job{Request: "Write", Team: &copied})
	require.NoError(t, err, "as a team of its own it is taken")
}

// A delegation can be followed as it goes.
func TestEventsOfADelegation(t *testing.T) {
	client := llmtest.Script(t, llmtest.Agent("FOOD", llmtest.Says("Soup.")), llmtest.Agent("RAIL", llmtest.Says("Train.")))
	run, err := newRunner(t, events.NewMemory(), client).StartDelegation(t.Context(), runner.Job{Team: experts(t)},
		facilitator.Delegation{Question: "How do we start?", Specialists: []events.AgentID{"food", "rail"}})
	require.NoError(t, err)
	var answered []events.AgentID
	for env, err := range run.Events(t.Context()) {
		require.NoError(t, err)
		if e, ok := env.Data.(events.AgentFinished); ok {
			answered = append(answered, e.Agent)
		}
	}
	require.ElementsMatch(t, []events.AgentID{"food", "rail"}, answered)
	result, err := run.Wait()
	require.NoError(t, err)
	require.Len(t, result.Replies, 2)
	require.Equal(t, "Soup.", result.Replies[0].Response)
	require.Equal(t, "Train.", result.Replies[1].Response)
}
