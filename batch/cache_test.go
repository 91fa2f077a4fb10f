package batch_test

import (
	"bytes"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/pipenet"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/responses"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/team"
)

// caching is a provider that has the beginning of a request in its cache once it has
// begun to reply to one like it.
type caching struct {
	http.Handler
	mu     sync.Mutex // guards all below
	cached map[string]bool
	// paid counts the requests of facilitators whose beginning was paid for in full. The
	// prompts of specialists are too short to be cached.
	paid int
}

func (c *caching) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	key := gjson.GetBytes(body, "prompt_cache_key").Str
	c.mu.Lock()
	if !c.cached[key] && bytes.Contains(body, []byte(`"name":"create_tasks"`)) {
		c.paid++
	}
	c.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	c.Handler.ServeHTTP(&beginning{ResponseWriter: w, begun: func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.cached[key] = true
	}}, r)
}

// beginning tells when a reply begins.
type beginning struct {
	http.ResponseWriter
	begun func()
}

func (b *beginning) Write(p []byte) (int, error) {
	b.begun()
	return b.ResponseWriter.Write(p)
}

func (b *beginning) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// routed resolves every model to the same route.
type routed llm.Route

func (r routed) Resolve(...string) (llm.Route, error) { return llm.Route(r), nil }

// Rows that start at once pay for what their requests begin with once, not each.
//
// Proves R78.
func TestABatchPaysForEachPrefixOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := &caching{Handler: sim.NewServer(sim.Options{FirstToken: 20 * time.Millisecond}), cached: map[string]bool{}}
		client := responses.New(responses.Config{Config: wire.Config{Provider: "openai", BaseURL: "http://provider.example/v1"}})
		client.SetTransport(pipenet.Serve(t, provider))
		r, err := newRunnerOf(events.NewMemory(), routed{{Endpoint: &llm.Endpoint{Name: "openai", Client: client}, Model: "gpt-5.6-terra"}})
		require.NoError(t, err)
		trip, err := team.Builtin("trip")
		require.NoError(t, err)
		files := batch.Files{Input: write(t, "in.jsonl", requests(4)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
		report, err := run(t, files, batch.Config{Runner: r, Team: trip, Concurrency: 4})
		require.NoError(t, err)
		require.Equal(t, 4, report.Completed, report.Causes)
		require.Equal(t, 1, provider.paid)
	})
}
