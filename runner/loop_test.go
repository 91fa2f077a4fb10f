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

// staged plays one stream of an agent by hand, the nth from 1; the rest is of the
// client behind it.
type staged struct {
	llm.Client
	match string
	nth   int64
	play  func(ctx context.Context, req llm.Request, yield func(llm.Delta, error) bool)
	count atomic.Int64
}

func stage(client llm.Client, match string, nth int64, play func(context.Context, llm.Request, func(llm.Delta, error) bool)) *staged {
	return &staged{Client: client, match: match, nth: nth, play: play}
}

func (s *staged) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	if !strings.Contains(req.Messages[0].Content, s.match) || s.count.Add(1) != s.nth {
		return s.Client.Stream(ctx, req)
	}
	return func(yield func(llm.Delta, error) bool) { s.play(ctx, req, yield) }
}

// whole yields a reply as a stream does.
func whole(yield func(llm.Delta, error) bool, reply events.Reply) {
	for i, call := range reply.ToolCalls {
		if !yield(llm.Delta{Call: &call, Index: i}, nil) {
			return
		}
	}
	yield(llm.Delta{Done: &llm.Completion{Reply: reply, Model: "sim", Usage: events.Usage{InputTokens: 10, OutputTokens: 1}}}, nil)
}

var errBroken = &llm.Error{Kind: llm.ErrBrokenStream, Message: "the connection was cut"}

func called(id string, call events.ToolCall) events.ToolCall {
	call.ID = events.CallID(id)
	return call
}

// Errors that a model can fix are results that say what is wrong.
func TestWrongCallsAreAnswered(t *testing.T) {
	p := play(t, llmtest.Script(t, ordinary()[1], llmtest.Agent(boss,
		llmtest.Calls("",
			llmtest.Call("fly", args{}), llmtest.Call("call_nobody", args{}), llmtest.Call("create_tasks", `{"tasks": [`), llmtest.Call("create_tasks", args{"tasks": "none"}),
			llmtest.Call("create_tasks", `[1]`), create("alpha")),
		llmtest.Calls("", llmtest.Call("call_alpha", args{"task_ids": "1"}), dispatch("alpha", 7)),
		llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done"))), pair())
	p.completed(t)
	require.Contains(t, p.results("fly")[0], `no tool "fly"`)
	require.Contains(t, p.results("fly")[0], "create_tasks, get_plan_status, read_document, consolidate_section, read_document_clean, call_alpha, call_beta")
	require.Contains(t, p.results("call_nobody")[0], `no tool "call_nobody"`)
	require.Contains(t, p.results("create_tasks")[0], "not valid JSON")
	require.Contains(t, p.results("create_tasks")[1], "do not fit its schema")
	require.Contains(t, p.results("create_tasks")[2], "do not fit its schema")
	require.Contains(t, p.results("create_tasks")[3], "Created")
	require.Contains(t, p.results("call_alpha")[0], "do not fit its schema")
	require.Contains(t, p.results("call_alpha")[1], "no task 7")
	for _, env := range p.of(events.KindToolCall) {
		done := env.Data.(events.ToolCallDone)
		require.Equal(t, strings.HasPrefix(done.Result, "Error: "), done.Failed, done.Result)
	}
}

// Proves R3: dispatches of one turn run at once, and their results return in the
// order of the calls, whoever ends first.
func TestResultsReturnInCallOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := llmtest.Script(t,
			llmtest.Agent(boss, llmtest.Calls("On it", create("alpha", "beta"), dispatch("alpha", 1), dispatch("beta", 2)), llmtest.Says("Done")),
			llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Alpha was slow").After(9*time.Second)),
			llmtest.Agent(beta, llmtest.Calls("", write("b", "B"), complete(2)), llmtest.Says("Beta was quick").After(time.Second)))
		p := play(t, script, pair())
		p.completed(t)
		require.InDelta(t, 9, p.Driven.Seconds(), 0.1, "they ran at once")
		require.Equal(t, events.AgentID("beta"), p.of(events.KindAgentFinished)[0].Agent)
		messages := script.Requests(boss)[1].Messages
		require.Equal(t, "Alpha was slow", messages[len(messages)-2].Content)
		require.Equal(t, "Beta was quick", messages[len(messages)-1].Content)
		require.Equal(t, messages[len(messages)-4].ToolCalls[0].ID, messages[len(messages)-3].ToolCallID)

		// Proves R12: text beside calls is a facilitator_message.
		said := p.of(events.KindFacilitatorMessage)
		require.Len(t, said, 1)
		require.Equal(t, "On it", said[0].Data.(events.FacilitatorMessage).Content)
	})
}

