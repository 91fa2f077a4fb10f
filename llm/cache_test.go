package llm_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// slowStreamer answers after a second, or fails as long as it is told to.
type slowStreamer struct {
	mu       sync.Mutex
	calls    int
	failures int
	finish   events.FinishReason
}

func (s *slowStreamer) Stream(_ context.Context, _ llm.Route, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		s.mu.Lock()
		s.calls++
		fails := s.failures > 0
		s.failures--
		s.mu.Unlock()
		time.Sleep(time.Second)
		if fails {
			yield(llm.Delta{}, errors.New("broken"))
			return
		}
		call := events.ToolCall{ID: "c1", Name: "look", Arguments: "{}"}
		cost := 0.5
		yield(llm.Delta{Done: &llm.Completion{
			Reply:    events.Reply{Text: "re " + req.Messages[0].Content, ToolCalls: []events.ToolCall{call}, FinishReason: s.finish},
			Usage:    events.Usage{InputTokens: 10, OutputTokens: 5},
			Provider: "p", Model: "m", CostUSD: &cost, Attempts: 2,
		}}, nil)
	}
}

func cachedRoute(model string) llm.Route {
	return llm.Route{{Endpoint: &llm.Endpoint{Name: "p"}, Model: model}}
}

func asking(text string) llm.Request {
	return llm.Request{Messages: []events.Message{{Role: events.RoleUser, Content: text}}, Run: "r", Call: "f1"}
}

func ask(c llm.Streamer, route llm.Route, req llm.Request) (done *llm.Completion, calls int, err error) {
	for delta, e := range c.Stream(context.Background(), route, req) {
		if delta.Call != nil {
			calls++
		}
		if delta.Done != nil {
			done = delta.Done
		}
		err = e
	}
	return done, calls, err
}

func TestCacheAnswersEqualRequestsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, next := t.TempDir(), &slowStreamer{finish: events.FinishToolCalls}
		cache, err := llm.NewCache(filepath.Join(dir, "cache"), next)
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				done, _, err := ask(cache, cachedRoute("m"), asking("a"))
				require.NoError(t, err)
				require.Equal(t, "re a", done.Reply.Text)
			})
		}
		wg.Wait()
		require.Equal(t, 1, next.calls, "equal requests under way are joined")
		hits, misses := cache.Counts()
		require.EqualValues(t, []int64{9, 1}, []int64{hits, misses})

		other := asking("a")
		other.Run, other.Call = "another", "f7"
		again, err := llm.NewCache(filepath.Join(dir, "cache"), next)
		require.NoError(t, err)
		done, calls, err := ask(again, cachedRoute("m"), other)
		require.NoError(t, err)
		require.Equal(t, 1, calls, "a call streams as it did")
		require.Zero(t, done.Usage.Total(), "nothing was used")
		require.Zero(t, *done.CostUSD)
		require.Equal(t, 1, next.calls, "another process finds it; run and call do not matter")

		other.ToolChoice = llm.ToolChoiceNone
		_, _, _ = ask(again, cachedRoute("m"), other)
		_, _, _ = ask(again, cachedRoute("n"), asking("a"))
		require.Equal(t, 3, next.calls, "all of the request matters, and the model")
	})
}

func TestCacheKeepsNoFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, next := t.TempDir(), &slowStreamer{failures: 1, finish: events.FinishStop}
		cache, err := llm.NewCache(dir, next)
		require.NoError(t, err)
		var wg sync.WaitGroup
		var failed int
		var mu sync.Mutex
		for range 3 {
			wg.Go(func() {
				_, _, err := ask(cache, cachedRoute("m"), asking("a"))
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed++
				}
			})
		}
		wg.Wait()
		require.Equal(t, 1, failed, "who waited for a call that failed makes it itself")
		require.Equal(t, 2, next.calls)

		next.finish = events.FinishLength
		for range 2 {
			_, _, err = ask(cache, cachedRoute("m"), asking("cut"))
			require.NoError(t, err)
		}
		require.Equal(t, 4, next.calls, "a reply that was cut off is not kept")

		next.finish = events.FinishStop
		files, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		require.NoError(t, os.WriteFile(files[0], []byte("{torn"), 0o600))
		_, _, err = ask(cache, cachedRoute("m"), asking("a"))
		require.NoError(t, err)
		require.Equal(t, 5, next.calls, "a damaged file is no reply")
	})
}
