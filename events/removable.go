package events

import "fmt"

// Removable says why a thread with these runs, or of this batch, may not be removed: an
// [ErrNotOver] or [ErrBatchOpen]; nil if it may. batchOf gives the batch of a row, nil
// where the log has none. unfinished allows runs that are not over, as [Writer.Erase] does.
// Every [Log] asks it before it removes a thread.
func Removable(runs []RunSummary, unfinished bool, batch *BatchSummary, batchOf func(BatchID) (*BatchSummary, error)) error {
	if batch != nil && !batch.Finished() {
		return fmt.Errorf("batch=%s is %s: %w", batch.Batch, batch.Status, ErrBatchOpen)
	}
	for _, run := range runs {
		if !run.Status.Over() && !unfinished {
			return fmt.Errorf("run=%s is %s: %w", run.Run, run.Status, ErrNotOver)
		}
		if run.Batch == nil {
			continue
		}
		of, err := batchOf(run.Batch.Batch)
		if err != nil {
			return err
		}
		if of != nil && !of.Finished() {
			return fmt.Errorf("run=%s is a row of batch=%s, which is %s: %w", run.Run, of.Batch, of.Status, ErrBatchOpen)
		}
	}
	return nil
}
