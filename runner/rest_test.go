package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
)

// cutAfterAlpha is a model whose second facilitator's turn breaks behind the dispatch of
// alpha.
func cutAfterAlpha(script llm.Client) llm.Client {
	return stage(script, boss, 2, func(_ context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
		call := called("a", dispatch("alpha", 1))
		_ = yield(llm.Delta{Text: "Off you go."}, nil) && yield(llm.Delta{Call: &call}, nil) && yield(llm.Delta{}, errBroken)
	})
}

// held lets one agent's stream begin only when another's has.
type held struct {
	llm.Client
	match, until string
	begun        chan struct{}
	once         sync.Once
}

func (h *held) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	switch system := req.Messages[0].Content; {
	case strings.Contains(system, h.until):
		h.once.Do(func() { close(h.begun) })
	case strings.Contains(system, h.match):
		select {
		case <-h.begun:
		case <-ctx.Done():
		}
	}
	return h.Client.Stream(ctx, req)
}

// rests gives the calls for a rest in the log.
func (p played) rests() []events.ModelCalled {
	var list []events.ModelCalled
	for _, env := range p.of(events.KindModelCalled) {
		if e := env.Data.(events.ModelCalled); e.Purpose == events.PurposeRest {
			list = append(list, e)
		}
	}
	return list
}

// The rest of a turn that broke off is asked for while its specialist works, and its
// calls are further calls of that turn. What has started stands.
func TestRestOfATurn(t *testing.T) {
	again := dispatch("alpha", 1)
	busy := llmtest.Call("call_alpha", args{"task_ids": []int{1}, "message": "Other words"})
	script := llmtest.Script(t, ordinary()[1],
		llmtest.Agent(beta, llmtest.Calls("", write("b", "B"), complete(2)), llmtest.Says("Did it, too")),
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")),
			llmtest.Calls("Here is the rest.", again, busy, dispatch("beta", 2), called("a", llmtest.Call("get_plan_status", args{}))),
			llmtest.Says("Both halves are there")))
	p := play(t, &held{Client: cutAfterAlpha(script), match: alpha, until: beta, begun: make(chan struct{})}, pair())
	p.completed(t)
	require.Equal(t, "Both halves are there", p.Answer)
	require.Equal(t, []string{events.WarnStreamInterrupted}, p.warnings())

	requests := script.Requests(boss)
	asked, next := requests[1].Messages, requests[2].Messages
	require.Equal(t, events.ModelCallID("f.2r"), requests[1].Call)
	require.Equal(t, events.ModelCallID("f.3"), requests[2].Call)
	require.Len(t, asked, 7, "system, request, a turn and its result, the cut turn, what is under way, the instruction")
	require.Len(t, asked[4].ToolCalls, 1)
	require.Contains(t, asked[5].Content, "Under way")
	require.Equal(t, events.RoleUser, asked[6].Role)

	require.Equal(t, asked[:4], next[:4])
	require.Equal(t, "Off you go.", next[4].Content)
	require.Len(t, next[4].ToolCalls, 5)
	results := next[5:]
	require.Len(t, results, 5, "the instruction is no part of the history")
	for i, call := range next[4].ToolCalls {
		require.Equal(t, call.ID, results[i].ToolCallID)
	}
	require.Equal(t, "Did it", results[0].Content)
	require.Contains(t, results[1].Content, "has made the same call already")
	require.Contains(t, results[2].Content, "being worked on")
	require.Equal(t, "Did it, too", results[3].Content)
	require.Contains(t, results[4].Content, "2/2 done")

	rest := p.rests()
	require.Len(t, rest, 1)
	require.Equal(t, events.ModelCallID("f.2r"), rest[0].ID)
	require.EqualValues(t, 100, rest[0].Usage.InputTokens)
	require.Len(t, p.thread.Current().Facilitator.Messages(), 9)
	for _, env := range p.of(events.KindAgentStarted) {
		e := env.Data.(events.AgentStarted)
		require.Equal(t, events.ModelCallID("f.2"), e.ModelCall)
		require.Equal(t, map[events.AgentID]int{"alpha": 0, "beta": 3}[e.Agent], e.Index)
	}
	for _, env := range p.of(events.KindFacilitatorMessage) {
		require.Equal(t, "Off you go.", env.Data.(events.FacilitatorMessage).Content)
	}
}

