package runner_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// Proves R52: the hooks are told of everything, in order and once, after it is in the log; one
// that blocks or panics keeps no run from going on, and a shutdown waits for them.
func TestHooks(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	var mu sync.Mutex
	var seqs []events.Seq
	var said []string
	tell := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, fmt.Sprintf(format, args...))
	}
	blocked := make(chan struct{})
	script := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", handoff("alpha"), llmtest.Call("handoff_conversation", args{"target": "alpha", "reason": "again", "summary": "More"}))),
		llmtest.Agent(alphaTalks, llmtest.Says("Hello"), llmtest.Says("Fine")))
	r, err := runner.New(runner.Config{Log: k.log, Models: oneClient{script}, Hooks: runner.Hooks{
		OnEvent: func(env events.Envelope) {
			<-blocked
			mu.Lock()
			seqs = append(seqs, env.Seq)
			mu.Unlock()
			panic("mine")
		},
		OnHandoff: func(env events.Envelope, request events.HandoffRequested) {
			tell("%s to %s", request.HandoffID, request.Target)
		},
		OnHandoffRejected: func(_ events.Envelope, request events.HandoffRequested, rejected events.HandoffRejected) {
			tell("%s rejected: %s", request.HandoffID, rejected.Code)
		},
		OnPhaseTransition: func(_ events.Envelope, changed events.PhaseChanged) { tell("phase %s", changed.To) },
	}})
	require.NoError(t, err)
	tm := talkers()
	tm.Conversation = &team.Conversation{Phases: []team.AgentPhase{{Agent: "alpha", Phase: "handling"}}}
	for _, text := range []string{"Hi", "Go on"} {
		run, err := r.Start(t.Context(), runner.Job{Request: text, Team: tm, Thread: k.thread})
		require.NoError(t, err)
		_, err = run.Wait() // though the first callback has not returned
		require.NoError(t, err)
		k.thread = run.Key().Thread
	}
	close(blocked)
	require.NoError(t, r.Shutdown(t.Context()))
	require.Len(t, seqs, len(k.envs()))
	for i, seq := range seqs {
		require.Equal(t, events.Seq(i+1), seq)
	}
	require.Equal(t, []string{"h1 to alpha", "phase handling", "h2 rejected: active_session"}, said)
}

// paged counts the events that are read by pages of the size that the hooks read.
type paged struct {
	events.Log
	read atomic.Int64
}

func (p *paged) Read(ctx context.Context, key events.ThreadKey, after events.Seq, limit int, kinds ...events.Kind) ([]events.Envelope, error) {
	envs, err := p.Log.Read(ctx, key, after, limit, kinds...)
	if limit == 256 {
		p.read.Add(int64(len(envs)))
	}
	return envs, err
}

// Events that may wait are told of at the end of the run at the latest. What was committed
// here meanwhile is not read from the log again, which would cost more than what hooks do
// with it.
func TestHooksMayWait(t *testing.T) {
	log := &paged{Log: events.NewMemory()}
	var kinds []events.Kind
	over := make(chan struct{})
	script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Hello")))
	r, err := runner.New(runner.Config{Log: log, Models: oneClient{script}, Hooks: runner.Hooks{
		OnEvent: func(env events.Envelope) {
			<-over
			kinds = append(kinds, env.Data.Kind())
		},
		Delay: time.Hour,
	}})
	require.NoError(t, err)
	_, err = r.Run(t.Context(), runner.Job{Request: "Hi", Team: talkers()})
	require.NoError(t, err)
	close(over)
	require.NoError(t, r.Shutdown(t.Context()))
	require.Equal(t, events.KindUserMessage, kinds[0])
	require.Equal(t, events.KindWorkflowFinished, kinds[len(kinds)-1])
	require.Zero(t, log.read.Load())
}

// delayed answers once it is let go.
type delayed struct {
	llm.Client
	until chan struct{}
}

func (h delayed) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	select {
	case <-h.until:
	case <-ctx.Done():
	}
	return h.Client.Stream(ctx, req)
}

// What another process posts is told of in its place, while the run still waits for its model.
func TestHooksAreToldOfPosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		var told []events.Envelope
		posted := make(chan struct{})
		script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Hello"), llmtest.Says("Yes")))
		r, err := runner.New(runner.Config{Log: log, Models: oneClient{delayed{script, posted}}, Hooks: runner.Hooks{OnEvent: func(env events.Envelope) {
			told = append(told, env)
			if env.Data.Kind() == events.KindUserMessage && env.Seq > 1 {
				close(posted)
			}
		}}})
		require.NoError(t, err)
		run, err := r.Start(t.Context(), runner.Job{Request: "Hi", Team: talkers()})
		require.NoError(t, err)
		other := newWith(t, runner.Config{Log: log, Models: oneClient{script}})
		_, err = other.Send(t.Context(), runner.Job{Thread: run.Key().Thread, Request: "And this?"})
		require.NoError(t, err)
		result, err := run.Wait()
		require.NoError(t, err)
		require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
		synctest.Wait() // the run of the message that was posted
		require.NoError(t, r.Shutdown(t.Context()))
		envs, err := log.Read(t.Context(), run.Key(), 0, 0)
		require.NoError(t, err)
		require.Equal(t, envs, told)
	})
}
