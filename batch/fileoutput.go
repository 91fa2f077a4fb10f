package batch

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/convene-run/convene/batch/internal/files"
)

// lines writes outputs into a file.
type lines struct{ *files.Lines }

func (l lines) Write(out Output) error { return l.Lines.Write(out.position, out) }

// outputIn gives what an output file says of a row.
func outputIn(line *files.Output) *Output {
	return &Output{
		ID: line.ID, Index: line.Index, Line: line.Line, Status: line.Status, Usage: line.Usage, CostUSD: line.CostUSD, ModelCalls: line.ModelCalls,
		DurationMS: line.DurationMS, RunID: line.RunID, Simulated: line.Simulated, Error: (*OutputError)(line.Error),
	}
}

// openStdout has the outputs written to standard output.
func (f *FileBatch) openStdout() (err error) {
	to := f.files.Stdout
	if to == nil {
		to = os.Stdout
	}
	f.done = &files.Done{}
	return f.writeTo(to)
}

func (f *FileBatch) writeTo(to io.Writer) (err error) {
	if f.lines.Lines, err = files.NewLines(to, f.dir, f.done.Lines, !f.files.Unordered); err == nil {
		f.closers = append(f.closers, f.lines.Close)
	}
	return err
}

// openOutput repairs the output, begins a retry where one is wanted, and counts what
// is done.
func (f *FileBatch) openOutput() error {
	if err := f.beginRetry(); err != nil {
		return err
	}
	var err error
	if f.done, err = files.Repair(f.output, !f.files.Unordered, f.restore); err != nil {
		return err
	}
	file, err := os.OpenFile(f.output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open the output: %w", err)
	}
	f.sync = file.Sync
	f.closers = append(f.closers, func() error { return errors.Join(f.sync(), file.Close()) })
	return f.writeTo(file)
}

// restore counts an output that an earlier call wrote.
func (f *FileBatch) restore(line *files.Output) {
	out := outputIn(line)
	f.mu.Lock()
	f.tally.add(out)
	f.mu.Unlock()
	f.budget.Spend(out.Usage, out.CostUSD)
}

// copied counts a good output that a retry takes over. The budget has it already.
func (f *FileBatch) copied(out *Output) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tally.add(out)
}
