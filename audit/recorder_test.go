package audit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/events"
)

// Whoever is refused something over and over, and many who are, add few entries to the log;
// all refusals are counted.
func TestRefusalsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		told := 0
		r := audit.NewRecorder(log, func(_ audit.Entry, err error) {
			require.NoError(t, err)
			told++
		})
		read := func() (entries []audit.Entry, all int) {
			page, err := audit.Read(t.Context(), log, audit.Query{Tenant: tenant, Limit: 10_000})
			require.NoError(t, err)
			for _, e := range page.Entries {
				if all++; e.More > 0 {
					all += e.More - 1
				}
			}
			return page.Entries, all
		}
		fact := events.PermissionDenied{Permission: "runs:start", What: "POST /api/v1/runs"}
		ann := &events.Actor{UserID: "ann", Door: events.DoorREST}
		for range 224 {
			r.Refused(t.Context(), tenant, ann, fact)
		}
		entries, all := read()
		require.Len(t, entries, 10)
		require.Equal(t, 10, all)
		time.Sleep(time.Minute)
		synctest.Wait()
		entries, all = read()
		require.Len(t, entries, 11)
		require.Equal(t, 224, all)
		require.Equal(t, 214, entries[0].More)
		require.Equal(t, "ann", entries[0].Who())

		for range 3 {
			for i := range 1000 {
				r.Refused(t.Context(), tenant, &events.Actor{Door: events.DoorREST, Remote: time.Duration(i).String()}, events.Audited{Action: events.AuditSignInFailed})
			}
		}
		r.Close()
		r.Close()
		entries, all = read()
		require.Equal(t, 224+3000, all)
		require.LessOrEqual(t, len(entries), 11+3*60+11)
		require.Len(t, entries, told)

		r.Refused(t.Context(), tenant, ann, fact)
		_, all = read()
		require.Equal(t, 224+3001, all, "nothing counts any more, and nothing is lost")
	})
}
