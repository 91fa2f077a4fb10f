package thread

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/convene-run/convene/events"
)

// unknownOutcome answers a call of an earlier run that has no result in the log.
const unknownOutcome = "The outcome of this call is unknown: the attempt ended before its result came. It may have had effects."

// ErrNoSuchRun is for a run that is to be continued and is not in the thread, or not over.
var ErrNoSuchRun = errors.New("the thread has no such run that is over")

// Run gives a run of the thread by its id, nil if there is none.
func (t *Thread) Run(id events.RunID) *Run {
	for _, run := range t.Runs {
		if run.ID == id {
			return run
		}
	}
	return nil
}

// continueFrom has the run begin with what an earlier one of the thread left: its plan,
// its document and the facilitator's conversation. What was used, the bounds that were
// met and the dispatches stay the earlier run's.
func (r *Run) continueFrom(id events.RunID) error {
	before := r.thread.Run(id)
	if before == nil || !before.Status.Over() {
		return fmt.Errorf("continue run %s: %w", id, ErrNoSuchRun)
	}
	r.Before = before
	r.Board, r.Document = before.Board.Continue(r.ID), before.Document.Continue(r.ID)
	r.Shown, r.unsent = maps.Clone(before.Shown), slices.Clone(before.unsent)
	r.Facilitator.messages, r.Facilitator.summary = before.Facilitator.left(), before.Facilitator.summary
	r.saw, r.Facilitator.earlier = before.saw, before.Facilitator.earlier
	return nil
}

// Writer is the run that wrote an entry of the document: this one, or one that it goes
// back to. Ids of facilitators' model calls are of the run that made them.
func (r *Run) Writer(entry events.EntryID) *Run {
	for r.Before != nil && int(entry) <= r.Before.Document.Version() {
		r = r.Before
	}
	return r
}

// left gives the messages of a conversation that nobody continues, as another one begins
// with them: every call is answered.
func (c *Conversation) left() []events.Message {
	messages := slices.Clone(c.messages)
	if c.turn != nil {
		if !c.turn.Called {
			messages = append(messages, c.turn.Interrupted().Message())
		} else if last := len(messages) - 1; last >= 0 {
			messages[last] = c.turn.sent(messages[last])
		}
		messages = append(messages, c.turn.Results(func(*Call) string { return unknownOutcome })...)
	}
	return append(messages, c.held...)
}
