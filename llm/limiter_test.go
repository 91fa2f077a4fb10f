package llm_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

func acquire(t *testing.T, l *llm.LocalLimiter, req llm.Request) llm.Permit {
	t.Helper()
	p, err := l.Acquire(t.Context(), &req)
	require.NoError(t, err)
	return p
}

func tooMany(after time.Duration) error {
	return &llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: after}
}

// Proves R74: interactive before batch, within a class the oldest run first.
func TestLimiterServesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := llm.NewLimiter(llm.LimiterConfig{MaxInFlight: 1})
		first := acquire(t, l, llm.Request{})
		var mu sync.Mutex
		var served []string
		for _, req := range []llm.Request{
			{Run: "0002", Call: "batch", Priority: llm.PriorityBatch},
			{Run: "0001", Call: "batch", Priority: llm.PriorityBatch},
			{Run: "0009", Call: "interactive"},
			{Run: "0003", Call: "interactive"},
			{Run: "0003", Call: "interactive, later"},
		} {
			go func() {
				p, err := l.Acquire(context.Background(), &req)
				if err != nil {
					return
				}
				mu.Lock()
				served = append(served, string(req.Run)+" "+string(req.Call))
				mu.Unlock()
				p.Settle(&llm.Completion{}, nil)
			}()
			synctest.Wait()
		}
		require.Equal(t, llm.LimiterState{Limit: 1, InFlight: 1, Waiting: 5}, l.State())
		first.Settle(&llm.Completion{}, nil)
		synctest.Wait()
		require.Equal(t, []string{"0003 interactive", "0003 interactive, later", "0009 interactive", "0001 batch", "0002 batch"}, served)
		require.Equal(t, llm.LimiterState{Limit: 1}, l.State())
	})
}

func TestLimiterHoldsEverybodyBackForRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := llm.NewLimiter(llm.LimiterConfig{})
		start := time.Now()
		acquire(t, l, llm.Request{}).Settle(nil, tooMany(7*time.Second))
		require.Equal(t, start.Add(7*time.Second), l.State().ThrottledUntil)
		acquire(t, l, llm.Request{}).Settle(&llm.Completion{}, nil)
		require.GreaterOrEqual(t, time.Since(start), 7*time.Second)

		start = time.Now()
		acquire(t, l, llm.Request{}).Settle(nil, &llm.Error{Kind: llm.ErrServer, Status: 503, RetryAfter: 3 * time.Second})
		acquire(t, l, llm.Request{})
		require.GreaterOrEqual(t, time.Since(start), 3*time.Second, "a 503 that asks is honoured too")
	})
}

// Proves R74: one cut for a burst of 429, none for 5xx.
func TestLimiterCutsOnceForABurst(t *testing.T) {
	l := llm.NewLimiter(llm.LimiterConfig{})
	var permits []llm.Permit
	for range 40 {
		permits = append(permits, acquire(t, l, llm.Request{}))
	}
	for _, p := range permits[:10] {
		p.Settle(nil, tooMany(0))
	}
	require.Equal(t, 30, l.State().Limit, "what the endpoint took")
	for _, p := range permits[10:20] {
		p.Settle(nil, &llm.Error{Kind: llm.ErrServer, Status: 503})
	}
	require.Equal(t, 30, l.State().Limit)
	for _, p := range permits[20:] {
		p.Settle(&llm.Completion{}, nil)
	}
	require.Equal(t, 30, l.State().Limit)
}

func TestLimiterReservesTokensAndSettlesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := llm.NewLimiter(llm.LimiterConfig{TokensPerMinute: 60_000})
		big := llm.Request{Messages: []events.Message{{Content: string(make([]byte, 80_000))}}} // 20,000 tokens
		start := time.Now()
		p := acquire(t, l, big)
		require.Zero(t, time.Since(start), "more than the bucket holds goes when it is full")
		p.Settle(&llm.Completion{Usage: events.Usage{InputTokens: 20_000, OutputTokens: 500}}, nil)
		acquire(t, l, llm.Request{}).Settle(&llm.Completion{}, nil)
		require.InDelta(t, (20_500-6_000+500)/1000.0, time.Since(start).Seconds(), 1.0, "and is paid off at 1,000 a second")

		time.Sleep(time.Minute)
		start = time.Now()
		acquire(t, l, big).Settle(&llm.Completion{Usage: events.Usage{InputTokens: 1000}}, nil)
		acquire(t, l, llm.Request{}).Settle(&llm.Completion{}, nil)
		require.Less(t, time.Since(start), time.Second, "an estimate that was too high is given back")

		time.Sleep(time.Minute)
		start = time.Now()
		acquire(t, l, big).Settle(nil, &llm.Error{Kind: llm.ErrBrokenStream})
		acquire(t, l, llm.Request{}).Settle(&llm.Completion{}, nil)
		require.Greater(t, time.Since(start), 10*time.Second, "a broken stream settles at its estimate")
	})
}

func TestLimiterForgetsWhoGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := llm.NewLimiter(llm.LimiterConfig{MaxInFlight: 1})
		first := acquire(t, l, llm.Request{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := l.Acquire(ctx, &llm.Request{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = l.Acquire(ctx, &llm.Request{})
		require.ErrorIs(t, err, context.DeadlineExceeded, "before it queues, too")
		require.Equal(t, llm.LimiterState{Limit: 1, InFlight: 1}, l.State())
		first.Settle(&llm.Completion{}, nil)
		first.Settle(&llm.Completion{}, nil)
		require.Equal(t, llm.LimiterState{Limit: 1}, l.State(), "a second Settle does nothing")
	})
}

// However calls come, end and give up: never more in flight than the limit, nobody
// waits while there is room, and all is given back.
func TestLimiterKeepsItsBooks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		slots := rapid.IntRange(1, 5).Draw(rt, "slots")
		callers := rapid.IntRange(1, 30).Draw(rt, "callers")
		type plan struct {
			arrive, patience, call time.Duration
			outcome                int
		}
		var plans []plan
		for range callers {
			ms := func(name string, most int) time.Duration {
				return time.Duration(rapid.IntRange(0, most).Draw(rt, name)) * time.Millisecond
			}
			plans = append(plans, plan{ms("arrive", 2000), ms("patience", 3000) + 1, ms("call", 1000), rapid.IntRange(0, 4).Draw(rt, "outcome")})
		}
		synctest.Test(t, func(t *testing.T) {
			l := llm.NewLimiter(llm.LimiterConfig{MaxInFlight: slots, RequestsPerMinute: 6000, TokensPerMinute: 600_000})
			var group sync.WaitGroup
			for i, p := range plans {
				group.Go(func() {
					time.Sleep(p.arrive)
					ctx, cancel := context.WithTimeout(context.Background(), p.patience)
					defer cancel()
					permit, err := l.Acquire(ctx, &llm.Request{Run: events.RunID(rune('a' + i%3))})
					if err != nil {
						return
					}
					state := l.State()
					require.LessOrEqual(t, state.InFlight, slots)
					time.Sleep(p.call)
					switch p.outcome {
					case 0:
						permit.Settle(nil, tooMany(time.Duration(i)*10*time.Millisecond))
					case 1:
						permit.Settle(nil, &llm.Error{Kind: llm.ErrServer, Status: 500})
					case 2:
						permit.Settle(nil, context.Canceled)
					default:
						permit.Settle(&llm.Completion{Usage: events.Usage{InputTokens: 100}}, nil)
					}
				})
			}
			group.Wait()
			state := l.State()
			require.Zero(t, state.InFlight)
			require.Zero(t, state.Waiting)
			require.Positive(t, state.Limit)
			start := time.Now()
			acquire(t, l, llm.Request{})
			require.Less(t, time.Since(start), time.Minute, "it recovers")
		})
	})
}
