package runner

import (
	"context"
	"sync"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
)

// governor keeps the bounds of tokens, cost and time of one run: it reserves what a
// call may use before the call and settles what it used after it. A bound is met
// when a reservation fails and none is outstanding. A share of each bound is kept
// for the last turn.
type governor struct {
	limits team.Limits
	// price gives what the usage costs with a model, nil where that is unknown.
	price func(target llm.Target, usage events.Usage) *float64

	mu       sync.Mutex // guards what follows
	tokens   ledger
	cost     ledger
	pending  int
	timeUp   bool
	used     time.Duration
	draining bool
	// changed is closed, and made anew, whenever a waiting call should look again.
	changed chan struct{}
}

// ledger counts one resource against its bound.
type ledger struct{ bound, spent, reserved float64 }

// fits reports whether amount fits into share percent of the bound; 0 is no bound.
func (l *ledger) fits(amount float64, share int) bool {
	return l.bound == 0 || l.spent+l.reserved+amount <= l.bound*float64(share)/100
}

func newGovernor(limits team.Limits, price func(llm.Target, events.Usage) *float64, spent events.Usage, costUSD *float64) *governor {
	g := &governor{limits: limits, price: price, changed: make(chan struct{})}
	g.tokens = ledger{bound: float64(limits.MaxTokens), spent: float64(spent.Total())}
	g.cost = ledger{bound: limits.MaxCostUSD}
	if costUSD != nil {
		g.cost.spent = *costUSD
	}
	return g
}

// Admit implements [agent.Governor].
func (g *governor) Admit(ctx context.Context, estimate agent.Estimate) (agent.Reservation, error) {
	r := &reservation{governor: g, tokens: float64(estimate.Usage.Total())}
	if price := g.price(estimate.Target, estimate.Usage); price != nil {
		r.cost = *price
	}
	for {
		wait, err := g.try(ctx, r, estimate.WrapUp)
		if wait == nil {
			return r, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try reserves, or says what to wait for, or why it is of no use.
func (g *governor) try(ctx context.Context, r *reservation, wrapUp bool) (wait <-chan struct{}, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	share := 100
	if !wrapUp {
		share -= g.limits.WrapUpShare
	}
	switch {
	case g.draining:
		return nil, agent.ErrSuspended
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case g.timeUp && !wrapUp:
		return nil, &agent.LimitError{Limit: team.LimitMaxTime, Value: g.limits.MaxTime.Seconds(), Used: g.used.Seconds()}
	case g.tokens.fits(r.tokens, share) && g.cost.fits(r.cost, share):
		g.tokens.reserved += r.tokens
		g.cost.reserved += r.cost
		g.pending++
		return nil, nil
	case g.pending > 0:
		return g.changed, nil
	case !g.tokens.fits(r.tokens, share):
		return nil, &agent.LimitError{Limit: team.LimitMaxTokens, Value: g.tokens.bound, Used: g.tokens.spent}
	}
	return nil, &agent.LimitError{Limit: team.LimitMaxCostUSD, Value: g.cost.bound, Used: g.cost.spent}
}

// outOfTime makes ordinary calls fail from now on.
func (g *governor) outOfTime(used time.Duration) {
	g.update(func() { g.timeUp, g.used = true, used })
}

// drain lets calls under way end and admits no more.
func (g *governor) drain() { g.update(func() { g.draining = true }) }

func (g *governor) update(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
	close(g.changed)
	g.changed = make(chan struct{})
}

// reservation is what one call may use.
type reservation struct {
	governor     *governor
	tokens, cost float64
}

// Settle implements [agent.Reservation].
func (r *reservation) Settle(used events.Usage, costUSD *float64) {
	g := r.governor
	g.update(func() {
		g.pending--
		g.tokens.reserved -= r.tokens
		g.cost.reserved -= r.cost
		g.tokens.spent += float64(used.Total())
		if costUSD != nil {
			g.cost.spent += *costUSD
		}
	})
}
