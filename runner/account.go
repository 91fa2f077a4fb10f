package runner

import (
	"sync"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
)

// account counts tokens and money against their bounds. A bound is met when a
// reservation does not fit and none is outstanding that may give something back. A
// nil account has no bound.
type account struct {
	tokensName, costName events.Limit
	// share is how much of the bounds ordinary calls may use, in percent; the last
	// turns may use all.
	share float64

	mu sync.Mutex // guards what follows
	// kept is what the last turn is expected to use, where that is known: it is kept
	// back even where it is more than the share.
	kept    amount
	tokens  ledger
	cost    ledger
	pending int
	met     *agent.LimitError
	// changed is closed, and made anew, whenever a waiting call should look again.
	changed chan struct{}
}

// amount is what a call may use, or has used.
type amount struct{ tokens, costUSD float64 }

func amountOf(usage events.Usage, costUSD *float64) amount {
	a := amount{tokens: float64(usage.Total())}
	if costUSD != nil {
		a.costUSD = *costUSD
	}
	return a
}

// ledger counts one resource against its bound; 0 is no bound.
type ledger struct{ bound, spent, reserved float64 }

// fits reports whether n fits into share percent of the bound and leaves what is
// kept.
func (l *ledger) fits(n, share, kept float64) bool {
	return l.bound == 0 || l.spent+l.reserved+n <= min(l.bound*share/100, l.bound-kept)
}

func newAccount(tokens, costUSD float64, wrapUpShare int, tokensName, costName events.Limit) *account {
	return &account{
		tokensName: tokensName, costName: costName, share: float64(100 - wrapUpShare),
		tokens: ledger{bound: tokens}, cost: ledger{bound: costUSD}, changed: make(chan struct{}),
	}
}

// reserve reserves in every account or in none. It reports whether it did, or the
// bound that is met. Accounts that runs share come behind those of their own, so
// that locks are always taken in that order.
func reserve(n amount, wrapUp bool, accounts ...*account) (bool, error) {
	for _, a := range accounts {
		if a == nil {
			continue
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if ok, err := a.has(n, wrapUp); !ok {
			return false, err
		}
	}
	for _, a := range accounts {
		if a != nil {
			a.tokens.reserved += n.tokens
			a.cost.reserved += n.costUSD
			a.pending++
		}
	}
	return true, nil
}

// has reports whether there is room, or the bound that is met. The caller holds mu.
func (a *account) has(n amount, wrapUp bool) (bool, error) {
	share, kept := a.share, a.kept
	if wrapUp {
		share, kept = 100, amount{}
	}
	tokens, cost := a.tokens.fits(n.tokens, share, kept.tokens), a.cost.fits(n.costUSD, share, kept.costUSD)
	switch {
	case tokens && cost:
		return true, nil
	case a.pending > 0:
		return false, nil
	case !tokens:
		a.met = &agent.LimitError{Limit: a.tokensName, Value: a.tokens.bound, Used: a.tokens.spent}
	default:
		a.met = &agent.LimitError{Limit: a.costName, Value: a.cost.bound, Used: a.cost.spent}
	}
	return false, a.met
}

// settle gives a reservation back and counts what was spent of it.
func (a *account) settle(reserved, spent amount) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending--
	a.tokens.reserved -= reserved.tokens
	a.cost.reserved -= reserved.costUSD
	a.tokens.spent += spent.tokens
	a.cost.spent += spent.costUSD
	a.tell()
}

// keep changes what is kept back for the last turn.
func (a *account) keep(n amount) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = n
}

// spend counts what was spent without a reservation.
func (a *account) spend(usage events.Usage, costUSD *float64) {
	n := amountOf(usage, costUSD)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens.spent += n.tokens
	a.cost.spent += n.costUSD
}

func (a *account) wake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell()
}

// tell wakes who waits. The caller holds mu.
func (a *account) tell() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// news gives a channel that ends when there is something new.
func (a *account) news() <-chan struct{} {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}
