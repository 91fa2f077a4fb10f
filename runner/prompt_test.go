package runner_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/runner"
)

// recorder keeps the bodies of the requests that a simulated endpoint gets.
type recorder struct {
	http.Handler
	mu     sync.Mutex
	bodies []sent
}

// sent is a request as it went over the wire, as far as a prompt cache sees it.
type sent struct {
	Messages []json.RawMessage `json:"messages"`
	Tools    json.RawMessage   `json:"tools"`
	CacheKey string            `json:"prompt_cache_key"`
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var s sent
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.bodies = append(r.bodies, s)
	r.mu.Unlock()
	req.Body = io.NopCloser(bytes.NewReader(body))
	r.Handler.ServeHTTP(w, req)
}

// take gives what was sent since the last time.
func (r *recorder) take() []sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	bodies := r.bodies
	r.bodies = nil
	return bodies
}

// The prompt caches of providers hit: within an agent each request begins with the
// bytes of the one before, and system prompts and tools are the same bytes in every
// dispatch and every run of a team, a resumed one too. Each agent has a key of its own by
// which providers find them again.
//
// Proves R78.
func TestRequestsArePrefixesOfEachOther(t *testing.T) {
	record := &recorder{Handler: sim.NewServer(sim.Options{EarlyDispatch: true})}
	server := httptest.NewServer(record)
	defer server.Close()
	log := events.NewMemory()
	models := endpointModels{&llm.Endpoint{Name: "sim", Simulated: true, Client: openai.New(openai.Config{Config: wire.Config{Provider: "sim", BaseURL: server.URL + "/v1"}, TakesCacheKey: true})}}
	runnerOf := func() *runner.Runner {
		r, err := runner.New(runner.Config{Log: log, Models: models})
		require.NoError(t, err)
		return r
	}
	var runs [][]sent
	for _, request := range []string{"Plan three days in Kyoto for two", "Plan a week in Rome"} {
		run, err := runnerOf().Start(t.Context(), runner.Job{Request: request, Team: builtin(t, "trip")})
		require.NoError(t, err)
		ended(t, log, run).completed(t)
		runs = append(runs, record.take())
	}
	stopped, err := runnerOf().Start(t.Context(), runner.Job{Request: "Plan a day in Oslo", Team: builtin(t, "trip")})
	require.NoError(t, err)
	for env, err := range stopped.Events(t.Context()) {
		require.NoError(t, err)
		if env.Data.Kind() == events.KindModelCalled && env.Dispatch != "" {
			stopped.Halt()
		}
	}
	require.Equal(t, events.StatusSuspended, parked(t, log, stopped).Status)
	resumed, err := runnerOf().Resume(t.Context(), "", stopped.ID(), runner.Terms{})
	require.NoError(t, err)
	ended(t, log, resumed).completed(t)
	runs = append(runs, record.take())

	tools, keys := map[string]string{}, map[string]string{}
	for _, bodies := range runs {
		newest := map[string]sent{}
		for _, body := range bodies {
			// The rest of a turn that was cut off is asked for beside the conversation.
			if strings.Contains(string(body.Messages[len(body.Messages)-1]), "Your last reply was cut off in transit") {
				continue
			}
			system := string(body.Messages[0])
			if seen, ok := tools[system]; ok {
				require.Equal(t, seen, string(body.Tools))
				require.Equal(t, system, keys[body.CacheKey])
			}
			tools[system], keys[body.CacheKey] = string(body.Tools), system

			agent := system + string(body.Messages[1]) // a dispatch is known by its opening
			before := newest[agent]
			require.GreaterOrEqual(t, len(body.Messages), len(before.Messages))
			for i := range before.Messages {
				require.Equal(t, string(before.Messages[i]), string(body.Messages[i]))
			}
			newest[agent] = body
		}
		require.Greater(t, len(bodies), 2*len(newest), "agents take several turns")
	}
	require.Len(t, tools, 1+len(builtin(t, "trip").Specialists), "one system prompt per agent, in all runs")
	require.Len(t, keys, len(tools), "and one key")
	for key := range keys {
		require.Regexp(t, "^convene-[0-9a-f]{32}$", key, "it says nothing of the team")
	}
}
