package runner

import (
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

// Budget bounds what many runs use together, on top of each run's own limits. At
// the bound runs under way wrap up, from a share kept for that. It is safe for
// concurrent use.
type Budget struct{ account *account }

// BudgetLimits are the bounds of a [Budget]; 0 is no bound.
type BudgetLimits struct {
	MaxTokens  int64
	MaxCostUSD float64
}

// budgetWrapUpShare is the percentage of a budget that is kept for the last turns
// of the runs under way: little, because only the last few of many runs need it.
const budgetWrapUpShare = 2

// NewBudget makes a budget of which nothing is spent.
func NewBudget(limits BudgetLimits) *Budget {
	return &Budget{newAccount(float64(limits.MaxTokens), limits.MaxCostUSD, budgetWrapUpShare, team.LimitSharedTokens, team.LimitSharedCostUSD)}
}

// Spend counts what was used before, by runs of an earlier process for instance.
func (b *Budget) Spend(usage events.Usage, costUSD *float64) { b.account.spend(usage, costUSD) }

// Spent gives the tokens and US dollars used so far.
func (b *Budget) Spent() (tokens int64, costUSD float64) {
	a := b.account
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(a.tokens.spent), a.cost.spent
}

// Fits reports whether so many tokens and US dollars more are within what ordinary
// calls may use, or the bound that they would meet. It reserves nothing.
func (b *Budget) Fits(tokens int64, costUSD float64) (bool, events.Limit) {
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
func (b *Budget) Met() events.Limit {
	if b == nil {
		return ""
	}
	b.account.mu.Lock()
	defer b.account.mu.Unlock()
	if b.account.met == nil {
		return ""
	}
	return b.account.met.Limit
}

func (b *Budget) shares() *account {
	if b == nil {
		return nil
	}
	return b.account
}

func (b *Budget) boundsCost() bool { return b != nil && b.account.cost.bound > 0 }
