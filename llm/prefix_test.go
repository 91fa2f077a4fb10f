package llm_test

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/prices"
)

// hesitant is a model whose first token takes a while; the first calls fail.
type hesitant struct {
	firstToken time.Duration
	failing    int
	endpoint   *llm.Endpoint

	mu   sync.Mutex // guards sent
	sent []time.Duration
	born time.Time
}

func (s *hesitant) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		s.mu.Lock()
		s.sent = append(s.sent, time.Since(s.born))
		fails := len(s.sent) <= s.failing
		s.mu.Unlock()
		select {
		case <-time.After(s.firstToken):
		case <-ctx.Done():
			yield(llm.Delta{}, ctx.Err())
			return
		}
		if fails {
			yield(llm.Delta{}, &llm.Error{Kind: llm.ErrBadRequest, Message: "no"})
			return
		}
		_ = yield(llm.Delta{Text: "x"}, nil) && yield(llm.Delta{Done: &llm.Completion{Reply: events.Reply{Text: "x", FinishReason: events.FinishStop}}}, nil)
	}
}

// batchCall is a call of a batch with a prefix that is cached.
func batchCall() llm.Request {
	return llm.Request{
		CacheKey: "k", Priority: llm.PriorityBatch,
		Messages: []events.Message{{Role: events.RoleSystem, Content: strings.Repeat("word", 1100)}, {Role: events.RoleUser, Content: "hi"}},
	}
}

// fanOut makes calls of a batch at once, and gives when each went out and the waits that
// those tell of that were answered.
func fanOut(model *hesitant, caller *llm.Caller, calls int, change func(i int, req *llm.Request)) (sent, queued []time.Duration) {
	model.born, model.sent = time.Now(), nil
	if model.endpoint == nil {
		model.endpoint = &llm.Endpoint{Name: "acme", Client: model}
	}
	route := llm.Route{{Endpoint: model.endpoint, Model: "m"}}
	var all sync.WaitGroup
	var mu sync.Mutex // guards queued
	for i := range calls {
		req := batchCall()
		if change != nil {
			change(i, &req)
		}
		all.Go(func() {
			for d := range caller.Stream(context.Background(), route, req) {
				if d.Done != nil {
					mu.Lock()
					queued = append(queued, d.Done.Queued)
					mu.Unlock()
				}
			}
		})
		synctest.Wait() // so that the first is the first
	}
	all.Wait()
	return model.sent, queued
}

const cachedCheaper = `{"models": {"acme/m": {"input": 2, "cached_input": 0.2, "output": 8}}}`

func callerWith(t *testing.T, table string) *llm.Caller {
	parsed, err := prices.Parse([]byte(table))
	require.NoError(t, err)
	return &llm.Caller{Prices: parsed}
}

