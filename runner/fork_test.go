package runner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/sim"
	"github.com/convene-run/convene/runner"
)

// Proves R73 for forks: from any point of a finished run a new one starts with the
// facts up to there, asks only what was not asked, and comes to its end; the other
// run stays as it is.
func TestForkFromAnyPoint(t *testing.T) {
	log := events.NewMemory()
	r := newRunner(t, log, sim.New(sim.Options{}))
	first, err := r.Start(t.Context(), runner.Job{Request: "Plan two days in Kyoto", Team: builtin(t, "trip")})
	require.NoError(t, err)
	result, err := first.Wait()
	require.NoError(t, err)
	before, err := log.Read(t.Context(), first.Key(), 0, 0)
	require.NoError(t, err)

	for at := events.Seq(1); ; at += 7 {
		for _, instruction := range []string{"", "Keep it cheap."} {
			fork, err := r.Fork(t.Context(), "", string(first.ID()), runner.Change{At: at, Instruction: instruction})
			if at >= events.Seq(len(before)-1) || before[at-1].Data.Kind() == events.KindWorkflowFinished {
				break
			}
			require.NoError(t, err, "at %d", at)
			forked, err := fork.Wait()
			require.NoError(t, err)
			require.Equal(t, events.StatusCompleted, forked.Status, "at %d: %s", at, forked.Reason)
			require.NotEqual(t, first.ID(), fork.ID())
			require.NotEqual(t, first.Key(), fork.Key())
			envs, err := log.Read(t.Context(), fork.Key(), 0, 0)
			require.NoError(t, err)
			told := 0
			for _, env := range envs {
				if m, ok := env.Data.(events.UserMessage); ok && m.Content == "Keep it cheap." {
					told++
				}
			}
			require.Equal(t, instruction != "", told == 1)
		}
		if at > events.Seq(len(before)) {
			break
		}
	}
	after, err := log.Read(t.Context(), first.Key(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, before, after)

	_, err = r.Fork(t.Context(), "", string(first.ID()), runner.Change{At: events.Seq(len(before))})
	require.ErrorContains(t, err, "is over: fork it at an earlier event")
	_, err = r.Fork(t.Context(), "", string(first.ID()), runner.Change{At: 100_000})
	require.ErrorContains(t, err, "cannot be forked at 100000")
	require.Equal(t, events.StatusCompleted, result.Status)
}
