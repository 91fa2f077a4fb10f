package runner_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// endpointModels resolves every model to one endpoint.
type endpointModels struct{ endpoint *llm.Endpoint }

func (m endpointModels) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: m.endpoint, Model: "sim"}}, nil
}

// overHTTP gives a runner whose model is a simulated one behind real HTTP.
func overHTTP(t testing.TB, options sim.Options) (*runner.Runner, *sim.Server, events.Log) {
	t.Helper()
	served := sim.NewServer(options)
	server := httptest.NewServer(served)
	t.Cleanup(server.Close)
	log := events.NewMemory()
	r, err := runner.New(runner.Config{Log: log, Models: endpointModels{&llm.Endpoint{
		Name:    "sim",
		Client:  openai.New(openai.Config{Config: wire.Config{Provider: "sim", BaseURL: server.URL + "/v1", IdleTimeout: time.Minute}}),
		Limiter: llm.NewLimiter(llm.LimiterConfig{}),
	}}})
	require.NoError(t, err)
	return r, served, log
}

// Proves R22, R74: whatever an endpoint does wrong at these rates, every run comes
// to its whole end.
func TestFaultsOverHTTP(t *testing.T) {
	t.Parallel()
	each := []string{"503=10%", "429-above=8,retry-after=100ms", "cut=5%", "broken-args=10%", "unknown-tool=10%", "wrong-task=10%"}
	orders := append(each, strings.Join(each, ","))
	if race.Enabled {
		orders = orders[len(each):] // all at once: what is shared is the same
	}
	for _, faults := range orders {
		t.Run(faults, func(t *testing.T) {
			t.Parallel()
			ordered, err := sim.ParseFaults(faults)
			require.NoError(t, err)
			runs := 60
			if faults != orders[len(orders)-1] {
				runs = 20 // each on its own shows what it does in fewer
			}
			manyRuns(t, ordered, runs)
		})
	}
}

func manyRuns(t *testing.T, faults sim.Faults, runs int) {
	_, share := race.Every(3, 0)
	runs /= share
	width := max(runs/2, 20) // runs at once: well over the eight calls that the endpoint serves
	job := runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")}
	r, served, log := overHTTP(t, sim.Options{Seed: 7, FirstToken: 20 * time.Millisecond, Faults: faults})
	var wg sync.WaitGroup
	places := make(chan struct{}, width)
	for range runs {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			run, err := r.Start(context.Background(), job)
			if err != nil {
				t.Error(err)
				return
			}
			result, err := run.Wait()
			if err != nil || result.Status != events.StatusCompleted {
				t.Errorf("status=%s reason=%s err=%v", result.Status, result.Reason, err)
				return
			}
			_, _, state := picture(t, log, run.Key())
			for _, problem := range missing(state) {
				t.Error(problem)
			}
		})
	}
	wg.Wait()
	report := served.Report()
	happened := report.Refused
	for _, n := range report.Faults {
		happened += n
	}
	require.Positive(t, happened, "faults were served: %+v", report.Faults)
}

// missing names the tasks of a run that were not done in full: by an entry of their
// specialist and by his own word.
func missing(run *thread.Run) (problems []string) {
	written := map[events.TaskID]bool{}
	for _, version := range run.Document.Versions() {
		entry, _ := run.Document.Entry(events.EntryID(version.Version))
		for _, id := range entry.Tasks {
			if task, _ := run.Board.Task(id); task.AssignedTo == entry.Author {
				written[id] = true
			}
		}
	}
	tasks := run.Board.Tasks()
	if len(tasks) < 3 {
		problems = append(problems, fmt.Sprintf("only %d tasks were planned", len(tasks)))
	}
	for _, task := range tasks {
		if !task.Finished || run.Board.AutoCompleted(task.ID) || !written[task.ID] {
			problems = append(problems, fmt.Sprintf("task %d: finished=%v auto-completed=%v written=%v",
				task.ID, task.Finished, run.Board.AutoCompleted(task.ID), written[task.ID]))
		}
	}
	return problems
}

// Proves R22, R71: what failed within a model call is in the log, attempt by attempt,
// so that a year later it can still be told what the time was spent on.
func TestFailedAttemptsAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults, err := sim.ParseFaults("503=15%,429=15%,cut=15%,retry-after=50ms")
		require.NoError(t, err)
		served, log := sim.NewServer(sim.Options{Seed: 19, FirstToken: 5 * time.Millisecond, Faults: faults}), events.NewMemory()
		r, err := runner.New(runner.Config{Log: log, Models: endpointModels{inMemory(t, served, llm.LimiterConfig{})}})
		require.NoError(t, err)
		run, err := r.Start(t.Context(), runner.Job{Request: "Plan two days in Kyoto", Team: builtin(t, "trip")})
		require.NoError(t, err)
		result, err := run.Wait()
		require.NoError(t, err)
		require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
		envs, err := log.Read(t.Context(), run.Key(), 0, 0)
		require.NoError(t, err)
		kinds, recorded := map[string]int{}, 0
		for _, env := range envs {
			e, ok := env.Data.(events.ModelCalled)
			if !ok || e.Interrupted {
				continue
			}
			require.Len(t, e.Retries, e.Attempts-1, "call %s", e.ID)
			at, waited := int64(0), int64(0)
			for i, a := range e.Retries {
				if i == 0 {
					waited = a.StartMS
				}
				waited += a.WaitMS
				recorded++
				kinds[fmt.Sprint(a.Error, " ", a.Status)]++
				require.GreaterOrEqual(t, a.StartMS, at, "call %s: in order", e.ID)
				require.NotEmpty(t, a.Message)
				require.Equal(t, "sim", a.Model)
				at = a.StartMS + a.RanMS + a.WaitMS
			}
			if e.Attempts > 1 {
				require.GreaterOrEqual(t, waited+int64(3*e.Attempts), e.QueuedMS+e.RetriedMS, "call %s: no wait is missing, but for rounding", e.ID)
			}
		}
		require.Positive(t, recorded)
		require.Positive(t, kinds["server 503"], "%v of %+v", kinds, served.Report().Faults)
		require.Positive(t, kinds["rate_limited 429"], "%v", kinds)
		require.Positive(t, kinds["broken_stream 0"], "%v", kinds)
	})
}