// A task whose specialist has ended by the time of the rest is not given out again by it.
func TestRestThatComesLate(t *testing.T) {
	busy := llmtest.Call("call_alpha", args{"task_ids": []int{1}, "message": "Other words"})
	script := llmtest.Script(t, ordinary()[1],
		llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", busy), llmtest.Says("Done")))
	ended := make(chan struct{})
	client := stage(script, boss, 2, func(_ context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
		call := called("a", dispatch("alpha", 1))
		if yield(llm.Delta{Call: &call}, nil) {
			<-ended
			yield(llm.Delta{}, errBroken)
		}
	})
	r := owned(t, events.NewMemory(), client, "driver")
	run := start(t, r)
	for env, err := range run.Events(t.Context()) {
		require.NoError(t, err)
		if env.Data.Kind() == events.KindAgentFinished {
			close(ended)
		}
	}
	result, err := run.Wait()
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
	asked := script.Requests(boss)[1].Messages
	require.Equal(t, "Did it", asked[5].Content, "a real result where there is one")
	next := script.Requests(boss)[2].Messages
	require.Contains(t, next[len(next)-1].Content, "dispatched in this turn already")
}

// Where the call for the rest fails, the turn stands as it is; it is asked for once,
// also after a resume.
func TestRestThatFails(t *testing.T) {
	script := llmtest.Script(t, ordinary()[1], llmtest.Agent(boss,
		llmtest.Calls("", create("alpha")),
		llmtest.Fails(&llm.Error{Kind: llm.ErrBadRequest, Message: "what do you mean?"}),
		llmtest.Says("Done")))
	log := events.NewMemory()
	// Alpha is at work until the run is parked, so that nothing follows the rest before.
	atWork := stage(cutAfterAlpha(script), alpha, 1, func(ctx context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
		<-ctx.Done()
		yield(llm.Delta{}, ctx.Err())
	})
	run := start(t, owned(t, log, atWork, "driver"))
	for env, err := range run.Events(t.Context()) {
		require.NoError(t, err)
		if e, ok := env.Data.(events.ModelCalled); ok && e.Purpose == events.PurposeRest {
			run.Halt()
		}
	}
	require.Equal(t, events.StatusSuspended, parked(t, log, run).Status)
	resumed, err := owned(t, log, script, "other").Resume(t.Context(), "", run.ID(), runner.Terms{})
	require.NoError(t, err)
	p := ended(t, log, resumed)
	p.completed(t)
	require.Equal(t, []string{events.WarnStreamInterrupted, events.WarnRestMissing}, p.warnings())
	rest := p.rests()
	require.Len(t, rest, 1)
	require.True(t, rest[0].Interrupted)
	require.Len(t, rest[0].Retries, 1)
	require.Contains(t, rest[0].Retries[0].Message, "what do you mean?")
}

// Where the endpoint no longer takes what it kept of the turn, the rest of it, which came with
// something of its own, would go back without that: it is left out, and asked for anew.
func TestRestBehindWhatWasDropped(t *testing.T) {
	kept := func(parts string) json.RawMessage {
		return llm.KeptFrom(events.APIResponses, "scripted", "sim").With(json.RawMessage(parts))
	}
	script := llmtest.Script(t, ordinary()[1],
		llmtest.Agent(beta, llmtest.Calls("", write("b", "B"), complete(2)), llmtest.Says("Did it, too")),
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Calls("", dispatch("beta", 2)), llmtest.Says("Both halves are there")))
	cut := stage(script, boss, 2, func(_ context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
		call := called("a", dispatch("alpha", 1))
		_ = yield(llm.Delta{Call: &call, Extra: kept(`["of the turn"]`)}, nil) && yield(llm.Delta{}, errBroken)
	})
	var next llm.Request
	client := stage(stage(cut, boss, 3, func(_ context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
		reply := events.Reply{ToolCalls: []events.ToolCall{called("b", dispatch("beta", 2))}, Extra: kept(`["of the rest"]`), FinishReason: events.FinishToolCalls}
		yield(llm.Delta{Done: &llm.Completion{Reply: reply, Model: "sim", KeptDropped: true, Attempts: 1}}, nil)
	}), boss, 4, func(ctx context.Context, req llm.Request, yield func(llm.Delta, error) bool) {
		next = req
		script.Stream(ctx, req)(yield)
	})
	p := play(t, client, pair())
	p.completed(t)
	require.Equal(t, []string{events.WarnStreamInterrupted, events.WarnRestMissing, events.WarnKeptDropped}, p.warnings())
	require.False(t, llm.HasKept(next.Messages))
	require.Len(t, next.Messages[4].ToolCalls, 1)
	require.Len(t, p.of(events.KindAgentStarted), 2, "the model called beta again")
}

