package loop

import (
	"fmt"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/thread"
)

// finish records a result. What is cut off was not shown.
func (l *Loop) finish(tx *thread.Tx, in agent.Invocation, result agent.Result) {
	if len(result.Parts) > 0 {
		text, parts := l.partsOf(tx, result)
		l.emitDone(tx, in, events.ToolCallDone{Result: text, Parts: parts, Failed: result.Failed})
		return
	}
	text, sent := Bound(tx, l.Spec.ID, l.ID, result.Text, l.Spec.MaxResultChars)
	var shown []events.EntryID
	for _, s := range result.Shown {
		if s.End <= sent {
			shown = append(shown, s.Entry)
		}
	}
	l.emitDone(tx, in, events.ToolCallDone{Result: text, Failed: result.Failed, ShownEntries: shown})
}

// emitDone records the result of the call.
func (l *Loop) emitDone(tx *thread.Tx, in agent.Invocation, done events.ToolCallDone) {
	done.Agent, done.Tool, done.Phase, done.CallRef = l.Spec.ID, in.Tool, "complete", in.Ref
	tx.Emit(l.Spec.ID, l.ID, done)
}

// bounded is the text of a refusal within the bound of a result.
func (l *Loop) bounded(tx *thread.Tx, text string) string {
	text, _ = Bound(tx, l.Spec.ID, l.ID, text, l.Spec.MaxResultChars)
	return text
}

// Bound cuts the result of a call to max characters, which it says there, and once in
// the log; sent is how many bytes of text are left. 0 is no bound.
func Bound(tx *thread.Tx, agent events.AgentID, actor thread.ActorID, text string, max int) (bounded string, sent int) {
	if max <= 0 || !chars.Over(text, max) {
		return text, len(text)
	}
	head, more := chars.Cut(text, max)
	if !tx.Run.LimitMet(events.LimitMaxToolResultChars) {
		tx.Emit(agent, actor, events.LimitReached{
			Limit: events.LimitMaxToolResultChars, Value: float64(max), Used: float64(max + more),
			Consequence: "The model reads such a result cut, and it says so.",
		})
	}
	return fmt.Sprintf("%s…\n[cut: %d of %d characters shown]", head, max, max+more), len(head)
}
