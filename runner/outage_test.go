package runner_test

import (
	"context"
	"iter"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// switched is a simulated model that can be made to fail, for one agent or for all. It
// counts the replies that it gave whole.
type switched struct {
	llm.Client
	mu     sync.Mutex // guards what follows
	fails  func(req llm.Request) error
	whole  int
	failed int
}

func (s *switched) set(fails func(llm.Request) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = fails
}

func (s *switched) replies() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.whole
}

func (s *switched) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		s.mu.Lock()
		fails := s.fails
		s.mu.Unlock()
		if fails != nil {
			if err := fails(req); err != nil {
				s.mu.Lock()
				s.failed++
				s.mu.Unlock()
				yield(llm.Delta{}, err)
				return
			}
		}
		for delta, err := range s.Client.Stream(ctx, req) {
			if delta.Done != nil {
				s.mu.Lock()
				s.whole++
				s.mu.Unlock()
			}
			if !yield(delta, err) {
				return
			}
		}
	}
}

func away(kind llm.ErrorKind, status int) func(llm.Request) error {
	return func(llm.Request) error {
		return &llm.Error{Kind: kind, Status: status, Provider: "sim", Message: "not now"}
	}
}

// fickle gives a runner whose model can be switched off, with its log.
func fickle(t testing.TB, model *switched, config runner.Config) *runner.Runner {
	t.Helper()
	model.Client = sim.New(sim.Options{FirstToken: time.Second})
	if config.Log == nil {
		config.Log = events.NewMemory()
	}
	config.Models = endpointModels{&llm.Endpoint{
		Name: "sim", Simulated: true, Address: "http://host/v1", Client: model, Limiter: llm.NewLimiter(llm.LimiterConfig{}), Health: &llm.Health{},
	}}
	r, err := runner.New(config)
	require.NoError(t, err)
	return r
}

// inMidRun starts a run and returns when specialists are at work.
func inMidRun(t testing.TB, r *runner.Runner, tm *team.Team) *runner.Run {
	t.Helper()
	run, err := r.Start(t.Context(), runner.Job{Request: "Plan two days in Kyoto", Team: tm})
	require.NoError(t, err)
	for env, err := range run.Events(t.Context()) {
		require.NoError(t, err)
		if env.Data.Kind() == events.KindAgentStarted {
			break
		}
	}
	return run
}

// Proves R22: an outage never ends a run. What is waited for counts towards no bound, of
// time and of silence, nor as driven time; nothing is asked for twice.
func TestARunOutlastsAnOutage(t *testing.T) {
	for _, lasts := range []time.Duration{time.Second, 10 * time.Second, time.Minute, 9 * time.Minute, 26 * time.Hour} {
		t.Run(lasts.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := &switched{}
				r := fickle(t, model, runner.Config{MaxWait: max(lasts+time.Minute, runner.DefaultMaxWait)})
				tm := *builtin(t, "trip")
				tm.Limits = tm.Limits.WithDefaults()
				tm.Limits.MaxTime, tm.Limits.SpecialistTimeout, tm.Limits.SilenceTimeout = 4*time.Minute, 2*time.Minute, time.Minute
				run := inMidRun(t, r, &tm)
				model.set(away(llm.ErrUnreachable, 0))
				time.Sleep(lasts)
				model.set(nil)
				p := ended(t, r.Log(), run)
				require.Equal(t, events.StatusCompleted, p.Status, p.Reason)
				require.Empty(t, p.MissingTasks)
				require.Equal(t, p.ModelCalls, model.replies(), "nothing was asked for twice")
				require.Less(t, p.Driven, 2*time.Minute)
				require.Equal(t, p.thread.Current().Driven, p.Driven)
				began, over := p.of(events.KindOutageBegan), p.of(events.KindOutageEnded)
				require.Len(t, over, len(began))
				if lasts < 10*time.Second {
					return // ordinary attempts may have outlasted it
				}
				require.Len(t, began, 1, "one wait, whoever waits")
				b := began[0].Data.(events.OutageBegan)
				require.Equal(t, "http://host/v1", b.Endpoint)
				require.Equal(t, "unreachable", b.Code)
				require.InDelta(t, lasts.Milliseconds(), over[0].Data.(events.OutageEnded).WaitedMS, 60_000)
				for _, env := range p.of(events.KindAgentFinished) {
					require.Less(t, env.Data.(events.AgentFinished).ElapsedMS, int64(120_000))
				}
			})
		})
	}
}

