package events_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

// Viewers are not told who caused an event, and from where, whatever else the event says.
func TestViewersAreNotToldOfActors(t *testing.T) {
	env := events.Envelope{
		Tenant: "local", Thread: "t", Run: "r", Seq: 1, By: &events.Actor{UserID: `ann","data":{"by":"x`, TokenID: "k3x", Door: events.DoorREST, Remote: "192.0.2.7"},
		Data: events.HandoffExitRequested{HandoffID: `,"by":{}`, By: "bob"},
	}
	body, err := events.Encode(env)
	require.NoError(t, err)
	env.By = nil
	want, err := events.Encode(env)
	require.NoError(t, err)
	require.Equal(t, string(want), string(events.ForViewers(body)))
	require.Equal(t, string(want), string(events.ForViewers(want)))
}
