package sqlite_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events/sqlite"
)

// A leader under load waits for others to share its commit, until all have come or the time
// is over; of a few runs it does not wait at all.
func TestLeaderWaitsUnderLoad(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		held     int
		arrivals []time.Duration
		want     time.Duration
	}{
		"nobody comes":  {16, nil, 2 * ms},
		"all come":      {16, slices.Repeat([]time.Duration{ms}, 15), ms},
		"some come":     {16, []time.Duration{ms, 3 * ms}, 2 * ms},
		"the last late": {8, append(slices.Repeat([]time.Duration{ms}, 6), 3*ms), 2 * ms},
		"a few runs":    {7, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.Equal(t, c.want, sqlite.Linger(c.held, c.arrivals...))
			})
		})
	}
}
