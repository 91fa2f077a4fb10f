package batch

import (
	"fmt"
	"time"

	"github.com/convene-run/convene/events"
)

const (
	// admissionInterval is how often a batch looks whether there is room for another
	// row: far shorter than a call.
	admissionInterval = 10 * time.Millisecond
	// probeRows is how many rows of a bounded batch run before one has shown what a row
	// takes: enough to learn it soon, few enough not to spend the bound on beginnings.
	probeRows = 8
	// headroom is the share of a bound that is left free when a row is started: rows
	// differ, and calls reserve more than they use.
	headroom = 0.03
)

// crowded reports whether calls wait for an endpoint: another row would only wait
// too, and hold memory meanwhile.
func (b *Batch) crowded() bool {
	if b.config.Limiters == nil {
		return false
	}
	for _, state := range b.config.Limiters() {
		if state.Waiting > 0 {
			return true
		}
	}
	return false
}

// affordable reports whether the budget has room for another row, if it takes what
// rows took so far: rows that would be cut short are better left for a higher bound.
// Where nothing is under way and there is no room, the batch is stopped.
func (b *Batch) affordable() bool {
	if b.config.MaxCostUSD == 0 && b.config.MaxTokens == 0 {
		return true
	}
	b.mu.Lock()
	// A row whose output is still being written is not in the report: it counts as under way.
	running, done := float64(b.admitted-b.ended+b.handed-b.written), float64(b.tally.report.Rows-b.tally.report.Failed)
	tokens, cost := float64(b.tally.report.Usage.Total()), 0.0
	if b.tally.report.CostUSD != nil {
		cost = *b.tally.report.CostUSD
	}
	b.mu.Unlock()
	if done == 0 {
		if ok, limit := b.budget.Fits(0, 0); !ok {
			b.outOfBudget(limit)
		}
		return running < probeRows
	}
	spentTokens, spentCost := b.budget.Spent()
	// What rows under way have used is spent already.
	toCome := func(mean, used float64) float64 { return max(mean, (running+1)*mean-used) }
	ok, limit := b.budget.Fits(
		int64(toCome(tokens/done, float64(spentTokens)-tokens)+headroom*float64(b.config.MaxTokens)),
		toCome(cost/done, spentCost-cost)+headroom*b.config.MaxCostUSD)
	if !ok && running == 0 {
		b.outOfBudget(limit)
	}
	return ok
}

// outOfBudget stops the batch at its bound.
func (b *Batch) outOfBudget(limit events.Limit) {
	tokens, cost := b.budget.Spent()
	stop := StopReason{Kind: StopBudget, Limit: limit}
	bound, spent := float64(b.config.MaxTokens), float64(tokens)
	if limit == events.LimitSharedCostUSD {
		bound, spent = b.config.MaxCostUSD, cost
	}
	// A tenth more than rows took on average, so that the same does not happen again.
	b.mu.Lock()
	done, total := float64(b.tally.report.Rows), float64(b.config.Total)
	b.mu.Unlock()
	stop.Suffices = 2 * bound
	if done > 0 && total > done {
		stop.Suffices = max(1.1*spent/done*total, 1.1*bound)
	}
	refusal := b.budget.Refusal()
	if refusal != nil {
		stop.Suffices = max(stop.Suffices, 2*refusal.Suffices)
	}
	stop.Suffices = events.RoundUp(stop.Suffices)
	enough := fmt.Sprintf("%s %s", events.Flag(limit), events.Amount(limit, stop.Suffices))
	if spent == 0 && refusal != nil {
		stop.Message = fmt.Sprintf("%v. Continue with at least %s", refusal, enough)
	} else {
		stop.Message = fmt.Sprintf("%d tokens and $%.4f are spent: another row would reach the batch's limit %s=%s. %s should be enough to continue",
			tokens, cost, events.Flag(limit), events.Amount(limit, bound), enough)
	}
	b.drain(stop)
}
