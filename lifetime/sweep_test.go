package lifetime_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/lifetime"
	"github.com/convene-run/convene/tenants"
)

// Proves R60: what is too old by the file of tenants goes within the hour, in each tenant by
// its own times; saved state after 30 days unless the file says otherwise.
func TestSweep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenants.yaml")
	require.NoError(t, os.WriteFile(path, []byte("default: {retention: {runs_days: 10}}\ntenants:\n  acme: {retention: {runs_days: 2}}\n  globex: {retention: {runs_days: 0, saved_state_days: 0}}\n"), 0o600))
	file, err := tenants.Open(path)
	require.NoError(t, err)
	require.Equal(t, tenants.Retention{Runs: 2 * day, SavedState: 30 * day}, file.Shortest())
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		begun := time.Now()
		keys := map[string]events.ThreadKey{}
		for _, tenant := range []events.TenantID{"acme", "globex", "initech"} {
			for kind, end := range map[string]events.Event{
				" run": events.WorkflowFinished{Status: events.StatusCompleted}, " parked": events.RunSuspended{},
			} {
				keys[string(tenant)+kind], _ = spec{tenant: tenant, at: begun, data: []events.Event{events.WorkflowStarted{Message: "hello"}, end}}.write(t, log)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var last error
		sum, ended := lifetime.Pruned{}, make(chan struct{})
		go func() {
			defer close(ended)
			lifetime.Sweep(ctx, log, file, func(gone map[events.TenantID]lifetime.Pruned, err error) {
				sum.Threads += lifetime.Sum(gone).Threads
				last = err
			})
		}()
		for _, step := range []struct {
			after time.Duration
			gone  []string
		}{
			{2*day - time.Minute, nil}, {2*day + 2*time.Hour, []string{"acme run"}}, {10*day + 2*time.Hour, []string{"initech run"}},
			{30*day - time.Minute, nil}, {30*day + 2*time.Hour, []string{"acme parked", "initech parked"}}, {300 * day, nil},
		} {
			time.Sleep(time.Until(begun.Add(step.after)))
			synctest.Wait()
			for _, name := range step.gone {
				require.False(t, exists(t, log, keys[name]), name)
				delete(keys, name)
			}
			for name, key := range keys {
				require.True(t, exists(t, log, key), "%s after %s", name, step.after)
			}
		}
		cancel()
		<-ended
		require.NoError(t, last)
		require.Equal(t, 4, sum.Threads)
	})
}
