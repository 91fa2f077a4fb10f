package thread

import (
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/sanitize"
)

// Tx is a decision under way: the state as the decision sees it, its own facts
// included, and those facts in order. Whoever runs it commits them together or
// throws the state away. A decision must not keep the Tx, wait for anything, or
// look at a clock other than Now.
type Tx struct {
	// Run is the run under way.
	Run *Run
	Now time.Time
	// By is who asked for the decision from outside: its facts say so. nil for nobody.
	By *events.Actor

	thread *Thread
	facts  []events.Envelope
	err    error
}

// fewFacts is how many most decisions have at most, of those that have any.
const fewFacts = 4

// Begin starts a decision on the current run of t, at now.
func (t *Thread) Begin(now time.Time) *Tx {
	if now.Before(t.Time) {
		now = t.Time
	}
	return &Tx{Run: t.Current(), Now: now, thread: t}
}

// Emit adds a fact about an agent at work, or about the run with both ids empty. It is
// applied at once: what follows in the decision sees it.
func (tx *Tx) Emit(agent events.AgentID, actor ActorID, data events.Event) {
	if tx.err != nil {
		return
	}
	env := events.Envelope{
		Tenant: tx.thread.Key.Tenant, Thread: tx.thread.Key.Thread, Run: tx.Run.ID,
		Seq: tx.thread.Seq + 1, Time: tx.Now, Agent: agent, Dispatch: actor.Dispatch(), By: tx.By, Data: data,
	}
	if tx.err = tx.thread.Apply(env); tx.err != nil {
		return
	}
	if tx.facts == nil {
		tx.facts = make([]events.Envelope, 0, fewFacts)
	}
	tx.facts = append(tx.facts, env)
}

// Sanitize gives a text as it may be passed on to another agent: with placeholders in place of
// what the finder finds in it. Values without one get one, which is a fact of its own. person
// says that a person wrote the text: see [sanitize.Values.Sanitize].
func (tx *Tx) Sanitize(finder sanitize.Finder, text string, person bool) string {
	clean, fresh := tx.thread.Values.Sanitize(finder, text, person)
	if len(fresh) > 0 {
		fact := events.ValuesReplaced{}
		for _, v := range fresh {
			fact.Values = append(fact.Values, events.ReplacedValue{Placeholder: v.Placeholder, What: string(v.Kind), Original: v.Text})
		}
		tx.Emit("", "", fact)
	}
	return clean
}

// Facts gives the facts so far, or the error of the first that contradicted the
// state, which is a defect of the decision.
func (tx *Tx) Facts() ([]events.Envelope, error) { return tx.facts, tx.err }