// A run that is parked while the rest is asked for asks for it when it is resumed.
func TestRestAfterAStop(t *testing.T) {
	script := llmtest.Script(t, ordinary()[1],
		llmtest.Agent(beta, llmtest.Calls("", write("b", "B"), complete(2)), llmtest.Says("Did it")),
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Calls("", dispatch("beta", 2)), llmtest.Says("Done")))
	log := events.NewMemory()
	asked := make(chan struct{})
	waiting := stage(cutAfterAlpha(script), boss, 3, func(ctx context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
		close(asked)
		<-ctx.Done()
		yield(llm.Delta{}, ctx.Err())
	})
	run := start(t, owned(t, log, waiting, "driver"))
	<-asked
	run.Halt()
	p := parked(t, log, run)
	require.Equal(t, events.StatusSuspended, p.Status)
	require.Empty(t, p.rests())
	resumed, err := owned(t, log, script, "other").Resume(t.Context(), "", run.ID(), runner.Terms{})
	require.NoError(t, err)
	p = ended(t, log, resumed)
	p.completed(t)
	require.Len(t, p.rests(), 1)
	require.Len(t, p.Tasks, 2)
}

// Where a bound refuses the call for the rest, the turn stands as it is.
func TestRestOverABound(t *testing.T) {
	race.Skip(t, "a run for each of many bounds, one after the other")
	outcomes := map[string]int{}
	for tokens := int64(10_000); tokens <= 60_000; tokens += 2_000 {
		tm := *builtin(t, "trip")
		tm.Limits.MaxTokens = tokens
		p := play(t, cutDispatches{sim.New(sim.Options{Behaviour: sim.BehaveOnce})}, &tm)
		cut := slices.ContainsFunc(p.of(events.KindModelCalled), func(env events.Envelope) bool {
			e := env.Data.(events.ModelCalled)
			return e.Interrupted && e.Purpose == ""
		})
		if len(p.rests()) == 0 {
			require.Equal(t, events.LimitMaxTokens, p.Limit, "%d tokens: %s", tokens, p.Reason)
			require.Equal(t, events.StatusDegraded, p.Status, p.Reason)
			require.NotContains(t, p.warnings(), events.WarnRestMissing)
		}
		require.LessOrEqual(t, len(p.rests()), 1)
		outcomes[fmt.Sprint("cut ", cut, " rests ", len(p.rests()))]++
	}
	require.Positive(t, outcomes["cut true rests 0"], "%v", outcomes)
	require.Positive(t, outcomes["cut true rests 1"], "%v", outcomes)
}
