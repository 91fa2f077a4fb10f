package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/convene-run/convene/events"
)

func (j *Job) openStdout() (err error) {
	to := j.files.Stdout
	if to == nil {
		to = os.Stdout
	}
	j.done = &done{}
	return j.writeTo(to)
}

func (j *Job) writeTo(to io.Writer) (err error) {
	if j.lines, err = newLines(to, j.dir, j.done.lines, !j.files.Unordered); err == nil {
		j.closers = append(j.closers, j.lines.close)
	}
	return err
}

// openOutput mends the output, begins a retry where one is wanted, and counts what
// is done.
func (j *Job) openOutput() error {
	if err := j.beginRetry(); err != nil {
		return err
	}
	var err error
	if j.done, err = mend(j.files.Output, !j.files.Unordered, j.restore); err != nil {
		return err
	}
	file, err := os.OpenFile(j.files.Output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open the output: %w", err)
	}
	j.closers = append(j.closers, func() error { return errors.Join(file.Sync(), file.Close()) })
	return j.writeTo(file)
}

// restore counts an output that an earlier call wrote.
func (j *Job) restore(out *Output) {
	j.mu.Lock()
	j.tally.add(out)
	j.mu.Unlock()
	j.budget.Spend(out.Usage, out.CostUSD)
}

// beginRetry sets the output aside, once, so that the good rows are taken from it
// and the failed ones are run again. A retry that was interrupted goes on.
func (j *Job) beginRetry() error {
	m := j.manifest
	if j.files.RetryFailed && m.Previous == "" {
		failed := 0
		_, err := mend(j.files.Output, !j.files.Unordered, func(out *Output) {
			if out.Failed() {
				failed++
				m.Earlier.add(out)
			}
		})
		if err != nil || failed == 0 {
			return err
		}
		m.Generation++
		m.Previous = fmt.Sprintf("output-%d.jsonl", m.Generation)
		if err := m.write(j.dir); err != nil {
			return err
		}
	}
	e := m.Earlier
	j.tally.spend(e.Usage, e.CostUSD, e.ModelCalls)
	j.budget.Spend(e.Usage, e.CostUSD)
	if m.Previous == "" {
		return nil
	}
	aside := filepath.Join(j.dir, m.Previous)
	if _, err := os.Stat(aside); err == nil {
		return nil
	}
	return os.Rename(j.files.Output, aside)
}

func (e *earlier) add(out *Output) {
	e.Usage = e.Usage.Add(out.Usage)
	e.CostUSD = events.AddCost(e.CostUSD, out.CostUSD)
	e.ModelCalls += out.ModelCalls
}

// maxGap is how many rows in a row without a run mean that none further on has one:
// rows are started in order, at most MaxConcurrency at once.
const maxGap = MaxConcurrency

// account counts in the budget what is neither in the output nor in the manifest:
// good rows that a retry still has to copy, and runs that the log has.
func (j *Job) account(ctx context.Context) error {
	if !j.config.Resumed {
		return nil
	}
	log, gap := j.config.Runner.Log(), 0
	for p, err := range j.pending() {
		var bad *RowError
		switch {
		case errors.As(err, &bad):
			continue
		case err != nil:
			return err
		case p.line != nil:
			j.budget.Spend(p.before.Usage, p.before.CostUSD)
			continue
		case gap == maxGap:
			continue // copied lines may still follow
		}
		summary, err := log.FindRun(ctx, j.config.Tenant, string(j.config.Identity.runID(&p.row)))
		switch {
		case err == nil:
			gap = 0
			j.budget.Spend(summary.Usage, summary.CostUSD)
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
	before *Output
}

// pending yields the rows that the output lacks, in order.
func (j *Job) pending() iter.Seq2[pending, error] {
	return func(yield func(pending, error) bool) {
		previous, err := j.openPrevious()
		if err != nil {
			yield(pending{}, err)
			return
		}
		defer previous.close()
		numberOf, stop := j.ids.numbers()
		defer stop()
		takes, position := j.selection.taker(), 0
		err = j.in.records(func(_ *record, row Row, bad error) bool {
			number, err := numberOf(row.Index)
			if err != nil {
				return yield(pending{}, err)
			}
			if !takes() {
				return true
			}
			if number > 1 {
				row.ID = fmt.Sprintf("%s-%d", row.ID, number)
			}
			row.position = position
			position++
			p := pending{row: row}
			if err := previous.look(&p, j.manifest.Generation); err != nil {
				return yield(p, err)
			}
			if j.isDone(&row) {
				return true
			}
			var rowError *RowError
			if p.line == nil && errors.As(bad, &rowError) {
				rowError.ID, rowError.position = row.ID, row.position
				return yield(p, rowError)
			}
			return yield(p, nil)
		})
		if err != nil {
			yield(pending{}, err)
		}
	}
}

func (j *Job) isDone(row *Row) bool {
	if j.files.Unordered {
		return j.done.bits.has(row.Index)
	}
	return row.position < j.done.lines
}

// Run runs the rows that the output lacks. See [Batch.Run].
func (j *Job) Run(ctx context.Context) (Report, error) {
	rows := func(yield func(Row, error) bool) {
		for p, err := range j.pending() {
			if err == nil && p.line != nil {
				j.copied(p.before)
				err = j.lines.copy(p.row.position, p.line)
				if err == nil {
					continue
				}
			}
			if !yield(p.row, err) {
				return
			}
		}
	}
	j.attempt = j.manifest.Generation
	report, err := j.work(ctx, rows, j.lines)
	report.Left = j.selection.size() - report.Rows
	if err == nil && report.Left == 0 {
		err = j.finish()
	}
	return report, errors.Join(j.journal.end(ctx, report, err), j.Close())
}

// copied counts a good output that a retry takes over. The budget has it already.
func (j *Job) copied(out *Output) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tally.add(out)
}

// finish ends a retry: the output has all that was set aside.
func (j *Job) finish() error {
	if j.manifest.Previous == "" || j.ToStdout() {
		return nil
	}
	aside := filepath.Join(j.dir, j.manifest.Previous)
	j.manifest.Previous = ""
	return errors.Join(j.manifest.write(j.dir), os.Remove(aside))
}
