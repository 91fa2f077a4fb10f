package runner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/runner"
)

// Proves R63: events that somebody caused from outside say who, and from where; what agents do later,
// and what is copied into a fork, says nothing of the kind.
func TestEventsSayWhoCausedThem(t *testing.T) {
	log := events.NewMemory()
	actor := func(user string) *events.Actor {
		return &events.Actor{UserID: user, TokenID: "k3x", Door: events.DoorREST, Remote: "192.0.2.7"}
	}
	client := gate(sim.New(sim.Options{}), alpha)
	driver := owned(t, log, client, "driver")
	run, err := driver.Start(t.Context(), runner.Job{Request: "Go", Team: pair(), By: conversation.Caller{UserID: "ann", Actor: actor("ann")}})
	require.NoError(t, err)
	<-client.entered
	require.NoError(t, owned(t, log, nil, "other").CancelBy(t.Context(), "", run.ID(), actor("dan"), "enough")) // it is asked to
	close(client.open)
	_, err = run.Wait()
	require.NoError(t, err)

	client = gate(sim.New(sim.Options{}), alpha)
	driver = owned(t, log, client, "driver")
	receipt, err := driver.Send(t.Context(), runner.Job{Request: "Go on", Team: pair(), Thread: run.Key().Thread, Message: &runner.Message{Actor: actor("bob")}})
	require.NoError(t, err)
	<-client.entered
	receipt.Run.SuspendBy(actor("eve"))
	close(client.open)
	_, err = receipt.Run.Wait()
	require.NoError(t, err)
	resumed, err := owned(t, log, sim.New(sim.Options{}), "other").Resume(t.Context(), "", receipt.RunID, runner.Terms{By: actor("fay")})
	require.NoError(t, err)
	_, err = resumed.Wait()
	require.NoError(t, err)

	who := func(key events.ThreadKey) (said []string) {
		envs, err := log.Read(t.Context(), key, 0, 0)
		require.NoError(t, err)
		for _, env := range envs {
			if env.By != nil {
				require.Equal(t, actor(env.By.UserID), env.By)
				said = append(said, env.By.UserID+" "+string(env.Data.Kind()))
			}
		}
		return said
	}
	require.Equal(t, []string{
		"ann workflow_started", "dan cancel_requested", "bob user_message", "bob workflow_started", "bob message_routed", "eve run_suspended", "fay run_resumed",
	}, who(run.Key()))

	fork, err := owned(t, log, sim.New(sim.Options{}), "other").Fork(t.Context(), "", run.ID(), runner.Change{At: 2, By: conversation.Caller{UserID: "gil", Actor: actor("gil")}})
	require.NoError(t, err)
	_, err = fork.Wait()
	require.NoError(t, err)
	require.Equal(t, []string{"gil run_resumed"}, who(fork.Key()))
}
