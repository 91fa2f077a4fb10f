package thread_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// written gives a log with a thread of n events.
func written(t *testing.T, n int) (*events.Memory, events.ThreadKey) {
	log, key := events.NewMemory(), events.ThreadKey{Tenant: events.LocalTenant, Thread: "t"}
	epoch, err := log.Claim(t.Context(), key, "test", false)
	require.NoError(t, err)
	envs := []events.Envelope{{Run: "r", Data: events.WorkflowStarted{Message: "Hello"}}}
	for len(envs) < n {
		envs = append(envs, events.Envelope{Run: "r", Data: events.Warning{Code: "test"}})
	}
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, envs))
	return log, key
}

func TestLoad(t *testing.T) {
	for _, n := range []events.Seq{1, 511, 512, 513, 1024, 1500} {
		log, key := written(t, int(n))
		for _, through := range []events.Seq{0, 1, n/2 + 1, n} {
			th, err := thread.Load(t.Context(), log, key, through)
			require.NoError(t, err)
			want := through
			if through == 0 {
				want = n
			}
			require.Equal(t, want, th.Seq, "of %d through %d", n, through)
		}
		var damaged *events.DamagedError
		_, err := thread.Load(t.Context(), log, key, n+1)
		require.ErrorAs(t, err, &damaged)
		require.Equal(t, n+1, damaged.Seq)
	}
	none, err := thread.Load(t.Context(), events.NewMemory(), events.ThreadKey{Tenant: events.LocalTenant, Thread: "none"}, 0)
	require.NoError(t, err)
	require.Zero(t, none.Seq)
	require.Nil(t, none.Current())
}
