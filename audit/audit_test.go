package audit_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
	"github.com/convene-run/convene/events/sqlite"
)

const tenant events.TenantID = "acme"

// What several processes add at once to a log that has nothing yet is all there.
func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	var all errgroup.Group
	for range 2 {
		log, err := sqlite.Open(t.Context(), path)
		require.NoError(t, err)
		defer log.Close()
		for range 4 {
			all.Go(func() error {
				return audit.Append(t.Context(), log, tenant, &events.Actor{Door: events.DoorCLI}, events.Audited{Action: events.AuditSignedIn})
			})
		}
	}
	require.NoError(t, all.Wait())
	log, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	defer log.Close()
	page, err := audit.Read(t.Context(), log, audit.Query{Tenant: tenant})
	require.NoError(t, err)
	require.Len(t, page.Entries, 8)
	runs, err := log.Runs(t.Context(), events.RunQuery{})
	require.NoError(t, err)
	batches, err := log.Batches(t.Context(), events.BatchQuery{})
	require.NoError(t, err)
	require.Empty(t, runs)
	require.Empty(t, batches)
	other, err := audit.Read(t.Context(), log, audit.Query{Tenant: "globex"})
	require.NoError(t, err)
	require.Empty(t, other.Entries)
}

// thread writes a thread of a user's.
func thread(t *testing.T, log events.Log, id events.ThreadID, user string, at time.Time, facts ...events.Envelope) {
	t.Helper()
	key := events.ThreadKey{Tenant: tenant, Thread: id}
	epoch, err := log.Claim(t.Context(), key, "test", false)
	require.NoError(t, err)
	envs := append([]events.Envelope{{Data: events.WorkflowStarted{Team: "trip", UserID: user, Message: "SECRET"}}}, facts...)
	for i := range envs {
		envs[i].Run, envs[i].Time = events.RunID(id+"-run"), at.Add(time.Duration(i)*time.Minute)
	}
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, envs))
	require.NoError(t, log.Release(t.Context(), key, epoch))
}

