package runner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/runner"
)

// A dispatch that is refused while its turn still streams, with nothing started,
// is refused once, and the run goes on.
func TestRefusedEarlyDispatch(t *testing.T) {
	r := newRunner(t, events.NewMemory(), sim.New(sim.Options{Behaviour: sim.BehaveCircles}))
	run, err := r.Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")})
	require.NoError(t, err)
	result, err := run.Wait()
	require.NoError(t, err)
	require.Empty(t, result.MissingTasks)
	require.NotEmpty(t, result.Answer)
}
