package loop_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/thread"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A panic in a tool is a warning and a result, whatever kind of tool it is.
func TestToolThatPanics(t *testing.T) {
	j := newJournal(t)
	tools := []agent.Tool{
		tool("think", loop.Pure(func(*thread.Tx, *agent.Invocation) agent.Result { panic("no thought") })),
		tool("fetch", agent.External{Call: text(func(context.Context, agent.Invocation) (string, error) { panic("no net") })}),
	}
	l, script := newLoop(t, j, tools, llmtest.Calls("", call("think"), call("fetch")), llmtest.Says("Done"))
	require.NoError(t, l.Drive(t.Context()))
	results := of[events.ToolCallDone](j)
	require.Len(t, results, 2)
	for i, name := range []string{"think", "fetch"} {
		require.Equal(t, name, results[i].Tool)
		require.True(t, results[i].Failed)
		require.Contains(t, results[i].Result, "failed internally")
	}
	warnings := of[events.Warning](j)
	require.Len(t, warnings, 2)
	for i, why := range []string{"no thought", "no net"} {
		require.Equal(t, events.WarnToolPanicked, warnings[i].Code)
		require.Contains(t, warnings[i].Message, why)
	}
	require.Contains(t, script.Requests("")[1].Messages[3].Content, "failed internally")
}

// External tools that stand side by side run together, a pure one between them waits;
// results are sent in the order of the calls.
func TestOrderWithinATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		var log []string
		note := make(chan string, 10)
		slow := func(name string, d time.Duration) agent.Tool {
			return tool(name, agent.External{Call: text(func(context.Context, agent.Invocation) (string, error) {
				time.Sleep(d)
				note <- name
				return name + " done", nil
			})})
		}
		pure := tool("pure", loop.Pure(func(*thread.Tx, *agent.Invocation) agent.Result {
			note <- "pure"
			return agent.Result{Text: "pure done"}
		}))
		l, script := newLoop(t, j, []agent.Tool{slow("slow", 9*time.Second), slow("quick", time.Second), slow("last", time.Second), pure},
			llmtest.Calls("", call("pure"), call("slow"), call("quick"), call("pure"), call("last")), llmtest.Says("Done"))
		begun := time.Now()
		require.NoError(t, l.Drive(t.Context()))
		require.Equal(t, 10*time.Second, time.Since(begun))
		close(note)
		for name := range note {
			log = append(log, name)
		}
		require.Equal(t, []string{"pure", "quick", "slow", "pure", "last"}, log)
		var sent []string
		for _, m := range script.Requests("")[1].Messages[3:] {
			sent = append(sent, m.Content)
		}
		require.Equal(t, []string{"pure done", "slow done", "quick done", "pure done", "last done"}, sent)
		for _, started := range of[events.ToolStarted](j) {
			require.NotEmpty(t, started.CallID)
		}
	})
}

// Calls that have come when the reader would wait start in one decision; where the end of the
// reply has come too, in that of the reply.
func TestCallsThatComeTogetherStartTogether(t *testing.T) {
	const started, called, result = events.KindToolStarted, events.KindModelCalled, events.KindToolCall
	for name, c := range map[string]struct {
		more  []bool
		first [][]events.Kind
	}{
		"one by one":         {[]bool{false, false}, [][]events.Kind{{started}, {started}, {called}}},
		"together":           {[]bool{true, false}, [][]events.Kind{{started, started}, {called}}},
		"one, then the rest": {[]bool{false, true}, [][]events.Kind{{started}, {called, started}}},
		"all at once":        {[]bool{true, true}, [][]events.Kind{{called, started, started}}},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJournal(t)
			replied := make(chan struct{})
			once := sync.OnceFunc(func() { close(replied) })
			j.deny = func(env events.Envelope) error {
				if env.Data.Kind() == called {
					once()
				}
				return nil
			}
			fetch := tool("fetch", agent.External{Call: text(func(context.Context, agent.Invocation) (string, error) {
				<-replied
				return "fetched", nil
			})})
			l, script := newLoop(t, j, []agent.Tool{fetch}, llmtest.Calls("", call("fetch"), call("fetch")), llmtest.Says("Done"))
			l.Caller = gathered{straight{script}, c.more}
			require.NoError(t, l.Drive(t.Context()))
			require.Equal(t, c.first, j.commits[:len(c.first)])
			for _, kinds := range j.commits[len(c.first) : len(j.commits)-1] {
				require.Subset(t, []events.Kind{result}, kinds)
			}
		})
	}
}

