package runner_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/pipenet"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/prices"
	"github.com/convene-run/convene/runner"
)

// paid gives, in a bubble, a runner that knows what its model costs, and a server that counts what it
// sent, to the last chunk of a stream that it cut.
func paid(t testing.TB, log events.Log, faults string, caller *llm.Caller) (*runner.Runner, *sim.Server) {
	t.Helper()
	ordered, err := sim.ParseFaults(faults)
	require.NoError(t, err)
	served := sim.NewServer(sim.Options{Seed: 3, Faults: ordered, FirstToken: time.Millisecond})
	table, err := prices.Parse([]byte(`{"models": {"sim/*": {"input": 2, "cached_input": 2, "output": 8}}}`))
	require.NoError(t, err)
	caller.Prices = table
	r, err := runner.New(runner.Config{Log: log, Prices: table, Caller: caller, Models: endpointModels{inMemory(t, served, llm.LimiterConfig{})}})
	require.NoError(t, err)
	return r, served
}

// inMemory is an endpoint over HTTP within a bubble, where waiting takes no time.
func inMemory(t testing.TB, server http.Handler, limits llm.LimiterConfig) *llm.Endpoint {
	t.Helper()
	client := openai.New(openai.Config{Config: wire.Config{Provider: "sim", BaseURL: "http://memory/v1"}})
	client.SetTransport(pipenet.Serve(t, server))
	return &llm.Endpoint{Name: "sim", Simulated: true, Client: client, Limiter: llm.NewLimiter(limits)}
}

// lostOf sums what failed attempts used, as the log's events have it, and the attempts
// that used something.
func lostOf(p played) (sum *events.Spent, attempts int) {
	count := func(list []events.FailedAttempt) {
		for _, a := range list {
			if a.Usage != nil {
				attempts++
			}
		}
	}
	for _, env := range p.envs {
		sum = sum.Plus(events.LostIn(env.Data))
		switch e := env.Data.(type) {
		case events.ModelCalled:
			count(e.Retries)
		case events.ModelCallFailed:
			count(e.Attempts)
		case events.AgentFinished:
			count(e.Attempts)
		case events.Error:
			count(e.Attempts)
		}
	}
	return sum, attempts
}

// Proves R74: what broken streams used is in the log, call by call, and in the totals:
// those of the run, of its dispatches and of workflow_finished, as the server counts it.
func TestBrokenStreamsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		r, served := paid(t, log, "cut=40%", &llm.Caller{})
		run, err := r.Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")})
		require.NoError(t, err)
		p := ended(t, log, run)
		lost, attempts := lostOf(p)
		require.Greater(t, attempts, 3)
		require.Positive(t, *lost.CostUSD)
		require.True(t, lost.Usage.Estimated)
		require.InEpsilon(t, served.Report().PaidTokens.Total(), p.Usage.Total(), 0.02)
		finished := p.envs[len(p.envs)-1].Data.(events.WorkflowFinished)
		require.Equal(t, p.Usage, finished.Usage)
		require.InDelta(t, *p.CostUSD, *finished.CostUSD, 1e-9)
		facilitator, dispatches := int64(0), int64(0)
		for _, env := range p.envs {
			if called, ok := env.Data.(events.ModelCalled); ok && env.Dispatch == "" {
				usage, _ := called.Lost.AddTo(called.Usage, nil)
				facilitator += usage.Total()
			}
		}
		for _, d := range p.thread.Current().Dispatches {
			dispatches += d.Usage.Total()
		}
		require.Equal(t, p.Usage.Total(), facilitator+dispatches)
	})
}

// What calls used that failed for good is counted, whoever's they were.
func TestCallsThatFailForGoodAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		r, served := paid(t, log, "cut=100%", &llm.Caller{MaxAttempts: 2})
		run, err := r.Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")})
		require.NoError(t, err)
		result, err := run.Wait()
		require.NoError(t, err)
		require.InEpsilon(t, served.Report().PaidTokens.Total(), result.Usage.Total(), 0.1) // nothing was ever counted by the endpoint
		require.Positive(t, *result.CostUSD)
	})
}

