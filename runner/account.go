package runner

import (
	"sync"

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
	kept    Amount
	tokens  ledger
	cost    ledger
	pending int
	met     *events.LimitError
	// changed is closed whenever a waiting call should look again; nil while nobody waits.
	changed chan struct{}
}

// Amount is what a call may use, or has used.
type Amount struct {
	Tokens  int64
	CostUSD float64
}

func amountOf(usage events.Usage, costUSD *float64) Amount {
	a := Amount{Tokens: usage.Total()}
	if costUSD != nil {
		a.CostUSD = *costUSD
	}
	return a
}

func (a *Amount) add(more Amount) {
	a.Tokens += more.Tokens
	a.CostUSD += more.CostUSD
}

// ledger counts one resource against its bound; 0 is no bound.
type ledger struct{ bound, spent, reserved float64 }

// mostKept is the part of a bound that is kept back at most: where the last turn is
// expected to use more, ordinary work still gets its half.
const mostKept = 0.5

// fits reports whether n fits into share percent of the bound and leaves what is
// kept.
func (l *ledger) fits(n, share, kept float64) bool {
	return l.bound == 0 || l.spent+l.reserved+n <= min(l.bound*share/100, l.bound-min(kept, l.bound*mostKept))
}

func newAccount(tokens, costUSD float64, wrapUpShare int, tokensName, costName events.Limit) *account {
	return &account{
		tokensName: tokensName, costName: costName, share: float64(100 - wrapUpShare),
		tokens: ledger{bound: tokens}, cost: ledger{bound: costUSD},
	}
}

// reserve reserves in every account or in none. It reports whether it did, or the
// bound that is met. Locks are always taken in the order of dispatch and run.
func reserve(n Amount, wrapUp bool, accounts ...*account) (bool, error) {
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
			a.tokens.reserved += float64(n.Tokens)
			a.cost.reserved += n.CostUSD
			a.pending++
		}
	}
	return true, nil
}

// has reports whether there is room, or the bound that is met. The caller holds mu.
func (a *account) has(n Amount, wrapUp bool) (bool, error) {
	share, kept := a.share, a.kept
	if wrapUp {
		share, kept = 100, Amount{}
	}
	tokens, cost := a.tokens.fits(float64(n.Tokens), share, float64(kept.Tokens)), a.cost.fits(n.CostUSD, share, kept.CostUSD)
	switch {
	case tokens && cost:
		return true, nil
	case a.pending > 0:
		return false, nil
	case !tokens:
		a.met = a.tokens.refusal(a.tokensName, float64(n.Tokens), a.share, float64(a.kept.Tokens))
	default:
		a.met = a.cost.refusal(a.costName, n.CostUSD, a.share, a.kept.CostUSD)
	}
	return false, a.met
}

// refusal is the error of a call that may use n, with the bound that would have admitted
// it.
func (l *ledger) refusal(name events.Limit, n, share, kept float64) *events.LimitError {
	used := l.spent + n
	return &events.LimitError{
		Limit: name, Value: l.bound, Used: l.spent,
		Suffices: max(used*100/share, min(used+kept, used/mostKept)),
	}
}

// settle gives a reservation back and counts what was spent of it.
func (a *account) settle(reserved, spent Amount) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending--
	a.tokens.reserved -= float64(reserved.Tokens)
	a.cost.reserved -= reserved.CostUSD
	a.tokens.spent += float64(spent.Tokens)
	a.cost.spent += spent.CostUSD
	a.tell()
}

// keep changes what is kept back for the last turn.
func (a *account) keep(n Amount) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = n
}

// spend counts what was spent without a reservation.
func (a *account) spend(usage events.Usage, costUSD *float64) {
	n := amountOf(usage, costUSD)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens.spent += float64(n.Tokens)
	a.cost.spent += n.CostUSD
}

// bind changes the bounds; 0 is none.
func (a *account) bind(tokens, costUSD float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens.bound, a.cost.bound = tokens, costUSD
	a.tell()
}

// atLeast counts what others are known to have spent, all together.
func (a *account) atLeast(n Amount) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens.spent, a.cost.spent = max(a.tokens.spent, float64(n.Tokens)), max(a.cost.spent, n.CostUSD)
}

// restart forgets what was spent; reservations stand.
func (a *account) restart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens.spent, a.cost.spent = 0, 0
}

// untouched reports whether nothing was spent yet, or is about to be.
func (a *account) untouched() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tokens.spent == 0 && a.pending == 0
}

func (a *account) wake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell()
}

// tell wakes who waits. The caller holds mu.
func (a *account) tell() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// news gives a channel that ends when there is something new.
func (a *account) news() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed
}
