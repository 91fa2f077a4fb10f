package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// oldRun writes a run that ended 40 days ago.
func oldRun(t *testing.T, log events.Log, tenant events.TenantID) events.ThreadKey {
	t.Helper()
	key, at := events.ThreadKey{Tenant: tenant, Thread: events.ThreadID("thread of " + tenant)}, time.Now().Add(-40*24*time.Hour)
	epoch, err := log.Claim(t.Context(), key, "tester", false)
	require.NoError(t, err)
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, []events.Envelope{
		{Run: "00000000-0000-7000-8000-000000000000", Time: at, Data: events.WorkflowStarted{Message: "hello"}},
		{Run: "00000000-0000-7000-8000-000000000000", Time: at, Data: events.WorkflowFinished{Status: events.StatusCompleted}},
	}))
	require.NoError(t, log.Release(t.Context(), key, epoch))
	return key
}

// Proves R60: what the file of tenants has kept no longer is removed by hand and by a server at
// its start, which the audit of its tenant tells; without a file nothing is.
func TestRetention(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, file := filepath.Join(dir, "convene.db"), filepath.Join(dir, "tenants.yaml")
	require.NoError(t, os.WriteFile(file, []byte("tenants: {acme: {retention: {runs_days: 30}}}\n"), 0o600))
	log, err := sqlite.Open(t.Context(), store)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	acme, local := oldRun(t, log, "acme"), oldRun(t, log, "local")

	call := func(code int, args ...string) string {
		var out bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: &out, env: func(string) string { return "" }}
		require.Equal(t, code, a.main(append([]string{"--store", store, "store", "prune"}, args...)), out.String())
		return out.String()
	}
	require.Contains(t, call(exitUsage), "name the file of tenants: --tenants FILE")
	require.Contains(t, call(exitUsage, "--tenants", file+".none"), "--tenants: ")
	require.Equal(t, "1 run and 0 batches would be removed\n", call(0, "--tenants", file, "--dry-run"))
	require.Equal(t, "1 run and 0 batches removed\n", call(0, "--tenants", file))
	require.Equal(t, "0 runs and 0 batches removed\n", call(0, "--tenants", file))

	require.Equal(t, acme, oldRun(t, log, "acme"))
	said := make(chan string, 1)
	a := &app{notices: func(line string) { said <- line }}
	a.sweep(t.Context(), log, nil)()
	bounds, err := tenantsFile(file)
	require.NoError(t, err)
	stop := a.sweep(t.Context(), log, bounds)
	require.Equal(t, "1 run and 0 batches removed that had been kept for as long as the file of tenants says", <-said)
	stop()
	for key, left := range map[events.ThreadKey]events.Seq{acme: 0, local: 2} {
		tip, err := log.Last(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, left, tip.Seq, key)
	}
	page, err := audit.Read(t.Context(), log, audit.Query{Tenant: "acme"})
	require.NoError(t, err)
	require.Len(t, page.Entries, 2)
	for _, entry := range page.Entries {
		require.Equal(t, "removed 1 run and 0 batches, by retention", entry.Action+" "+entry.What)
	}
}