// A specialist starts as soon as its call has streamed in whole, behind the pure
// tools that are listed before it.
func TestSpecialistStartsBeforeTheTurnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := gate(llmtest.Script(t, ordinary()[1], llmtest.Agent(boss, llmtest.Says("Done"))), alpha)
		client := stage(work, boss, 1, func(ctx context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
			reply := events.Reply{ToolCalls: []events.ToolCall{called("a", create("alpha")), called("b", dispatch("alpha", 1))}}
			for i := range reply.ToolCalls {
				if !yield(llm.Delta{Call: &reply.ToolCalls[i], Index: i}, nil) {
					return
				}
			}
			<-work.entered // hangs unless the specialist is asked before this stream ends
			close(work.open)
			yield(llm.Delta{Done: &llm.Completion{Reply: reply, Model: "sim"}}, nil)
		})
		p := play(t, client, pair())
		p.completed(t)
		kinds := map[events.Kind]events.Seq{}
		for _, env := range p.envs {
			if _, seen := kinds[env.Data.Kind()]; !seen {
				kinds[env.Data.Kind()] = env.Seq
			}
		}
		require.Less(t, kinds[events.KindTasksCreated], kinds[events.KindAgentStarted])
		require.Less(t, kinds[events.KindAgentStarted], kinds[events.KindModelCalled])
		require.NotNil(t, p.of(events.KindAgentStarted)[0].Data.(events.AgentStarted).Early)
	})
}

// A stream that breaks after a call of it has started is not repeated: the calls
// that started are the turn, and other agents do not notice. Here the rest of it
// brings no calls.
func TestStreamBreaksAfterEarlyStart(t *testing.T) {
	table, err := prices.Parse([]byte(`{"models":{"sim/sim":{"input":10,"output":10}}}`))
	require.NoError(t, err)
	for name, last := range map[string]llm.Delta{
		"broken":  {},
		"retried": {Retry: &llm.Retry{Attempt: 1, Err: errBroken}},
		"endless": {Text: strings.Repeat("x", 3000)},
	} {
		t.Run(name, func(t *testing.T) {
			script := llmtest.Script(t, ordinary()[1],
				llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Says("complete"), llmtest.Says("Half"), llmtest.Says("Half of it")))
			client := stage(script, boss, 2, func(_ context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
				call := called("b", dispatch("alpha", 1))
				if !yield(llm.Delta{Text: "Now "}, nil) || !yield(llm.Delta{Call: &call}, nil) || !yield(llm.Delta{Fragment: `{"task_`, Index: 1}, nil) {
					return
				}
				if (last.Retry != nil || last.Text != "") && !yield(last, nil) {
					return
				}
				yield(llm.Delta{}, errBroken)
			})
			config := runner.Config{Log: events.NewMemory(), Models: oneClient{client}, Prices: table}
			p := playWith(t, config, pair(func(l *team.Limits) { l.MaxReplyChars = 2000 }))
			require.Equal(t, events.StatusDegraded, p.Status, p.Reason)
			require.Equal(t, []events.TaskID{2}, p.MissingTasks)
			require.Equal(t, []events.Outcome{events.OutcomeOK}, p.outcomes())
			var broken []events.ModelCalled
			for _, env := range p.of(events.KindModelCalled) {
				if e := env.Data.(events.ModelCalled); e.Interrupted {
					broken = append(broken, e)
				}
			}
			require.Len(t, broken, 1)
			require.Equal(t, events.ModelCallID("f.2"), broken[0].ID)
			require.Len(t, broken[0].Reply.ToolCalls, 1)
			require.Equal(t, events.CallID("b"), broken[0].Reply.ToolCalls[0].ID)
			require.True(t, broken[0].Usage.Estimated)
			require.NotNil(t, broken[0].CostUSD, "an estimate has a price, too")
			require.NotNil(t, p.CostUSD)
			require.Contains(t, p.warnings(), events.WarnStreamInterrupted)
			if name == "endless" {
				p.met(t, events.LimitMaxReplyChars)
			}
			require.Equal(t, "Half of it", p.Answer)
			next := script.Requests(boss)[2].Messages
			require.Equal(t, "Did it", next[len(next)-1].Content)
			require.Equal(t, "Now ", next[len(next)-2].Content[:4])
		})
	}
}

