package loop_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/thread"
)

// journal keeps the facts of one thread in memory.
type journal struct {
	mu     sync.Mutex
	thread *thread.Thread
	facts  []events.Envelope
	// commits are the kinds of each decision that had facts.
	commits [][]events.Kind
	// deny, if set, fails a commit as a store does, and with it all that follow.
	deny   func(events.Envelope) error
	failed error
}

func newJournal(t testing.TB, envs ...events.Envelope) *journal {
	t.Helper()
	j := &journal{thread: thread.New()}
	if len(envs) == 0 {
		envs = []events.Envelope{{
			Tenant: events.LocalTenant, Thread: "t", Run: "r", Seq: 1, Time: time.Now(), Data: events.WorkflowStarted{Message: "Hello"},
		}}
	}
	for _, env := range envs {
		require.NoError(t, j.thread.Apply(env))
	}
	j.facts = envs
	return j
}

func (j *journal) Do(decide func(*thread.Tx)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return j.failed
	}
	tx := j.thread.Begin(time.Now())
	decide(tx)
	facts, err := tx.Facts()
	for _, env := range facts {
		if j.deny != nil && err == nil {
			err = j.deny(env)
		}
	}
	if j.failed = err; err == nil {
		j.facts = append(j.facts, facts...)
		j.note(facts)
	}
	return err
}

func (j *journal) note(facts []events.Envelope) {
	var kinds []events.Kind
	for _, env := range facts {
		kinds = append(kinds, env.Data.Kind())
	}
	if kinds != nil {
		j.commits = append(j.commits, kinds)
	}
}

// of gives the facts of a kind.
func of[E events.Event](j *journal) []E {
	var list []E
	for _, env := range j.facts {
		if e, ok := env.Data.(E); ok {
			list = append(list, e)
		}
	}
	return list
}

// role is an agent that ends with its first answer.
type role struct{ failure error }

func (*role) Over(run *thread.Run) bool { return run.Status.Over() }

func (*role) Opening(*thread.Run) []events.Message {
	return []events.Message{{Role: events.RoleUser, Content: "Hello"}}
}

func (*role) Prepare(*thread.Tx, *thread.Conversation, *events.LimitError) loop.NextStep {
	return loop.RunAgain{}
}

func (*role) Beside(*thread.Tx, string) {}

func (*role) Close(tx *thread.Tx, reply events.Reply) {
	tx.Emit("", "", events.FinalAnswer{Content: reply.Text})
	tx.Emit("", "", events.WorkflowFinished{Status: events.StatusCompleted})
}

func (r *role) Fail(tx *thread.Tx, cause error) {
	r.failure = cause
	tx.Emit("", "", events.WorkflowFinished{Status: events.StatusFailed, Reason: cause.Error()})
}

// free admits every call.
type free struct{}

func (free) Admit(ctx context.Context, _ loop.Estimate) (loop.Reservation, error) {
	return free{}, context.Cause(ctx)
}
func (free) Parking() context.Context               { return context.Background() }
func (free) Settle(events.Usage, *float64)          {}
func (free) Cost(llm.Target, events.Usage) *float64 { return nil }
func (free) Dispatch(context.Context, events.DispatchID, time.Duration) error {
	return nil
}

// straight asks a client without retries.
type straight struct{ client llm.Client }

func (s straight) Stream(ctx context.Context, _ llm.Route, req llm.Request) iter.Seq2[llm.Delta, error] {
	return s.client.Stream(ctx, req)
}

// tool makes a tool that takes any object.
func tool(name string, handler agent.Handler) agent.Tool {
	return agent.Tool{Tool: llm.Tool{Name: name, Parameters: agent.Schema[struct{}]()}, Handler: handler}
}

// text is an external call whose result is text.
func text(call func(context.Context, agent.Invocation) (string, error)) func(context.Context, agent.Invocation) (agent.Result, error) {
	return func(ctx context.Context, in agent.Invocation) (agent.Result, error) {
		said, err := call(ctx, in)
		return agent.Result{Text: said}, err
	}
}

// newLoop gives an agent with tools whose model plays the steps.
func newLoop(t testing.TB, j *journal, tools []agent.Tool, steps ...llmtest.Step) (*loop.Loop, *llmtest.Scripted) {
	t.Helper()
	set, err := loop.NewToolset(tools)
	require.NoError(t, err)
	script := llmtest.Script(t, llmtest.Agent("", steps...))
	return &loop.Loop{
		Spec: &loop.Spec{ID: "tester", DisplayName: "Tester", System: "You test.", Tools: set, MaxToolCalls: 8, MaxResultChars: 4096},
		Role: &role{}, ID: thread.Facilitator, Run: "r", Journal: j, Caller: straight{script}, Governor: free{}, Dispatcher: free{}, Live: &agent.Live{},
	}, script
}

func call(name string) events.ToolCall { return llmtest.Call(name, map[string]any{}) }