// What a call used that was given up is counted, be its run parked or cancelled, and
// counts against the bounds of the run when it is resumed.
func TestCallsThatAreGivenUpAreCounted(t *testing.T) {
	for name, giveUp := range map[string]func(*runner.Run){
		"parked":    (*runner.Run).Halt,
		"cancelled": func(run *runner.Run) { _ = run.Cancel("enough") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := events.NewMemory()
				r, served := paid(t, log, "stall=100%:1m", &llm.Caller{})
				tm := builtin(t, "trip")
				tm.Limits.MaxTokens = 4000
				run, err := r.Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: tm})
				require.NoError(t, err)
				require.Eventually(t, func() bool {
					lives := run.Live()
					return len(lives) == 1 && lives[0].State().Phase == agent.PhaseWriting
				}, time.Minute, time.Millisecond)
				giveUp(run)
				p := parked(t, log, run)
				failed := p.of(events.KindModelCallFailed)
				require.Len(t, failed, 1)
				e := failed[0].Data.(events.ModelCallFailed)
				require.Equal(t, events.ModelCallID("f.1"), e.ModelCall)
				require.Equal(t, "stopped", e.Attempts[0].Error)
				require.Equal(t, e.Lost.Usage, p.Usage)
				require.Eventually(t, func() bool { return served.Report().PaidTokens.Total() > 0 }, time.Minute, time.Millisecond)
				require.InEpsilon(t, served.Report().PaidTokens.Total(), p.Usage.Total(), 0.1)
				if p.Status.Over() {
					return
				}
				run, err = r.Resume(t.Context(), "", run.ID(), runner.Terms{})
				require.NoError(t, err)
				result, err := run.Wait()
				require.NoError(t, err)
				require.Equal(t, events.LimitMaxTokens, result.Limit, "%s", result.Reason)
				require.Equal(t, p.Usage, result.Usage, "no second call fits")
			})
		})
	}
}

// A call that is cut again and again is given up when its attempts have used what there
// is, not when they run out.
func TestAttemptsEndAtTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		r, served := paid(t, log, "cut=100%", &llm.Caller{})
		tm := builtin(t, "trip")
		tm.Limits.MaxTokens = 6000
		run, err := r.Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: tm})
		require.NoError(t, err)
		p := ended(t, log, run)
		require.Equal(t, events.LimitMaxTokens, p.Limit)
		require.LessOrEqual(t, served.Report().PaidTokens.Total(), int64(6000))
		require.NotEmpty(t, p.of(events.KindModelCallFailed))
		require.Empty(t, p.of(events.KindModelCalled))
	})
}

// Proves R74: where the last turn is expected to use more than half of the bound, half
// is kept for ordinary work.
func TestAReserveDoesNotStarveTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		r, _ := paid(t, log, "", &llm.Caller{})
		tm := builtin(t, "trip")
		tm.Limits.MaxTokens = 7000 // a first call of 2,100; the last is expected to use 4,800
		run, err := r.Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: tm})
		require.NoError(t, err)
		p := ended(t, log, run)
		require.NotEmpty(t, p.Tasks, "the first call was not its last")
		require.Greater(t, p.Usage.Total(), int64(3000))
		require.LessOrEqual(t, p.Usage.Total(), int64(6000))
	})
}

// Proves R73: calls that wait for a place, or for another attempt, are not made once the
// run is to be parked; the one under way comes to its end.
func TestSuspendLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		ordered, err := sim.ParseFaults("slow=100%:200ms")
		require.NoError(t, err)
		served := sim.NewServer(sim.Options{Faults: ordered})
		r, err := runner.New(runner.Config{Log: log, Models: endpointModels{inMemory(t, served, llm.LimiterConfig{MaxInFlight: 1})}})
		require.NoError(t, err)
		var runs []*runner.Run
		for range 5 {
			run, err := r.Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")})
			require.NoError(t, err)
			runs = append(runs, run)
		}
		require.Eventually(t, func() bool { return served.Report().InFlight == 1 }, time.Minute, time.Millisecond)
		for _, run := range runs {
			run.Suspend()
		}
		sent := served.Report().Requests
		for _, run := range runs {
			p := parked(t, log, run)
			require.Equal(t, events.StatusSuspended, p.Status)
			require.Empty(t, p.of(events.KindModelCallFailed), "nothing was given up")
		}
		require.LessOrEqual(t, served.Report().Requests, sent+1) // one may have been on its way
	})
}

// A call that waits to be tried again is not.
func TestSuspendEndsTheWaitForAnotherAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		r, served := paid(t, log, "503=100%", &llm.Caller{})
		run, err := r.Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			lives := run.Live()
			return len(lives) == 1 && lives[0].State().Phase == agent.PhaseRetrying && served.Report().Requests == 3
		}, time.Minute, time.Millisecond)
		run.Suspend()
		p := parked(t, log, run)
		require.Equal(t, events.StatusSuspended, p.Status)
		require.Equal(t, 3, served.Report().Requests)
		require.Len(t, p.of(events.KindModelCallFailed)[0].Data.(events.ModelCallFailed).Attempts, 3, "what was tried is told")
	})
}
