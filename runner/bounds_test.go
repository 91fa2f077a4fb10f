package runner_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/prices"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// boundTests has a test for every bound of a run: one run that stands just below
// it, one at it or over it.
var boundTests = map[events.Limit]func(*testing.T){
	events.LimitMaxTasks:              testMaxTasks,
	events.LimitMaxTaskChars:          testMaxTaskChars,
	events.LimitMaxFacilitatorTurns:   testMaxFacilitatorTurns,
	events.LimitMaxSpecialistTurns:    testMaxSpecialistTurns,
	events.LimitMaxDispatches:         testMaxDispatches,
	events.LimitMaxParallelDispatches: testMaxParallelDispatches,
	events.LimitMaxToolCallsPerTurn:   testMaxToolCallsPerTurn,
	events.LimitMaxEntryChars:         testMaxEntryChars,
	events.LimitMaxDocumentChars:      testMaxDocumentChars,
	events.LimitMaxEntries:            testMaxEntries,
	events.LimitMaxReplyChars:         testMaxReplyChars,
	events.LimitMaxEmptyReplies:       testMaxEmptyReplies,
	events.LimitMaxToolResultChars:    testMaxToolResultChars,
	events.LimitMaxReadChars:          testMaxReadChars,
	events.LimitMaxArtifactBytes:      testMaxArtifactBytes,
	events.LimitMaxTokens:             testMaxTokens,
	events.LimitMaxCostUSD:            testMaxCostUSD,
	events.LimitMaxSpecialistTokens:   testMaxSpecialistTokens,
	events.LimitMaxSpecialistCostUSD:  testMaxSpecialistCostUSD,
	events.LimitMaxTime:               testMaxTime,
	events.LimitSpecialistTimeout:     testSpecialistTimeout,
	events.LimitToolTimeout:           testToolTimeout,
	events.LimitSilenceNotice:         testSilenceNotice,
	events.LimitSilenceSlow:           testSilenceSlow,
	events.LimitSilenceTimeout:        testSilenceTimeout,
	events.LimitWrapUpShare:           testWrapUpShare,
}

// Proves R8, R23, R74: every bound of a run holds, says so in the log, and is
// tested from both sides.
func TestEveryBound(t *testing.T) {
	for _, bound := range team.Bounds() {
		test, ok := boundTests[bound.Name]
		require.True(t, ok, "no test of the bound %s", bound.Name)
		t.Run(string(bound.Name), test)
	}
	require.Len(t, team.Bounds(), len(boundTests))
}

func testMaxTasks(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxTasks = 2 }
	work := llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1), complete(2)), llmtest.Says("Did it"))
	below := play(t, llmtest.Script(t, work, llmtest.Agent(boss,
		llmtest.Calls("", create("alpha", "alpha")), llmtest.Calls("", dispatch("alpha", 1, 2)), llmtest.Says("Done"),
	)), pair(limit))
	below.completed(t)

	over := play(t, llmtest.Script(t, work, llmtest.Agent(boss,
		llmtest.Calls("", create("alpha", "alpha", "alpha")), llmtest.Calls("", create("alpha", "alpha")),
		llmtest.Calls("", dispatch("alpha", 1, 2)), llmtest.Says("Done"),
	)), pair(limit))
	require.Equal(t, events.StatusCompleted, over.Status, over.Reason)
	e := over.met(t, events.LimitMaxTasks)
	require.InDelta(t, 3, e.Used, 0)
	require.Contains(t, over.results("create_tasks")[0], "Create at most 2")
	require.Len(t, over.Tasks, 2)
}

