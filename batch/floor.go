package batch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
)

// floor is where the rows of a batch are worked on.
type floor struct {
	batch   *Batch
	sink    Sink
	slots   chan struct{}
	outputs chan Output
	working sync.WaitGroup

	mu        sync.Mutex // guards what follows
	suspended int
	broken    error
}

// admit starts a goroutine for each row, as slots come free.
func (f *floor) admit(ctx context.Context, rows iter.Seq2[Row, error]) error {
	for row, err := range rows {
		var bad *RowError
		if err != nil && !errors.As(err, &bad) {
			f.batch.drain(Stop{StopBroken, err.Error()})
			return err
		}
		if !f.takeSlot() {
			return nil
		}
		f.working.Go(func() {
			defer f.giveSlot()
			if bad != nil {
				f.outputs <- failedOutput(bad)
				return
			}
			f.work(ctx, &row)
		})
	}
	return nil
}

// takeSlot waits for a slot. It reports false once no more rows are to be started.
func (f *floor) takeSlot() bool {
	b := f.batch
	select {
	case <-b.stopped:
		return false
	case f.slots <- struct{}{}:
	}
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
		<-f.slots
		return false
	default:
		b.mu.Lock()
		b.admitted++
		b.mu.Unlock()
		return true
	}
}

func (f *floor) giveSlot() {
	f.batch.mu.Lock()
	f.batch.ended++
	f.batch.mu.Unlock()
	<-f.slots
}

// work brings one row to its end, or leaves it to be resumed. A panic is the row's.
func (f *floor) work(ctx context.Context, row *Row) {
	out, err := f.guarded(ctx, row)
	var bad *RowError
	switch {
	case errors.As(err, &bad):
		f.outputs <- failedOutput(bad)
	case err != nil:
		f.fail(fmt.Errorf("row %d: %w", row.Index, err))
	case out == nil:
		f.mu.Lock()
		f.suspended++
		f.mu.Unlock()
	default:
		f.outputs <- *out
	}
}

