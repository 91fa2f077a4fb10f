package eventstest_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
)

// A wrapped log that lets everything pass is still a log.
func TestFailpointPasses(t *testing.T) {
	eventstest.Run(t, func(*testing.T) events.Log {
		return eventstest.NewFailpoint(events.NewMemory(), func(eventstest.Point) error { return nil })
	})
}

func TestFailpoint(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, point := range []eventstest.Point{{Append: 1}, {Append: 1, After: true}, {Append: 3}, {Append: 3, After: true}} {
		log := eventstest.NewFailpoint(events.NewMemory(), eventstest.FailAt(point, broken))
		key := events.ThreadKey{Tenant: events.LocalTenant, Thread: "t"}
		epoch, err := log.Claim(t.Context(), key, "tester", false)
		require.NoError(t, err)
		for n := range 4 {
			err := log.Append(t.Context(), key, epoch, events.Seq(n), []events.Envelope{{Data: events.Warning{}}})
			if n+1 < point.Append {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, broken)
			}
		}
		envs, err := log.Read(t.Context(), key, 0, 0)
		require.NoError(t, err)
		want := point.Append - 1
		if point.After {
			want++
		}
		require.Len(t, envs, want)
		require.Equal(t, 4, log.Appends())
	}
}
