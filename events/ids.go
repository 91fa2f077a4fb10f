package events

// TenantID separates the data of one customer from another's. Every store
// operation takes it.
type TenantID string

// LocalTenant is the tenant of a program that has only one.
const LocalTenant TenantID = "local"

// OrLocal gives the tenant, [LocalTenant] for none.
func (t TenantID) OrLocal() TenantID {
	if t == "" {
		return LocalTenant
	}
	return t
}

// ThreadID names a thread, the stream that events are appended to. It is a
// UUID version 4, given by the caller, and never changes.
type ThreadID string

// RunID names one run, the stretch of a thread from workflow_started to
// workflow_finished. It is a UUID version 7, so run ids sort by start.
type RunID string

// BatchID names a batch. It is a UUID version 4, and the id of the thread that holds
// the batch's own events.
type BatchID string

// Seq numbers the events of one thread from 1 without gaps. 0 means "before
// the first event".
type Seq int64

// AgentID names an agent of a team: the facilitator or a specialist.
type AgentID string

// FacilitatorID is the agent id of every team's facilitator.
const FacilitatorID AgentID = "facilitator"

// RouterID is the source of handoffs that the routing of a message decided.
const RouterID AgentID = "router"

// HumanID is the agent id of a person who answers in the place of an agent.
const HumanID AgentID = "human"

// DispatchID names one dispatch of a specialist within a thread: "d1", "d2", …
// in order of agent_started. The facilitator's events carry none.
type DispatchID string

// ModelCallID names one turn of one agent within a thread: "f.3" is the
// facilitator's third turn, "d2.1" the first turn of dispatch d2. A retried,
// repeated or resumed call of the same turn keeps its id.
type ModelCallID string

// CallID names a tool call. It is the provider's own id where that is usable
// and unique within the thread, else one that we made.
type CallID string

// TaskID numbers the tasks of one run from 1.
type TaskID int

// EntryID numbers the document entries of one run from 1.
type EntryID int

// ThreadKey addresses a thread. All of it is needed: a thread of another tenant
// does not exist.
type ThreadKey struct {
	Tenant TenantID
	Thread ThreadID
}

// Owner names a process that drives runs. The name is shown to people who find
// a thread held; it carries no meaning.
type Owner string

// Epoch counts the claims of one thread. An append with an epoch that is no
// longer the newest is refused with [ErrFenced].
type Epoch int64
