package loop

import (
	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/internal/quote"
	"github.com/convene-run/convene/thread"
)

// await asks a person, or takes the answer; it reports whether the call waits for one.
// What was asked is in the log, so that a resume waits on.
func (l *Loop) await(tx *thread.Tx, handler Await, in agent.Invocation) (waits bool) {
	input := tx.Run.Asked(in.Ref.CallID)
	switch {
	case input == nil:
		if err := handler(tx, in); err != nil {
			l.finish(tx, in, agent.Refuse(err))
			return false
		}
		return true
	case input.Answer == nil:
		return true
	}
	l.finish(tx, in, agent.Result{Text: quote.After("The user answers:", input.Answer.Content)})
	return false
}

// onlyAwaits reports whether all that a turn lacks are answers of people.
func (l *Loop) onlyAwaits(run *thread.Run, turn *thread.Turn) bool {
	if !turn.Open() || l.lacksRest(turn) || l.group != nil {
		return false
	}
	for i := range turn.Calls {
		call := &turn.Calls[i]
		if input := run.Asked(call.ID); !call.Done && (input == nil || input.Answer != nil) {
			return false
		}
	}
	return true
}
