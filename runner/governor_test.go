package runner

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
)

// dollar prices a token at one US dollar.
func dollar(_ llm.Target, usage events.Usage) *float64 {
	cost := float64(usage.Total())
	return &cost
}

func governed(change func(*team.Limits), budget Budget) *governor {
	limits := team.DefaultLimits()
	limits.MaxTokens, limits.WrapUpShare = 1000, 10
	change(&limits)
	return newGovernor(limits, budget, dollar, events.Usage{}, nil)
}

func estimate(tokens int64, wrapUp bool) loop.Estimate {
	return loop.Estimate{Usage: events.Usage{InputTokens: tokens}, WrapUp: wrapUp}
}

func admit(t testing.TB, g *governor, tokens int64, wrapUp bool) loop.Reservation {
	t.Helper()
	r, err := g.Admit(t.Context(), estimate(tokens, wrapUp))
	require.NoError(t, err)
	return r
}

func settle(g *governor, r loop.Reservation, tokens int64) {
	used := events.Usage{InputTokens: tokens}
	r.Settle(used, g.Cost(llm.Target{}, used))
}

func refusedBy(t testing.TB, g *governor, tokens int64, wrapUp bool) events.Limit {
	t.Helper()
	_, err := g.Admit(t.Context(), estimate(tokens, wrapUp))
	var limit *events.LimitError
	require.ErrorAs(t, err, &limit)
	return limit.Limit
}

// Proves R74: a call reserves what it may use, within the share of ordinary calls.
func TestGovernorReserves(t *testing.T) {
	g := governed(func(*team.Limits) {}, nil)
	require.Equal(t, events.LimitMaxTokens, refusedBy(t, g, 901, false))
	r := admit(t, g, 900, false)
	settle(g, r, 100) // it used less than was reserved
	r = admit(t, g, 800, false)
	settle(g, r, 900) // and more
	require.Equal(t, events.LimitMaxTokens, refusedBy(t, g, 1, false), "1000 are spent, 900 are for ordinary calls")
	require.Equal(t, events.LimitMaxTokens, refusedBy(t, g, 1, true), "even the last turn's share is gone")

	g = governed(func(l *team.Limits) { l.MaxCostUSD = 100 }, nil)
	settle(g, admit(t, g, 90, false), 90)
	require.Equal(t, events.LimitMaxCostUSD, refusedBy(t, g, 1, false))
	settle(g, admit(t, g, 10, true), 10)
	require.Equal(t, events.LimitMaxCostUSD, refusedBy(t, g, 1, true))
}

// What a run spent before it was resumed counts.
func TestGovernorCountsWhatWasSpentBefore(t *testing.T) {
	limits := team.DefaultLimits()
	limits.MaxTokens, limits.MaxCostUSD = 1000, 500
	cost := 440.0
	g := newGovernor(limits, nil, dollar, events.Usage{InputTokens: 100}, &cost)
	require.Equal(t, events.LimitMaxCostUSD, refusedBy(t, g, 11, false))
	admit(t, g, 10, false)
}

// A call that does not fit waits while others are outstanding: they may use less than
// they reserved. What wakes it is their end, a stop, or the end of its context.
func TestGovernorWaitsForOthers(t *testing.T) {
	for name, wake := range map[string]struct {
		do   func(g *governor, other loop.Reservation, cancel context.CancelCauseFunc)
		want error
	}{
		"room":     {func(g *governor, r loop.Reservation, _ context.CancelCauseFunc) { settle(g, r, 10) }, nil},
		"no room":  {func(g *governor, r loop.Reservation, _ context.CancelCauseFunc) { settle(g, r, 800) }, &events.LimitError{}},
		"drain":    {func(g *governor, _ loop.Reservation, _ context.CancelCauseFunc) { g.drain() }, loop.ErrSuspended},
		"time":     {func(g *governor, _ loop.Reservation, _ context.CancelCauseFunc) { g.outOfTime(time.Hour) }, &events.LimitError{}},
		"context":  {func(_ *governor, _ loop.Reservation, c context.CancelCauseFunc) { c(loop.ErrCancelled) }, loop.ErrCancelled},
		"suspends": {func(_ *governor, _ loop.Reservation, c context.CancelCauseFunc) { c(loop.ErrSuspended) }, loop.ErrSuspended},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := governed(func(*team.Limits) {}, nil)
				other := admit(t, g, 800, false)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				answered := make(chan error, 1)
				go func() {
					_, err := g.Admit(ctx, estimate(200, false))
					answered <- err
				}()
				synctest.Wait()
				require.Empty(t, answered, "it waits")
				wake.do(g, other, cancel)
				err := <-answered
				var limit *events.LimitError
				if errors.As(wake.want, &limit) {
					require.ErrorAs(t, err, &limit)
					return
				}
				require.ErrorIs(t, err, wake.want)
			})
		})
	}
}

