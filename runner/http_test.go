package runner_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/sim"
	"github.com/convene-run/convene/runner"
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
		Client:  openai.New(openai.Config{Provider: "sim", BaseURL: server.URL + "/v1", IdleTimeout: 2 * time.Second}),
		Limiter: llm.NewLimiter(llm.LimiterConfig{}),
	}}})
	require.NoError(t, err)
	return r, served, log
}

// Proves R22, R74: whatever an endpoint does wrong at these rates, every run comes
// to its whole end.
func TestFaultsOverHTTP(t *testing.T) {
	for _, faults := range []string{
		"503=10%", "429-above=8,retry-after=100ms", "cut=5%", "broken-args=10%", "unknown-tool=10%", "wrong-task=10%",
		"503=10%,429-above=8,retry-after=100ms,cut=5%,broken-args=10%,unknown-tool=10%,wrong-task=10%",
	} {
		t.Run(faults, func(t *testing.T) {
			t.Parallel()
			ordered, err := sim.ParseFaults(faults)
			require.NoError(t, err)
			sixtyRuns(t, ordered)
		})
	}
}

func sixtyRuns(t *testing.T, faults sim.Faults) {
	// Runs at once: enough to go over the eight that the endpoint serves.
	const runs, width = 60, 30
	job := runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")}
	r, served, log := overHTTP(t, sim.Options{Seed: 7, FirstToken: 5 * time.Millisecond, Faults: faults})
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
	t.Parallel()
	faults, err := sim.ParseFaults("503=8%,429=4%,cut=8%,retry-after=50ms")
	require.NoError(t, err)
	r, served, log := overHTTP(t, sim.Options{Seed: 19, FirstToken: 5 * time.Millisecond, Faults: faults})
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
		at := int64(0)
		for _, a := range e.Retries {
			recorded++
			kinds[fmt.Sprint(a.Error, " ", a.Status)]++
			require.GreaterOrEqual(t, a.StartMS, at, "call %s: in order", e.ID)
			require.NotEmpty(t, a.Message)
			require.Equal(t, "sim", a.Model)
			at = a.StartMS + a.RanMS + a.WaitMS
		}
		require.GreaterOrEqual(t, at+int64(3*e.Attempts), e.QueuedMS+e.RetriedMS, "call %s: waits are within it, but for rounding", e.ID)
	}
	require.Positive(t, recorded)
	require.Positive(t, kinds["server 503"], "%v of %+v", kinds, served.Report().Faults)
	require.Positive(t, kinds["rate_limited 429"], "%v", kinds)
	require.Positive(t, kinds["broken_stream 0"], "%v", kinds)
}
