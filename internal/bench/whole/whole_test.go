package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

const (
	// maxPromptTokens is what convene may send for the job. It was 25,800 before results left out
	// what their reader has before it.
	maxPromptTokens = 23_500
	// maxUncachedTokens are those in no cache of prefixes, where the team has worked before: half
	// are the model's own words sent back, a fifth is the document.
	maxUncachedTokens = 3_650
)

// Both programs play the whole job against the server, to its answer: what is compared is the
// same work.
func TestBothPlayTheJob(t *testing.T) {
	script, err := readScript()
	require.NoError(t, err)
	for tokens, p := range map[int]pace{1: atOnce, 4: atOnce, 64: apart} {
		s := newServer(script, tokens, p)
		served := httptest.NewServer(s)
		t.Cleanup(served.Close)
		in := filepath.Join(t.TempDir(), "in.jsonl")
		require.NoError(t, os.WriteFile(in, []byte(`{"request":"Plan three days in Kyoto for two, #00017"}`+"\n"), 0o600))
		require.NoError(t, bare(t.Context(), served.URL+"/v1", in, 1))
		require.EqualValues(t, callsPerRow, s.calls.Load())
		chunks, prompt := s.sent.Load(), s.prompt.Load()

		log := events.NewMemory()
		r, err := runner.New(runner.Config{Log: log, Models: endpoint.New(endpoint.Config{Default: "bench", BaseURL: served.URL + "/v1"})})
		require.NoError(t, err)
		trip, err := team.Builtin("trip")
		require.NoError(t, err)
		var uncached int64
		for _, number := range []string{"#00017", "#00018"} {
			uncached = s.uncached.Load()
			result, err := r.Run(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two, " + number, Team: trip})
			require.NoError(t, err)
			require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
		}
		require.EqualValues(t, 3*callsPerRow, s.calls.Load())
		require.Equal(t, 3*chunks, s.sent.Load())
		require.LessOrEqual(t, (s.prompt.Load()-prompt)/2, int64(maxPromptTokens))
		require.LessOrEqual(t, s.uncached.Load()-uncached, int64(maxUncachedTokens))
	}
}

// A call of a numbered job is recognized by both programs' requests, and is always as long.
func TestPace(t *testing.T) {
	agent, turn, number := whose([]byte(`{"messages":[{"role":"user","content":"Your tasks: 3, 4\n\nTake #3, #00017"},{"role":"assistant"}]}`))
	require.Equal(t, "food", agent)
	require.Equal(t, 1, turn)
	require.Equal(t, "#00017", number)
	require.Equal(t, uneven.firstToken(number, agent, turn), uneven.firstToken(number, agent, turn))
	script, err := readScript()
	require.NoError(t, err)
	require.InDelta(t, 16, uneven.ideal(script, number).Seconds(), 8)
	require.InDelta(t, 4, inStep.ideal(script, number).Seconds(), 0.001)
}

// What requests have in common at their beginning is cached, tools before messages.
func TestPrefixes(t *testing.T) {
	tools, said := strings.Repeat("t", 2*block), strings.Repeat("m", 3*block)
	request := func(tools, said string) []byte {
		return []byte(`{"messages":["` + said + `"],"tools":["` + tools + `"]}`)
	}
	p := newPrefixes()
	require.Zero(t, p.cached(request(tools, said)))
	require.Zero(t, p.cached(request("other"+tools, said)))
	require.Equal(t, 5*block, p.cached(request(tools, said+"and more")))
	require.Equal(t, 2*block, p.cached(request(tools, "new"+said)))
	p.forget()
	require.Zero(t, p.cached(request(tools, said)))
}
