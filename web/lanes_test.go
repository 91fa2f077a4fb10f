package web_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"modernc.org/quickjs"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/web"
)

// lane is a lane of the timeline, as the page computes it.
type lane struct {
	Agent     string
	Stretches []stretch
	Calls     int
}

type stretch struct {
	Work       string
	Start, End int64
	Seq        events.Seq
	Label      string
}

// brief tells the stretches in words, their times in milliseconds after dawn.
func (l lane) brief() (out []string) {
	for _, s := range l.Stretches {
		out = append(out, fmt.Sprintf("%s %d-%d %s", s.Work, s.Start-dawn.UnixMilli(), s.End-dawn.UnixMilli(), s.Label))
	}
	return out
}

// pageLanes runs the page's own timeline on a log.
func pageLanes(t testing.TB, bodies []string) map[string]lane {
	t.Helper()
	source, err := os.ReadFile("testdata/fold.js")
	require.NoError(t, err)
	vm, err := quickjs.NewVM()
	require.NoError(t, err)
	defer func() { require.NoError(t, vm.Close()) }()
	require.NoError(t, vm.SetEvalTimeout(time.Minute))
	_, err = vm.Eval(string(source)+"\n;globalThis.lanesOf = (log) => fold.lanes(log); 0", quickjs.EvalGlobal)
	require.NoError(t, err)
	result, err := vm.Call("lanesOf", strings.Join(bodies, "\n"))
	require.NoError(t, err)
	var lanes []lane
	require.NoError(t, json.Unmarshal([]byte(result.(string)), &lanes))
	byAgent := map[string]lane{}
	for _, l := range lanes {
		byAgent[l.Agent] = l
	}
	return byAgent
}

// dawn is when the runs of timed scripts begin.
var dawn = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// at adds a fact of an agent, so many milliseconds after dawn.
func (s *script) at(ms int, agent events.AgentID, dispatch events.DispatchID, fact events.Event) {
	s.t.Helper()
	env := events.Envelope{Run: s.run, Agent: agent, Dispatch: dispatch, Time: dawn.Add(time.Duration(ms) * time.Millisecond), Data: fact}
	require.NoError(s.t, s.log.Append(s.t.Context(), s.key, s.epoch, s.seq, []events.Envelope{env}))
	s.seq++
}

// troubled is a log of a run of twenty seconds whose calls failed in many ways.
func troubled(t testing.TB) (*events.Memory, *script) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.at(0, "", "", events.WorkflowStarted{Message: "A run with trouble", Team: "test", Agents: []events.AgentCard{
		{ID: events.FacilitatorID, DisplayName: "Facilitator", Models: []string{"m"}},
		{ID: "food", DisplayName: "Food", Models: []string{"m"}}, {ID: "sights", DisplayName: "Sights", Models: []string{"m"}},
	}})
	started := func(ms int, agent events.AgentID, id events.DispatchID) {
		s.at(ms, agent, id, events.AgentStarted{Agent: agent, DisplayName: string(agent), Tool: "call_" + string(agent), CallRef: events.CallRef{ModelCall: "f.1", CallID: events.CallID(id)}})
	}
	finished := func(ms int, agent events.AgentID, id events.DispatchID) {
		s.at(ms, agent, id, events.AgentFinished{Agent: agent, DisplayName: string(agent), CallID: events.CallID(id), Status: events.OutcomeOK, Result: "done"})
	}
	started(1800, "food", "d1") // while the call still streams
	s.at(2000, events.FacilitatorID, "", events.ModelCalled{
		ID: "f.1", Model: "m", Attempts: 1, QueuedMS: 500, FirstTokenMS: 300, TotalMS: 1400, Interrupted: true,
		Reply: events.Reply{ToolCalls: []events.ToolCall{{ID: "d1", Name: "call_food", Arguments: "{}"}, {ID: "d2", Name: "call_sights", Arguments: "{}"}}},
	})
	started(2000, "sights", "d2")
	s.at(5000, events.FacilitatorID, "", events.ModelCalled{ID: "f.1r", Purpose: events.PurposeRest, Model: "m", Attempts: 1, QueuedMS: 1000, FirstTokenMS: 500, TotalMS: 1000})
	s.at(14_000, "food", "d1", events.ModelCalled{
		ID: "d1.1", Model: "m", Attempts: 4, QueuedMS: 1500, RetriedMS: 5000, FirstTokenMS: 1000, TotalMS: 3000,
		Retries: []events.FailedAttempt{
			{StartMS: 1000, RanMS: 200, WaitMS: 2000, Error: "rate_limited", Status: 429, Message: "slow down <b>", Model: "m"},
			{StartMS: 3200, RanMS: 1800, WaitMS: 1500, Error: "broken_stream", Message: "the connection broke in mid-reply", Model: "m"},
			{StartMS: 6500, RanMS: 500, WaitMS: 2000, Error: "server", Status: 503, Model: "m"},
		},
	})
	s.at(15_000, "sights", "d2", events.ModelCalled{ // as logs were before attempts were recorded
		ID: "d2.1", Model: "m", Attempts: 2, QueuedMS: 1000, RetriedMS: 2000, FirstTokenMS: 500, TotalMS: 4000,
	})
	s.at(15_500, "food", "d1", events.ToolStarted{Tool: "search", CallRef: events.CallRef{ModelCall: "d1.1"}})
	finished(16_000, "sights", "d2")
	s.at(16_500, "food", "d1", events.ToolCallDone{Agent: "food", Tool: "search", Result: "x", Phase: "complete", CallRef: events.CallRef{ModelCall: "d1.1"}})
	finished(17_000, "food", "d1")
	s.at(20_000, events.FacilitatorID, "", events.ModelCalled{ID: "f.2", Model: "m", Attempts: 70, FirstTokenMS: 100, TotalMS: 1000,
		Retries: []events.FailedAttempt{{StartMS: 1500, RanMS: 100, WaitMS: 400, Error: "timeout", Message: "no answer", Model: "m"}}})
	s.at(20_000, events.FacilitatorID, "", events.FinalAnswer{Content: "Done."})
	s.at(20_000, "", "", events.WorkflowFinished{Status: events.StatusCompleted})
	return log, s
}

