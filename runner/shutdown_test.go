package runner_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
)

// callTakes is how long the call in flight takes.
const callTakes = 10 * time.Second

// asked tells whether the log has a model call of the agent.
func asked(p played, agent events.AgentID) bool {
	return slices.ContainsFunc(p.of(events.KindModelCalled), func(env events.Envelope) bool { return env.Agent == agent })
}

func TestStopWaits(t *testing.T) {
	for name, test := range map[string]struct{ within, takes time.Duration }{
		"for the calls in flight": {time.Minute, callTakes},
		"until its context ends":  {callTakes / 2, callTakes / 2},
		"for nothing":             {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := events.NewMemory()
				client := gate(sim.New(sim.Options{}), alpha)
				r := owned(t, log, client, "driver")
				run := start(t, r)
				<-client.entered
				defer time.AfterFunc(callTakes, func() { close(client.open) }).Stop()
				begun := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), test.within)
				defer cancel()
				require.NoError(t, run.Stop(ctx))
				require.Equal(t, test.takes, time.Since(begun))
				require.Empty(t, r.Runs())

				p := parked(t, log, run)
				require.Equal(t, events.StatusSuspended, p.Status)
				require.Equal(t, test.takes == callTakes, asked(p, "alpha"), "its call ended")
				require.NoError(t, run.Stop(ctx), "twice is fine")
			})
		})
	}
}

func TestShutdownParksEveryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		client := gate(sim.New(sim.Options{}), alpha)
		r := owned(t, log, client, "driver")
		run, other := start(t, r), start(t, owned(t, log, sim.New(sim.Options{}), "another process"))
		<-client.entered
		require.Equal(t, []*runner.Run{run}, r.Runs())
		begun := time.Now()
		time.AfterFunc(callTakes, func() {
			_, err := r.Start(context.Background(), runner.Job{Request: "Too late", Team: pair()})
			require.ErrorIs(t, err, runner.ErrShutDown)
			close(client.open)
		})
		require.NoError(t, r.Shutdown(t.Context()))
		require.Equal(t, callTakes, time.Since(begun))
		require.NoError(t, r.Shutdown(t.Context()), "twice is fine")
		require.Empty(t, r.Runs())

		p := parked(t, log, run)
		require.Equal(t, events.StatusSuspended, p.Status)
		require.True(t, asked(p, "alpha"), "its call ended")
		require.Equal(t, events.StatusCompleted, ended(t, log, other).Status, "it is another runner's")
		_, err := r.Resume(t.Context(), "", run.ID(), runner.Terms{})
		require.ErrorIs(t, err, runner.ErrShutDown)
	})
}

// shutting shuts the runner down while a run of it is about to begin.
type shutting struct {
	*events.Memory
	begins func()
}

func (s *shutting) AppendFirst(ctx context.Context, key events.ThreadKey, owner events.Owner, envs []events.Envelope) (events.Epoch, error) {
	s.begins()
	return s.Memory.AppendFirst(ctx, key, owner, envs)
}

func TestShutdownWaitsForARunThatIsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &shutting{Memory: events.NewMemory()}
		r := owned(t, log, llmtest.Script(t), "driver")
		ended := make(chan error, 1)
		log.begins = func() {
			go func() { ended <- r.Shutdown(context.Background()) }()
			synctest.Wait()
			require.Empty(t, ended)
		}
		run := start(t, r)
		require.NoError(t, <-ended)
		result, err := run.Wait()
		require.NoError(t, err)
		require.Equal(t, events.StatusSuspended, result.Status)
		require.Zero(t, result.ModelCalls)
	})
}

// What a store does not take is said to whoever shuts down, since nobody may wait for the
// run itself.
func TestShutdownTellsOfABrokenStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &failing{Memory: events.NewMemory()}
		client := gate(llmtest.Script(t, untouched()...), alpha)
		r := owned(t, log, client, "driver")
		run := start(t, r)
		<-client.entered
		log.failed.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, r.Shutdown(ctx), errFull)
		_, err := run.Wait()
		require.ErrorIs(t, err, errFull)
	})
}
