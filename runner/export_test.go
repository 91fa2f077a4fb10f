package runner

import (
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// RecordCancelled is the first half of [Run.Cancel]: the fact is in the log, and those
// at work have not been stopped yet.
func (r *Run) RecordCancelled(reason string) error {
	return r.journal.Do(func(tx *thread.Tx) { tx.Emit("", "", events.RunCancelled{Reason: reason}) })
}

// State is what the run was driven with.
func (r *Run) State() *thread.Thread { return r.journal.thread }
