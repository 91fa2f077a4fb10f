package runner_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/tenants"
)

// limits are those of tenants, which a test may change.
type limits struct {
	mu sync.Mutex
	of map[events.TenantID]tenants.Limits
}

func (l *limits) Of(tenant events.TenantID) tenants.Limits {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[tenant]
}

func (l *limits) set(tenant events.TenantID, to tenants.Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[tenant] = to
}

// bounded is a runner of tenants, on the model at a server.
func bounded(t testing.TB, log events.Log, of runner.Tenants, served http.Handler) *runner.Runner {
	t.Helper()
	r, err := runner.New(runner.Config{Log: log, Tenants: of, Models: endpointModels{inMemory(t, served, llm.LimiterConfig{})}})
	require.NoError(t, err)
	return r
}

func usedOf(p played) (tokens int64) {
	for _, env := range p.envs {
		if called, ok := env.Data.(events.ModelCalled); ok {
			tokens += called.Usage.Total()
		}
	}
	return tokens
}

// A tenant that has used what it may use in a day has its runs parked, after the calls under
// way, and nobody else's; a restart resets nothing, and with the next day they go on.
func TestTokensPerDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, log := t.Context(), events.NewMemory()
		served := sim.NewServer(sim.Options{Seed: 3})
		of := &limits{of: map[events.TenantID]tenants.Limits{}}
		r := bounded(t, log, of, served)
		job := func(tenant events.TenantID) runner.Job {
			return runner.Job{Tenant: tenant, Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")}
		}
		free, err := r.Start(ctx, job("globex"))
		require.NoError(t, err)
		whole := usedOf(ended(t, log, free))
		synctest.Wait()
		require.Len(t, r.Loads(), 1)
		load := r.Loads()["globex"]
		require.Equal(t, []int64{0, modelCalls(t, log, free.Key()), whole}, []int64{int64(load.Runs), load.ModelCalls, load.Tokens})
		require.Positive(t, load.CostUSD)

		of.set("acme", tenants.Limits{TokensPerDay: whole / 2})
		run, err := r.Start(ctx, job("acme"))
		require.NoError(t, err)
		require.Equal(t, 1, r.Loads()["acme"].Runs)
		result, err := run.Wait()
		require.NoError(t, err)
		require.Equal(t, events.StatusSuspended, result.Status)
		require.Contains(t, result.Reason, "tenant acme has used ")
		require.Contains(t, result.Reason, "(tokens_per_day): it goes on at 2000-01-02T00:00:00Z")
		require.LessOrEqual(t, result.Usage.Total(), whole/2)
		summary, err := log.FindRun(ctx, "acme", string(run.ID()))
		require.NoError(t, err)
		require.Equal(t, events.LimitTenantTokens, summary.Limit)

		of.set("acme", tenants.Limits{TokensPerDay: result.Usage.Total()})
		restarted := bounded(t, log, of, served)
		_, err = restarted.Start(ctx, job("acme"))
		var quota *runner.QuotaError
		require.ErrorAs(t, err, &quota)
		require.Equal(t, float64(result.Usage.Total()), quota.Used)
		require.Equal(t, time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC), quota.Until)
		over, err := restarted.Over(ctx)
		require.NoError(t, err)
		require.Equal(t, []*runner.QuotaError{quota}, over)
		other, err := restarted.Start(ctx, job("globex"))
		require.NoError(t, err)
		ended(t, log, other).completed(t)

		of.set("acme", tenants.Limits{TokensPerDay: 2 * whole})
		taking := takesUp(t, restarted, 10)
		time.Sleep(time.Minute) // a higher quota counts at once
		synctest.Wait()
		summary, err = log.FindRun(ctx, "acme", string(run.ID()))
		require.NoError(t, err)
		require.Equal(t, events.StatusCompleted, summary.Status)
		require.Empty(t, summary.Limit)
		require.NoError(t, restarted.Shutdown(ctx))
		require.NoError(t, <-taking)
	})
}

