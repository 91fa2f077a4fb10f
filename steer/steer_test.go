package steer_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type oneClient struct{ client llm.Client }

func (m oneClient) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: &llm.Endpoint{Name: "sim", Client: m.client}, Model: "sim"}}, nil
}

// tenants serves the dashboard of two tenants who share a runner, with a user for each.
func tenants(t *testing.T, config steer.Config, options sim.Options) (events.Log, *runner.Runner, func(tenant, method, path, body string) (int, map[string]any)) {
	t.Helper()
	d := newDoors(t, config, options)
	tokens := map[string]string{}
	for _, tenant := range []string{"acme", "globex"} {
		tokens[tenant] = d.token(t, tenant, "ann", access.RoleUser)
	}
	return d.log, d.runner, func(tenant, method, path, body string) (int, map[string]any) {
		status, _, text := d.call(t, tokens[tenant], method, path, body)
		answer := map[string]any{}
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		return status, answer
	}
}

// Each tenant steers its own runs and knows nothing of the other's.
func TestTenantsAreApart(t *testing.T) {
	log, r, call := tenants(t, steer.Config{}, sim.Options{})
	status, started := call("acme", http.MethodPost, "/api/v1/runs", `{"request":"Plan a day","solo":true}`)
	require.Equal(t, http.StatusCreated, status, "%v", started)
	id := started["run_id"].(string)
	for _, run := range r.Runs() {
		_, err := run.Wait()
		require.NoError(t, err)
	}
	summary, err := log.FindRun(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, summary.Status)

	run := "/api/v1/runs/" + id
	for path, body := range map[string]string{run + "/fork": `{"at":1}`, run + "/cancel": `{}`, run + "/resume": ``} {
		status, answer := call("globex", http.MethodPost, path, body)
		require.Equal(t, http.StatusNotFound, status, "%s: %v", path, answer)
	}
	runs, globex := steer.New(steer.Config{Runner: r}), access.Operator("globex")
	require.ErrorIs(t, runs.Cancel(t.Context(), globex, events.RunID(id), "enough"), events.ErrNotFound)
	require.ErrorIs(t, runs.Resume(t.Context(), globex, events.RunID(id)), events.ErrNotFound)
	_, err = runs.Fork(t.Context(), globex, events.RunID(id), web.Fork{At: 1})
	require.ErrorIs(t, err, events.ErrNotFound)

	status, forked := call("acme", http.MethodPost, run+"/fork", `{"at":1}`)
	require.Equal(t, http.StatusCreated, status, "%v", forked)
	summary, err = log.FindRun(t.Context(), "acme", forked["run_id"].(string))
	require.NoError(t, err)
	require.Equal(t, events.TenantID("acme"), summary.Tenant)
}

// The bound counts what the runner drives, whoever started it.
func TestBoundOfRuns(t *testing.T) {
	_, r, call := tenants(t, steer.Config{MaxRuns: 1}, sim.Options{FirstToken: 1 << 40})
	begin := func(tenant string) int {
		status, _ := call(tenant, http.MethodPost, "/api/v1/runs", `{"request":"Plan a day","solo":true}`)
		return status
	}
	require.Equal(t, http.StatusCreated, begin("acme"))
	require.Equal(t, http.StatusTooManyRequests, begin("globex"))
	for _, run := range r.Runs() {
		now, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, run.Stop(now))
	}
	require.Equal(t, http.StatusCreated, begin("globex"))
	now, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, r.Shutdown(now))
	require.Equal(t, http.StatusServiceUnavailable, begin("acme"))
}

// A message that needs no further run is taken though the bound is reached; one that does is
// refused before it is in the log.
func TestBoundOfRunsAndMessages(t *testing.T) {
	log, r, call := tenants(t, steer.Config{MaxRuns: 1}, sim.Options{FirstToken: 1 << 40})
	busy, other := "/api/v1/threads/"+uuid.NewString(), "/api/v1/threads/"+uuid.NewString()
	status, receipt := call("acme", http.MethodPost, busy+"/messages", `{"content":"Hello"}`)
	require.Equal(t, http.StatusAccepted, status, "%v", receipt)
	status, receipt = call("acme", http.MethodPost, busy+"/messages", `{"content":"And you?"}`)
	require.Equal(t, http.StatusAccepted, status, "%v", receipt)
	require.EqualValues(t, 1, receipt["place"])
	for _, tenant := range []string{"acme", "globex"} {
		status, receipt = call(tenant, http.MethodPost, other+"/messages", `{"content":"Hello","message_id":"m"}`)
		require.Equal(t, http.StatusTooManyRequests, status, "%v", receipt)
	}
	tip, err := log.Last(t.Context(), events.ThreadKey{Tenant: "globex", Thread: events.ThreadID(other[len("/api/v1/threads/"):])})
	require.NoError(t, err)
	require.Zero(t, tip)
	for _, run := range r.Runs() {
		now, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, run.Stop(now))
	}
	status, receipt = call("globex", http.MethodPost, other+"/messages", `{"content":"Hello","message_id":"m"}`)
	require.Equal(t, http.StatusAccepted, status, "%v", receipt)
}

// The same thread id of another tenant is another thread: what is said in one is not in the
// other, and neither hands the other's over.
func TestTenantsTalkApart(t *testing.T) {
	_, r, call := tenants(t, steer.Config{}, sim.Options{})
	path := "/api/v1/threads/" + uuid.NewString()
	for _, tenant := range []string{"acme", "globex"} {
		status, answer := call(tenant, http.MethodGet, path+"/messages", "")
		require.Equal(t, http.StatusNotFound, status, "%v", answer)
		status, answer = call(tenant, http.MethodPost, path+"/handoff", `{"target":"x","reason":"y","summary":"z"}`)
		require.Equal(t, http.StatusNotFound, status, "%v", answer)
		status, answer = call(tenant, http.MethodPost, path+"/messages", `{"content":"Hello from `+tenant+`","message_id":"m"}`)
		require.Equal(t, http.StatusAccepted, status, "%v", answer)
		for _, run := range r.Runs() {
			_, err := run.Wait()
			require.NoError(t, err)
		}
		status, answer = call(tenant, http.MethodGet, path+"/messages", "")
		require.Equal(t, http.StatusOK, status)
		first := answer["messages"].([]any)[0].(map[string]any)
		require.Equal(t, "Hello from "+tenant, first["content"])
	}
}

// What is started is driven under the policies of the server.
func TestPolicies(t *testing.T) {
	log, r, call := tenants(t, steer.Config{OnInput: runner.AnswerOnInput("Kyoto, two days")}, sim.Options{})
	status, started := call("acme", http.MethodPost, "/api/v1/runs", `{"request":"Plan a trip for two","team":"trip"}`)
	require.Equal(t, http.StatusCreated, status, "%v", started)
	for _, run := range r.Runs() {
		_, err := run.Wait()
		require.NoError(t, err)
	}
	summary, err := log.FindRun(t.Context(), "acme", started["run_id"].(string))
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, summary.Status)
}
