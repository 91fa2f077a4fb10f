package runner

import (
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/thread"
)

// awaitPerson has a person answer, who has the conversation: the user's message is asked of
// whoever looks after the thread, and the answer is the run's. The error is
// [loop.ErrAwaitingInput] as long as nobody has answered. A person who gives the conversation
// back leaves the message to the facilitator.
func (r *Run) awaitPerson() error {
	waits := false
	err := r.journal.Do(func(tx *thread.Tx) {
		waits = false
		input := asksPerson(tx.Run)
		switch {
		case tx.Run.Cancelled:
			facilitator.Cancel(tx, "")
		case left(tx.Run):
			giveBack(tx, tx.Run.Thread().Handoffs.Active(), events.CompletionCompleted, "The person gave the conversation back.")
		case input == nil:
			tx.Emit("", "", events.InputRequested{InputID: tx.Run.Thread().NextInput(), For: events.InputHuman, Question: tx.Run.Started.Message})
			waits = true
		case input.Answer == nil:
			waits = true
		default:
			tx.Emit(events.HumanID, thread.ActorID(tx.Run.Thread().Handoffs.Active().ID), events.FinalAnswer{Content: input.Answer.Content})
			r.answered(tx)
		}
	})
	if err == nil && waits {
		err = loop.ErrAwaitingInput
	}
	return err
}

// asksPerson is the run's request for a person, nil if it has none.
func asksPerson(run *thread.Run) *thread.Input {
	for _, input := range run.Inputs() {
		if input.For == events.InputHuman && input.HandoffID == "" {
			return input
		}
	}
	return nil
}

// personAnswers answers the user with what a person wrote who was asked beside the agents, and
// reports whether the run's message is that.
func (r *Run) personAnswers(tx *thread.Tx) bool {
	input := tx.Run.Person()
	if input == nil {
		return false
	}
	tx.Emit(events.HumanID, thread.ActorID(input.HandoffID), events.FinalAnswer{Content: tx.Run.Started.Message})
	r.answered(tx)
	return true
}
