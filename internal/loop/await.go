package loop

import (
	"strings"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/quote"
	"github.com/convene-run/convene/thread"
)

// await asks a person, or takes the answer; it reports whether the call waits for one.
// What was asked is in the log, so that a resume waits on.
func (l *Loop) await(tx *thread.Tx, handler Await, in *agent.Invocation) (waits bool) {
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

// onlyAwaits reports whether all that a turn lacks are answers of people, and what is decided
// behind them.
func (l *Loop) onlyAwaits(run *thread.Run, turn *thread.Turn) bool {
	if !turn.Open() || l.lacksRest(turn) || l.group != nil {
		return false
	}
	waits := false
	for i := range turn.Calls {
		call := &turn.Calls[i]
		input := run.Asked(call.ID)
		switch {
		case call.Done:
		case input != nil && input.Answer == nil:
			waits = true
		case input != nil || !l.Spec.Tools.last(call.ToolCall):
			return false
		}
	}
	return waits
}

// nudgeMeanwhile is the reason of the message about what people said during the last turn.
const nudgeMeanwhile = "said_meanwhile"

// interrupts keeps an agent from closing where somebody said something to it after the
// request of its reply had been sent: the agent is told, and goes on. What it has written is
// shown as said on the way. The last turn of a run stands.
func (l *Loop) interrupts(tx *thread.Tx, reply *events.Reply, wrapUp bool) bool {
	conv := tx.Run.Conversation(l.ID)
	missed := conv.Said() - l.said
	if missed <= 0 || wrapUp || l.Role.Over(tx.Run) {
		return false
	}
	l.Role.Beside(tx, reply.Text)
	tx.Emit(l.Spec.ID, l.ID, events.UserMessage{
		Content: quote.After("The user wrote while you were answering:", strings.Join(conv.Missed(missed), "\n\n")) +
			"\n\nThe user has read your answer. Take this up now, and answer again.",
		Synthetic: true, Reason: nudgeMeanwhile,
	})
	return true
}
