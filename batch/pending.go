package batch

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/convene-run/convene/batch/internal/files"
	"github.com/convene-run/convene/events"
)

// maxGap is how many rows in a row without a run mean that none further on has one:
// rows are started in order, at most MaxConcurrency at once.
const maxGap = MaxConcurrency

// account counts in the budget what is neither in the output nor in the manifest:
// good rows that a retry still has to copy, and runs that the log has.
func (f *FileBatch) account(ctx context.Context) error {
	if !f.config.Resumed {
		return nil
	}
	gap := 0
	for p, err := range f.pending() {
		var bad *RowError
		switch {
		case errors.As(err, &bad):
			continue
		case err != nil:
			return err
		case p.line != nil:
			f.budget.Spend(p.before.Usage, p.before.CostUSD)
			continue
		case gap == maxGap:
			continue // copied lines may still follow
		}
		summary, err := f.newest(ctx, &p.row)
		switch {
		case err == nil:
			gap = 0
			f.budget.Spend(summary.Usage, summary.CostUSD)
			f.leaveUnfinished(&p.row, spent{summary.Usage, summary.CostUSD, summary.ModelCalls})
		case errors.Is(err, events.ErrNotFound):
			gap++
		default:
			return err
		}
	}
	return nil
}

// pending is a row that the output lacks.
type pending struct {
	row Row
	// line is set where a retry copies the row's output from before it.
	line   []byte
	before *files.Output
}

// pending yields the rows that the output lacks, in order.
func (f *FileBatch) pending() iter.Seq2[pending, error] {
	return func(yield func(pending, error) bool) {
		previous, err := files.OpenPrevious(f.dir, f.manifest)
		if err != nil {
			yield(pending{}, err)
			return
		}
		defer previous.Close()
		numberOf, stop := f.survey.Numbers()
		defer stop()
		takes, position := f.selection.Taker(), 0
		for read, bad := range f.in.Rows() {
			var unreadable *files.RowError
			if bad != nil && !errors.As(bad, &unreadable) {
				yield(pending{}, bad)
				return
			}
			number, err := numberOf(read.Index)
			if err != nil {
				yield(pending{}, err)
				return
			}
			if !takes() {
				continue
			}
			p := pending{row: rowOf(&read)}
			if number > 1 {
				p.row.ID = fmt.Sprintf("%s-%d", p.row.ID, number)
			}
			p.row.position, p.row.newest = position, f.manifest.Generation
			position++
			if err := f.look(previous, &p); err != nil {
				yield(p, err)
				return
			}
			if f.done.Has(p.row.Index, p.row.position) {
				continue
			}
			if p.line == nil && unreadable != nil {
				err = p.row.bad(unreadable.Kind, unreadable.Message)
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// look fills in what became of the row before the retry.
func (f *FileBatch) look(previous *files.Previous, p *pending) error {
	line, err := previous.Find(p.row.Index)
	if err != nil || line == nil {
		return err
	}
	out, err := files.ReadOutput(line)
	if err != nil {
		return fmt.Errorf("read the output before the retry: %w", err)
	}
	if retriesOf(f.manifest).has(out) {
		p.row.Attempt, p.row.newest, p.row.continues = f.manifest.Generation, f.manifest.Generation, out.RunID
		return nil
	}
	p.line, p.before = line, out
	return nil
}

// Run runs the rows that the output lacks. See [Batch.Run].
func (f *FileBatch) Run(ctx context.Context) (Report, error) {
	defer f.running()()
	rows := func(yield func(Row, error) bool) {
		for p, err := range f.pending() {
			if err == nil && p.line != nil {
				f.copied(outputIn(p.before))
				err = f.lines.Copy(p.row.position, p.line)
				if err == nil {
					continue
				}
			}
			if !yield(p.row, err) {
				return
			}
		}
	}
	f.attempt = f.manifest.Generation
	report, err := f.work(ctx, rows, f.lines)
	report.Left = f.selection.Size() - report.Rows
	if err == nil && report.Left == 0 {
		err = f.finish()
	}
	return report, errors.Join(f.journal.end(ctx, report, err), f.Close())
}