func testMaxTaskChars(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxTaskChars = 64 }
	ask := func(chars int) events.ToolCall {
		return llmtest.Call("create_tasks", args{"tasks": []args{{"text": strings.Repeat("é", chars), "assigned_to": "alpha"}}})
	}
	work := llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Did it"))
	play(t, llmtest.Script(t, work, llmtest.Agent(boss,
		llmtest.Calls("", ask(64)), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done"),
	)), pair(limit)).completed(t)

	over := play(t, llmtest.Script(t, work, llmtest.Agent(boss,
		llmtest.Calls("", ask(65)), llmtest.Calls("", ask(64)), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done"),
	)), pair(limit))
	require.Equal(t, events.StatusCompleted, over.Status, over.Reason)
	require.InDelta(t, 65, over.met(t, events.LimitMaxTaskChars).Used, 0)
	require.Contains(t, over.results("create_tasks")[0], "65 characters")
}

// ordinary are the turns of a run of one task, three of the facilitator's and two
// of Alpha's.
func ordinary() []llmtest.Part {
	return []llmtest.Part{
		llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done")),
		llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Did it")),
	}
}

func testMaxFacilitatorTurns(t *testing.T) {
	play(t, llmtest.Script(t, ordinary()...), pair(func(l *team.Limits) { l.MaxFacilitatorTurns = 4 })).completed(t)

	script := llmtest.Script(t, ordinary()...)
	over := play(t, script, pair(func(l *team.Limits) { l.MaxFacilitatorTurns = 3 }))
	over.met(t, events.LimitMaxFacilitatorTurns)
	require.Equal(t, events.StatusDegraded, over.Status)
	require.Equal(t, events.LimitMaxFacilitatorTurns, over.Limit)
	require.Equal(t, "Done", over.Answer)
	wrappedUp(t, script)
}

// wrappedUp checks the facilitator's last request: tools as ever, none to be called.
func wrappedUp(t *testing.T, script *llmtest.Scripted) {
	t.Helper()
	requests := script.Requests(boss)
	last := requests[len(requests)-1]
	require.Equal(t, llm.ToolChoiceNone, last.ToolChoice)
	require.Equal(t, requests[0].Tools, last.Tools, "the wrap-up turn keeps its tools: the prompt cache hits")
	said := last.Messages[len(last.Messages)-1]
	require.Equal(t, events.RoleUser, said.Role)
	require.Contains(t, said.Content, "last turn")
	for _, earlier := range requests[:len(requests)-1] {
		require.Equal(t, llm.ToolChoiceAuto, earlier.ToolChoice)
	}
}

func testMaxSpecialistTurns(t *testing.T) {
	play(t, llmtest.Script(t, ordinary()...), pair(func(l *team.Limits) { l.MaxSpecialistTurns = 2 })).completed(t)

	over := play(t, llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)),
			llmtest.Says("It is not done"), llmtest.Says("It is still not done")),
		llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"))),
	), pair(func(l *team.Limits) { l.MaxSpecialistTurns = 1 }))
	over.met(t, events.LimitMaxSpecialistTurns)
	require.Equal(t, []events.Outcome{events.OutcomeLimit}, over.outcomes())
	require.Contains(t, over.results("call_alpha")[0], "max_specialist_turns")
	require.Equal(t, events.StatusDegraded, over.Status)
	require.Equal(t, []events.TaskID{1}, over.MissingTasks, "after a failure tasks stay open")
	require.Contains(t, over.Reason, "max_specialist_turns")
}

func testMaxDispatches(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxDispatches = 1 }
	play(t, llmtest.Script(t, ordinary()...), pair(limit)).completed(t)

	over := play(t, llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Calls("", dispatch("alpha", 1), dispatch("beta", 2)),
			llmtest.Says("Half"), llmtest.Says("Half of it")),
		llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Did it")),
	), pair(limit))
	require.InDelta(t, 2, over.met(t, events.LimitMaxDispatches).Used, 0)
	require.Contains(t, over.results("call_beta")[0], "dispatches")
	require.Equal(t, events.StatusDegraded, over.Status)
	require.Equal(t, []events.TaskID{2}, over.MissingTasks)
}

// meter counts the specialists' calls under way at once.
type meter struct {
	llm.Client
	now, most atomic.Int64
}

