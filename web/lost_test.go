package web_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/web"
)

// lost is a log of a run of twenty seconds in which a specialist's call fails for
// good, another specialist is stopped, and then the facilitator's call fails.
func lost(t testing.TB) (*events.Memory, *script) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.at(0, "", "", events.WorkflowStarted{Message: "A run that is lost", Team: "test", Agents: []events.AgentCard{
		{ID: events.FacilitatorID, DisplayName: "Facilitator", Models: []string{"m"}},
		{ID: "food", DisplayName: "Food", Models: []string{"m"}}, {ID: "sights", DisplayName: "Sights", Models: []string{"m"}},
	}})
	s.at(2000, events.FacilitatorID, "", events.ModelCalled{
		ID: "f.1", Model: "m", Attempts: 1, FirstTokenMS: 300, TotalMS: 2000,
		Reply: events.Reply{ToolCalls: []events.ToolCall{{ID: "d1", Name: "call_food", Arguments: "{}"}, {ID: "d2", Name: "call_sights", Arguments: "{}"}}},
	})
	for i, agent := range []events.AgentID{"food", "sights"} {
		id := fmt.Sprint("d", i+1)
		s.at(2000, agent, events.DispatchID(id), events.AgentStarted{
			Agent: agent, DisplayName: string(agent), Tool: "call_" + string(agent), CallRef: events.CallRef{ModelCall: "f.1", Index: i, CallID: events.CallID(id)},
		})
	}
	s.at(8000, "food", "d1", events.AgentFinished{
		Agent: "food", DisplayName: "Food", CallID: "d1", Status: events.OutcomeFailed, Result: "no", Error: "HTTP 401: key <b> refused", ElapsedMS: 6000,
		FailedCall: events.FailedCall{ModelCall: "d1.1", Attempts: []events.FailedAttempt{
			{StartMS: 1000, RanMS: 500, WaitMS: 2500, Error: "server", Status: 503, Message: "busy <b>"},
			{StartMS: 4000, RanMS: 2000, Error: "authentication", Status: 401, Message: "key <b> refused"},
		}},
	})
	s.at(9000, "sights", "d2", events.AgentFinished{
		Agent: "sights", DisplayName: "Sights", CallID: "d2", Status: events.OutcomeTimedOut, Result: "no", Error: "too long", ElapsedMS: 7000,
		FailedCall: events.FailedCall{ModelCall: "d2.1", EarlierAttempts: 6, Attempts: []events.FailedAttempt{
			{StartMS: 4000, RanMS: 1000, WaitMS: 2000, Error: "timeout", Message: "no answer"},
		}},
	})
	s.at(20_000, events.FacilitatorID, "", events.Error{Message: "call m: server: HTTP 503: busy", Code: "server", FailedCall: events.FailedCall{
		ModelCall: "f.2", Attempts: []events.FailedAttempt{
			{RanMS: 1000, WaitMS: 8000, Error: "broken_stream"}, {StartMS: 9000, RanMS: 2000, Error: "server", Status: 503, Message: "busy"},
		},
	}})
	s.at(20_000, "", "", events.Error{Message: "an error of nobody"})
	s.at(20_000, "", "", events.WorkflowFinished{Status: events.StatusFailed})
	return log, s
}

