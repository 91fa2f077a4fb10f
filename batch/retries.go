package batch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/convene-run/convene/batch/internal/files"
	"github.com/convene-run/convene/events"
)

// retries are the statuses of the rows that a retry runs again.
type retries []events.Status

func (f *Files) retries() (r retries) {
	if f.RetryFailed {
		r = append(r, events.StatusFailed, events.StatusCancelled)
	}
	if f.RetryDegraded {
		r = append(r, events.StatusDegraded)
	}
	return r
}

// retriesOf gives those of the retry under way.
func retriesOf(m *files.Manifest) retries {
	if len(m.Retries) == 0 {
		return (&Files{RetryFailed: true}).retries()
	}
	return m.Retries
}

// has reports whether the row of an output is run again. The same bad row would be as bad
// the next time.
func (r retries) has(out *files.Output) bool {
	return slices.Contains(r, out.Status) && (out.Error == nil || !badRow(out.Error.Kind))
}

// badRow reports whether an error is of the row itself, so that nothing but another
// input mends it.
func badRow(kind string) bool { return kind == KindInvalidRow || kind == KindRowTooLarge }

// Retriable counts the outputs that another attempt may improve: failed and degraded ones,
// but not those of rows that are bad themselves.
func (r *Report) Retriable() (failed, degraded int) {
	for _, cause := range r.Causes {
		switch {
		case badRow(cause.Kind):
		case cause.Status == events.StatusDegraded:
			degraded += cause.Count
		default:
			failed += cause.Count
		}
	}
	return failed, degraded
}

// previousName is the name of the output that a retry set aside.
func previousName(generation string) string { return "output-" + generation + ".jsonl" }

// beginRetry sets the output aside, once, so that the good rows are taken from it
// and the others are run again. A retry that was interrupted goes on.
func (f *FileBatch) beginRetry() error {
	m := f.manifest
	if retries := f.files.retries(); len(retries) > 0 && m.Previous == "" {
		found := 0
		_, err := files.Repair(f.output, !f.files.Unordered, func(out *files.Output) {
			if retries.has(out) {
				found++
				m.Earlier.Add(out)
			}
		})
		if err != nil || found == 0 {
			return err
		}
		m.Generation++
		m.Retries = retries
		m.Previous = previousName(strconv.Itoa(m.Generation))
		if err := f.announceRetry(); err != nil {
			return fmt.Errorf("begin the retry: %w", err)
		}
	}
	e := m.Earlier
	f.tally.spend(e.Usage, e.CostUSD, e.ModelCalls)
	f.budget.Spend(e.Usage, e.CostUSD)
	if m.Previous == "" {
		return nil
	}
	aside := filepath.Join(f.dir, m.Previous)
	if _, err := os.Stat(aside); err == nil {
		return nil
	}
	err := os.Rename(f.output, aside)
	if err == nil {
		err = errors.Join(files.SyncDir(f.dir), files.SyncDir(filepath.Dir(f.output)))
	}
	return err
}

// announceRetry writes down that the output is to be set aside. What was read of it
// counts from then on, so that it must not be lost any more.
func (f *FileBatch) announceRetry() error {
	file, err := os.OpenFile(f.output, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	// Of a batch that was started over a file of that name may be left.
	if err := os.Remove(filepath.Join(f.dir, f.manifest.Previous)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return f.manifest.Write(f.dir)
}

// finish ends a retry: the output has all that was set aside, and has it durably before
// that is removed.
func (f *FileBatch) finish() error {
	if f.manifest.Previous == "" || f.ToStdout() {
		return nil
	}
	if err := errors.Join(f.sync(), files.SyncDir(filepath.Dir(f.output))); err != nil {
		return fmt.Errorf("make the output durable: %w", err)
	}
	aside := filepath.Join(f.dir, f.manifest.Previous)
	f.manifest.Previous, f.manifest.Retries = "", nil
	if err := f.manifest.Write(f.dir); err != nil {
		return err
	}
	return os.Remove(aside)
}

// attemptBefore finds the thread of the run that a row goes on from. Where the log has no
// such run the row starts over.
func (b *Batch) attemptBefore(ctx context.Context, row *Row) error {
	if row.continues == "" {
		return nil
	}
	before, err := b.config.Runner.Log().FindRun(ctx, b.config.Tenant, string(row.continues))
	if errors.Is(err, events.ErrNotFound) || err == nil && !before.Status.Over() {
		row.continues = ""
		return nil
	}
	if err == nil {
		row.thread = before.Thread
	}
	return err
}