func (m *meter) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	if strings.Contains(req.Messages[0].Content, boss) {
		return m.Client.Stream(ctx, req)
	}
	return func(yield func(llm.Delta, error) bool) {
		now := m.now.Add(1)
		defer m.now.Add(-1)
		for most := m.most.Load(); now > most && !m.most.CompareAndSwap(most, now); most = m.most.Load() {
		}
		m.Client.Stream(ctx, req)(yield)
	}
}

func testMaxParallelDispatches(t *testing.T) {
	for _, bound := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			works := func(task int) []llmtest.Step {
				return []llmtest.Step{llmtest.Calls("", write("a", "A"), complete(task)).After(time.Second), llmtest.Says("Did it").After(time.Second)}
			}
			m := &meter{Client: llmtest.Script(t,
				llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta", "gamma")),
					llmtest.Calls("", dispatch("alpha", 1), dispatch("beta", 2), dispatch("gamma", 3)), llmtest.Says("Done")),
				llmtest.Agent(alpha, works(1)...), llmtest.Agent(beta, works(2)...), llmtest.Agent("You are Gamma", works(3)...),
			)}
			tm := pair(func(l *team.Limits) { l.MaxParallelDispatches = bound })
			tm.Specialists = append(tm.Specialists, team.Specialist{ID: "gamma", Description: "Knows the rest.", Prompt: "Write about the rest."})
			p := play(t, m, tm)
			p.completed(t) // those over the bound wait, and nothing is refused
			require.EqualValues(t, bound, m.most.Load())
		})
	}
}

func testMaxToolCallsPerTurn(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxToolCallsPerTurn = 2 }
	play(t, llmtest.Script(t, ordinary()...), pair(limit)).completed(t)

	over := play(t, llmtest.Script(t, ordinary()[0],
		llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), write("a", "B"), complete(1)), llmtest.Calls("", complete(1)), llmtest.Says("Did it")),
	), pair(limit))
	require.Equal(t, events.StatusCompleted, over.Status, over.Reason)
	require.InDelta(t, 3, over.met(t, events.LimitMaxToolCallsPerTurn).Used, 0)
	require.Contains(t, over.results("complete_task")[0], "at most 2 tools")
}

// writes plays Alpha with the given writes.
func writes(t *testing.T, limit func(*team.Limits), contents ...string) played {
	t.Helper()
	var calls []events.ToolCall
	for _, c := range contents {
		calls = append(calls, write("a", c))
	}
	return play(t, llmtest.Script(t, ordinary()[0],
		llmtest.Agent(alpha, llmtest.Calls("", append(calls, complete(1))...), llmtest.Says("Did it"))), pair(limit))
}

func testMaxEntryChars(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxEntryChars = 256 }
	writes(t, limit, strings.Repeat("x", 256)).completed(t)
	over := writes(t, limit, strings.Repeat("x", 257), "short")
	require.Equal(t, events.StatusCompleted, over.Status, over.Reason)
	require.InDelta(t, 257, over.met(t, events.LimitMaxEntryChars).Used, 0)
	require.Contains(t, over.results("write_section")[0], "Write a shorter text")
	require.Contains(t, over.Document, "short")
}

func testMaxDocumentChars(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxDocumentChars = 1024 }
	writes(t, limit, strings.Repeat("x", 1000), strings.Repeat("y", 24)).completed(t)
	over := writes(t, limit, strings.Repeat("x", 1000), strings.Repeat("y", 25))
	require.InDelta(t, 1025, over.met(t, events.LimitMaxDocumentChars).Used, 0)
	require.Contains(t, over.results("write_section")[1], "Finish with what the document holds")
	require.NotContains(t, over.Document, "y")
}

func testMaxEntries(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxEntries = 2 }
	writes(t, limit, "one", "two").completed(t)
	over := writes(t, limit, "one", "two", "three")
	require.InDelta(t, 3, over.met(t, events.LimitMaxEntries).Used, 0)
	require.NotContains(t, over.Document, "three")
}