func (f *floor) guarded(ctx context.Context, row *Row) (out *Output, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = row.bad(KindInternal, fmt.Sprintf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	return f.batch.run(ctx, row)
}

// tell keeps the journal until the rows have ended. What it cannot write breaks the
// batch, as a failing store does.
func (f *floor) tell(ctx context.Context, ended <-chan struct{}) {
	begun, next := time.Now(), time.NewTimer(progressInterval)
	defer next.Stop()
	for {
		select {
		case <-ended:
			return
		case <-next.C:
			next.Reset(interval(time.Since(begun)))
		}
		if err := f.batch.journal.progress(ctx); err != nil {
			f.fail(err)
			return
		}
	}
}

// fail stops the batch: its input, output or store does not work.
func (f *floor) fail(err error) {
	f.mu.Lock()
	if f.broken == nil {
		f.broken = err
	}
	f.mu.Unlock()
	f.batch.halt(Stop{StopBroken, err.Error()})
}

// write hands outputs to the sink. After a failure it only takes them in, so that
// nobody waits for it.
func (f *floor) write() {
	failed := false
	for out := range f.outputs {
		if failed {
			continue
		}
		if err := f.sink.Write(out); err != nil {
			failed = true
			f.fail(fmt.Errorf("write the output of row %d: %w", out.Index, err))
			continue
		}
		f.batch.count(&out)
	}
}

// count takes an output into the report and stops the batch where it says so.
func (b *Batch) count(out *Output) {
	if out.rejected != nil {
		b.journal.reject(out.rejected)
	}
	b.mu.Lock()
	b.tally.add(out)
	b.written++
	if hopeless(out) {
		b.hopeless++
	} else {
		b.hopeless = 0
	}
	failed, ended, lost := b.tally.report.Failed, b.tally.report.Rows, b.hopeless
	b.mu.Unlock()
	switch {
	case b.config.MaxFailures.exceeded(failed, ended, b.config.Total):
		b.drain(Stop{StopFailures, fmt.Sprintf("%d of %d rows failed; at most %s may", failed, ended, b.config.MaxFailures)})
	case lost >= maxHopeless:
		b.drain(Stop{StopEndpoint, fmt.Sprintf("%d rows in a row failed: %s", lost, out.Error.Message)})
	}
}

// run runs one row. Without an output and an error the run was left to be resumed.
func (b *Batch) run(ctx context.Context, row *Row) (*Output, error) {
	run, over, err := b.begin(ctx, row)
	if err != nil {
		return nil, err
	}
	if over != nil {
		out := outputOf(row, *over)
		return &out, nil
	}
	if run == nil {
		return nil, nil
	}
	b.enter(row, run)
	defer b.leave(row)
	result, err := run.Wait()
	if errors.Is(err, events.ErrFenced) || err == nil && !result.Status.Over() {
		return nil, nil // another process has it now, or it was parked
	}
	if err != nil {
		return nil, err
	}
	out := outputOf(row, result)
	return &out, nil
}

// begin starts the row's run, or takes it up where the log says it is. over is set
// where it had come to its end already.
func (b *Batch) begin(ctx context.Context, row *Row) (run *runner.Run, over *runner.Result, err error) {
	job, err := b.job(row)
	if err != nil {
		return nil, nil, err
	}
	if b.config.Resumed {
		run, over, err = b.takeUp(ctx, job)
		if !errors.Is(err, events.ErrNotFound) {
			return run, over, err
		}
	}
	if _, err := b.config.Runner.Check(job); err != nil {
		return nil, nil, row.refused(err)
	}
	run, err = b.config.Runner.Start(ctx, job)
	var input *runner.InputError
	switch {
	case errors.As(err, &input), errors.Is(err, events.ErrHeld):
		return nil, nil, row.refused(err)
	case err != nil && ctx.Err() != nil:
		return nil, nil, nil //nolint:nilerr // the end of ctx leaves the row as it is
	}
	return run, nil, err
}

func (b *Batch) takeUp(ctx context.Context, job runner.Job) (*runner.Run, *runner.Result, error) {
	summary, err := b.config.Runner.Log().FindRun(ctx, b.config.Tenant, string(job.Run))
	if err != nil {
		return nil, nil, ifNotEnded(ctx, err)
	}
	if summary.Status.Over() {
		result, err := b.config.Runner.Outcome(ctx, b.config.Tenant, string(job.Run))
		if err != nil {
			return nil, nil, ifNotEnded(ctx, err)
		}
		return nil, &result, nil
	}
	run, err := b.config.Runner.ResumeUnder(ctx, b.config.Tenant, string(job.Run), runner.Terms{
		Priority: llm.PriorityBatch, Budget: b.budget,
	})
	if errors.Is(err, events.ErrHeld) {
		return nil, nil, nil // somebody else drives it; the next call of the batch finds its result
	}
	return run, nil, ifNotEnded(ctx, err)
}

// ifNotEnded drops an error that is only the end of ctx: the row is left as it is.
func ifNotEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // see above
	}
	return err
}

// job gives the runner's job of a row.
func (b *Batch) job(row *Row) (runner.Job, error) {
	t, err := b.teams.find(row.Team)
	if err != nil {
		return runner.Job{}, row.bad(KindUnknownTeam, err.Error())
	}
	return runner.Job{
		Tenant: b.config.Tenant, Thread: b.config.Identity.threadID(row), Run: b.config.Identity.runID(row),
		Request: row.Request, Vars: row.Vars, Team: t, Model: b.config.Model, Solo: b.config.Solo,
		Priority: llm.PriorityBatch, Budget: b.budget,
		Batch: &events.BatchRow{Batch: events.BatchID(b.config.Identity.ID), Row: row.ID, Index: row.Index, Attempt: row.Attempt},
	}, nil
}

func (row *Row) bad(kind, message string) *RowError {
	return &RowError{ID: row.ID, Index: row.Index, Line: row.line, Kind: kind, Message: message, Input: row.Input, position: row.position}
}

// refused gives the error of a row that cannot be started.
func (row *Row) refused(err error) *RowError {
	var input *runner.InputError
	if errors.As(err, &input) || errors.Is(err, events.ErrHeld) {
		return row.bad(KindInvalidRow, err.Error())
	}
	return row.bad(KindConfiguration, err.Error())
}

// enter notes a run under way. The batch may have been stopped while it started.
func (b *Batch) enter(row *Row, run *runner.Run) {
	b.mu.Lock()
	b.active[row.Index] = &active{row: row, since: time.Now(), run: run}
	how := b.parking
	b.mu.Unlock()
	how.apply(run)
}

func (b *Batch) leave(row *Row) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.active, row.Index)
}
