package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/endpoint"
)

// limiterServer is a process that limits the calls of others.
type limiterServer struct {
	*llm.LocalLimiter
	permits sync.Map
	granted atomic.Int64
}

func (s *limiterServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.FormValue("id")
	switch r.URL.Path {
	case "/acquire":
		permit, err := s.Acquire(r.Context(), &llm.Request{})
		if err != nil {
			return // whoever asked has gone
		}
		id := fmt.Sprint(s.granted.Add(1))
		s.permits.Store(id, permit)
		fmt.Fprint(w, id)
	case "/accepted":
		permit, _ := s.permits.Load(id)
		permit.(llm.Permit).Accepted()
	case "/settle":
		permit, _ := s.permits.LoadAndDelete(id)
		var how struct {
			Done *llm.Completion
			Err  *llm.Error
		}
		_ = json.Unmarshal([]byte(r.FormValue("how")), &how) // the test's own client wrote it
		if how.Err != nil {
			permit.(llm.Permit).Settle(nil, how.Err)
			return
		}
		permit.(llm.Permit).Settle(how.Done, nil)
	}
}

// remoteLimiter asks that process.
type remoteLimiter struct{ url string }

type remotePermit struct {
	remoteLimiter
	id string
}

func (l remoteLimiter) post(ctx context.Context, path string, form url.Values) (answer string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+path+"?"+form.Encode(), nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	_, err = fmt.Fscan(response.Body, &answer)
	return answer, err
}

func (l remoteLimiter) Acquire(ctx context.Context, _ *llm.Request) (llm.Permit, error) {
	id, err := l.post(ctx, "/acquire", nil)
	return remotePermit{l, id}, err
}

func (p remotePermit) Accepted() {
	_, _ = p.post(context.Background(), "/accepted", url.Values{"id": {p.id}}) // the answer is empty
}

func (p remotePermit) Settle(done *llm.Completion, err error) {
	var failed *llm.Error
	errors.As(err, &failed)
	how, _ := json.Marshal(map[string]any{"Done": done, "Err": failed})
	_, _ = p.post(context.Background(), "/settle", url.Values{"id": {p.id}, "how": {string(how)}})
}

// crowd counts the calls that are in flight at once.
type crowd struct{ now, most, all atomic.Int64 }

func (c *crowd) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		now := c.now.Add(1)
		for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
		}
		c.all.Add(1)
		c.now.Add(-1) // with its last delta the call is over
		yield(llm.Delta{Done: &llm.Completion{Model: "m"}}, nil)
	}
}

// Two processes share what an endpoint takes through a limiter that a third one holds.
func TestLimiterThatAnotherProcessHolds(t *testing.T) {
	held := &limiterServer{LocalLimiter: llm.NewLimiter(llm.LimiterConfig{MaxInFlight: 1})}
	server := httptest.NewServer(held)
	defer server.Close()
	client := &crowd{}
	var names []string
	var calls sync.WaitGroup
	for range 2 {
		r := endpoint.New(endpoint.Config{
			Env: env(), Custom: map[string]llm.Client{"acme": client}, Concurrency: 7,
			Limiter: func(e *llm.Endpoint, limits llm.LimiterConfig) llm.Limiter {
				require.Equal(t, 7, limits.MaxInFlight)
				names = append(names, e.Name)
				return remoteLimiter{server.URL}
			},
		})
		route, err := r.Resolve("acme/m")
		require.NoError(t, err)
		for range 10 {
			calls.Go(func() {
				for _, err := range (&llm.Caller{}).Stream(context.Background(), route, llm.Request{}) {
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	calls.Wait()
	require.Equal(t, []string{"acme", "acme"}, names)
	require.EqualValues(t, 20, client.all.Load())
	require.EqualValues(t, 1, client.most.Load())
	require.Zero(t, held.State().InFlight)
}