func testMaxReplyChars(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxReplyChars = 1024 }
	summary := func(chars ...int) llmtest.Part {
		steps := []llmtest.Step{llmtest.Calls("", write("a", "A"), complete(1))}
		for _, n := range chars {
			steps = append(steps, llmtest.Says(strings.Repeat("é", n)))
		}
		return llmtest.Agent(alpha, steps...)
	}
	play(t, llmtest.Script(t, ordinary()[0], summary(1024)), pair(limit)).completed(t)
	over := play(t, llmtest.Script(t, ordinary()[0], summary(1025, 1025)), pair(limit))
	require.Equal(t, []events.Outcome{events.OutcomeLimit}, over.outcomes())
	require.InDelta(t, 1025, over.met(t, events.LimitMaxReplyChars).Used, 0)
	require.Equal(t, "Done", over.Answer)

	t.Run("facilitator", func(t *testing.T) {
		over := play(t, llmtest.Script(t, ordinary()[1], llmtest.Agent(boss, llmtest.Calls("", create("alpha")),
			llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says(strings.Repeat("x", 2000)), llmtest.Says(strings.Repeat("x", 2000)))), pair(limit))
		over.met(t, events.LimitMaxReplyChars)
		require.Equal(t, events.StatusDegraded, over.Status)
		require.True(t, over.Fallback, "the document is the answer")
		require.Contains(t, over.Answer, "A")
	})
}

func testMaxEmptyReplies(t *testing.T) {
	empty := llmtest.Says("")
	limit := func(l *team.Limits) { l.MaxEmptyReplies = 2 }
	below := play(t, llmtest.Script(t, ordinary()[0],
		llmtest.Agent(alpha, empty, llmtest.Calls("", write("a", "A"), complete(1)), empty, llmtest.Says("Did it"))), pair(limit))
	below.completed(t) // two, but not in a row
	require.Equal(t, []string{"empty_reply", "empty_reply"}, below.nudges())

	over := play(t, llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)),
			llmtest.Says("It is not done"), llmtest.Says("It is still not done")),
		llmtest.Agent(alpha, empty, llmtest.Says(" \n"))), pair(limit))
	over.met(t, events.LimitMaxEmptyReplies)
	require.Equal(t, []events.Outcome{events.OutcomeLimit}, over.outcomes())
	require.Equal(t, []events.TaskID{1}, over.MissingTasks)

	t.Run("facilitator", func(t *testing.T) {
		over := play(t, llmtest.Script(t, ordinary()[1],
			llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)), empty, empty)), pair(limit))
		over.met(t, events.LimitMaxEmptyReplies)
		require.Equal(t, events.StatusDegraded, over.Status)
		require.True(t, over.Fallback)
	})
}

func testMaxToolResultChars(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxToolResultChars = 1024 }
	summary := func(chars int) llmtest.Part {
		return llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says(strings.Repeat("é", chars)))
	}
	play(t, llmtest.Script(t, ordinary()[0], summary(1024)), pair(limit)).completed(t)

	over := play(t, llmtest.Script(t, ordinary()[0], summary(1025)), pair(limit))
	require.Equal(t, events.StatusCompleted, over.Status, over.Reason)
	require.InDelta(t, 1025, over.met(t, events.LimitMaxToolResultChars).Used, 0)
	require.Contains(t, over.results("call_alpha")[0], "1024 of 1025 characters")
	require.Len(t, over.of(events.KindAgentMessage)[0].Data.(events.AgentMessage).Content, 2*1025, "the log has it whole")

	t.Run("own tool", func(t *testing.T) {
		over := play(t, llmtest.Script(t,
			llmtest.Agent(boss, llmtest.Calls("", create("alpha"), llmtest.Call("create_tasks", args{"tasks": []args{
				{"text": strings.Repeat("x", 3000), "assigned_to": "beta"},
			}})), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Half"), llmtest.Says("Half of it")),
			llmtest.Agent(alpha, llmtest.Calls("", llmtest.Call("read_tasks", args{}), write("a", "A")), llmtest.Says("Did it")),
		), pair(limit))
		over.met(t, events.LimitMaxToolResultChars)
		require.LessOrEqual(t, len(over.results("read_tasks")[0]), 1100)
		require.Contains(t, over.results("read_tasks")[0], "characters shown]")
	})
}

