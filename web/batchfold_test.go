package web_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

// canonicalBatch writes the summary of Go with nothing left out that is zero.
func canonicalBatch(t testing.TB, s events.BatchSummary) string {
	t.Helper()
	body, err := json.Marshal(s)
	require.NoError(t, err)
	var members map[string]any
	require.NoError(t, json.Unmarshal(body, &members))
	for name, zero := range map[string]any{
		"input": "", "output": "", "command": "", "folder": "", "reason": "", "models": []any{}, "solo": false, "simulated": false, "left_ms": 0, "projected_cost_usd": 0, "uncached_input_share": 0,
		"causes": []any{}, "slowest": []any{}, "limiters": []any{}, "outages": []any{}, "held": 0,
	} {
		if members[name] == nil {
			members[name] = zero
		}
	}
	body, err = json.Marshal(members)
	require.NoError(t, err)
	return string(body)
}

// severalCalls writes a batch with all that its events may hold: a call that is
// interrupted, one that goes on and is suspended by a bound, one that retries, and
// what is none of the batch's.
func severalCalls(s *batchStory) {
	cost := 0.25
	s.add(events.Warning{Code: "early", Message: "before the batch has started"})
	s.add(
		events.BatchStarted{Input: "in.jsonl", Output: "out.jsonl", Command: "convene batch in.jsonl -o out.jsonl", Folder: "/srv/jobs", Team: "trip", Models: []string{"a", "b"}, Rows: 100, Concurrency: 8, MaxCostUSD: 2, Owner: "host:1", Simulated: true},
		events.BatchRowRejected{Row: "größe 漢字", Index: 3, Line: 4, Code: "invalid_row", Message: "line 4 has no request"},
	)
	full := events.BatchFigures{
		Done: 10, Completed: 7, Degraded: 1, Failed: 2, Running: 8, Tokens: 1 << 40, CostUSD: &cost, UncachedInputShare: 0.375, ElapsedMS: 2000, RowsPerSecond: 4.9999999, LeftMS: 18_000, ProjectedUSD: 2.5,
		Causes:   []events.BatchCause{{Code: "auth", Status: events.StatusFailed, Count: 2, Row: "r1", Run: "run-1", Message: "the key was refused"}, {Code: "max_tokens", Status: events.StatusDegraded, Count: 1, Row: "r2"}},
		Slowest:  []events.BatchRowUnderWay{{Row: "r3", Index: 3, Run: "run-3", ElapsedMS: 1900, Doing: "Facilitator writes"}},
		Limiters: []events.BatchLimiter{{Endpoint: "sim", Limit: 8, InFlight: 8, Waiting: 3, RequestsPerMinute: 60, TokensPerMinute: 9000, HeldBackMS: 500}},
	}
	s.add(events.BatchProgress{BatchFigures: full})
	s.add(events.BatchProgress{BatchFigures: events.BatchFigures{Done: 12, Completed: 12, ElapsedMS: 4000, RowsPerSecond: 3}, Stopping: "the bound of $2"})
	s.add(events.BatchStarted{Team: "review", Rows: 0, Resumed: true, Owner: "host:2", Concurrency: 1}) // the first call's process is gone
	s.add(events.BatchProgress{BatchFigures: full}, events.BatchEnded{BatchFigures: full, Status: events.StatusSuspended, Reason: "interrupted", Left: 90})
	s.add(events.BatchStarted{Input: "in.jsonl", Output: "out.jsonl", Team: "trip", Rows: 100, Resumed: true, Attempt: 1})
	s.run = "some-run"
	s.add(events.WorkflowStarted{Message: "none of the batch's"})
	s.run = ""
	s.add(events.BatchEnded{BatchFigures: events.BatchFigures{Done: 100, Completed: 100}, Status: events.StatusCompleted})
	s.add(events.Warning{Code: "late", Message: "after its end"})
}

// Proves R71: the page's fold of a batch and the summary of Go agree after every
// event, of every call of it.
func TestPageAndGoFoldBatchesAlike(t *testing.T) {
	log := events.NewMemory()
	s := newBatchStory(t, log)
	severalCalls(s)
	bodies := encoded(t, log, s.key)
	states := pageFold(t, "batchStates", bodies)
	require.Len(t, states, len(bodies))
	var summary events.BatchSummary
	opened := 0
	for i, body := range bodies {
		env, err := events.Decode([]byte(body))
		require.NoError(t, err)
		if env.Data.Kind() == events.KindBatchStarted {
			opened++
		}
		if opened > 0 && env.Run == "" {
			summary.Apply(env)
		}
		if opened > 0 {
			require.JSONEq(t, canonicalBatch(t, summary), states[i], fmt.Sprintf("after %s", body))
		}
	}
	require.Equal(t, 3, opened)
}
