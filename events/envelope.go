package events

import "time"

// Version is the version of the envelope and of the event payloads that this
// build writes. It reads this and every older one.
const Version = 1

// Envelope is one event with its place: which tenant, thread and run, at which
// seq and when, and about which agent.
type Envelope struct {
	Tenant TenantID
	Thread ThreadID
	Run    RunID
	// Seq is assigned by whoever appends: one more than the last of the thread.
	Seq Seq
	// Time is UTC. A log clamps it to at least the previous event's.
	Time time.Time
	// Agent and Dispatch say whose event it is; both are empty for the run's own.
	Agent    AgentID
	Dispatch DispatchID
	// By is who caused the event from outside, nil where an agent or the engine did.
	By   *Actor
	Data Event
}

// Key gives the thread that the event belongs to.
func (e Envelope) Key() ThreadKey { return ThreadKey{Tenant: e.Tenant, Thread: e.Thread} }

// Event is one fact. The set of kinds is closed: only this package can add one.
type Event interface {
	// Kind names the event on the wire.
	Kind() Kind
	sealed()
}

// Kind is the name of an event on the wire.
type Kind string

type fact struct{}

func (fact) sealed() {}
