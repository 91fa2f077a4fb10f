package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// oneClient resolves every model to the same client.
type oneClient struct{ client llm.Client }

func (m oneClient) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: &llm.Endpoint{Name: "sim", Simulated: true, Client: m.client}, Model: "sim"}}, nil
}

func builtin(t testing.TB, name string) *team.Team {
	t.Helper()
	tm, err := team.Builtin(name)
	require.NoError(t, err)
	return tm
}

func newRunner(t testing.TB, log events.Log, client llm.Client) *runner.Runner {
	t.Helper()
	r, err := runner.New(runner.Config{Log: log, Models: oneClient{client}})
	require.NoError(t, err)
	return r
}

// Proves R1 to R7, R9 to R13, R16, R24, R70: the whole job, from the request to
// the last event, and the fold of its log equal to the result.
func TestRunFromRequestToAnswer(t *testing.T) {
	log := events.NewMemory()
	r := newRunner(t, log, sim.New(sim.Options{}))
	run, err := r.Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")})
	require.NoError(t, err)
	th := thread.New()
	var last events.Envelope
	for env, err := range run.Events(t.Context()) {
		require.NoError(t, err)
		require.NoError(t, th.Apply(env), "seq without gaps")
		require.Equal(t, run.Key().Thread, env.Thread)
		last = env
	}
	require.Equal(t, events.KindWorkflowFinished, last.Data.Kind(), "workflow_finished comes last")
	result, err := run.Wait()
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
	require.Empty(t, result.MissingTasks)
	require.NotEmpty(t, result.Answer)
	require.True(t, result.Simulated)
	require.Equal(t, th.Current().Document.RenderClean(), result.Document)
	for _, task := range result.Tasks {
		require.True(t, task.Finished)
		require.False(t, th.Current().Board.AutoCompleted(task.ID))
	}
	_, err = r.Resume(context.Background(), "", run.ID(), runner.Terms{})
	require.ErrorIs(t, err, events.ErrRunOver)
}