// The same holds where the early call was refused: its answer is in the log, so the
// turn stands.
func TestStreamBreaksAfterEarlyRefusal(t *testing.T) {
	script := llmtest.Script(t, ordinary()[1],
		llmtest.Agent(boss, llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done")))
	client := stage(script, boss, 1, func(_ context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
		for i, call := range []events.ToolCall{called("a", create("alpha")), called("b", dispatch("alpha", 9))} {
			if !yield(llm.Delta{Call: &call, Index: i}, nil) {
				return
			}
		}
		yield(llm.Delta{Retry: &llm.Retry{Attempt: 1, Err: errBroken}}, nil)
	})
	p := play(t, client, pair())
	p.completed(t)
	messages := script.Requests(boss)[1].Messages
	require.Len(t, messages, 6, "system, request, the turn with its rest, its three results")
	require.Equal(t, events.CallID("a"), messages[3].ToolCallID)
	require.Contains(t, messages[4].Content, "no task 9")
	require.Equal(t, "Did it", messages[5].Content)
}

// A retry before anything started makes all that streamed void.
func TestRetryVoidsWhatStreamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Hello to you")))
		client := stage(script, boss, 1, func(_ context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
			call := called("a", create("alpha"))
			_ = yield(llm.Delta{Text: "Garbage "}, nil) && yield(llm.Delta{Call: &call}, nil) && yield(llm.Delta{}, errBroken)
		})
		p := play(t, client, pair())
		p.completed(t)
		require.Equal(t, "Hello to you", p.Answer)
		require.Empty(t, p.Tasks)
		require.Equal(t, 2, p.of(events.KindModelCalled)[0].Data.(events.ModelCalled).Attempts)
	})
}

// Proves R24's part for calls: ids that a provider leaves out or repeats are made
// unique in the thread, and sent back the same ever after.
func TestCallIDsAreUniqueInTheThread(t *testing.T) {
	log := events.NewMemory()
	var requests []llm.Request
	odd := func(llm.Client) llm.Client {
		script := llmtest.Script(t, ordinary()[1], llmtest.Agent(boss, llmtest.Says("Done")))
		first := stage(script, boss, 1, func(_ context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
			whole(yield, events.Reply{ToolCalls: []events.ToolCall{
				called("", create("alpha")), called("same", llmtest.Call("get_plan_status", args{})), called("same", llmtest.Call("get_plan_status", args{})),
			}})
		})
		return stage(first, boss, 2, func(_ context.Context, req llm.Request, yield func(llm.Delta, error) bool) {
			requests = append(requests, req)
			whole(yield, events.Reply{ToolCalls: []events.ToolCall{called("same", dispatch("alpha", 1))}})
		})
	}
	again := job
	again.Team = pair()
	for range 2 { // two runs of one thread
		run, err := owned(t, log, odd(nil), "driver").Start(t.Context(), again)
		require.NoError(t, err)
		_, err = run.Wait()
		require.NoError(t, err)
		again.Thread = run.Key().Thread
	}
	envs, err := log.Read(t.Context(), events.ThreadKey{Tenant: events.LocalTenant, Thread: again.Thread}, 0, 0)
	require.NoError(t, err)
	seen := map[events.CallID]bool{}
	for _, env := range envs {
		if e, ok := env.Data.(events.ModelCalled); ok {
			for _, call := range e.Reply.ToolCalls {
				require.NotEmpty(t, call.ID)
				require.False(t, seen[call.ID], "%s occurs twice", call.ID)
				seen[call.ID] = true
			}
		}
	}
	require.Len(t, seen, 2*(4+2))
	for _, req := range requests {
		turn := req.Messages[2]
		for i, call := range turn.ToolCalls {
			require.Equal(t, call.ID, req.Messages[3+i].ToolCallID)
			require.True(t, seen[call.ID], "what is sent back is what the log has")
		}
	}
}