// gathered says of each call whether what follows it has come already.
type gathered struct {
	straight
	more []bool
}

func (g gathered) Stream(ctx context.Context, route llm.Route, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		more := false
		for delta, err := range g.straight.Stream(ctx, route, req) {
			if delta.Call != nil {
				more = g.more[delta.Index]
			}
			delta.More = more && delta.Done == nil
			if !yield(delta, err) {
				return
			}
		}
	}
}

// What a dead process had under way is repeated where that does no harm, and else the
// model is told that nobody knows: whether the turn was in the log when the process died,
// or its calls only, so that the rest of it is asked for first.
func TestResumedExternalCalls(t *testing.T) {
	for _, deadly := range []events.Kind{events.KindToolCall, events.KindModelCalled} {
		for effect, repeated := range map[events.Effect]bool{events.EffectPure: true, events.EffectIdempotent: true, events.EffectEffectful: false, "": false} {
			t.Run(fmt.Sprint(deadly, " ", effect), func(t *testing.T) { resumedExternalCall(t, deadly, effect, repeated) })
		}
	}
}

// resumedExternalCall has a process die of the fact of a kind, while an external call is
// under way, and resumes its run.
func resumedExternalCall(t *testing.T, deadly events.Kind, effect events.Effect, repeated bool) {
	j := newJournal(t)
	errDead := errors.New("the process died")
	var calls atomic.Int64
	turnEnds := make(chan struct{})
	fetch := tool("fetch", agent.External{Effect: effect, Call: text(func(_ context.Context, in agent.Invocation) (string, error) {
		calls.Add(1)
		<-turnEnds
		return "fetched for " + string(in.Ref.CallID), nil
	})})
	j.deny = func(env events.Envelope) error {
		if env.Data.Kind() == events.KindModelCalled {
			close(turnEnds)
		}
		if env.Data.Kind() == deadly {
			return errDead
		}
		return nil
	}
	l, _ := newLoop(t, j, []agent.Tool{fetch}, llmtest.Calls("", call("fetch")))
	require.ErrorIs(t, l.Drive(t.Context()), errDead)
	require.EqualValues(t, 1, calls.Load())
	require.Len(t, of[events.ToolStarted](j), 1)
	inLog := deadly == events.KindToolCall
	require.Equal(t, inLog, len(of[events.ModelCalled](j)) == 1)

	again := newJournal(t, j.facts...)
	steps := []llmtest.Step{llmtest.Says("Done")}
	if !inLog {
		steps = []llmtest.Step{llmtest.Says("complete"), llmtest.Says("Done")}
	}
	l, script := newLoop(t, again, []agent.Tool{fetch}, steps...)
	require.NoError(t, l.Drive(t.Context()))
	messages := script.Requests("")[len(steps)-1].Messages
	result := messages[len(messages)-1].Content
	if repeated {
		require.EqualValues(t, 2, calls.Load())
		require.Contains(t, result, "fetched for call_1", "the call id is the key")
		return
	}
	require.EqualValues(t, 1, calls.Load())
	require.Contains(t, result, "Outcome unknown")
	require.True(t, slices.ContainsFunc(of[events.Warning](again), func(w events.Warning) bool { return w.Code == events.WarnOutcomeUnknown }))
}

// What a call says of how far it is can be seen while it runs, the newest on one line, with
// the tool's name, and no longer.
func TestWordsOfProgress(t *testing.T) {
	live := &agent.Live{}
	fetch := tool("fetch", agent.External{Call: text(func(_ context.Context, in agent.Invocation) (string, error) {
		in.Report("1 of 3")
		in.Report("2 of 3,\nhalf done")
		in.Progress()
		return live.State().Progress, nil
	})})
	j := newJournal(t)
	l, _ := newLoop(t, j, []agent.Tool{fetch}, llmtest.Calls("", call("fetch")), llmtest.Says("Done"))
	l.Live = live
	require.NoError(t, l.Drive(t.Context()))
	require.Equal(t, "fetch: 2 of 3, half done", of[events.ToolCallDone](j)[0].Result)
	require.Empty(t, live.State().Progress)
}

