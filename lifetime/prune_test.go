package lifetime_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/lifetime"
)

const day = 24 * time.Hour

// stock are threads of every kind, as old as their names say, in days.
func stock(t *testing.T, log events.Log) map[string]events.ThreadKey {
	t.Helper()
	keys := map[string]events.ThreadKey{}
	add := func(name string, age int, s spec) events.ThreadKey {
		s.at = time.Now().Add(-time.Duration(age)*day - time.Hour)
		if s.tenant == "" {
			s.tenant = "acme"
		}
		keys[name], _ = s.write(t, log)
		return keys[name]
	}
	started := func(more ...events.Event) []events.Event {
		return append([]events.Event{events.WorkflowStarted{Message: "hello"}}, more...)
	}
	finished := events.WorkflowFinished{Status: events.StatusCompleted}
	said := func(end events.Event) []events.Event {
		return []events.Event{events.UserMessage{Content: "hello", MessageID: "m"}, events.WorkflowStarted{Message: "hello", MessageID: "m"}, end}
	}
	add("run 50", 50, spec{data: started(finished)})
	add("run 5", 5, spec{data: started(finished)})
	add("run 50 held", 50, spec{data: started(finished), held: true})
	add("run 50 of globex", 50, spec{tenant: "globex", data: started(finished)})
	add("conversation 50", 50, spec{data: said(finished)})
	add("conversation 5", 5, spec{data: said(finished)})
	add("parked run 50", 50, spec{data: started(events.RunSuspended{})})
	add("parked run 5", 5, spec{data: started(events.RunSuspended{AwaitingInput: true})})
	add("interrupted run 50", 50, spec{data: started(events.Warning{Message: "then it died"})})
	add("live run 50", 50, spec{data: started(events.Warning{Message: "and it lives"}), held: true})
	add("parked conversation 50", 50, spec{data: said(events.RunSuspended{AwaitingInput: true})})
	for name, status := range map[string]events.Status{"batch": events.StatusDegraded, "open batch": events.StatusSuspended} {
		batch := add(name+" 50", 50, spec{data: []events.Event{events.BatchStarted{Rows: 1}, events.BatchEnded{Status: status}}})
		row := &events.BatchRow{Batch: events.BatchID(batch.Thread), Row: "a"}
		add("row of "+name+" 50", 50, spec{data: []events.Event{events.WorkflowStarted{Batch: row}, finished}})
		add("parked row of "+name+" 50", 50, spec{data: []events.Event{events.WorkflowStarted{Batch: row}, events.RunSuspended{}}})
	}
	add("row of a lost batch 50", 50, spec{data: []events.Event{events.WorkflowStarted{Batch: &events.BatchRow{Batch: "lost", Row: "a"}}, finished}})
	return keys
}

// Proves R60: each kind goes by its own age; what is in use, or could be continued in a batch,
// stays, and so does what no rule is for.
func TestPruneByKind(t *testing.T) {
	month := time.Now().Add(-30 * day)
	for name, c := range map[string]struct {
		rules lifetime.Rules
		gone  []string
	}{
		"nothing":       {lifetime.Every("", lifetime.Ages{}), nil},
		"runs":          {lifetime.Every("", lifetime.Ages{Runs: month}), []string{"run 50", "run 50 of globex"}},
		"of one tenant": {lifetime.Every("globex", lifetime.Ages{Runs: month}), []string{"run 50 of globex"}},
		"by tenant": {lifetime.Rules{Newest: lifetime.Ages{Runs: month}, Of: func(tenant events.TenantID) lifetime.Ages {
			if tenant == "acme" {
				return lifetime.Ages{Runs: month}
			}
			return lifetime.Ages{}
		}}, []string{"run 50"}},
		"conversations": {lifetime.Every("acme", lifetime.Ages{Conversations: month}), []string{"conversation 50"}},
		"saved state":   {lifetime.Every("", lifetime.Ages{SavedState: month}), []string{"parked run 50", "interrupted run 50"}},
		"saved state and conversations": {lifetime.Every("", lifetime.Ages{SavedState: month, Conversations: month}), []string{
			"parked run 50", "interrupted run 50", "conversation 50", "parked conversation 50",
		}},
		"batches": {lifetime.Every("", lifetime.Ages{Batches: month}), []string{"row of batch 50", "row of a lost batch 50"}},
	} {
		t.Run(name, func(t *testing.T) {
			log := events.NewMemory()
			keys := stock(t, log)
			would, err := lifetime.Prune(t.Context(), log, c.rules, true)
			require.NoError(t, err)
			for name, key := range keys {
				require.True(t, exists(t, log, key), "%s is only looked at", name)
			}
			is, err := lifetime.Prune(t.Context(), log, c.rules, false)
			require.NoError(t, err)
			require.Equal(t, lifetime.Pruned{Threads: len(c.gone), Runs: len(c.gone)}, lifetime.Sum(is))
			require.Equal(t, would, is)
			for name, key := range keys {
				require.Equal(t, !slices.Contains(c.gone, name), exists(t, log, key), name)
			}
		})
	}
}

// A batch goes once all of its rows could.
func TestPruneBatches(t *testing.T) {
	log := events.NewMemory()
	keys := stock(t, log)
	rules := lifetime.Every("", lifetime.Ages{Batches: time.Now().Add(-30 * day)})
	would, err := lifetime.Prune(t.Context(), log, rules, true)
	require.NoError(t, err)
	gone, err := lifetime.Prune(t.Context(), log, rules, false)
	require.NoError(t, err)
	require.Equal(t, would, gone)
	require.Equal(t, map[events.TenantID]lifetime.Pruned{"acme": {Threads: 2, Runs: 2}}, gone, "one of its rows is parked")
	require.NoError(t, log.Erase(t.Context(), keys["parked row of batch 50"]))
	gone, err = lifetime.Prune(t.Context(), log, rules, false)
	require.NoError(t, err)
	require.Equal(t, lifetime.Pruned{Batches: 1}, gone["acme"])
	require.False(t, exists(t, log, keys["batch 50"]))
	require.True(t, exists(t, log, keys["open batch 50"]))
}
