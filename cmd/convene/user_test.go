package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// While a run of the user is in progress nothing is erased, which is said; what was exported and
// erased stands in the audit.
func TestUserEraseWaitsForNobody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := filepath.Join(dir, "convene.db")
	log, err := sqlite.Open(t.Context(), store)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	key := events.ThreadKey{Tenant: "acme", Thread: "t"}
	epoch, err := log.Claim(t.Context(), key, "server 7", false)
	require.NoError(t, err)
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, []events.Envelope{{Run: "r1", Data: events.WorkflowStarted{Message: "hello", UserID: "ann"}}}))

	call := func(code int, args ...string) string {
		var out bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: &out, env: func(string) string { return "" }}
		require.Equal(t, code, a.main(append([]string{"--store", store, "user"}, args...)), out.String())
		return out.String()
	}
	file := filepath.Join(dir, "ann.zip")
	require.Contains(t, call(0, "export", "ann", "--tenant", "acme", "-o", file), "1 thread and 0 files of ann of tenant acme")
	require.Contains(t, call(exitUsage, "erase", "ann", "--tenant", "acme"),
		"nothing of ann of tenant acme was erased: in progress, driven by server 7: r1. Stop or cancel what is under way, then erase again")
	require.NoError(t, log.Release(t.Context(), key, epoch))
	require.Equal(t, "ann of tenant acme: 1 thread with 1 run erased\n", call(0, "erase", "ann", "--tenant", "acme"))
	page, err := audit.Read(t.Context(), log, audit.Query{Tenant: "acme"})
	require.NoError(t, err)
	require.Len(t, page.Entries, 2)
	require.Equal(t, "erased 1 thread, 1 run, user ann", page.Entries[0].Action+" "+page.Entries[0].What)
	require.Equal(t, "exported 1 thread, 0 files, user ann", page.Entries[1].Action+" "+page.Entries[1].What)
}