// Runs that share a budget wait for each other, and are refused together.
func TestGovernorsShareABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := NewBudget(BudgetLimits{MaxTokens: 1000})
		one, two := governed(func(*team.Limits) {}, budget), governed(func(*team.Limits) {}, budget)
		settle(two, admit(t, two, 1, false), 1)
		first := admit(t, one, 800, false)
		answered := make(chan error, 1)
		go func() {
			_, err := two.Admit(t.Context(), estimate(200, false))
			answered <- err
		}()
		synctest.Wait()
		require.Empty(t, answered)
		settle(one, first, 800)
		var limit *events.LimitError
		require.ErrorAs(t, <-answered, &limit)
		require.Equal(t, events.LimitSharedTokens, limit.Limit)
		require.Equal(t, events.LimitSharedTokens, budget.Met())
		tokens, _ := budget.Spent()
		require.EqualValues(t, 801, tokens)

		three := governed(func(*team.Limits) {}, budget)
		_, err := three.Admit(t.Context(), estimate(200, false))
		require.ErrorIs(t, err, loop.ErrSuspended, "a run that has made no call waits for a higher bound")
	})
}

// Whatever calls want and use, at whatever time: none is admitted over the bound,
// what was spent is counted to the token, and everybody gets an answer.
func TestGovernorHoldsItsBound(t *testing.T) {
	type callOf struct {
		at, lasts      time.Duration
		estimate, used int64
		wrapUp         bool
	}
	rapid.Check(t, func(rt *rapid.T) {
		calls := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) callOf {
			most := rapid.Int64Range(1, 1200).Draw(rt, "estimate")
			return callOf{
				at:    time.Duration(rapid.IntRange(0, 20).Draw(rt, "at")) * time.Second,
				lasts: time.Duration(rapid.IntRange(1, 20).Draw(rt, "lasts")) * time.Second,
				// Estimates are kept here, so that the bound must be, too.
				estimate: most, used: rapid.Int64Range(0, most).Draw(rt, "used"),
				wrapUp: rapid.Bool().Draw(rt, "wrap up"),
			}
		}), 1, 12).Draw(rt, "calls")
		synctest.Test(t, func(t *testing.T) {
			g := governed(func(*team.Limits) {}, nil)
			var mu sync.Mutex
			var spent float64
			var wg sync.WaitGroup
			for _, c := range calls {
				wg.Go(func() {
					time.Sleep(c.at)
					r, err := g.Admit(t.Context(), estimate(c.estimate, c.wrapUp))
					if err != nil {
						var limit *events.LimitError
						require.ErrorAs(t, err, &limit)
						return
					}
					g.own.mu.Lock()
					require.LessOrEqual(t, g.own.tokens.spent+g.own.tokens.reserved, 1000.0)
					g.own.mu.Unlock()
					time.Sleep(c.lasts)
					settle(g, r, c.used)
					mu.Lock()
					spent += float64(c.used)
					mu.Unlock()
				})
			}
			wg.Wait()
			require.InDelta(t, spent, g.own.tokens.spent, 0)
			require.Zero(t, g.own.tokens.reserved)
			require.Zero(t, g.own.pending)
			require.LessOrEqual(t, spent, 1000.0)
		})
	})
}

// Proves R74: what the last turn is expected to use is kept back from all ordinary
// calls, where it is more than the share.
func TestGovernorKeepsTheLastTurn(t *testing.T) {
	g := governed(func(*team.Limits) {}, nil)
	first := estimate(100, false)
	first.LastTurn = &events.Usage{InputTokens: 400}
	r, err := g.Admit(t.Context(), first)
	require.NoError(t, err)
	settle(g, r, 100)
	require.Equal(t, events.LimitMaxTokens, refusedBy(t, g, 501, false))
	settle(g, admit(t, g, 500, false), 500)
	settle(g, admit(t, g, 400, true), 400)
}