// Proves R71: what was tried in a call that failed for good is in its agent's lane,
// as in a call that came through in the end.
func TestLanesOfLostCalls(t *testing.T) {
	log, s := lost(t)
	agree(t, log, s.key)
	lanes := pageLanes(t, encoded(t, log, s.key))
	require.Len(t, lanes, 3)
	require.Equal(t, []string{
		"dispatch 2000-8000 d1",
		"waiting 2000-3000 d1.1",
		"failed 3000-3500 d1.1 try 1: HTTP 503, busy <b>",
		"retry 3500-6000 after d1.1 try 1: HTTP 503, busy <b>",
		"refused 3500-3500 d1.1 try 1: HTTP 503, busy <b>",
		"failed 6000-8000 d1.1 try 2: HTTP 401, key <b> refused",
		"refused 8000-8000 d1.1 try 2: HTTP 401, key <b> refused",
	}, lanes["food"].brief())
	require.Equal(t, []string{
		"dispatch 2000-9000 d2",
		"retry 2000-6000 d2.1, 6 earlier attempts",
		"failed 6000-7000 d2.1 try 7: timeout, no answer",
		"retry 7000-9000 after d2.1 try 7: timeout, no answer",
		"refused 7000-7000 d2.1 try 7: timeout, no answer",
	}, lanes["sights"].brief())
	require.Equal(t, []string{
		"first 0-300 f.1", "tokens 300-2000 f.1",
		"waits 2000-9000 ",
		"failed 9000-10000 f.2 try 1: broken stream",
		"retry 10000-18000 after f.2 try 1: broken stream",
		"refused 10000-10000 f.2 try 1: broken stream",
		"failed 18000-20000 f.2 try 2: HTTP 503, busy",
		"refused 20000-20000 f.2 try 2: HTTP 503, busy",
	}, lanes["facilitator"].brief())
}

// Proves R71: a call that was under way when its run was cancelled is drawn as such, up to
// then, whoever made it.
func TestLanesOfACancelledCall(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.at(0, "", "", events.WorkflowStarted{Message: "A run that is cancelled", Team: "test", Agents: []events.AgentCard{{ID: events.FacilitatorID, Models: []string{"m"}}, {ID: "food", Models: []string{"m"}}}})
	s.at(2000, events.FacilitatorID, "", events.ModelCalled{ID: "f.1", Model: "m", Attempts: 1, FirstTokenMS: 300, TotalMS: 2000, Reply: events.Reply{ToolCalls: []events.ToolCall{{ID: "d1", Name: "call_food", Arguments: "{}"}}}})
	s.at(2000, "food", "d1", events.AgentStarted{Agent: "food", DisplayName: "Food", Tool: "call_food", CallRef: events.CallRef{ModelCall: "f.1", CallID: "d1"}})
	s.at(3000, "food", "d1", events.ModelCalled{ID: "d1.1", Model: "m", Attempts: 1, FirstTokenMS: 300, TotalMS: 1000})
	s.at(7000, "food", "d1", events.AgentFinished{Agent: "food", DisplayName: "Food", CallID: "d1", Status: events.OutcomeCancelled, Result: "no", ElapsedMS: 5000})
	s.at(9000, "", "", events.RunCancelled{Reason: "enough"})
	s.at(9000, "", "", events.WorkflowFinished{Status: events.StatusCancelled})
	lanes := pageLanes(t, encoded(t, log, s.key))
	require.Equal(t, []string{"dispatch 2000-7000 d1", "first 2000-2300 d1.1", "tokens 2300-3000 d1.1", "cancelled 3000-7000 no reply"}, lanes["food"].brief())
	require.Equal(t, []string{"first 0-300 f.1", "tokens 300-2000 f.1", "waits 2000-7000 ", "cancelled 7000-9000 no reply"}, lanes["facilitator"].brief())
}

// Proves R22, R71: so it is for a run against an endpoint that refuses every call over
// real HTTP: its lane is not empty.
func TestLanesOfARunThatIsRefused(t *testing.T) {
	log := events.NewMemory()
	const refusals = 4
	runs := runsOf(t, runner.Config{
		Log: log, Models: simOverHTTP(t, "429=100%,retry-after=20ms"), Caller: &llm.Caller{MaxRefusals: refusals},
	})
	started, err := runs.Start(t.Context(), operator, web.Job{Request: "Plan a day"})
	require.NoError(t, err)
	runs.wait()
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: started.Thread}
	lane := pageLanes(t, encoded(t, log, key))["facilitator"]
	marks := 0
	for _, s := range lane.Stretches {
		if s.Work == "refused" {
			marks++
			require.Contains(t, s.Label, fmt.Sprintf("f.1 try %d: HTTP 429", marks))
		}
	}
	require.Equal(t, refusals, marks)
}