// A run that was parked for its tenant's day goes on with the next one; one that somebody
// stopped does not.
func TestTheNextDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, log := t.Context(), events.NewMemory()
		time.Sleep(23*time.Hour + 50*time.Minute)
		of := &limits{of: map[events.TenantID]tenants.Limits{"acme": {TokensPerDay: 10_000}}}
		r := bounded(t, log, of, sim.NewServer(sim.Options{Seed: 3}))
		taking := takesUp(t, r, 10)
		job := runner.Job{Tenant: "acme", Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")}
		stopped, err := r.Start(ctx, job)
		require.NoError(t, err)
		require.NoError(t, stopped.Stop(ctx))
		run, err := r.Start(ctx, job)
		require.NoError(t, err)
		_, err = run.Wait()
		require.NoError(t, err)
		resumed := func(run *runner.Run) int {
			envs, err := log.Read(ctx, run.Key(), 0, 0, events.KindRunResumed)
			require.NoError(t, err)
			return len(envs)
		}
		time.Sleep(9 * time.Minute)
		require.Zero(t, resumed(run))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Equal(t, 1, resumed(run))
		time.Sleep(10 * time.Minute)
		require.Equal(t, 1, resumed(run), "once a day")
		require.Zero(t, resumed(stopped))
		require.NoError(t, r.Shutdown(ctx))
		require.NoError(t, <-taking)
	})
}

// What one process uses counts in the others within seconds; what a fork copies was paid for
// once.
func TestOtherProcessesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, log := t.Context(), events.NewMemory()
		served := sim.NewServer(sim.Options{Seed: 3})
		job := runner.Job{Tenant: "acme", Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")}
		of := &limits{of: map[events.TenantID]tenants.Limits{"acme": {TokensPerDay: 1 << 40}}}
		r, other := bounded(t, log, of, served), bounded(t, log, nil, served)
		_, err := r.Over(ctx)
		require.NoError(t, err)
		run, err := other.Start(ctx, job)
		require.NoError(t, err)
		p := ended(t, log, run)
		used := usedOf(p)
		time.Sleep(10 * time.Second)
		of.set("acme", tenants.Limits{TokensPerDay: used})
		var quota *runner.QuotaError
		_, err = r.Start(ctx, job)
		require.ErrorAs(t, err, &quota)
		require.Equal(t, float64(used), quota.Used)

		of.set("acme", tenants.Limits{})
		fork, err := r.Fork(ctx, "acme", run.ID(), runner.Change{At: p.of(events.KindFinalAnswer)[0].Seq - 1})
		require.NoError(t, err)
		total := used - usedOf(played{envs: p.envs[:p.of(events.KindFinalAnswer)[0].Seq-1]}) + usedOf(ended(t, log, fork))
		time.Sleep(10 * time.Second)
		of.set("acme", tenants.Limits{TokensPerDay: 1})
		_, err = r.Start(ctx, job)
		require.ErrorAs(t, err, &quota)
		require.Equal(t, float64(total), quota.Used)
	})
}