func line(e audit.Entry) string {
	return strings.Join([]string{e.Time.Format("15:04"), e.Who(), e.From(), e.Action, e.What, e.Why}, "|")
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// What is done in a thread is told with who, from where, what and why.
func TestEntries(t *testing.T) {
	log := events.NewMemory()
	ann := &events.Actor{UserID: "ann", TokenID: "k3xq7wd2ba", Door: events.DoorREST, Remote: "192.0.2.7"}
	bob := &events.Actor{UserID: "bob", Issuer: "https://login.example.org", TokenID: "j1", Door: events.DoorPage}
	thread(t, log, "a", "ann", noon,
		events.Envelope{By: ann, Data: events.UserMessage{Content: "SECRET", MessageID: "m1", UserID: "ann", Delivery: events.DeliverySteer}},
		events.Envelope{Agent: "food", Dispatch: "d1", Data: events.AgentStarted{Agent: "food", TaskIDs: []events.TaskID{1, 2}, Message: "SECRET", CallRef: events.CallRef{ModelCall: "f.1"}}},
		events.Envelope{Data: events.DispatchRefused{Tool: "call_food", Result: "no such\ntask", CallRef: events.CallRef{ModelCall: "f.2"}}},
		events.Envelope{Agent: "food", Dispatch: "d1", Data: events.InputRequested{InputID: "i1", For: events.InputApproval, Question: "SECRET", Action: &events.Action{Tool: "send_mail", Arguments: `{"to":"SECRET"}`}}},
		events.Envelope{Data: events.RunSuspended{Reason: "stopped"}, By: ann},
		events.Envelope{Data: events.RunResumed{Owner: "p"}, By: bob},
		events.Envelope{By: bob, Data: events.UserMessage{Content: "SECRET", MessageID: "m2", InputID: "i1", Approval: &events.Approval{Decision: events.DecisionDeny, Reason: "not before the review"}}},
		events.Envelope{Agent: events.FacilitatorID, Data: events.HandoffRequested{HandoffID: "h1", Source: events.FacilitatorID, Target: "billing", ContextSummary: "SECRET", Reason: "an invoice"}},
		events.Envelope{Data: events.PermissionDenied{Permission: "skill:create", UserID: "ann", What: "hand over to billing"}},
		events.Envelope{Data: events.HandoffRejected{HandoffID: "h1", Code: "permission_denied", Reason: "it needs skill:create"}},
		events.Envelope{By: bob, Data: events.CancelRequested{Reason: "enough"}},
		events.Envelope{Data: events.RunCancelled{Reason: "enough"}},
		events.Envelope{Data: events.WorkflowFinished{Status: events.StatusCancelled, Reason: "enough"}},
	)
	page, err := audit.Read(t.Context(), log, audit.Query{Tenant: tenant})
	require.NoError(t, err)
	var lines []string
	for _, e := range slices.Backward(page.Entries) {
		lines = append(lines, line(e))
	}
	require.Equal(t, []string{
		"12:00|convene for ann||run_started|team trip|",
		"12:01|ann (token k3xq7wd2ba)|rest 192.0.2.7|message_sent|m1, steer|",
		"12:02|facilitator for ann||delegated|to food, tasks 1, 2|",
		"12:03|facilitator for ann||delegation_refused|call_food|no such task",
		"12:04|convene for ann||approval_asked|i1, call of send_mail|",
		"12:05|ann (token k3xq7wd2ba)|rest 192.0.2.7|run_parked||stopped",
		"12:06|bob (https://login.example.org)|page|run_resumed||",
		"12:07|bob (https://login.example.org)|page|denied|i1, call of send_mail|not before the review",
		"12:08|facilitator for ann||handoff_requested|h1 to billing|an invoice",
		"12:09|convene for ann||refused|hand over to billing|the permission skill:create is missing",
		"12:10|convene for ann||handoff_rejected|h1, permission_denied|it needs skill:create",
		"12:11|bob (https://login.example.org)|page|cancel_requested||enough",
		"12:12|convene for ann||run_cancelled||enough",
		"12:13|convene for ann||run_ended|cancelled|enough",
	}, lines)
	text, err := json.Marshal(page)
	require.NoError(t, err)
	require.NotContains(t, string(text), "SECRET")

	// One by one they are the same.
	envs, err := log.Read(t.Context(), events.ThreadKey{Tenant: tenant, Thread: "a"}, 0, 0)
	require.NoError(t, err)
	for i, env := range envs {
		e, ok, err := audit.Tell(t.Context(), log, env)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, page.Entries[len(envs)-1-i], e)
	}
}

// A fork tells of itself alone: what was copied was done in the other thread.
func TestForks(t *testing.T) {
	log := events.NewMemory()
	key := events.ThreadKey{Tenant: tenant, Thread: "fork"}
	epoch, err := log.Claim(t.Context(), key, "test", false)
	require.NoError(t, err)
	by := &events.Actor{UserID: "ann", Door: events.DoorCLI}
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, []events.Envelope{
		{Run: "r1", Data: events.WorkflowStarted{Team: "trip", ForkedFrom: &events.ForkOrigin{Run: "r0", Seq: 2}}},
		{Run: "r1", Data: events.AgentStarted{Agent: "food"}},
		{Run: "r1", By: by, Data: events.RunResumed{}},
		{Run: "r1", Data: events.RunResumed{}},
	}))
	page, err := audit.Read(t.Context(), log, audit.Query{Tenant: tenant, Thread: "fork"})
	require.NoError(t, err)
	require.Len(t, page.Entries, 2)
	require.Equal(t, "run_resumed", page.Entries[0].Action)
	envs, err := log.Read(t.Context(), key, 2, 1)
	require.NoError(t, err)
	e, _, err := audit.Tell(t.Context(), log, envs[0])
	require.NoError(t, err)
	require.Equal(t, page.Entries[1], e)
	require.Equal(t, "ann cli run_forked from run r0 at event 2", strings.Join([]string{page.Entries[1].Who(), page.Entries[1].From(), page.Entries[1].Action, page.Entries[1].What}, " "))
}

