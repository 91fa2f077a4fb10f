package thread

import (
	"time"

	"github.com/convene-run/convene/events"
)

// Tx is a decision under way: the state as the decision sees it, its own facts
// included, and those facts in order. Whoever runs it commits them together or
// throws the state away. A decision must not keep the Tx, wait for anything, or
// look at a clock other than Now.
type Tx struct {
	// Run is the run under way.
	Run *Run
	Now time.Time

	thread *Thread
	facts  []events.Envelope
	err    error
}

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
		Seq: tx.thread.Seq + 1, Time: tx.Now, Agent: agent, Dispatch: actor.Dispatch(), Data: data,
	}
	if tx.err = tx.thread.Apply(env); tx.err == nil {
		tx.facts = append(tx.facts, env)
	}
}

// Facts gives the facts so far, or the error of the first that contradicted the
// state, which is a defect of the decision.
func (tx *Tx) Facts() ([]events.Envelope, error) { return tx.facts, tx.err }