// A read that shows a part is ordinary work: the result says what is left, and
// the log has no bound to report.
func testMaxReadChars(t *testing.T) {
	for _, tool := range []string{"read_document", "read_document_clean"} {
		read := func(entry int) played {
			return play(t, llmtest.Script(t,
				llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)),
					llmtest.Calls("", llmtest.Call(tool, args{})), llmtest.Says("Done")),
				llmtest.Agent(alpha, llmtest.Calls("", write("a", strings.Repeat("x", entry)), write("b", strings.Repeat("é", entry)), complete(1)), llmtest.Says("Did it")),
			), pair(func(l *team.Limits) { l.MaxReadChars = 500 }))
		}
		below := read(180)
		below.completed(t)
		require.Contains(t, below.results(tool)[0], strings.Repeat("x", 180), tool)
		require.Contains(t, below.results(tool)[0], strings.Repeat("é", 180), tool)
		over := read(600)
		over.completed(t)
		require.Less(t, len([]rune(over.results(tool)[0])), 900, tool)
		require.Contains(t, over.results(tool)[0], "more characters", tool)
		require.Contains(t, over.results(tool)[0], "read_document with", tool)
	}
}

// spending plays the ordinary run with a bound on tokens, where Alpha's second turn
// used that many.
func spending(t *testing.T, tokens int64, limit func(*team.Limits)) (played, *llmtest.Scripted) {
	t.Helper()
	script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
		llmtest.Calls("", write("a", "A"), complete(1)),
		llmtest.Says("Did it").Using(events.Usage{InputTokens: tokens - 100, OutputTokens: 100})))
	table, err := prices.Parse([]byte(`{"models":{"sim/sim":{"input":10,"output":10}}}`))
	require.NoError(t, err)
	config := runner.Config{Log: events.NewMemory(), Models: oneClient{script}, Prices: table}
	return playWith(t, config, pair(limit)), script
}

func testMaxTokens(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxTokens = 40_000 }
	below, _ := spending(t, 30_000, limit)
	below.completed(t)
	over, script := spending(t, 34_000, limit)
	over.met(t, events.LimitMaxTokens)
	require.Equal(t, events.StatusDegraded, over.Status)
	require.Equal(t, events.LimitMaxTokens, over.Limit)
	require.Equal(t, "Done", over.Answer, "there was enough left for the last turn")
	wrappedUp(t, script)

	t.Run("nothing left", func(t *testing.T) {
		script := llmtest.Script(t,
			llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1))),
			llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Did it").Using(events.Usage{InputTokens: 50_000})))
		over := play(t, script, pair(limit))
		over.met(t, events.LimitMaxTokens)
		require.Equal(t, events.StatusDegraded, over.Status)
		require.Equal(t, events.LimitMaxTokens, over.Limit)
		require.True(t, over.Fallback, "the document is the answer")
		require.LessOrEqual(t, over.ModelCalls, 4)
	})
}

func testMaxCostUSD(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxCostUSD = 0.4 } // 40,000 tokens at 10 USD a million
	below, _ := spending(t, 30_000, limit)
	below.completed(t)
	require.NotNil(t, below.CostUSD)
	over, script := spending(t, 34_000, limit)
	over.met(t, events.LimitMaxCostUSD)
	require.Equal(t, events.StatusDegraded, over.Status)
	require.Equal(t, events.LimitMaxCostUSD, over.Limit)
	require.Equal(t, "Done", over.Answer)
	wrappedUp(t, script)

	t.Run("a price that is not known is refused before anything starts", func(t *testing.T) {
		r, err := runner.New(runner.Config{Log: events.NewMemory(), Models: unpriced{}})
		require.NoError(t, err)
		_, err = r.Start(t.Context(), runner.Job{Request: "Hello", Team: pair(limit)})
		var input *runner.InputError
		require.ErrorAs(t, err, &input)
	})
}