// A last turn that calls tools all the same has them refused; its text, if it has
// any, is the answer, and else the document is.
func TestLastTurnThatCallsTools(t *testing.T) {
	for text, fallback := range map[string]bool{"As far as I know": false, " ": true} {
		p := play(t, llmtest.Script(t, ordinary()[1], llmtest.Agent(boss,
			llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Calls(text, create("beta"), dispatch("alpha", 1))),
		), pair(func(l *team.Limits) { l.MaxFacilitatorTurns = 3 }))
		p.met(t, events.LimitMaxFacilitatorTurns)
		require.Equal(t, events.StatusDegraded, p.Status)
		require.Equal(t, fallback, p.Fallback)
		require.Len(t, p.Tasks, 1)
		require.Contains(t, p.results("create_tasks")[1], "this is the last turn")
		require.Contains(t, p.results("call_alpha")[1], "this is the last turn")
		if fallback {
			require.Contains(t, p.Answer, "A\n")
		} else {
			require.Equal(t, text, p.Answer)
		}
	}
}

// A reply that was cut or withheld is named, in the log and to the model, and not
// taken for one that had nothing to say.
func TestUnfinishedRepliesAreNamed(t *testing.T) {
	for finish, want := range map[events.FinishReason]struct{ code, nudge string }{
		events.FinishLength:        {events.WarnReplyCut, "output limit"},
		events.FinishContentFilter: {events.WarnReplyFiltered, "content filter"},
	} {
		nothing := llmtest.Replies(events.Reply{FinishReason: finish})
		script := llmtest.Script(t,
			llmtest.Agent(boss, nothing, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)),
				llmtest.Replies(events.Reply{Text: "Half a sen", FinishReason: finish})),
			llmtest.Agent(alpha, nothing, llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Did it")))
		p := play(t, script, pair())
		require.Equal(t, events.StatusCompleted, p.Status, p.Reason)
		require.Equal(t, []string{want.code, want.code, want.code}, p.warnings())
		for _, agent := range []string{boss, alpha} {
			messages := script.Requests(agent)[1].Messages
			require.Contains(t, messages[len(messages)-1].Content, want.nudge)
		}
	}
}

// windowed plays with a model whose window has that many tokens.
func windowed(t *testing.T, client llm.Client, window int, change ...func(*team.Limits)) played {
	t.Helper()
	return playWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{client}, Prices: windowOf(t, window)}, pair(change...))
}

// windowOf has a model with a window of so many tokens.
func windowOf(t *testing.T, tokens int) *prices.Table {
	t.Helper()
	table, err := prices.Parse(fmt.Appendf(nil, `{"models":{"sim/sim":{"input":1,"output":1,"window":%d}}}`, tokens))
	require.NoError(t, err)
	return table
}

// A history that outgrows the window is summarized, not sent too long.
func TestHistoryIsCompacted(t *testing.T) {
	const window = 4000
	long := strings.Repeat("word ", 1600) // about half of the window
	script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
		llmtest.Calls("", write("a", long)), llmtest.Calls("", write("b", long)),
		llmtest.Says("I wrote half"), llmtest.Says("I wrote most"), llmtest.Says("I wrote a and b"), // the summary
		llmtest.Calls("", complete(1)), llmtest.Says("Did it")))
	p := windowed(t, script, window)
	p.completed(t)
	compacted := p.of(events.KindHistoryCompacted)
	require.Len(t, compacted, 3, "it takes three calls")
	e := compacted[2].Data.(events.HistoryCompacted)
	require.Equal(t, "I wrote a and b", e.Summary)
	require.Equal(t, events.ModelCallID("d1.2"), e.ThroughTurn)
	for _, req := range script.Requests(alpha) {
		bytes := 0
		for _, m := range req.Messages {
			bytes += len(m.Content)
			for _, c := range m.ToolCalls {
				bytes += len(c.Arguments)
			}
		}
		require.Less(t, bytes/4, window)
	}
	after := script.Requests(alpha)[5].Messages
	require.Len(t, after, 3, "system, opening, summary")
	require.Equal(t, script.Requests(alpha)[0].Messages, after[:2])
	require.Contains(t, after[2].Content, "I wrote a and b")
	require.Equal(t, 10, p.ModelCalls, "the summary is paid for")
}