// Proves R22: a run whose endpoint stays away is parked as it is, and says so; once the
// endpoint is back the run goes on from there.
func TestARunIsParkedAtTheEndOfItsPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &switched{}
		r := fickle(t, model, runner.Config{})
		run := inMidRun(t, r, builtin(t, "trip"))
		model.set(away(llm.ErrServer, 503))
		time.Sleep(3 * time.Minute)
		away := 0
		for _, live := range run.Live() {
			if state := live.State(); state.Phase == agent.PhaseAway {
				away++
				require.Contains(t, state.RetryReason, "http://host/v1")
				require.InDelta(t, 10*time.Minute, state.GiveUpAt.Sub(state.Since), float64(time.Second))
			}
		}
		require.Positive(t, away)
		p := parked(t, r.Log(), run)
		require.Equal(t, events.StatusSuspended, p.Status)
		require.Equal(t, []string{"server", "http://host/v1"}, []string{p.Code, p.Endpoint})
		require.Equal(t, "sim at http://host/v1 model=sim: server: HTTP 503: not now; waited 10m0s for it", p.Reason)
		last := p.envs[len(p.envs)-1].Data.(events.RunSuspended)
		require.Equal(t, "server", last.Code)
		require.Empty(t, p.outcomes(), "specialists at work are parked with it")
		require.Less(t, p.Driven, time.Minute)
		require.Equal(t, p.Driven.Milliseconds(), last.DrivenMS)
		require.Equal(t, p.ModelCalls, model.replies())

		again, err := r.Resume(t.Context(), "", run.ID(), runner.Terms{MaxWait: time.Nanosecond})
		require.NoError(t, err)
		require.Equal(t, events.StatusSuspended, parked(t, r.Log(), again).Status, "still away: nothing is lost by trying")

		model.set(nil)
		last2, err := r.Resume(t.Context(), "", run.ID(), runner.Terms{})
		require.NoError(t, err)
		whole := ended(t, r.Log(), last2)
		require.Equal(t, events.StatusCompleted, whole.Status, whole.Reason)
		require.Equal(t, whole.ModelCalls, model.replies(), "nothing was asked for twice")
		require.Empty(t, whole.Code)
	})
}

// Proves R22: a key that was never right parks the run at once; one that was is waited for.
func TestARefusedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &switched{}
		model.set(away(llm.ErrAuthentication, http.StatusUnauthorized))
		r := fickle(t, model, runner.Config{MaxWait: runner.Forever})
		begun := time.Now()
		run, err := r.Start(t.Context(), runner.Job{Request: "Plan two days in Kyoto", Team: builtin(t, "trip")})
		require.NoError(t, err)
		p := parked(t, r.Log(), run)
		require.Equal(t, "authentication", p.Code)
		require.Zero(t, time.Since(begun))
		require.Empty(t, p.of(events.KindOutageBegan))
		require.Nil(t, p.Failure)

		model.set(nil)
		run, err = r.Resume(t.Context(), "", run.ID(), runner.Terms{})
		require.NoError(t, err)
		for env, err := range run.Events(t.Context()) {
			require.NoError(t, err)
			if env.Data.Kind() == events.KindAgentStarted {
				break
			}
		}
		model.set(away(llm.ErrAuthentication, http.StatusUnauthorized))
		time.Sleep(5 * time.Hour)
		model.set(nil)
		require.Equal(t, events.StatusCompleted, ended(t, r.Log(), run).Status)
	})
}

// Who asks a run to stop while it waits does not wait too.
func TestStoppedWhileItWaits(t *testing.T) {
	for name, stop := range map[string]func(*runner.Run){"suspend": (*runner.Run).Suspend, "stop": (*runner.Run).Halt} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := &switched{}
				r := fickle(t, model, runner.Config{MaxWait: runner.Forever})
				run := inMidRun(t, r, builtin(t, "trip"))
				model.set(away(llm.ErrUnreachable, 0))
				time.Sleep(time.Hour)
				begun := time.Now()
				stop(run)
				p := parked(t, r.Log(), run)
				require.Less(t, time.Since(begun), time.Second)
				require.Equal(t, events.StatusSuspended, p.Status)
				require.Equal(t, "stopped", p.Reason)
				require.Empty(t, p.Code)
				require.Nil(t, p.thread.Current().Outage)
				require.Less(t, p.Driven, time.Minute)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		model := &switched{}
		r := fickle(t, model, runner.Config{MaxWait: runner.Forever})
		run := inMidRun(t, r, builtin(t, "trip"))
		model.set(away(llm.ErrUnreachable, 0))
		time.Sleep(time.Hour)
		require.NoError(t, run.Cancel("enough"))
		p := ended(t, r.Log(), run)
		require.Equal(t, events.StatusCancelled, p.Status)
		require.Less(t, p.Driven, time.Minute)
	})
}

// A process that dies while its run waits leaves no wait behind that counts.
func TestKilledWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &switched{}
		r := fickle(t, model, runner.Config{MaxWait: runner.Forever})
		run := inMidRun(t, r, builtin(t, "trip"))
		model.set(away(llm.ErrUnreachable, 0))
		time.Sleep(time.Hour)
		envs, err := r.Log().Read(t.Context(), run.Key(), 0, 0)
		require.NoError(t, err)
		require.Equal(t, events.KindOutageBegan, envs[len(envs)-1].Data.Kind(), "those who watch from elsewhere see it")
		run.Halt()
		_ = parked(t, r.Log(), run)

		log := events.NewMemory() // as the killed process left it
		epoch, err := log.Claim(t.Context(), run.Key(), "dead", false)
		require.NoError(t, err)
		require.NoError(t, log.Append(t.Context(), run.Key(), epoch, 0, envs))
		require.NoError(t, log.Release(t.Context(), run.Key(), epoch))
		summaries, err := log.Runs(t.Context(), events.RunQuery{Tenant: events.LocalTenant})
		require.NoError(t, err)
		require.Equal(t, "waits for sim at http://host/v1: unreachable: not now", summaries[0].Reason)
		time.Sleep(time.Hour)
		again := fickle(t, &switched{}, runner.Config{Log: log})
		run, err = again.Resume(t.Context(), "", run.ID(), runner.Terms{})
		require.NoError(t, err)
		p := ended(t, log, run)
		require.Equal(t, events.StatusCompleted, p.Status, p.Reason)
		require.Less(t, p.Driven, 2*time.Minute)
	})
}
