package audit_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// Damaged events hide nothing but themselves, and are told of: in threads and in the tenant's own.
func TestDamagedEventsAreToldOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	thread(t, log, "a", "ann", noon)
	thread(t, log, "b", "bob", noon.Add(time.Hour))
	key := events.ThreadKey{Tenant: tenant, Thread: "a"}
	for n, fact := range []events.Event{
		events.RunSuspended{Reason: "stopped"}, events.RunResumed{}, events.CancelRequested{Reason: "enough"}, events.WorkflowFinished{Status: events.StatusFailed},
	} {
		epoch, err := log.Claim(t.Context(), key, "test", false)
		require.NoError(t, err)
		env := events.Envelope{Run: "a-run", Time: noon.Add(time.Duration(n+1) * time.Minute), Data: fact}
		require.NoError(t, log.Append(t.Context(), key, epoch, events.Seq(n+1), []events.Envelope{env}))
		require.NoError(t, log.Release(t.Context(), key, epoch))
	}
	for range 3 {
		require.NoError(t, audit.Append(t.Context(), log, tenant, nil, events.Audited{Action: events.AuditSignedIn}))
	}
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.Exec(`UPDATE blocks SET body = x'00' WHERE seq IN (2, 4) AND thread_no = (SELECT thread_no FROM threads WHERE thread = 'a')
		OR seq = 2 AND thread_no = (SELECT thread_no FROM threads WHERE thread = ?)`, string(events.AuditThread))
	require.NoError(t, err)
	require.NoError(t, db.Close())

	read := func(query audit.Query) (lines []string) {
		query.Tenant = tenant
		for {
			page, err := audit.Read(t.Context(), log, query)
			require.NoError(t, err)
			for _, e := range page.Entries {
				if e.Thread != "" {
					lines = append(lines, line(e))
				} else {
					lines = append(lines, e.Action)
				}
			}
			if query.Before = page.Next; page.Next == "" {
				return lines
			}
		}
	}
	ofAnn := []string{
		"12:04|convene for ann||run_ended|failed|",
		"12:02|unknown||event_damaged||its content does not match its checksum",
		"12:02|convene for ann||run_resumed||",
		"12:00|unknown||event_damaged||its content does not match its checksum",
		"12:00|convene for ann||run_started|team trip|",
	}
	all := append([]string{"signed_in", "event_damaged", "signed_in", "13:00|convene for bob||run_started|team trip|"}, ofAnn...)
	require.Equal(t, all, read(audit.Query{}))
	require.Equal(t, all, read(audit.Query{Limit: 1}), "page by page")
	require.Equal(t, ofAnn, read(audit.Query{Only: "ann"}))
}
