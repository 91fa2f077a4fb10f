package llm

import (
	"context"

	"github.com/convene-run/convene/events"
)

// Endpoint is one place that answers model calls: a client with the limiter that
// all callers of the process share for it.
type Endpoint struct {
	// Name is the provider's name, for people: "openai", "sim", …
	Name string
	// Address is the base URL, without user info and query; "" for a model in this
	// process.
	Address string
	// Simulated is set where a simulated model answers: what it says is marked as such.
	Simulated bool
	// Keyless is set where no key is sent.
	Keyless bool
	Client  Client
	// Limiter may be nil: then nothing is limited.
	Limiter Limiter
	// Health may be nil: then each call finds out for itself whether the endpoint can be
	// used.
	Health *Health
}

// Target is one model at one endpoint.
type Target struct {
	Endpoint *Endpoint
	// Model is the name as the endpoint knows it.
	Model string
	// API is the one to ask by; empty leaves it to the endpoint's client.
	API events.API
}

// Searches reports whether the model may have a web search of its provider: those that are
// asked by chat completions have none.
func (t Target) Searches() bool {
	api := t.API
	if doors, ok := t.Endpoint.Client.(interface{ APIs() []events.API }); ok && api == "" {
		api = doors.APIs()[0]
	}
	return api != events.APIChat
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
	// Accepted tells that the endpoint has taken the call: its reply has begun. It may be
	// told more than once, and not at all.
	Accepted()
	// Settle gives the slot back and tells how the call went: its completion, or its
	// error (an *Error of kind rate_limited throttles the endpoint for everybody).
	Settle(done *Completion, err error)
}