// Nothing of a history is clipped before it is summarized: what one call cannot take the
// next one does, with the summary so far.
func TestCompactionReadsTheWholeHistory(t *testing.T) {
	const window = 4000
	words := func(name string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s%d ", name, i)
		}
		return b.String()
	}
	script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
		llmtest.Calls("", write("a", words("one", 600))), llmtest.Calls("", write("b", words("two", 1200))),
		llmtest.Says("The first part"), llmtest.Says("All of it"),
		llmtest.Calls("", complete(1)), llmtest.Says("Did it")))
	p := windowed(t, script, window)
	p.completed(t)
	requests := script.Requests(alpha)
	first, second := requests[2].Messages[1].Content, requests[3].Messages[1].Content
	require.Equal(t, []events.ModelCallID{"d1.3c", "d1.3c2"}, []events.ModelCallID{requests[2].Call, requests[3].Call})
	for _, req := range requests {
		require.Less(t, len(req.Messages[0].Content)+len(req.Messages[1].Content), window*4)
	}
	for _, word := range strings.Fields(words("one", 600) + words("two", 1200)) {
		require.Contains(t, first+second, word+" ")
	}
	require.Contains(t, second, "The summary of the work so far: The first part\n\nWhat followed:\n> two", "a line that was cut stays quoted")
	require.Len(t, requests[4].Messages, 3, "system, opening, summary")
	require.Contains(t, requests[4].Messages[2].Content, "All of it")
	require.Empty(t, p.warnings())
}

// A compaction of several calls goes on where its process died: what was summarized is not
// summarized again.
func TestCompactionResumes(t *testing.T) {
	log := events.NewMemory()
	long := strings.Repeat("word ", 1600)
	script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
		llmtest.Calls("", write("a", long)), llmtest.Calls("", write("b", long)),
		llmtest.Says("One"), llmtest.Says("Two"), llmtest.Says("Three"),
		llmtest.Calls("", complete(1)), llmtest.Says("Did it")))
	held := make(chan struct{})
	client := stage(script, alpha, 4, func(ctx context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
		close(held)
		<-ctx.Done()
		yield(llm.Delta{}, ctx.Err())
	})
	table := windowOf(t, 4000)
	with := func(client llm.Client, owner events.Owner) *runner.Runner {
		r, err := runner.New(runner.Config{Log: log, Models: oneClient{client}, Prices: table, Owner: owner})
		require.NoError(t, err)
		return r
	}
	run := start(t, with(client, "driver"))
	<-held
	run.Halt()
	require.Equal(t, events.StatusSuspended, parked(t, log, run).Status)
	resumed, err := with(script, "other").Resume(t.Context(), "", run.ID(), runner.Terms{})
	require.NoError(t, err)
	p := ended(t, log, resumed)
	p.completed(t)
	require.Len(t, p.of(events.KindHistoryCompacted), 3)
	require.Contains(t, script.Requests(alpha)[3].Messages[1].Content, "The summary of the work so far: One")
}

// A summary that says nothing does not cost the history.
func TestHistoryIsCompactedWithoutASummary(t *testing.T) {
	long := strings.Repeat("word ", 1600)
	script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
		llmtest.Calls("", write("a", long)), llmtest.Calls("", write("b", long)),
		llmtest.Says(" "), llmtest.Says(" "), llmtest.Says(" "), llmtest.Calls("", complete(1)), llmtest.Says("Did it")))
	p := windowed(t, script, 4000)
	p.completed(t)
	for _, env := range p.of(events.KindHistoryCompacted) {
		summary := env.Data.(events.HistoryCompacted).Summary
		require.Contains(t, summary, "write_section")
		require.Contains(t, summary, "characters were left out", "not unseen")
	}
	require.Equal(t, events.WarnHistoryClipped, p.warnings()[0])
}

// Where nobody knew the window, the endpoint's refusal leads to one compaction.
func TestRefusedContextIsCompactedOnce(t *testing.T) {
	tooLong := &llm.Error{Kind: llm.ErrContextLength, Message: "too long"}
	script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
		llmtest.Calls("", write("a", "A")), llmtest.Fails(tooLong), llmtest.Says("I wrote a"),
		llmtest.Calls("", complete(1)), llmtest.Says("Did it")))
	p := play(t, script, pair())
	p.completed(t)
	require.Len(t, p.of(events.KindHistoryCompacted), 1)

	hopeless := play(t, llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("No"), llmtest.Says("Still no")),
		llmtest.Agent(alpha, llmtest.Calls("", write("a", "A")), llmtest.Fails(tooLong), llmtest.Says("I wrote a"), llmtest.Fails(tooLong))), pair())
	require.Equal(t, []events.Outcome{events.OutcomeFailed}, hopeless.outcomes())
	require.Equal(t, events.StatusDegraded, hopeless.Status)
}

