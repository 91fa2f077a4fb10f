package runner_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/runner"
)

// at calls do when the run's thread has come to seq, and gives the run when it is no
// longer driven.
func at(t *testing.T, run *runner.Run, seq events.Seq, do func()) {
	t.Helper()
	for env, err := range run.Events(context.Background()) {
		require.NoError(t, err)
		if env.Seq == seq {
			do()
		}
	}
}

// Proves R73: a run that is stopped at any event, at once or after what is in flight,
// is parked in good order and ends, resumed, as if it had never been stopped.
func TestStopAnywhere(t *testing.T) {
	for _, early := range []bool{false, true} {
		options := sim.Options{EarlyDispatch: early}
		job := runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")}
		log := events.NewMemory()
		run, err := newRunner(t, log, sim.New(options)).Start(t.Context(), job)
		require.NoError(t, err)
		whole := ended(t, log, run)
		_, document, _ := picture(t, log, run.Key())
		from, step := race.Every(6, 1)
		for seq := events.Seq(from); int(seq) < len(whole.envs); seq += events.Seq(7 * step) {
			for name, stop := range map[string]func(*runner.Run){"stop": (*runner.Run).Halt, "suspend": (*runner.Run).Suspend} {
				where := fmt.Sprintf("early=%v %s at %d", early, name, seq)
				log, client := events.NewMemory(), &counting{Client: sim.New(options)}
				run, err := newRunner(t, log, client).Start(t.Context(), job)
				require.NoError(t, err)
				at(t, run, seq, func() { stop(run) })
				p := parked(t, log, run)
				for rounds := 0; !p.Status.Over(); rounds++ {
					require.Equal(t, events.StatusSuspended, p.Status, where)
					require.Equal(t, events.KindRunSuspended, p.envs[len(p.envs)-1].Data.Kind(), where)
					require.Less(t, rounds, 3, where)
					resumed, err := newRunner(t, log, client).Resume(t.Context(), "", run.ID(), runner.Terms{})
					require.NoError(t, err, where)
					p = parked(t, log, resumed)
				}
				require.Equal(t, events.StatusCompleted, p.Status, "%s: %s", where, p.Reason)
				_, got, _ := picture(t, log, run.Key())
				require.Equal(t, document, got, where)
				require.Equal(t, whole.Tasks, p.Tasks, where)
				if name == "suspend" {
					require.EqualValues(t, whole.ModelCalls, client.calls.Load(), "%s: no call is given up", where)
				}
			}
		}
	}
}

// A run that is cancelled at any event ends as cancelled, unless it had ended before.
func TestCancelAnywhere(t *testing.T) {
	job := runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")}
	_, step := race.Every(5, 0)
	for seq := events.Seq(1); ; seq += events.Seq(2 * step) {
		log := events.NewMemory()
		r := newRunner(t, log, sim.New(sim.Options{EarlyDispatch: seq%4 == 1}))
		run, err := r.Start(t.Context(), job)
		require.NoError(t, err)
		asked := false
		at(t, run, seq, func() {
			asked = true
			if seq%3 == 0 {
				_ = r.Cancel(context.Background(), "", run.ID(), "enough") // it may be over by now
			} else {
				_ = run.Cancel("enough")
			}
		})
		p := ended(t, log, run)
		if !asked {
			require.Equal(t, events.StatusCompleted, p.Status)
			require.Greater(t, seq, events.Seq(50), "the run was cancelled at most of its events")
			return
		}
		require.Contains(t, []events.Status{events.StatusCancelled, events.StatusCompleted}, p.Status)
		cancelledAt := -1
		for i, env := range p.envs {
			switch env.Data.Kind() {
			case events.KindRunCancelled:
				cancelledAt = i
			case events.KindModelCalled, events.KindModelCallFailed, events.KindAgentFinished, events.KindWorkflowFinished:
			default:
				require.Equal(t, -1, cancelledAt, "%s after run_cancelled", env.Data.Kind())
			}
		}
		require.Equal(t, p.Status == events.StatusCancelled, cancelledAt >= 0)
	}
}
