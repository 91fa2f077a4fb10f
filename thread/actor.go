package thread

import "github.com/convene-run/convene/events"

// ActorID names an agent at work in a thread: the facilitator of its newest run, or a
// dispatch of a specialist. The ids of its model calls begin with it (f.3, d2.1). The empty
// ActorID is the run itself, of which facts are that are about no agent.
type ActorID string

// Facilitator is the facilitator of a run, or the only agent of a solo one. Its turns count
// within the run.
const Facilitator ActorID = "f"

// ActorOf gives the agent to whom events with the dispatch belong; where it is empty that
// is the facilitator.
func ActorOf(dispatch events.DispatchID) ActorID {
	if dispatch == "" {
		return Facilitator
	}
	return ActorID(dispatch)
}

// Dispatch gives the dispatch that events of the agent have on the wire: none if it is the
// facilitator or the run itself.
func (id ActorID) Dispatch() events.DispatchID {
	if id == Facilitator {
		return ""
	}
	return events.DispatchID(id)
}