// The calls of a batch that begin alike wait for the first token of the first of them,
// which says that the provider has what they share in its cache, and say that they did.
//
// Proves R78.
func TestCallsOfABatchWaitForTheirPrefix(t *testing.T) {
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		caller := callerWith(t, cachedCheaper)
		sent, queued := fanOut(&hesitant{firstToken: 700 * ms}, caller, 4, nil)
		require.Equal(t, []time.Duration{0, 700 * ms, 700 * ms, 700 * ms}, sent)
		require.Equal(t, []time.Duration{0, 700 * ms, 700 * ms, 700 * ms}, queued)
	})
	synctest.Test(t, func(t *testing.T) {
		sent, _ := fanOut(&hesitant{firstToken: time.Minute}, callerWith(t, cachedCheaper), 3, nil)
		require.Equal(t, []time.Duration{0, 2 * time.Second, 2 * time.Second}, sent, "2 s at most")
	})
	synctest.Test(t, func(t *testing.T) { // and nobody waits for one that set out long ago
		sent, _ := fanOut(&hesitant{firstToken: time.Minute}, callerWith(t, cachedCheaper), 4, func(i int, _ *llm.Request) {
			time.Sleep(time.Duration(i) * 1500 * ms)
		})
		require.Equal(t, []time.Duration{0, 2000 * ms, 4500 * ms, 9000 * ms}, sent)
	})
	synctest.Test(t, func(t *testing.T) { // of one that fails the next takes the lead
		sent, _ := fanOut(&hesitant{firstToken: 500 * ms, failing: 2}, callerWith(t, cachedCheaper), 5, nil)
		require.Equal(t, []time.Duration{0, 500 * ms, 1000 * ms, 1500 * ms, 1500 * ms}, sent)
	})
	synctest.Test(t, func(t *testing.T) { // but no call waits for longer because of that
		sent, _ := fanOut(&hesitant{firstToken: 900 * ms, failing: 9}, callerWith(t, cachedCheaper), 5, nil)
		require.Equal(t, []time.Duration{0, 900 * ms, 1800 * ms, 2000 * ms, 2000 * ms}, sent)
	})
	synctest.Test(t, func(t *testing.T) { // the cache keeps it for some minutes
		caller, model := callerWith(t, cachedCheaper), &hesitant{firstToken: 700 * ms}
		fanOut(model, caller, 1, nil)
		time.Sleep(4 * time.Minute)
		sent, _ := fanOut(model, caller, 2, nil)
		require.Equal(t, []time.Duration{0, 0}, sent)
		time.Sleep(6 * time.Minute)
		sent, _ = fanOut(model, caller, 2, nil)
		require.Equal(t, []time.Duration{0, 700 * ms}, sent)
	})
}

// Nobody waits who is alone, or looked at, or to whom the wait saves nothing.
func TestNobodyWaitsForAPrefixInVain(t *testing.T) {
	for name, c := range map[string]struct {
		table  string
		change func(i int, req *llm.Request)
	}{
		"interactive":          {cachedCheaper, func(_ int, req *llm.Request) { req.Priority = llm.PriorityInteractive }},
		"without key":          {cachedCheaper, func(_ int, req *llm.Request) { req.CacheKey = "" }},
		"another prefix":       {cachedCheaper, func(i int, req *llm.Request) { req.CacheKey = string(rune('a' + i)) }},
		"too short":            {cachedCheaper, func(_ int, req *llm.Request) { req.Messages[0].Content = strings.Repeat("word", 1000) }},
		"short, and long text": {cachedCheaper, func(_ int, req *llm.Request) { req.Messages[0], req.Messages[1] = req.Messages[1], req.Messages[0] }},
		"no cheaper":           {`{"models": {"acme/m": {"input": 2, "output": 8}}}`, nil},
		"unknown price":        {`{"models": {"acme/other": {"input": 2, "cached_input": 1, "output": 8}}}`, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			sent, _ := fanOut(&hesitant{firstToken: time.Second}, callerWith(t, c.table), 3, c.change)
			require.Equal(t, []time.Duration{0, 0, 0}, sent, name)
		})
	}
}

// A call that waits for its prefix can be called off at once.
func TestTheWaitForAPrefixEndsWithItsCall(t *testing.T) {
	for name, calledOff := range map[string]func(ctx context.Context, req *llm.Request) context.Context{
		"parked": func(ctx context.Context, req *llm.Request) context.Context {
			req.Begin = ctx
			return context.Background()
		},
		"cancelled": func(ctx context.Context, _ *llm.Request) context.Context { return ctx },
	} {
		synctest.Test(t, func(t *testing.T) {
			caller, model := callerWith(t, cachedCheaper), &hesitant{firstToken: time.Second}
			route := llm.Route{{Endpoint: &llm.Endpoint{Name: "acme", Client: model}, Model: "m"}}
			model.born = time.Now()
			var ended time.Duration
			var all sync.WaitGroup
			all.Go(func() {
				for range caller.Stream(context.Background(), route, batchCall()) {
				}
			})
			synctest.Wait()
			ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer stop()
			req := batchCall()
			for _, err := range caller.Stream(calledOff(ctx, &req), route, req) {
				require.Error(t, err, name)
				ended = time.Since(model.born)
			}
			require.Equal(t, 100*time.Millisecond, ended, name)
			all.Wait()
			require.Len(t, model.sent, 1, name)
		})
	}
}