// A run that was compacted resumes with the summary.
func TestCompactedRunResumes(t *testing.T) {
	tooLong := &llm.Error{Kind: llm.ErrContextLength, Message: "too long"}
	log := events.NewMemory()
	script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
		llmtest.Calls("", write("a", "A")), llmtest.Fails(tooLong), llmtest.Says("I wrote a"),
		llmtest.Calls("", complete(1)), llmtest.Says("Did it")))
	held := make(chan struct{})
	client := stage(script, alpha, 4, func(ctx context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
		close(held)
		<-ctx.Done()
		yield(llm.Delta{}, ctx.Err())
	})
	run := start(t, owned(t, log, client, "driver"))
	<-held
	run.Halt()
	require.Equal(t, events.StatusSuspended, parked(t, log, run).Status)
	resumed, err := owned(t, log, script, "other").Resume(t.Context(), "", run.ID(), runner.Terms{})
	require.NoError(t, err)
	ended(t, log, resumed).completed(t)
	require.Contains(t, script.Requests(alpha)[3].Messages[2].Content, "I wrote a")
}

// A stop during a compaction parks the run, like one at any other time.
func TestStopDuringCompaction(t *testing.T) {
	tooLong := &llm.Error{Kind: llm.ErrContextLength, Message: "too long"}
	log := events.NewMemory()
	script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
		llmtest.Calls("", write("a", "A")), llmtest.Fails(tooLong), llmtest.Fails(tooLong), llmtest.Says("I wrote a"),
		llmtest.Calls("", complete(1)), llmtest.Says("Did it")))
	held := make(chan struct{})
	client := stage(script, alpha, 3, func(ctx context.Context, req llm.Request, yield func(llm.Delta, error) bool) {
		require.Equal(t, events.ModelCallID("d1.2c"), req.Call)
		close(held)
		<-ctx.Done()
		yield(llm.Delta{}, ctx.Err())
	})
	run := start(t, owned(t, log, client, "driver"))
	<-held
	run.Halt()
	p := parked(t, log, run)
	require.Equal(t, events.StatusSuspended, p.Status)
	require.Empty(t, p.outcomes())
	resumed, err := owned(t, log, script, "other").Resume(t.Context(), "", run.ID(), runner.Terms{})
	require.NoError(t, err)
	ended(t, log, resumed).completed(t)
}

// What an agent meets while its run is being cancelled closes it, and nothing else.
func TestFailureOfCancelledRun(t *testing.T) {
	bad := &llm.Error{Kind: llm.ErrBadRequest, Message: "refused"}
	for _, who := range []string{boss, alpha} {
		for name, end := range map[string]func(func(llm.Delta, error) bool){
			"bound":  func(yield func(llm.Delta, error) bool) { yield(llm.Delta{Text: strings.Repeat("x", 3000)}, nil) },
			"error":  func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, bad) },
			"length": func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, &llm.Error{Kind: llm.ErrContextLength}) },
			"answer": func(yield func(llm.Delta, error) bool) { whole(yield, events.Reply{Text: "Done"}) },
		} {
			t.Run(name+" "+who, func(t *testing.T) {
				log := events.NewMemory()
				work := []llmtest.Step{llmtest.Calls("", write("a", "A"))}
				if who == boss {
					work = append(work, llmtest.Says("Did it"))
				}
				script := llmtest.Script(t, interrupted(), llmtest.Agent(alpha, work...))
				var run *runner.Run
				begun := make(chan struct{})
				nth := map[string]int64{boss: 3, alpha: 2}[who]
				client := stage(script, who, nth, func(_ context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
					<-begun
					require.NoError(t, run.RecordCancelled("enough"))
					end(yield)
				})
				again := job
				again.Team = pair(func(l *team.Limits) { l.MaxReplyChars = 2000 })
				var err error
				run, err = owned(t, log, client, "driver").Start(t.Context(), again)
				require.NoError(t, err)
				close(begun)
				p := ended(t, log, run)
				require.Equal(t, events.StatusCancelled, p.Status)
				require.Equal(t, "enough", strings.Split(p.Reason, ";")[0])
			})
		}
	}
}