// A stop in the middle of an external call leaves it open, for a resume to judge.
func TestStopDuringExternalCall(t *testing.T) {
	j := newJournal(t)
	ctx, stop := context.WithCancelCause(t.Context())
	fetch := tool("fetch", agent.External{Call: text(func(ctx context.Context, _ agent.Invocation) (string, error) {
		stop(loop.ErrSuspended)
		<-ctx.Done()
		return "", ctx.Err()
	})})
	l, _ := newLoop(t, j, []agent.Tool{fetch}, llmtest.Calls("", call("fetch")))
	require.ErrorIs(t, l.Drive(ctx), loop.ErrSuspended)
	require.Len(t, of[events.ToolStarted](j), 1)
	require.Empty(t, of[events.ToolCallDone](j))
}

// An agent waits for what it launched, whatever ends it.
func TestLoopLeavesNobodyBehind(t *testing.T) {
	j := newJournal(t)
	errFull := errors.New("no space left")
	released := make(chan struct{})
	var ended atomic.Bool
	fetch := tool("fetch", agent.External{Call: text(func(context.Context, agent.Invocation) (string, error) {
		<-released
		time.Sleep(20 * time.Millisecond)
		ended.Store(true)
		return "", nil
	})})
	j.deny = func(env events.Envelope) error {
		if env.Data.Kind() == events.KindModelCalled {
			close(released)
			return errFull
		}
		return nil
	}
	l, _ := newLoop(t, j, []agent.Tool{fetch}, llmtest.Calls("", call("fetch")))
	require.ErrorIs(t, l.Drive(t.Context()), errFull)
	require.True(t, ended.Load())
}

// A client that ends without a reply and without an error is one that failed.
func TestClientThatBreaksItsPromise(t *testing.T) {
	j := newJournal(t)
	l, _ := newLoop(t, j, nil)
	l.Caller = straight{silent{}}
	require.NoError(t, l.Drive(t.Context()))
	require.ErrorContains(t, l.Role.(*role).failure, "without a completion")
}

type silent struct{}

func (silent) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	return func(func(llm.Delta, error) bool) {}
}

func TestToolset(t *testing.T) {
	nothing := loop.Pure(func(*thread.Tx, *agent.Invocation) agent.Result { return agent.Result{} })
	_, err := loop.NewToolset([]agent.Tool{tool("a", nothing), tool("a", nothing)})
	require.ErrorContains(t, err, "tool a: a second tool of this name")
	_, err = loop.NewToolset([]agent.Tool{{Tool: llm.Tool{Name: "b", Parameters: []byte(`{"type":`)}, Handler: nothing}})
	require.ErrorContains(t, err, "tool b: parameters")
	var tools []agent.Tool
	for i := range 5 {
		tools = append(tools, tool(fmt.Sprint("t", 5-i), nothing))
	}
	set, err := loop.NewToolset(tools)
	require.NoError(t, err)
	for i, spec := range set.Specs() {
		require.Equal(t, tools[i].Name, spec.Name, "in the order given")
	}
}

// asker is a role that waits for a person after its first turn.
type asker struct{ role }

func (*asker) Prepare(_ *thread.Tx, conv *thread.Conversation, _ *events.LimitError) loop.NextStep {
	messages := conv.Messages()
	if len(messages) > 0 && messages[len(messages)-1].Role != events.RoleUser {
		return loop.AwaitInput{}
	}
	return loop.RunAgain{}
}

// An agent that waits for a person has its run parked, however often it is taken up, and
// goes on once there is an answer.
func TestAgentAwaitsInput(t *testing.T) {
	j := newJournal(t)
	think := tool("think", loop.Pure(func(*thread.Tx, *agent.Invocation) agent.Result { return agent.Result{Text: "Which city?"} }))
	first, script := newLoop(t, j, []agent.Tool{think}, llmtest.Calls("", call("think")), llmtest.Says("Kyoto it is"))
	for range 2 {
		again := *first
		again.Role = &asker{}
		err := again.Drive(t.Context())
		require.ErrorIs(t, err, loop.ErrAwaitingInput)
		require.ErrorIs(t, err, loop.ErrSuspended, "whoever parks runs parks it")
	}
	require.Len(t, script.Requests(""), 1)
	require.NoError(t, j.Do(func(tx *thread.Tx) {
		tx.Emit("", "", events.RunSuspended{AwaitingInput: true})
		require.Equal(t, events.StatusAwaitingInput, tx.Run.Status)
		tx.Emit("", "", events.UserMessage{Content: "Kyoto"})
		tx.Emit("", "", events.RunResumed{})
		require.Equal(t, events.StatusRunning, tx.Run.Status)
	}))
	again := *first
	again.Role = &asker{}
	require.NoError(t, again.Drive(t.Context()))
	require.Equal(t, "Kyoto it is", of[events.FinalAnswer](j)[0].Content)
}