// routed resolves each model to the endpoint of its name, all others to that of "".
type routed map[string]*llm.Endpoint

func (m routed) Resolve(specs ...string) (llm.Route, error) {
	endpoint := m[""]
	if len(specs) > 0 && m[specs[0]] != nil {
		endpoint = m[specs[0]]
	}
	return llm.Route{{Endpoint: endpoint, Model: "sim"}}, nil
}

// simulated is an endpoint over HTTP, in a bubble, whose calls all fail so.
func simulated(t testing.TB, faults string) *llm.Endpoint {
	t.Helper()
	parsed, err := sim.ParseFaults(faults)
	require.NoError(t, err)
	return inMemory(t, sim.NewServer(sim.Options{Seed: 19, FirstToken: 5 * time.Millisecond, Faults: parsed}), llm.LimiterConfig{})
}

// refusing is an endpoint over HTTP, in a bubble, that answers every call with 503, twice, and then
// refuses the request.
func refusing(t testing.TB) *llm.Endpoint {
	t.Helper()
	var asked atomic.Int64
	return inMemory(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status := http.StatusServiceUnavailable
		if asked.Add(1)%3 == 0 {
			status = http.StatusBadRequest
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, `{"error":{"message":"no"}}`)
	}), llm.LimiterConfig{})
}

// Proves R22, R71: what was tried in a call that failed for good is in the log too,
// with what ended its agent.
func TestAttemptsOfLostCallsAreRecorded(t *testing.T) {
	play := func(t *testing.T, broken *llm.Endpoint, change func(*team.Team), look func(*runner.Run)) ([]events.Envelope, runner.Result) {
		log := events.NewMemory()
		r, err := runner.New(runner.Config{Log: log, Models: routed{"": simulated(t, ""), "broken": broken}})
		require.NoError(t, err)
		tm := *builtin(t, "trip")
		tm.Specialists = slices.Clone(tm.Specialists)
		change(&tm)
		run, err := r.Start(t.Context(), runner.Job{Request: "Plan two days in Kyoto", Team: &tm})
		require.NoError(t, err)
		look(run)
		result, err := run.Wait()
		require.NoError(t, err)
		envs, err := log.Read(t.Context(), run.Key(), 0, 0)
		require.NoError(t, err)
		return envs, result
	}
	nothing := func(*runner.Run) {}
	specialist := func(tm *team.Team) { tm.Specialists[0].Model = "broken" }
	check := func(t *testing.T, call events.FailedCall, attempts int) {
		require.Len(t, call.Attempts, attempts)
		at := int64(0)
		for i, a := range call.Attempts {
			kind := "server 503"
			if i == attempts-1 {
				kind = "bad_request 400"
			}
			require.Equal(t, kind, fmt.Sprint(a.Error, " ", a.Status))
			require.NotEmpty(t, a.Message)
			require.Equal(t, "sim", a.Model)
			require.GreaterOrEqual(t, a.StartMS, at)
			require.Equal(t, i < attempts-1, a.WaitMS > 0, "attempt %d", i+1)
			at = a.StartMS + a.RanMS + a.WaitMS
		}
	}
	t.Run("specialist", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			envs, result := play(t, refusing(t), specialist, nothing)
			require.Equal(t, events.StatusDegraded, result.Status)
			failed := 0
			for _, env := range envs {
				require.NotEqual(t, events.KindError, env.Data.Kind())
				e, ok := env.Data.(events.AgentFinished)
				if !ok {
					continue
				}
				if e.Status == events.OutcomeOK {
					require.Zero(t, e.FailedCall)
					continue
				}
				failed++
				require.Equal(t, events.ModelCallID(env.Dispatch)+".1", e.ModelCall)
				check(t, e.FailedCall, 3)
			}
			require.Positive(t, failed)
		})
	})
	t.Run("facilitator", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			envs, result := play(t, refusing(t), func(tm *team.Team) { tm.Facilitator.Model = "broken" }, nothing)
			require.Equal(t, events.StatusFailed, result.Status)
			require.Equal(t, events.ModelCallID("f.1"), result.Failure.ModelCall)
			check(t, result.Failure.FailedCall, 3)
			for _, env := range envs {
				require.NotEqual(t, events.KindModelCalled, env.Data.Kind())
			}
		})
	})
	t.Run("cancelled in an attempt", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			envs, result := play(t, simulated(t, "stall=100%:1m"), specialist, func(run *runner.Run) {
				require.Eventually(t, func() bool {
					for _, live := range run.Live() {
						if live.State().Phase == agent.PhaseWaiting && live.Agent == builtin(t, "trip").Specialists[0].ID {
							return true
						}
					}
					return false
				}, time.Minute, time.Millisecond)
				require.NoError(t, run.Cancel("enough"))
			})
			require.Equal(t, events.StatusCancelled, result.Status)
			stopped := 0
			for _, env := range envs {
				e, ok := env.Data.(events.AgentFinished)
				if !ok || e.Agent != builtin(t, "trip").Specialists[0].ID {
					continue
				}
				require.Equal(t, events.OutcomeCancelled, e.Status)
				require.Len(t, e.Attempts, 1)
				require.Equal(t, "stopped", e.Attempts[0].Error)
				stopped++
			}
			require.Equal(t, 1, stopped)
		})
	})
}