// dear plays a run in which Alpha's first turn uses the tokens; the facilitator gives
// its tasks up if they stay open.
func dear(t *testing.T, tokens int64, limit func(*team.Limits), finished bool) played {
	t.Helper()
	first := llmtest.Calls("", write("a", "A")).Using(events.Usage{InputTokens: tokens - 100, OutputTokens: 100})
	parts := []llmtest.Part{
		llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)),
			llmtest.Says("It is not done"), llmtest.Says("It is still not done")),
		llmtest.Agent(alpha, first),
	}
	if finished {
		parts = []llmtest.Part{ordinary()[0], llmtest.Agent(alpha, first, llmtest.Calls("", complete(1)), llmtest.Says("Did it"))}
	}
	table, err := prices.Parse([]byte(`{"models":{"sim/sim":{"input":10,"output":10}}}`))
	require.NoError(t, err)
	config := runner.Config{Log: events.NewMemory(), Models: oneClient{llmtest.Script(t, parts...)}, Prices: table}
	return playWith(t, config, pair(limit))
}

func testMaxSpecialistTokens(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxSpecialistTokens = 40_000 }
	dear(t, 30_000, limit, true).completed(t)
	specialistEnds(t, dear(t, 40_000, limit, false), events.LimitMaxSpecialistTokens)
}

func testMaxSpecialistCostUSD(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxSpecialistCostUSD = 0.4 } // 40,000 tokens at 10 USD a million
	dear(t, 30_000, limit, true).completed(t)
	specialistEnds(t, dear(t, 40_000, limit, false), events.LimitMaxSpecialistCostUSD)
}

// specialistEnds proves that the bound ended the specialist and not the run.
func specialistEnds(t *testing.T, over played, limit events.Limit) {
	t.Helper()
	over.met(t, limit)
	require.Equal(t, []events.Outcome{events.OutcomeLimit}, over.outcomes())
	require.Equal(t, events.StatusDegraded, over.Status)
	require.Equal(t, "It is still not done", over.Answer, "the facilitator goes on")
	require.Empty(t, over.Limit, "the bound is the specialist's, not the run's")
	require.Equal(t, []events.TaskID{1}, over.MissingTasks)
}

type unpriced struct{}

func (unpriced) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: &llm.Endpoint{Name: "nobody", Client: nil}, Model: "unknown-model"}}, nil
}

func testWrapUpShare(t *testing.T) {
	limit := func(share int) func(*team.Limits) {
		return func(l *team.Limits) { l.MaxTokens, l.WrapUpShare = 40_000, share }
	}
	below, _ := spending(t, 20_000, limit(30))
	below.completed(t)
	over, script := spending(t, 20_000, limit(50)) // ordinary turns may use half
	over.met(t, events.LimitMaxTokens)
	require.Equal(t, "Done", over.Answer)
	wrappedUp(t, script)
}

// slow plays the ordinary run in which Alpha's turns, and the facilitator's last,
// take that long. A facilitator that will be told of open tasks needs one more.
func slow(t *testing.T, turns []time.Duration, last []time.Duration, limit func(*team.Limits), signal func(runner.Signal)) (p played, script *llmtest.Scripted) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		work := []llmtest.Step{llmtest.Calls("", write("a", "A")), llmtest.Says("Did it")}
		for i := range turns {
			work[i] = work[i].After(turns[i])
		}
		lead := []llmtest.Step{llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1))}
		for _, after := range last {
			lead = append(lead, llmtest.Says("Done").After(after))
		}
		script = llmtest.Script(t, llmtest.Agent(boss, lead...), llmtest.Agent(alpha, work[:len(turns)]...))
		p = playWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{script}, OnSignal: signal}, pair(limit))
	})
	return p, script
}

type times = []time.Duration

