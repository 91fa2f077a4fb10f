package llm

import "context"

// Endpoint is one place that answers model calls: a client with the limiter that
// all callers of the process share for it.
type Endpoint struct {
	// Name is the provider's name, for people: "openai", "sim", …
	Name   string
	Client Client
	// Limiter may be nil: then nothing is limited.
	Limiter Limiter
}

// Target is one model at one endpoint.
type Target struct {
	Endpoint *Endpoint
	// Model is the name as the endpoint knows it.
	Model string
}

// Route is whom to ask: the first target, and when it fails for good the next.
type Route []Target

// Limiter decides when a call may go out. Its local form counts in this process;
// a fleet may ask one that many machines share.
type Limiter interface {
	// Acquire waits until the call may go out. The caller calls exactly one Settle
	// for each Acquire that returned nil.
	Acquire(ctx context.Context, req *Request) (Permit, error)
}

// Permit is the right to make one call.
type Permit interface {
	// Settle gives the slot back and tells how the call went: its completion, or its
	// error (an *Error of kind rate_limited throttles the endpoint for everybody).
	Settle(done *Completion, err error)
}
