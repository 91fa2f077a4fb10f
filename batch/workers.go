package batch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
	"time"

	"github.com/convene-run/convene/runner"
)

// workers work on the rows of a batch, each on one at a time.
type workers struct {
	batch   *Batch
	sink    Sink
	slots   chan struct{}
	threads *threads
	outputs chan Output
	// held are rows that wait for an endpoint. They belong to the goroutine that admits.
	held    held
	working sync.WaitGroup

	mu        sync.Mutex // guards what follows
	suspended int
	broken    error
}

// admit starts a goroutine for each row, as slots come free and the row's thread does.
func (w *workers) admit(ctx context.Context, rows iter.Seq2[Row, error]) error {
	for row, err := range rows {
		var bad *RowError
		if err != nil && !errors.As(err, &bad) {
			w.batch.drain(StopReason{Kind: StopBroken, Message: err.Error()})
			return err
		}
		if bad != nil {
			if !w.takeSlot() {
				return nil
			}
			w.working.Go(func() {
				defer w.giveSlot(nil)
				w.hand(failedOutput(bad))
			})
			continue
		}
		if !w.threads.enter(&row, w.batch.stopped, func() bool { return w.startWell(ctx) }) {
			if w.batch.isStopped() {
				return nil
			}
			continue
		}
		if !w.next(ctx, &row) {
			return nil
		}
	}
	w.startHeld(ctx)
	return nil
}

// start works on a row. It reports false once no more rows are to be started.
func (w *workers) start(ctx context.Context, row *Row) bool {
	if !w.takeSlot() {
		return false
	}
	w.working.Add(1)
	go w.workThread(ctx, row)
	return true
}

// workThread brings the row, and then those that wait for its thread, to their ends. The
// caller has taken a slot for the first, and counted the thread among those worked on.
// While the run of a row is under way nobody stands by: what is behind it follows on the
// run's own goroutine.
func (w *workers) workThread(ctx context.Context, row *Row) {
	for row != nil {
		run, out, err := w.open(ctx, row)
		if run != nil {
			run.Then(func() {
				out, err := w.conclude(row, run)
				w.workThread(ctx, w.follow(row, w.ended(row, out, err)))
			})
			return
		}
		row = w.follow(row, w.ended(row, out, err))
	}
	w.working.Done()
}

// follow gives the row that waits for the thread of one that was worked on, with a slot, nil
// where there is none or it is not to be started.
func (w *workers) follow(row *Row, ended bool) *Row {
	next := w.threads.next(row.Thread, ended)
	if next == nil {
		w.giveSlot(row)
		return nil
	}
	lent := w.rowEnded(row)
	if lent && !w.takeSlot() || !lent && !w.keepSlot() {
		w.threads.next(next.Thread, false)
		return nil
	}
	return next
}

// takeSlot waits for a slot. It reports false once no more rows are to be started.
func (w *workers) takeSlot() bool {
	b := w.batch
	for taken := false; !taken; {
		select {
		case <-b.stopped:
			return false
		case w.slots <- struct{}{}:
			taken = true
		case <-time.After(lendInterval):
			w.lend()
		}
	}
	return w.keepSlot()
}

// keepSlot waits, with a slot, until a row may be started. The slot is given back where it
// reports false.
func (w *workers) keepSlot() bool {
	b := w.batch
	for b.crowded() || !b.affordable() {
		select {
		case <-b.stopped:
		case <-time.After(admissionInterval):
			continue
		}
		break
	}
	if limit := b.budget.Met(); limit != "" {
		b.outOfBudget(limit)
	}
	select {
	case <-b.stopped:
		<-w.slots
		return false
	default:
		b.mu.Lock()
		b.admitted++
		b.mu.Unlock()
		return true
	}
}

// rowEnded counts a row that was started here; its slot is free, or for another row,
// unless it was lent. The row is nil where it could not be run.
func (w *workers) rowEnded(row *Row) (lent bool) {
	w.batch.mu.Lock()
	w.batch.ended++
	lent = row != nil && row.lent
	w.batch.mu.Unlock()
	return lent
}

func (w *workers) giveSlot(row *Row) {
	if lent := w.rowEnded(row); !lent {
		<-w.slots
	}
}

// ended hands on what a row came to; it reports false where the row was left to be resumed.
func (w *workers) ended(row *Row, out *Output, err error) bool {
	var bad *RowError
	switch {
	case errors.As(err, &bad):
		w.hand(failedOutput(bad))
	case err != nil:
		w.fail(fmt.Errorf("row %d: %w", row.Index, err))
	case out == nil:
		w.mu.Lock()
		w.suspended++
		w.mu.Unlock()
		if limit := w.batch.budget.Met(); limit != "" {
			w.batch.outOfBudget(limit)
		}
	default:
		w.hand(*out)
	}
	return bad != nil || out != nil
}

// hand gives an output to be written.
func (w *workers) hand(out Output) {
	w.batch.mu.Lock()
	w.batch.handed++
	w.batch.mu.Unlock()
	w.outputs <- out
}

func (w *workers) open(ctx context.Context, row *Row) (run *runner.Run, out *Output, err error) {
	defer caught(row, &err)
	return w.batch.open(ctx, row)
}

func (w *workers) conclude(row *Row, run *runner.Run) (out *Output, err error) {
	defer caught(row, &err)
	return w.batch.conclude(row, run)
}

// caught makes a panic the row's. It is to be deferred.
func caught(row *Row, err *error) {
	if cause := recover(); cause != nil {
		*err = row.bad(KindInternal, fmt.Sprintf("panic: %v\n%s", cause, debug.Stack()))
	}
}

// tell keeps the journal until the rows have ended. What it cannot write breaks the
// batch, as a failing store does.
func (w *workers) tell(ctx context.Context, ended <-chan struct{}) {
	begun, next := time.Now(), time.NewTimer(progressInterval)
	defer next.Stop()
	for {
		select {
		case <-ended:
			return
		case <-next.C:
			next.Reset(interval(time.Since(begun)))
		}
		if err := w.batch.journal.progress(ctx); err != nil {
			w.fail(err)
			return
		}
	}
}

// fail stops the batch: its input, output or store does not work.
func (w *workers) fail(err error) {
	w.mu.Lock()
	if w.broken == nil {
		w.broken = err
	}
	w.mu.Unlock()
	w.batch.halt(StopReason{Kind: StopBroken, Message: err.Error()})
}

// write hands outputs to the sink. After a failure it only takes them in, so that
// nobody waits for it.
func (w *workers) write() {
	failed := false
	for out := range w.outputs {
		if failed {
			continue
		}
		if err := w.sink.Write(out); err != nil {
			failed = true
			w.fail(fmt.Errorf("write the output of row %d: %w", out.Index, err))
			continue
		}
		w.batch.count(&out)
	}
}

// count takes an output into the report and stops the batch where it says so.
func (b *Batch) count(out *Output) {
	if out.rejected != nil {
		b.journal.reject(out.rejected)
	}
	b.mu.Lock()
	delete(b.unfinished, out.Index)
	b.tally.add(out)
	b.written++
	failed, ended := b.tally.report.Failed, b.tally.report.Rows
	b.mu.Unlock()
	if b.config.MaxFailures.exceeded(failed, ended, b.config.Total) {
		b.drain(StopReason{Kind: StopFailures, Message: fmt.Sprintf("%d of %d rows failed; the maximum is %s", failed, ended, b.config.MaxFailures)})
	}
}
