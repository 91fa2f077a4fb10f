package otel_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/otel"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// oneClient asks one model for everything.
type oneClient struct{ client llm.Client }

func (m oneClient) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: &llm.Endpoint{Name: "sim", Simulated: true, Client: m.client}, Model: "sim"}}, nil
}

// play has a runner that exports do something on a log, and gives the spans.
func play(t *testing.T, log events.Log, client llm.Client, do func(*runner.Runner)) []*tracepb.Span {
	t.Helper()
	c := startCollector(t)
	exporter, err := otel.New(t.Context(), otel.Config{Log: log, OnError: func(err error) { t.Error(err) }})
	require.NoError(t, err)
	r, err := runner.New(runner.Config{Log: log, Models: oneClient{client}, Hooks: runner.Hooks{OnEvent: exporter.OnEvent}})
	require.NoError(t, err)
	do(r)
	require.NoError(t, r.Shutdown(t.Context()))
	require.NoError(t, exporter.Shutdown(t.Context()))
	return c.spans
}

// ended waits for a run.
func ended(t *testing.T, run *runner.Run, err error) runner.Result {
	t.Helper()
	require.NoError(t, err)
	result, err := run.Wait()
	require.NoError(t, err)
	return result
}

func tripTeam(t *testing.T) *team.Team {
	trip, err := team.Builtin("trip")
	require.NoError(t, err)
	return trip
}

// A fork is a trace of its own, of what happened since it was made: what it has from the other
// run is in that one's.
//
// Proves R76.
func TestForkIsATraceOfItsOwn(t *testing.T) {
	log := events.NewMemory()
	var origin, fork runner.Result
	spans := play(t, log, sim.New(sim.Options{}), func(r *runner.Runner) {
		run, err := r.Start(t.Context(), runner.Job{Request: request, Team: tripTeam(t)})
		origin = ended(t, run, err)
		run, err = r.Fork(t.Context(), "", run.ID(), runner.Change{At: 12})
		fork = ended(t, run, err)
	})
	byRun := map[string][]*tracepb.Span{}
	for _, s := range spans {
		byRun[text(s, "convene.run.id")] = append(byRun[text(s, "convene.run.id")], s)
	}
	require.Len(t, byRun, 2)
	_, first := tree(t, byRun[string(origin.Run)])
	_, second := tree(t, byRun[string(fork.Run)])
	require.NotEqual(t, first.TraceId, second.TraceId)
	require.Equal(t, string(origin.Run), text(second, "convene.forked_from"))
	require.Less(t, len(byRun[string(fork.Run)]), len(byRun[string(origin.Run)]), "calls that were not made again")
}

// A process was killed, another one resumed the run: the trace is one, under the same ids,
// whatever the first had sent of it.
//
// Proves R76.
func TestKilledRunIsResumedInItsTrace(t *testing.T) {
	whole := events.NewMemory()
	var first runner.Result
	sent := play(t, whole, sim.New(sim.Options{}), func(r *runner.Runner) {
		run, err := r.Start(t.Context(), runner.Job{Request: request, Team: tripTeam(t)})
		first = ended(t, run, err)
	})
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: first.Thread}
	envs, err := whole.Read(t.Context(), key, 0, 0)
	require.NoError(t, err)
	cut := envs[:len(envs)/2] // what was in the log when the process died
	rest := events.NewMemory()
	epoch, err := rest.Claim(t.Context(), key, "killed", false)
	require.NoError(t, err)
	require.NoError(t, rest.Append(t.Context(), key, epoch, 0, cut))
	require.NoError(t, rest.Release(t.Context(), key, epoch))
	resumed := play(t, rest, sim.New(sim.Options{}), func(r *runner.Runner) {
		run, err := r.Resume(t.Context(), "", first.Run, runner.Terms{})
		require.Equal(t, events.StatusCompleted, ended(t, run, err).Status)
	})
	byID, root := tree(t, resumed)
	require.Equal(t, "completed", text(root, "convene.status"))
	require.Len(t, root.Events, 1, "resumed")
	again := 0
	for _, s := range sent {
		require.Equal(t, root.TraceId, s.TraceId)
		if s.EndTimeUnixNano <= uint64(cut[len(cut)-1].Time.UnixNano()) {
			again++
			require.Contains(t, byID, string(s.SpanId), s.Name)
		}
	}
	require.Greater(t, again, 3)
}

// A call that got no reply, and what that came to, are errors in the trace.
//
// Proves R76.
func TestFailedCallIsASpan(t *testing.T) {
	client := llmtest.Script(t, llmtest.Agent("the facilitator of a team", llmtest.Fails(&llm.Error{Kind: llm.ErrRefused, Status: 400, Message: "No."})))
	spans := play(t, events.NewMemory(), client, func(r *runner.Runner) {
		run, err := r.Start(t.Context(), runner.Job{Request: request, Team: tripTeam(t)})
		require.Equal(t, events.StatusFailed, ended(t, run, err).Status)
	})
	byID, root := tree(t, spans)
	require.Equal(t, tracepb.Status_STATUS_CODE_ERROR, root.GetStatus().GetCode())
	for _, s := range spans {
		if text(s, "gen_ai.operation.name") == "chat" {
			require.Equal(t, "invoke_agent", text(byID[string(s.ParentSpanId)], "gen_ai.operation.name"))
			require.Equal(t, tracepb.Status_STATUS_CODE_ERROR, s.GetStatus().GetCode())
			require.NotEmpty(t, text(s, "error.type"))
			require.Len(t, s.Events, 1, "the attempt")
			return
		}
	}
	t.Fatal("no span of the call")
}

// A specialist that has the conversation answers under the run of each message; the runs are
// traces of their own in one conversation.
//
// Proves R76.
func TestHandoffSessionIsInTheTraces(t *testing.T) {
	cook := &team.Team{
		Name: "kitchen", Document: document.Free(),
		Specialists: []team.Specialist{{ID: "cook", Description: "Cooks.", Prompt: "Cook."}},
		Handoff:     &team.Handoff{Targets: []team.HandoffTarget{{Agent: "cook", Triggers: []string{"write a recipe"}}}},
	}
	client := llmtest.Script(t,
		llmtest.Agent("the facilitator of a team", llmtest.Calls("", llmtest.Call("handoff_conversation", map[string]any{"target": "cook", "reason": "a recipe", "summary": "Wants soup"}))),
		llmtest.Agent("You are Cook, a specialist in a team. The conversation", llmtest.Says("Which soup?"), llmtest.Says("Here it is.")))
	var runs []runner.Result
	spans := play(t, events.NewMemory(), client, func(r *runner.Runner) {
		var thread events.ThreadID
		for _, message := range []string{"I would like soup", "Spicy"} {
			run, err := r.Start(t.Context(), runner.Job{Request: message, Team: cook, Thread: thread})
			runs = append(runs, ended(t, run, err))
			thread = run.Key().Thread
		}
	})
	traces := map[string]bool{}
	for _, result := range runs {
		var of []*tracepb.Span
		spoke := false
		for _, s := range spans {
			if text(s, "convene.run.id") == string(result.Run) {
				of = append(of, s)
				spoke = spoke || text(s, "gen_ai.agent.id") == "cook"
			}
		}
		_, root := tree(t, of)
		require.True(t, spoke, "the specialist's span")
		require.Equal(t, string(result.Thread), text(root, "gen_ai.conversation.id"))
		traces[hex.EncodeToString(root.TraceId)] = true
	}
	require.Len(t, traces, 2)
}
