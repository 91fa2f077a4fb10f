package runner_test

import (
	"context"
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

// crowded is an endpoint at which every call waits for its turn.
type crowded struct {
	client llm.Client
	wait   time.Duration
}

func (c crowded) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: &llm.Endpoint{Name: "sim", Simulated: true, Client: c.client, Limiter: c}, Model: "sim"}}, nil
}

func (c crowded) Acquire(ctx context.Context, _ *llm.Request) (llm.Permit, error) {
	select {
	case <-time.After(c.wait):
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (crowded) Accepted() {}

func (crowded) Settle(*llm.Completion, error) {}

// Proves R23: to wait for an endpoint's turn is neither silence nor work of a
// specialist; max_time goes on.
func TestWaitingForTheLimiterIsNoSilence(t *testing.T) {
	limits := func(l *team.Limits) {
		l.SilenceNotice, l.SilenceSlow, l.SilenceTimeout, l.SpecialistTimeout = 2*time.Second, 4*time.Second, 8*time.Second, 10*time.Second
	}
	synctest.Test(t, func(t *testing.T) {
		p := playWith(t, runner.Config{
			Log: events.NewMemory(), Models: crowded{llmtest.Script(t, ordinary()...), time.Minute},
			OnSignal: func(s runner.Signal) { t.Errorf("signal %+v", s) },
		}, pair(limits))
		p.completed(t)
		require.InDelta(t, 5*60, p.Driven.Seconds(), 1)
	})
	synctest.Test(t, func(t *testing.T) {
		p := playWith(t, runner.Config{
			Log: events.NewMemory(), Models: crowded{llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", create("alpha")))), time.Minute},
		}, pair(limits, func(l *team.Limits) { l.MaxTime = 100 * time.Second }))
		p.met(t, events.LimitMaxTime)
		require.InDelta(t, 100, p.Driven.Seconds(), 2)
	})
}

// Proves R74: max_time counts over a stop and a resume, and not what lies between.
func TestMaxTimeCountsOverResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
			llmtest.Calls("", write("a", "A"), complete(1)).After(60*time.Second), llmtest.Says("Did it").After(60*time.Second)))
		tm := pair(func(l *team.Limits) { l.MaxTime, l.SilenceTimeout = 100*time.Second, time.Hour })
		run, err := owned(t, log, script, "driver").Start(t.Context(), runner.Job{Request: "Write", Team: tm})
		require.NoError(t, err)
		time.Sleep(30 * time.Second)
		run.Suspend() // the call in flight ends at 60 s
		require.Equal(t, events.StatusSuspended, parked(t, log, run).Status)
		time.Sleep(time.Hour)
		resumed, err := owned(t, log, script, "other").Resume(t.Context(), "", run.ID(), runner.Terms{})
		require.NoError(t, err)
		p := ended(t, log, resumed)
		p.met(t, events.LimitMaxTime)
		require.Equal(t, events.StatusDegraded, p.Status)
		require.InDelta(t, 91, p.Driven.Seconds(), 2)
		require.Equal(t, "Done", p.Answer)
	})
}

// Proves R23: neither is to wait until a failed call may be made again, for as long as
// the endpoint asks.
func TestWaitingForARetryIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := llmtest.Fails(&llm.Error{Kind: llm.ErrServer, Status: 503, RetryAfter: time.Minute, Message: "busy"})
		script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
			busy, llmtest.Calls("", write("a", "A"), complete(1)).After(4*time.Second), busy, llmtest.Says("Did it").After(4*time.Second)))
		p := playWith(t, runner.Config{
			Log: events.NewMemory(), Models: oneClient{script},
			OnSignal: func(s runner.Signal) { t.Errorf("signal %+v", s) },
		}, pair(func(l *team.Limits) {
			l.SilenceNotice, l.SilenceSlow, l.SilenceTimeout, l.SpecialistTimeout = 5*time.Second, 6*time.Second, 7*time.Second, 9*time.Second
		}))
		p.completed(t)
		require.Greater(t, p.Driven, 2*time.Minute)
	})
}
