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
// call may use before the call and settles what it used after it, in the run's own
// account and in the budget that it shares. A share of each bound is kept for the
// last turn.
type governor struct {
	// price gives what the usage costs with a model, nil where that is unknown.
	price  func(target llm.Target, usage events.Usage) *float64
	own    *account
	shared *account // nil where the run shares no budget
	limits team.Limits

	mu       sync.Mutex // guards what follows
	timeUp   bool
	used     time.Duration
	draining bool
}

func newGovernor(limits team.Limits, budget *Budget, price func(llm.Target, events.Usage) *float64, spent events.Usage, costUSD *float64) *governor {
	g := &governor{limits: limits, price: price, shared: budget.shares()}
	g.own = newAccount(float64(limits.MaxTokens), limits.MaxCostUSD, limits.WrapUpShare, team.LimitMaxTokens, team.LimitMaxCostUSD)
	g.own.spend(spent, costUSD)
	return g
}

// Admit implements [agent.Governor].
func (g *governor) Admit(ctx context.Context, estimate agent.Estimate) (agent.Reservation, error) {
	return g.admit(ctx, estimate, nil)
}

// dispatch gives the governor of one dispatch, which has spent so much so far: its
// calls count in an account of its own, too.
func (g *governor) dispatch(spent events.Usage, costUSD *float64) agent.Governor {
	a := newAccount(float64(g.limits.MaxSpecialistTokens), g.limits.MaxSpecialistCostUSD, 0,
		team.LimitMaxSpecialistTokens, team.LimitMaxSpecialistCostUSD)
	a.spend(spent, costUSD)
	return dispatchGovernor{g, a}
}

// dispatchGovernor keeps the bounds of one dispatch beside those of its run.
type dispatchGovernor struct {
	*governor
	account *account
}

func (d dispatchGovernor) Admit(ctx context.Context, estimate agent.Estimate) (agent.Reservation, error) {
	return d.admit(ctx, estimate, d.account)
}

func (g *governor) admit(ctx context.Context, estimate agent.Estimate, dispatch *account) (agent.Reservation, error) {
	r := &reservation{
		governor: g, dispatch: dispatch, target: estimate.Target,
		amount: amountOf(estimate.Usage, g.price(estimate.Target, estimate.Usage)),
	}
	if last := estimate.LastTurn; last != nil {
		g.own.keep(amountOf(*last, g.price(estimate.Target, *last)))
	}
	for {
		// Taken before looking, so that nothing new is missed.
		own, shared := g.own.news(), g.shared.news()
		if err := g.stopped(ctx, estimate.WrapUp); err != nil {
			return nil, err
		}
		ok, err := reserve(r.amount, estimate.WrapUp, dispatch, g.own, g.shared)
		if err != nil {
			return nil, err
		}
		if ok {
			return r, nil
		}
		select {
		case <-own:
		case <-shared:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Cost implements [agent.Governor].
func (g *governor) Cost(target llm.Target, usage events.Usage) *float64 {
	return g.price(target, usage)
}

func (g *governor) stopped(ctx context.Context, wrapUp bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.draining:
		return agent.ErrSuspended
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case g.timeUp && !wrapUp:
		return &agent.LimitError{Limit: team.LimitMaxTime, Value: g.limits.MaxTime.Seconds(), Used: g.used.Seconds()}
	}
	return nil
}

// outOfTime makes ordinary calls fail from now on.
func (g *governor) outOfTime(used time.Duration) {
	g.mu.Lock()
	g.timeUp, g.used = true, used
	g.mu.Unlock()
	g.own.wake()
}

// drain lets calls under way end and admits no more.
func (g *governor) drain() {
	g.mu.Lock()
	g.draining = true
	g.mu.Unlock()
	g.own.wake()
}

// reservation is what one call may use.
type reservation struct {
	governor *governor
	dispatch *account // nil for the facilitator's calls
	target   llm.Target
	amount   amount
}

// Settle implements [agent.Reservation].
func (r *reservation) Settle(used events.Usage, costUSD *float64) {
	if costUSD == nil { // a call that broke
		costUSD = r.governor.price(r.target, used)
	}
	spent := amountOf(used, costUSD)
	r.dispatch.settle(r.amount, spent)
	r.governor.own.settle(r.amount, spent)
	r.governor.shared.settle(r.amount, spent)
}