// As many runs of a tenant are driven as it may have: a further one is refused, with the
// figures, a message that is queued waits, and another tenant begins what it likes.
func TestRunsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, log := t.Context(), events.NewMemory()
		of := &limits{of: map[events.TenantID]tenants.Limits{"acme": {RunsAtOnce: 2}}}
		r := bounded(t, log, of, sim.NewServer(sim.Options{Seed: 3, FirstToken: time.Minute}))
		job := runner.Job{Tenant: "acme", Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")}
		first, err := r.Start(ctx, job)
		require.NoError(t, err)
		second, err := r.Start(ctx, job)
		require.NoError(t, err)
		_, err = r.Start(ctx, job)
		require.ErrorIs(t, err, runner.ErrQuota)
		require.ErrorContains(t, err, "tenant acme has 2 runs under way, and runs_at_once is 2: try again when one has ended")
		theirs, err := r.Start(ctx, runner.Job{Tenant: "globex", Request: job.Request, Team: job.Team})
		require.NoError(t, err)

		of.set("acme", tenants.Limits{RunsAtOnce: 1})
		over, err := r.Over(ctx)
		require.NoError(t, err)
		require.Len(t, over, 1)
		require.Equal(t, 2.0, over[0].Used)
		require.NoError(t, first.Stop(ctx))
		_, err = r.Resume(ctx, "acme", first.ID(), runner.Terms{})
		require.ErrorIs(t, err, runner.ErrQuota, "the other one is enough")
		receipt, err := r.Send(ctx, runner.Job{
			Tenant: "acme", Thread: first.Key().Thread, Request: "Shorter, please.", Message: &runner.Message{Delivery: events.DeliverySteer},
		})
		require.NoError(t, err)
		require.ErrorIs(t, receipt.Stalled, runner.ErrQuota)
		_, err = second.Wait()
		require.NoError(t, err)
		time.Sleep(time.Hour)
		result, err := r.Outcome(ctx, "acme", first.ID())
		require.NoError(t, err)
		require.True(t, result.Status.Over(), "the message took its run up once there was room")
		_, err = theirs.Wait()
		require.NoError(t, err)
		require.NoError(t, r.Shutdown(ctx))
	})
}

// Places are given back however a run ends, and by those that never began.
func TestPlacesAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, log := t.Context(), events.NewMemory()
		of := &limits{of: map[events.TenantID]tenants.Limits{"local": {RunsAtOnce: 1}}}
		r := bounded(t, log, of, sim.NewServer(sim.Options{Seed: 3}))
		job := runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")}
		run, err := r.Start(ctx, job)
		require.NoError(t, err)
		receipt, err := r.Send(ctx, runner.Job{Thread: run.Key().Thread, Request: "And for three?"})
		require.NoError(t, err)
		require.NoError(t, receipt.Stalled)
		_, err = r.Start(ctx, job)
		require.ErrorIs(t, err, runner.ErrQuota)
		time.Sleep(time.Hour) // both are answered, the second in the place of the first
		require.Empty(t, r.Runs())
		taken := job
		taken.Run = run.ID()
		_, err = r.Start(ctx, taken)
		require.ErrorContains(t, err, "the log already has run")
		gone, cancel := context.WithCancel(ctx)
		cancel()
		_, err = r.Start(gone, job)
		require.Error(t, err)
		require.NoError(t, r.Cancel(ctx, "", begunAlone(t, r, job), ""))
		run, err = r.Start(ctx, job)
		require.NoError(t, err)
		require.NoError(t, run.Stop(ctx))
		_, err = r.Resume(ctx, "", run.ID(), runner.Terms{})
		require.NoError(t, err)
		require.NoError(t, r.Shutdown(ctx))
	})
}

// begunAlone gives a run that was stopped.
func begunAlone(t *testing.T, r *runner.Runner, job runner.Job) events.RunID {
	t.Helper()
	run, err := r.Start(t.Context(), job)
	require.NoError(t, err)
	require.NoError(t, run.Stop(t.Context()))
	return run.ID()
}

// A run whose cost nobody can tell is refused where dollars are bounded.
func TestDollarsPerDayNeedPrices(t *testing.T) {
	of := &limits{of: map[events.TenantID]tenants.Limits{"acme": {DollarsPerDay: 1}}}
	r, err := runner.New(runner.Config{Log: events.NewMemory(), Tenants: of, Models: endpointModels{&llm.Endpoint{Name: "acme", Client: sim.New(sim.Options{})}}})
	require.NoError(t, err)
	_, err = r.Start(t.Context(), runner.Job{Tenant: "acme", Request: "x", Team: builtin(t, "trip"), Model: "unheard-of"})
	require.ErrorContains(t, err, "a cost limit cannot be enforced")
}
