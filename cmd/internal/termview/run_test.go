package termview_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

type simulated struct{}

func (simulated) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: &llm.Endpoint{Name: "sim", Simulated: true, Client: sim.New(sim.Options{})}, Model: "sim"}}, nil
}

// recorded gives the events of a whole simulated run.
func recorded(t *testing.T) []events.Envelope {
	t.Helper()
	trip, err := team.Builtin("trip")
	require.NoError(t, err)
	r, err := runner.New(runner.Config{Log: events.NewMemory(), Models: simulated{}})
	require.NoError(t, err)
	run, err := r.Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: trip})
	require.NoError(t, err)
	var envs []events.Envelope
	for env, err := range run.Events(t.Context()) {
		require.NoError(t, err)
		envs = append(envs, env)
	}
	_, err = run.Wait()
	require.NoError(t, err)
	return envs
}

// eachState folds the events and shows every state on the way.
func eachState(t *testing.T, envs []events.Envelope, show func(*thread.Run, events.Envelope)) {
	t.Helper()
	th := thread.New()
	for _, env := range envs {
		require.NoError(t, th.Apply(env))
		show(th.Current(), env)
	}
}