// Pages put together are the whole, in order, whatever is asked for.
func TestPages(t *testing.T) {
	log := events.NewMemory()
	for i := range 6 {
		user := []string{"ann", "bob"}[i%2]
		var facts []events.Envelope
		for n := range i {
			facts = append(facts, events.Envelope{Data: events.AgentStarted{Agent: events.AgentID(fmt.Sprint(n))}})
		}
		facts = append(facts, events.Envelope{By: &events.Actor{UserID: "eve"}, Data: events.CancelRequested{}})
		thread(t, log, events.ThreadID(fmt.Sprint("t", i)), user, noon.Add(time.Duration(i*2)*time.Minute), facts...)
	}
	for i := range 7 {
		user := []string{"ann", "bob"}[i%2]
		require.NoError(t, audit.Append(t.Context(), log, tenant, &events.Actor{UserID: user}, events.Audited{Action: events.AuditSignedIn, What: fmt.Sprint(i)}))
	}
	whole, err := audit.Read(t.Context(), log, audit.Query{Tenant: tenant, Limit: 1000})
	require.NoError(t, err)
	require.Empty(t, whole.Next)
	require.Len(t, whole.Entries, 6+15+6+7)
	require.True(t, slices.IsSortedFunc(whole.Entries, func(a, b audit.Entry) int { return b.Time.Compare(a.Time) }))
	for name, c := range map[string]struct {
		query audit.Query
		want  func(audit.Entry) bool
	}{
		"all":   {audit.Query{}, func(audit.Entry) bool { return true }},
		"since": {audit.Query{Since: noon.Add(9 * time.Minute)}, func(e audit.Entry) bool { return !e.Time.Before(noon.Add(9 * time.Minute)) }},
		"user":  {audit.Query{User: "eve"}, func(e audit.Entry) bool { return e.By != nil && e.By.UserID == "eve" }},
		"only": {audit.Query{Only: "ann"}, func(e audit.Entry) bool {
			return e.Owner == "ann" || e.Thread == "" && e.By.UserID == "ann"
		}},
		"thread": {audit.Query{Thread: "t3"}, func(e audit.Entry) bool { return e.Thread == "t3" }},
	} {
		want := slices.DeleteFunc(slices.Clone(whole.Entries), func(e audit.Entry) bool { return !c.want(e) })
		require.NotEmpty(t, want, name)
		var got []audit.Entry
		query := c.query
		query.Tenant, query.Limit = tenant, 3
		for {
			page, err := audit.Read(t.Context(), log, query)
			require.NoError(t, err)
			got = append(got, page.Entries...)
			if query.Before = page.Next; page.Next == "" {
				break
			}
			require.Len(t, page.Entries, 3)
		}
		require.Equal(t, want, got, name)
	}
	_, err = audit.Read(t.Context(), log, audit.Query{Before: "yesterday"})
	require.ErrorIs(t, err, audit.ErrCursor)
}

// Whatever an event holds, no text of a user's gets into its entry, and nothing is told of an
// event that is no deed.
func TestSamples(t *testing.T) {
	log := events.NewMemory()
	var facts []events.Envelope
	for _, kind := range events.Kinds() {
		if sample := eventstest.Samples()[kind]; kind != events.KindWorkflowStarted && kind != events.KindWorkflowFinished {
			facts = append(facts, events.Envelope{Data: sample})
		}
	}
	thread(t, log, "all", "ann", noon, facts...)
	page, err := audit.Read(t.Context(), log, audit.Query{Tenant: tenant, Limit: 1000})
	require.NoError(t, err)
	require.Greater(t, len(page.Entries), 15)
	text, err := json.Marshal(page)
	require.NoError(t, err)
	for _, not := range []string{"SECRET", "Breakfast", "wrap up", "Wants a skill", "ann@example.org", `"to"`, "Which", "menu"} {
		require.NotContains(t, string(text), not)
	}
}
