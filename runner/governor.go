package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/firstof"
	"github.com/convene-run/convene/internal/loop"
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
	shared Budget // nil where the run shares none
	// quotas are those of tenants, nil where there are none.
	quotas *quotas
	tenant events.TenantID
	limits team.Limits

	// parking ends, by park, when the run is being parked.
	parking context.Context
	park    context.CancelCauseFunc

	// ordinary ends, by endOrdinary, when only wrapping up is left time for.
	ordinary    context.Context
	endOrdinary context.CancelFunc

	mu   sync.Mutex // guards what follows
	used time.Duration
	// stalled is why the run is parked by a budget that it shares, nil while it is not.
	stalled error
}

func newGovernor(limits team.Limits, budget Budget, price func(llm.Target, events.Usage) *float64, spent events.Usage, costUSD *float64) *governor {
	g := &governor{limits: limits, price: price, shared: budget}
	g.own = newAccount(float64(limits.MaxTokens), limits.MaxCostUSD, limits.WrapUpShare, events.LimitMaxTokens, events.LimitMaxCostUSD)
	g.own.spend(spent, costUSD)
	g.parking, g.park = context.WithCancelCause(context.Background())
	g.ordinary, g.endOrdinary = context.WithCancel(context.Background())
	return g
}

// Admit implements [loop.Governor].
func (g *governor) Admit(ctx context.Context, estimate loop.Estimate) (loop.Reservation, error) {
	return g.admit(ctx, estimate, nil)
}

// dispatch gives the governor of one dispatch, which has spent so much so far: its
// calls count in an account of its own, too.
func (g *governor) dispatch(spent events.Usage, costUSD *float64) loop.Governor {
	a := newAccount(float64(g.limits.MaxSpecialistTokens), g.limits.MaxSpecialistCostUSD, 0,
		events.LimitMaxSpecialistTokens, events.LimitMaxSpecialistCostUSD)
	a.spend(spent, costUSD)
	return dispatchGovernor{g, a}
}

// dispatchGovernor keeps the bounds of one dispatch beside those of its run.
type dispatchGovernor struct {
	*governor
	account *account
}

func (d dispatchGovernor) Admit(ctx context.Context, estimate loop.Estimate) (loop.Reservation, error) {
	return d.admit(ctx, estimate, d.account)
}

func (g *governor) admit(ctx context.Context, estimate loop.Estimate, dispatch *account) (loop.Reservation, error) {
	r := &reservation{
		governor: g, dispatch: dispatch, target: estimate.Target,
		amount: amountOf(estimate.Usage, g.price(estimate.Target, estimate.Usage)),
	}
	if last := estimate.LastTurn; last != nil {
		g.own.keep(amountOf(*last, g.price(estimate.Target, *last)))
	}
	var own <-chan struct{} // taken before the look that it is waited for behind, so that nothing new is missed
	for {
		if err := g.stopped(ctx, estimate.WrapUp); err != nil {
			return nil, err
		}
		ok, err := reserve(r.amount, estimate.WrapUp, dispatch, g.own)
		if err != nil {
			return nil, err
		}
		if ok {
			return g.share(ctx, r, estimate.WrapUp)
		}
		if own != nil {
			select {
			case <-own:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		own = g.own.news()
	}
}

// share reserves in the budget that the run shares, too. Meanwhile what the run has
// reserved for the call stands: nobody who waits for that keeps anything in the budget, so
// that nobody waits forever.
func (g *governor) share(ctx context.Context, r *reservation, wrapUp bool) (loop.Reservation, error) {
	ends := []context.Context{g.parking, g.ordinary}
	if wrapUp {
		ends = ends[:1]
	}
	waiting, stop := firstof.Context(ctx, ends...)
	defer stop()
	ofTenant, err := g.quotas.reserve(waiting, g.tenant, r.amount)
	if ofTenant != nil {
		r.others = append(r.others, ofTenant)
	}
	mine := err == nil // not the tenant's quota keeps the call back, if anything does
	if mine && g.shared != nil {
		if err = g.shared.Reserve(waiting, r.amount, wrapUp); err == nil {
			r.others = append(r.others, g.shared)
		}
	}
	if err == nil {
		return r, nil
	}
	r.settle(Amount{})
	if stopped := g.stopped(ctx, wrapUp); stopped != nil {
		return nil, stopped
	}
	if !mine {
		return nil, g.stall(err)
	}
	if !errors.As(err, new(*events.LimitError)) {
		return nil, g.stall(fmt.Errorf("the budget that the run shares cannot be asked: %w", err))
	}
	return nil, g.unbegun(err)
}

// stall parks a run that a budget keeps back which is not its own.
func (g *governor) stall(why error) error {
	g.mu.Lock()
	g.stalled = why
	g.mu.Unlock()
	g.drain()
	return loop.ErrSuspended
}

// why says why the run was parked, unless others asked for it.
func (g *governor) why() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stalled
}

// unbegun parks a run that has not made a call yet where the bound is one that it shares:
// a higher one continues it.
func (g *governor) unbegun(err error) error {
	var limit *events.LimitError
	if errors.As(err, &limit) && (limit.Limit == events.LimitSharedTokens || limit.Limit == events.LimitSharedCostUSD) && g.own.untouched() {
		return loop.ErrSuspended
	}
	return err
}

// Cost implements [loop.Governor].
func (g *governor) Cost(target llm.Target, usage events.Usage) *float64 {
	return g.price(target, usage)
}

func (g *governor) stopped(ctx context.Context, wrapUp bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.parking.Err() != nil:
		return loop.ErrSuspended
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case g.ordinary.Err() != nil && !wrapUp:
		return &events.LimitError{Limit: events.LimitMaxTime, Value: g.limits.MaxTime.Seconds(), Used: g.used.Seconds()}
	}
	return nil
}

// outOfTime makes ordinary calls fail from now on.
func (g *governor) outOfTime(used time.Duration) {
	g.mu.Lock()
	g.used = used
	g.mu.Unlock()
	g.endOrdinary()
	g.own.wake()
}

// drain lets requests under way end and admits no more.
func (g *governor) drain() {
	g.park(loop.ErrSuspended)
	g.own.wake()
}

// Parking implements [loop.Governor].
func (g *governor) Parking() context.Context { return g.parking }

// reservation is what one call may use.
type reservation struct {
	governor *governor
	dispatch *account // nil for the facilitator's calls
	target   llm.Target
	amount   Amount
	// others are the budgets in which it stands beside those of the run.
	others []Budget
}

// Settle implements [loop.Reservation].
func (r *reservation) Settle(used events.Usage, costUSD *float64) {
	if costUSD == nil { // a call that broke
		costUSD = r.governor.price(r.target, used)
	}
	r.settle(amountOf(used, costUSD))
}

func (r *reservation) settle(spent Amount) {
	r.dispatch.settle(r.amount, spent)
	r.governor.own.settle(r.amount, spent)
	for _, budget := range r.others {
		budget.Settle(r.amount, spent)
	}
}
