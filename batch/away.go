package batch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
)

const (
	// lendInterval is how often a batch whose slots are all taken looks for rows that wait
	// for an endpoint: their slots go to rows of others.
	lendInterval = 250 * time.Millisecond
	// maxHeld and maxHeldBytes bound the rows that are put aside while their endpoint is
	// away. Reading goes on behind them to find rows of other endpoints.
	maxHeld      = 1000
	maxHeldBytes = 64 << 20
	// maxSkipped bounds the rows that are passed over because their endpoint was given up:
	// [FileBatch.account] relies on there being no larger gap.
	maxSkipped = maxGap - MaxConcurrency/2 - maxHeld
)

// away is what a batch knows of endpoints that cannot be used; the batch's mu guards it.
type away struct {
	// lost are the endpoints for which rows were parked.
	lost map[string]bool
	// reason is why the first row was parked.
	reason string
	// held counts rows that were put aside, skipped those that were left.
	held, skipped int
	// troubles tell what keeps the rows of a team from being worked on, by its name.
	troubles map[string]func() *llm.Trouble
}

// held are rows that were put aside, in order.
type held struct {
	rows  []*Row
	bytes int
}

func (h *held) full() bool { return len(h.rows) >= maxHeld || h.bytes >= maxHeldBytes }

// next starts a row, puts it aside while its endpoint is away, or leaves it where the
// endpoint was given up. It reports false once no more rows are to be started.
func (w *workers) next(ctx context.Context, row *Row) bool {
	for {
		if !w.startWell(ctx) {
			return false
		}
		switch t := w.batch.trouble(row); {
		case t == nil:
			return w.start(ctx, row)
		case w.batch.isLost(t):
			return w.skip(row)
		case !t.Attended:
			return w.start(ctx, row) // to find out
		case !w.held.full():
			w.hold(row)
			return true
		}
		if !w.pause() {
			return false
		}
	}
}

// startHeld starts the rows that were put aside, as their endpoints get well.
func (w *workers) startHeld(ctx context.Context) {
	for w.startWell(ctx) && len(w.held.rows) > 0 && w.pause() {
	}
}

// startWell starts the rows put aside whose endpoint is well again, and drops those whose
// endpoint was given up. It reports false once no more rows are to be started.
func (w *workers) startWell(ctx context.Context) bool {
	for i := 0; i < len(w.held.rows); {
		row := w.held.rows[i]
		t := w.batch.trouble(row)
		if t != nil && t.Attended && !w.batch.isLost(t) {
			i++
			continue
		}
		w.release(i)
		if t != nil && w.batch.isLost(t) {
			if !w.skip(row) {
				return false
			}
		} else if !w.start(ctx, row) {
			return false
		}
	}
	return true
}

func (w *workers) hold(row *Row) {
	w.held.rows = append(w.held.rows, row)
	w.held.bytes += len(row.Request)
	w.batch.onAway(func(a *away) { a.held++ })
}

func (w *workers) release(i int) {
	w.held.bytes -= len(w.held.rows[i].Request)
	w.held.rows = slices.Delete(w.held.rows, i, i+1)
	w.batch.onAway(func(a *away) { a.held-- })
}

// skip leaves a row to the next call of the batch. It reports false once there were too
// many of them.
func (w *workers) skip(row *Row) bool {
	w.threads.next(row.Thread, false)
	ok := true
	w.batch.onAway(func(a *away) {
		a.skipped++
		ok = a.skipped < maxSkipped
	})
	return ok
}

// pause waits a moment. It reports false once the batch was stopped.
func (w *workers) pause() bool {
	select {
	case <-w.batch.stopped:
		return false
	case <-time.After(admissionInterval):
		return true
	}
}

func (b *Batch) onAway(change func(*away)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.away)
}

// lend frees the slots of rows that wait for an endpoint.
func (w *workers) lend() {
	w.batch.mu.Lock()
	defer w.batch.mu.Unlock()
	for _, a := range w.batch.active {
		if !a.row.lent && a.run.Away() != nil {
			a.row.lent = true
			<-w.slots
		}
	}
}

// trouble is what keeps a row from being worked on, nil if nothing does.
func (b *Batch) trouble(row *Row) (t *llm.Trouble) {
	defer func() {
		if recover() != nil {
			t = nil // working on the row will meet it again, and it is the row's
		}
	}()
	b.mu.Lock()
	of := b.away.troubles[row.Team]
	b.mu.Unlock()
	if of == nil {
		job, err := b.job(row)
		if err != nil {
			return nil // it becomes an output
		}
		if of = b.config.Runner.Trouble(job); of == nil {
			return nil // as above
		}
		b.onAway(func(a *away) {
			if a.troubles == nil || len(a.troubles) == maxTeams {
				a.troubles = map[string]func() *llm.Trouble{}
			}
			a.troubles[row.Team] = of
		})
	}
	return of()
}

// parked notes that a row was parked for want of an endpoint.
func (b *Batch) parked(result runner.Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away.lost == nil {
		b.away.lost, b.away.reason = map[string]bool{}, result.Reason
	}
	b.away.lost[result.Endpoint] = true
}

func (b *Batch) isLost(t *llm.Trouble) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.away.lost[t.Place()]
}

// parkForGood stops a batch whose rows have stopped, some of them parked for lack
// of an endpoint.
func (b *Batch) parkForGood() {
	b.mu.Lock()
	reason := b.away.reason
	b.mu.Unlock()
	if reason != "" {
		b.drain(StopReason{Kind: StopEndpoint, Message: reason})
	}
}

// outages are the endpoints that rows under way wait for. The caller holds mu.
func (b *Batch) outages(now time.Time) (all []events.BatchOutage) {
	for _, a := range b.active {
		t := a.run.Away()
		if t == nil {
			continue
		}
		i := slices.IndexFunc(all, func(o events.BatchOutage) bool { return o.Message == t.String() })
		if i < 0 {
			i = len(all)
			all = append(all, events.BatchOutage{Endpoint: t.Place(), Code: string(t.Kind), Message: t.String()})
		}
		all[i].Rows++
		all[i].AwayMS = max(all[i].AwayMS, now.Sub(t.Since).Milliseconds())
	}
	slices.SortFunc(all, func(a, b events.BatchOutage) int { return cmp.Compare(a.Message, b.Message) })
	return all
}
