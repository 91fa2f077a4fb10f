package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
)

// open starts a row. Where its run is under way then, conclude gives what it comes to. Without
// a run, an output and an error the row was left to be resumed.
func (b *Batch) open(ctx context.Context, row *Row) (*runner.Run, *Output, error) {
	run, over, err := b.begin(ctx, row)
	switch {
	case errors.Is(err, runner.ErrShutDown):
		b.drain(StopReason{Kind: StopInterrupted, Message: err.Error()})
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case over != nil:
		out := outputOf(row, *over)
		return nil, &out, nil
	case run != nil:
		b.enter(row, run)
	}
	return run, nil, nil
}

// conclude gives the output of a row once its run has come to rest. Without one and an error
// the row was left to be resumed.
func (b *Batch) conclude(row *Row, run *runner.Run) (*Output, error) {
	defer b.leave(row)
	result, err := run.Wait()
	if err == nil && result.Code != "" {
		b.parked(result)
	}
	if errors.Is(err, events.ErrFenced) || err == nil && !result.Status.Over() {
		b.leaveUnfinished(row, spent{result.Usage, result.CostUSD, result.ModelCalls})
		if result.Status == events.StatusAwaitingInput {
			b.asking.Add(1)
		}
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
	if b.config.Resumed {
		run, over, err = b.takeUp(ctx, row)
		if !errors.Is(err, events.ErrNotFound) {
			return run, over, err
		}
	}
	if err := b.attemptBefore(ctx, row); err != nil {
		return nil, nil, ifNotEnded(ctx, err)
	}
	job, err := b.job(row)
	if err != nil {
		return nil, nil, err
	}
	if len(row.Files) > 0 { // they are read for a row that can be started
		if _, err := b.config.Runner.Check(job); err != nil {
			return nil, nil, row.refused(err)
		}
		if err := b.attach(ctx, row, &job); err != nil {
			return nil, nil, ifNotEnded(ctx, err)
		}
	}
	run, err = b.start(ctx, job)
	var refused *runner.RefusedError
	var input *runner.InputError
	switch {
	case errors.Is(err, events.ErrHeld), errors.Is(err, events.ErrLocked), errors.Is(err, runner.ErrQuota):
		return nil, nil, nil // the batch was stopped while the row waited
	case errors.As(err, &refused), errors.As(err, &input):
		return nil, nil, row.refused(err)
	case err != nil && ctx.Err() != nil:
		return nil, nil, nil //nolint:nilerr // the end of ctx leaves the row as it is
	}
	return run, nil, err
}

// heldInterval is how often a row looks whether what it waits for has come free: its
// thread, or the store.
const heldInterval = 250 * time.Millisecond

// start starts the run once nobody else has its thread or keeps the store locked; the
// batch's own rows wait for each other elsewhere.
func (b *Batch) start(ctx context.Context, job runner.Job) (*runner.Run, error) {
	return b.patiently(func() (*runner.Run, error) { return b.config.Runner.Start(ctx, job) }, events.ErrHeld, events.ErrLocked, runner.ErrQuota)
}

// patiently tries again while the error is one of those, until the batch is stopped.
func (b *Batch) patiently(try func() (*runner.Run, error), passing ...error) (*runner.Run, error) {
	for {
		run, err := try()
		if !slices.ContainsFunc(passing, func(p error) bool { return errors.Is(err, p) }) {
			return run, err
		}
		select {
		case <-b.stopped:
			return nil, err
		case <-time.After(heldInterval):
		}
	}
}

// takeUp continues the run that the log has of the row.
func (b *Batch) takeUp(ctx context.Context, row *Row) (*runner.Run, *runner.Result, error) {
	summary, err := b.newest(ctx, row)
	if err != nil {
		return nil, nil, ifNotEnded(ctx, err)
	}
	if summary.Status.Over() {
		result, err := b.config.Runner.Outcome(ctx, b.config.Tenant, summary.Run)
		if err != nil {
			return nil, nil, ifNotEnded(ctx, err)
		}
		return nil, &result, nil
	}
	run, err := b.patiently(func() (*runner.Run, error) {
		return b.config.Runner.Resume(ctx, b.config.Tenant, summary.Run, runner.Terms{
			Priority: llm.PriorityBatch, Functions: b.functions(row), Budget: b.budget, MaxWait: b.config.MaxWait, OnInput: b.config.OnInput, Approve: b.approve(), FilesRoot: b.config.FilesRoot, By: b.config.By,
		})
	}, events.ErrLocked, runner.ErrQuota)
	if errors.Is(err, events.ErrHeld) || errors.Is(err, events.ErrLocked) || errors.Is(err, runner.ErrQuota) {
		return nil, nil, nil // somebody else drives it, or the batch was stopped: the next call finds its result
	}
	return run, nil, ifNotEnded(ctx, err)
}

// newest finds the newest run of the row and makes the row that attempt; where there is
// none the error is [events.ErrNotFound].
func (b *Batch) newest(ctx context.Context, row *Row) (events.RunSummary, error) {
	for attempt := max(row.newest, row.Attempt); ; attempt-- {
		tried := *row
		tried.Attempt = attempt
		summary, err := b.config.Runner.Log().FindRun(ctx, b.config.Tenant, string(b.config.Identity.runID(&tried)))
		if err == nil {
			row.Attempt = attempt
		}
		if !errors.Is(err, events.ErrNotFound) || attempt == row.Attempt {
			return summary, err
		}
	}
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
	if row.Thread == b.Key().Thread {
		return runner.Job{}, row.bad(KindInvalidRow, fmt.Sprintf("the thread %s is the batch's own", row.Thread))
	}
	if err := b.checkFiles(row, t); err != nil {
		return runner.Job{}, err
	}
	return runner.Job{
		FilesRoot: b.config.FilesRoot, By: conversation.Caller{Actor: b.config.By},
		Tenant: b.config.Tenant, Thread: b.config.Identity.threadID(row), Run: b.config.Identity.runID(row), Fresh: row.Thread == "",
		Continues: row.continues, Request: row.Request, Vars: row.Vars, Team: t, Functions: b.functions(row), Model: b.config.Model, Solo: b.config.Solo,
		Priority: llm.PriorityBatch, Budget: b.budget, MaxWait: b.config.MaxWait, OnInput: b.config.OnInput, Approve: b.approve(),
		Batch: &events.BatchRow{Batch: events.BatchID(b.config.Identity.ID), Row: row.ID, Index: row.Index, Line: row.nameLine(), Attempt: row.Attempt, Folder: row.Folder},
	}, nil
}

// functions are those of the batch's own team.
func (b *Batch) functions(row *Row) runner.Functions {
	if row.Team != "" {
		return nil
	}
	return b.config.Functions
}

// enter notes a run under way. The batch may have been stopped while it started.
func (b *Batch) enter(row *Row, run *runner.Run) {
	b.mu.Lock()
	b.active[row] = &active{row: row, since: time.Now(), run: run}
	how := b.parking
	b.mu.Unlock()
	how.apply(run)
}

func (b *Batch) leave(row *Row) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.active, row)
}

// approve says who decides on calls that wait for approval.
func (b *Batch) approve() runner.Approve { return cmp.Or(b.config.Approve, runner.DenyAll) }
