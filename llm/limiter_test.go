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

// Proves R74: a Retry-After is for the call that got it; others go meanwhile.
func TestARefusalHoldsNobodyElseBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := llm.NewLimiter(llm.LimiterConfig{})
		start := time.Now()
		acquire(t, l, llm.Request{}).Settle(nil, tooMany(7*time.Second))
		acquire(t, l, llm.Request{}).Settle(&llm.Completion{}, nil)
		require.Zero(t, time.Since(start))
		require.Zero(t, l.State().ThrottledUntil)
	})
}

// Proves R74: where most calls are refused everybody waits, and then one call at a
// time finds out whether there is room.
func TestAFullEndpointIsAskedByOneCallAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := llm.NewLimiter(llm.LimiterConfig{})
		start := time.Now()
		for range 8 {
			acquire(t, l, llm.Request{}).Settle(nil, tooMany(7*time.Second))
		}
		require.Equal(t, start.Add(7*time.Second), l.State().ThrottledUntil)
		probe := acquire(t, l, llm.Request{})
		require.Equal(t, 7*time.Second, time.Since(start))
		second := make(chan struct{})
		go func() {
			acquire(t, l, llm.Request{}).Settle(&llm.Completion{}, nil)
			close(second)
		}()
		synctest.Wait()
		require.Equal(t, 1, l.State().Waiting)
		probe.Accepted()
		probe.Settle(&llm.Completion{}, nil)
		<-second
		require.Equal(t, 7*time.Second, time.Since(start).Round(time.Second))
	})
}

// Proves R74: a burst of 429 cuts to what the endpoint took; 5xx cut nothing.
func TestLimiterCutsToWhatTheEndpointTook(t *testing.T) {
	l := llm.NewLimiter(llm.LimiterConfig{})
	var permits []llm.Permit
	for range 60 {
		permits = append(permits, acquire(t, l, llm.Request{}))
	}
	for _, p := range permits[:40] {
		p.Settle(nil, tooMany(0))
	}
	require.Equal(t, 20, l.State().Limit, "what the endpoint took")
	for _, p := range permits[40:50] {
		p.Settle(nil, &llm.Error{Kind: llm.ErrServer, Status: 503})
	}
	require.Equal(t, 20, l.State().Limit)
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

// Proves R74: limits of input and of output that an endpoint tells are kept to apart.
func TestLimiterKeepsToEachLimitItIsTold(t *testing.T) {
	big := llm.Request{Messages: []events.Message{{Content: string(make([]byte, 80_000))}}} // 20,000 tokens
	for name, c := range map[string]struct {
		told llm.RateLimits
		want time.Duration
	}{
		"room":      {llm.RateLimits{InputTokens: &llm.RateLimit{Limit: 60_000, Remaining: 40_000, Reset: 20 * time.Second}}, 0},
		"input":     {llm.RateLimits{InputTokens: &llm.RateLimit{Limit: 60_000, Remaining: 15_000, Reset: 45 * time.Second}}, 5 * time.Second},
		"output":    {llm.RateLimits{OutputTokens: &llm.RateLimit{Limit: 6_000, Reset: time.Minute}}, 5 * time.Second},
		"tokens":    {llm.RateLimits{Tokens: &llm.RateLimit{Limit: 60_000, Remaining: 10_500, Reset: 50 * time.Second}}, 10 * time.Second},
		"requests":  {llm.RateLimits{Requests: &llm.RateLimit{Limit: 60, Reset: time.Minute}}, time.Second},
		"no reset":  {llm.RateLimits{Requests: &llm.RateLimit{Limit: 60}}, time.Second},
		"a window":  {llm.RateLimits{Requests: &llm.RateLimit{Limit: 60, Reset: 17 * time.Second}}, 17 * time.Second},
		"very long": {llm.RateLimits{Requests: &llm.RateLimit{Limit: 60, Reset: 100 * time.Hour}}, llm.DefaultMaxWait},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := llm.NewLimiter(llm.LimiterConfig{})
				acquire(t, l, llm.Request{}).Settle(&llm.Completion{Limits: &c.told, Usage: events.Usage{OutputTokens: 500}}, nil)
				start := time.Now()
				acquire(t, l, big)
				require.InDelta(t, c.want.Seconds(), time.Since(start).Seconds(), 0.1)
			})
		})
	}
}

// Proves R74: a refusal says of the limits what replies say. Calls behind it wait until
// there is room for them, not until the call that was refused may come again.
func TestARefusalTellsLimits(t *testing.T) {
	refused := func(limits llm.RateLimits) error {
		return &llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: 40 * time.Second, Limits: &limits}
	}
	broken := &llm.Error{Kind: llm.ErrBrokenStream, Limits: &llm.RateLimits{Requests: &llm.RateLimit{Limit: 60, Reset: time.Minute}}}
	for name, c := range map[string]struct {
		err  error
		want time.Duration
	}{
		"room left":       {refused(llm.RateLimits{Requests: &llm.RateLimit{Limit: 60, Remaining: 30, Reset: 30 * time.Second}}), 0},
		"used up":         {refused(llm.RateLimits{Requests: &llm.RateLimit{Limit: 60, Reset: time.Minute}}), time.Second},
		"a window":        {refused(llm.RateLimits{Requests: &llm.RateLimit{Limit: 60, Reset: 17 * time.Second}}), 17 * time.Second},
		"tokens":          {refused(llm.RateLimits{Tokens: &llm.RateLimit{Limit: 6_000, Reset: time.Minute}}), 5 * time.Second},
		"a broken stream": {broken, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := llm.NewLimiter(llm.LimiterConfig{})
			acquire(t, l, llm.Request{}).Settle(nil, c.err)
			start := time.Now()
			acquire(t, l, llm.Request{})
			require.InDelta(t, c.want.Seconds(), time.Since(start).Seconds(), 0.1, name)
		})
	}
}

// A call that was refused counts against no limit, and what others had sent meanwhile does.
func TestARefusedCallIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := llm.NewLimiter(llm.LimiterConfig{})
		limits := func(remaining int64) *llm.RateLimits {
			return &llm.RateLimits{Requests: &llm.RateLimit{Limit: 60, Remaining: remaining, Reset: time.Minute - time.Duration(remaining)*time.Second}}
		}
		acquire(t, l, llm.Request{}).Settle(&llm.Completion{Limits: limits(2)}, nil)
		refused := acquire(t, l, llm.Request{})
		acquire(t, l, llm.Request{}) // is on its way
		refused.Settle(nil, &llm.Error{Kind: llm.ErrRateLimited, Status: 429, Limits: limits(2)})
		start := time.Now()
		acquire(t, l, llm.Request{})
		require.Zero(t, time.Since(start))
		acquire(t, l, llm.Request{})
		require.InDelta(t, 1, time.Since(start).Seconds(), 0.1)
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