// Proves R71: the timeline has a stretch for each attempt of a call and each wait
// between two, from the limiter to the last token, without a gap; the facilitator's
// waiting for specialists is one of its own; logs of before read as they did.
func TestLanesOfFailedAttempts(t *testing.T) {
	log, s := troubled(t)
	lanes := pageLanes(t, encoded(t, log, s.key))
	require.Equal(t, []string{
		"dispatch 1800-17000 d1",
		"waiting 2000-3000 d1.1",
		"failed 3000-3200 d1.1 try 1: HTTP 429, slow down <b>",
		"retry 3200-5200 after d1.1 try 1: HTTP 429, slow down <b>",
		"refused 3200-3200 d1.1 try 1: HTTP 429, slow down <b>",
		"failed 5200-7000 d1.1 try 2: broken stream, the connection broke in mid-reply",
		"retry 7000-8500 after d1.1 try 2: broken stream, the connection broke in mid-reply",
		"refused 7000-7000 d1.1 try 2: broken stream, the connection broke in mid-reply",
		"failed 8500-9000 d1.1 try 3: HTTP 503",
		"retry 9000-11000 after d1.1 try 3: HTTP 503",
		"refused 9000-9000 d1.1 try 3: HTTP 503",
		"first 11000-12000 d1.1",
		"tokens 12000-14000 d1.1",
		"tool 15500-16500 search",
	}, lanes["food"].brief())
	require.Equal(t, []string{
		"dispatch 2000-16000 d2", "waiting 8000-9000 d2.1", "retry 9000-11000 d2.1", "first 11000-11500 d2.1", "tokens 11500-15000 d2.1",
	}, lanes["sights"].brief())
	require.Equal(t, []string{
		"waits 5000-17000 ",
		"waiting 100-600 f.1", "first 600-900 f.1", "tokens 900-2000 f.1",
		"refused 2000-2000 f.1 broke off; the calls that it had started stand",
		"waiting 3000-4000 f.1r (the rest of f.1)", "first 4000-4500 f.1r (the rest of f.1)", "tokens 4500-5000 f.1r (the rest of f.1)",
		"retry 17000-18500 f.2, 68 earlier attempts",
		"failed 18500-18600 f.2 try 69: timeout, no answer", "retry 18600-19000 after f.2 try 69: timeout, no answer",
		"refused 18600-18600 f.2 try 69: timeout, no answer",
		"first 19000-19100 f.2", "tokens 19100-20000 f.2",
	}, lanes["facilitator"].brief())
}

// simOverHTTP is the simulated model behind real HTTP, as a runner asks it.
func simOverHTTP(t testing.TB, faults string) oneEndpoint {
	t.Helper()
	parsed, err := sim.ParseFaults(faults)
	require.NoError(t, err)
	server := httptest.NewServer(sim.NewServer(sim.Options{Seed: 19, FirstToken: 5 * time.Millisecond, Faults: parsed}))
	t.Cleanup(server.Close)
	return oneEndpoint{&llm.Endpoint{
		Name: "sim", Simulated: true, Client: openai.New(openai.Config{Config: wire.Config{Provider: "sim", BaseURL: server.URL + "/v1"}}), Limiter: llm.NewLimiter(llm.LimiterConfig{}),
	}}
}

type oneEndpoint struct{ endpoint *llm.Endpoint }

func (m oneEndpoint) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: m.endpoint, Model: "sim"}}, nil
}

// Proves R22, R71: of a run against an endpoint that fails over real HTTP, every
// failed attempt is on the timeline, and each call's stretches join.
func TestLanesOfARunWithFaults(t *testing.T) {
	log := events.NewMemory()
	runs := newRuns(t, log, simOverHTTP(t, "503=8%,429=4%,cut=8%,retry-after=50ms"))
	started, err := runs.Start(t.Context(), operator, web.Job{Request: "Plan two days in Kyoto"})
	require.NoError(t, err)
	runs.wait()
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: started.Thread}
	envs, err := log.Read(t.Context(), key, 0, 0)
	require.NoError(t, err)
	lanes := pageLanes(t, encoded(t, log, key))
	failures := 0
	for _, env := range envs {
		call, ok := env.Data.(events.ModelCalled)
		if !ok {
			continue
		}
		marks, at := 0, int64(0)
		for _, s := range lanes[string(env.Agent)].Stretches {
			if s.Seq != env.Seq {
				continue
			}
			if s.Work == "refused" {
				marks++
				continue
			}
			if at != 0 {
				require.Equal(t, at, s.Start, "call %s: %s", call.ID, s.Work)
			}
			at = s.End
		}
		require.Equal(t, len(call.Retries), marks, "call %s", call.ID)
		require.Equal(t, env.Time.UnixMilli(), at, "call %s", call.ID)
		failures += marks
	}
	require.Positive(t, failures)
}
