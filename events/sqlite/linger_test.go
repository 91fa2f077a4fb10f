package sqlite_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events/sqlite"
)

// A leader under load waits for others to share its commit: for as long as some come and no
// longer, and not at all for a few runs or where nobody came lately.
func TestLeaderWaitsUnderLoad(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		held, shared int
		took         time.Duration
		arrivals     []time.Duration
		want         time.Duration
	}{
		"nobody comes":               {16, 5, ms, nil, 2 * ms},
		"all come":                   {16, 5, ms, slices.Repeat([]time.Duration{ms}, 15), ms},
		"all come, some later":       {16, 5, ms, append(slices.Repeat([]time.Duration{ms}, 10), 3*ms, 3*ms, 3*ms, 3*ms, 3*ms), 3 * ms},
		"some come, then nobody":     {16, 5, ms, []time.Duration{ms, 3 * ms}, 6 * ms},
		"somebody comes all along":   {16, 5, ms, []time.Duration{ms, 3 * ms, 5 * ms, 7 * ms, 9 * ms}, 8 * ms},
		"the last commit was slow":   {64, 5, time.Second, nil, 5 * ms},
		"a few runs":                 {7, 7, time.Second, nil, 0},
		"the last commit was of one": {16, 1, ms, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.Equal(t, c.want, sqlite.Linger(c.held, c.shared, c.took, c.arrivals...))
			})
		})
	}
}
