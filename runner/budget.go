package runner

import (
	"context"

	"github.com/convene-run/convene/events"
)

// Budget bounds what many runs use together, on top of each run's own limits. At the
// bound runs under way wrap up. [NewBudget] makes one for the runs of a process; one that
// runs of several processes share can be given in its place. Implementations are safe for
// concurrent use.
type Budget interface {
	// Reserve keeps what a call may use, before the call goes out. Where there is no room it
	// waits for what others reserved and may give back. wrapUp is set for the last turns of
	// a run: they may use the share that ordinary calls leave.
	//
	// The error is a [*events.LimitError] where the bound is met, naming
	// [events.LimitSharedTokens] or [events.LimitSharedCostUSD], and the context's cause where
	// that ended. With any other the run is parked, to be resumed.
	Reserve(ctx context.Context, most Amount, wrapUp bool) error
	// Settle gives back what was reserved and counts what was spent of it: once for each
	// Reserve without an error. It must not block.
	Settle(reserved, spent Amount)
	// BoundsCost reports whether money is bounded: models without a known price are refused
	// then.
	BoundsCost() bool
}

// LocalBudget is the [Budget] of one process.
type LocalBudget struct{ account *account }

var _ Budget = (*LocalBudget)(nil)

// BudgetLimits are the bounds of a [LocalBudget]; 0 is no bound.
type BudgetLimits struct {
	MaxTokens  int64
	MaxCostUSD float64
}

// budgetWrapUpShare is the percentage of a budget that is kept for the last turns
// of the runs under way: little, because only the last few of many runs need it.
const budgetWrapUpShare = 2

// NewBudget makes a budget of which nothing is spent.
func NewBudget(limits BudgetLimits) *LocalBudget {
	return &LocalBudget{newAccount(float64(limits.MaxTokens), limits.MaxCostUSD, budgetWrapUpShare, events.LimitSharedTokens, events.LimitSharedCostUSD)}
}

// Reserve implements [Budget].
func (b *LocalBudget) Reserve(ctx context.Context, most Amount, wrapUp bool) error {
	if ok, err := reserve(most, wrapUp, b.account); ok || err != nil {
		return err
	}
	for {
		news := b.account.news() // taken before looking, so that nothing new is missed
		if ok, err := reserve(most, wrapUp, b.account); ok || err != nil {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Settle implements [Budget].
func (b *LocalBudget) Settle(reserved, spent Amount) { b.account.settle(reserved, spent) }

// BoundsCost implements [Budget].
func (b *LocalBudget) BoundsCost() bool { return b.account.cost.bound > 0 }

// Spend counts what was used before, by runs of an earlier process for instance.
func (b *LocalBudget) Spend(usage events.Usage, costUSD *float64) { b.account.spend(usage, costUSD) }

// Spent gives the tokens and US dollars used so far.
func (b *LocalBudget) Spent() (tokens int64, costUSD float64) {
	a := b.account
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(a.tokens.spent), a.cost.spent
}

// Fits reports whether so many tokens and US dollars more are within what ordinary
// calls may use, or the bound that they would meet. It reserves nothing.
func (b *LocalBudget) Fits(tokens int64, costUSD float64) (bool, events.Limit) {
	a := b.account
	a.mu.Lock()
	defer a.mu.Unlock()
	within := func(l ledger, n float64) bool { return l.bound == 0 || l.spent+n <= l.bound*a.share/100 }
	switch {
	case !within(a.tokens, float64(tokens)):
		return false, a.tokensName
	case !within(a.cost, costUSD):
		return false, a.costName
	}
	return true, ""
}

// Met gives the bound that refused a call, "" while none did.
func (b *LocalBudget) Met() events.Limit {
	if refusal := b.Refusal(); refusal != nil {
		return refusal.Limit
	}
	return ""
}

// Refusal is the error of the newest call that was refused, nil while none was.
func (b *LocalBudget) Refusal() *events.LimitError {
	b.account.mu.Lock()
	defer b.account.mu.Unlock()
	return b.account.met
}