func halves(total time.Duration) times { return times{total / 2, total / 2} }

func testMaxTime(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxTime, l.SilenceTimeout = 100*time.Second, time.Hour }
	below, _ := slow(t, halves(88*time.Second), times{time.Second}, limit, nil)
	below.completed(t)

	over, script := slow(t, halves(120*time.Second), times{time.Second}, limit, nil)
	over.met(t, events.LimitMaxTime)
	require.Equal(t, events.StatusDegraded, over.Status)
	require.Equal(t, events.LimitMaxTime, over.Limit)
	require.Equal(t, []events.Outcome{events.OutcomeLimit}, over.outcomes())
	require.Equal(t, "Done", over.Answer, "the share kept for it is enough for the last turn")
	require.InDelta(t, 91, over.Driven.Seconds(), 2)
	wrappedUp(t, script)

	t.Run("the last turn too slow", func(t *testing.T) {
		over, _ := slow(t, halves(120*time.Second), times{time.Minute}, limit, nil)
		over.met(t, events.LimitMaxTime)
		require.True(t, over.Fallback)
		require.Contains(t, over.Answer, "A")
		require.InDelta(t, 100, over.Driven.Seconds(), 2)
	})
}

func testSpecialistTimeout(t *testing.T) {
	limit := func(l *team.Limits) { l.SpecialistTimeout = 60 * time.Second }
	below, _ := slow(t, halves(56*time.Second), times{0}, limit, nil)
	below.completed(t)
	over, _ := slow(t, halves(64*time.Second), times{0, 0}, limit, nil)
	over.met(t, events.LimitSpecialistTimeout)
	require.Equal(t, []events.Outcome{events.OutcomeTimedOut}, over.outcomes())
	require.Equal(t, events.StatusDegraded, over.Status)
	require.Equal(t, []events.TaskID{1}, over.MissingTasks)
	require.Contains(t, over.Document, "A", "what it wrote stays")
}

func testSilenceTimeout(t *testing.T) {
	limit := func(l *team.Limits) {
		l.SilenceNotice, l.SilenceSlow, l.SilenceTimeout = 5*time.Second, 10*time.Second, 20*time.Second
	}
	below, _ := slow(t, halves(36*time.Second), times{0}, limit, nil)
	below.completed(t)
	over, _ := slow(t, times{23 * time.Second}, times{0, 0}, limit, nil)
	over.met(t, events.LimitSilenceTimeout)
	require.Equal(t, []events.Outcome{events.OutcomeTimedOut}, over.outcomes())
	require.Equal(t, events.StatusDegraded, over.Status)
	require.Contains(t, over.results("call_alpha")[0], "silence_timeout")
}

func testSilenceNotice(t *testing.T) {
	count := func(turns times) (signals []runner.Signal) {
		p, _ := slow(t, turns, times{0}, func(*team.Limits) {}, func(s runner.Signal) { signals = append(signals, s) })
		p.completed(t)
		return signals
	}
	require.Empty(t, count(halves(18*time.Second)), "two turns of nine seconds are no silence")
	signals := count(halves(24 * time.Second))
	require.Len(t, signals, 2, "one for each turn of twelve seconds")
	require.Equal(t, events.AgentID("alpha"), signals[0].Agent)
	require.Equal(t, "Alpha", signals[0].DisplayName)
	require.Equal(t, events.DispatchID("d1"), signals[0].Dispatch)
	require.False(t, signals[0].Slow)
	require.InDelta(t, 10, signals[0].Silent.Seconds(), 1)
}

func testSilenceSlow(t *testing.T) {
	var seen []string
	p, _ := slow(t, halves(70*time.Second), times{0}, func(*team.Limits) {}, func(s runner.Signal) {
		seen = append(seen, fmt.Sprintf("%.0f %v", s.Silent.Round(10*time.Second).Seconds(), s.Slow))
	})
	p.completed(t)
	turn := []string{"10 false", "20 false", "30 true"}
	require.Equal(t, append(turn, turn...), seen)
}
