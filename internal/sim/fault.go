package sim

import (
	"math/rand/v2"
	"time"
)

// FaultKind is a way in which the server fails a request.
type FaultKind string

// The kinds of fault that are drawn by rate. The next request is drawn independently, so
// every fault heals when the client tries again.
const (
	FaultRateLimit   FaultKind = "429"          // 429 with Retry-After
	FaultStatus      FaultKind = "status"       // a 5xx with a JSON error
	FaultHTML        FaultKind = "html"         // a 502 with an HTML page
	FaultNoModel     FaultKind = "no-model"     // 404, model not found
	FaultNoTools     FaultKind = "no-tools"     // 400, the model does not support tools
	FaultCut         FaultKind = "cut"          // the stream ends cleanly somewhere in the middle
	FaultReset       FaultKind = "reset"        // the connection is reset in the middle
	FaultErrorEvent  FaultKind = "error-event"  // an error event in the middle of a 200 stream
	FaultStall       FaultKind = "stall"        // no bytes for a while in the middle
	FaultSlow        FaultKind = "slow"         // the first byte comes late
	FaultEmpty       FaultKind = "empty"        // a whole reply with nothing in it
	FaultBrokenArgs  FaultKind = "broken-args"  // tool arguments that are no JSON
	FaultUnknownTool FaultKind = "unknown-tool" // a call of a tool that was not offered
	FaultWrongTask   FaultKind = "wrong-task"   // a task id that does not exist
)

// Fault is one kind of fault and how often it happens.
type Fault struct {
	Kind FaultKind
	// Rate is the share of requests, from 0 to 1. A fault that does not apply to the
	// request that drew it (broken arguments without a call) leaves it alone.
	Rate float64
	// Status is of FaultStatus.
	Status int
	// For is of FaultStall and FaultSlow.
	For time.Duration
}

// Faults are all that the server does wrong. The zero value is nothing.
type Faults struct {
	// Random are drawn by rate, at most one for a request; the rates add up to at
	// most 1. The draw depends on the seed and the request's number.
	Random []Fault
	// MaxInFlight refuses requests with 429 while this many are in flight. 0: no limit.
	MaxInFlight int
	// RequestsPerMinute refuses with 429 what exceeds it in any minute. 0: no limit.
	RequestsPerMinute int
	// TellLimits has replies tell of RequestsPerMinute in their headers, as the API they
	// are of does. The limit then refills all the time, as it does at those who tell.
	TellLimits bool
	// RetryAfter is what a 429 tells the client to wait. Defaults to 1 second; the
	// per-minute limit tells the time until the next request is let in. Below 0, no 429
	// tells anything.
	RetryAfter time.Duration
	// Key is the API key that clients must send. "" lets everybody in.
	Key string
}

const defaultRetryAfter = time.Second

// draw decides the fault of the request with the given number, counted from 1.
func (f *Faults) draw(seed uint64, number int) Fault {
	if len(f.Random) == 0 {
		return Fault{}
	}
	at := rand.New(rand.NewPCG(seed, uint64(number))).Float64()
	for _, fault := range f.Random {
		if at < fault.Rate {
			return fault
		}
		at -= fault.Rate
	}
	return Fault{}
}

// middle draws the chunk before which the stream of a request breaks off or stalls: any
// but the first.
func (o *Options) middle(number, chunks int) int {
	if chunks < 2 {
		return 0
	}
	return 1 + rand.New(rand.NewPCG(^o.Seed, uint64(number))).IntN(chunks-1)
}

func (f *Faults) retryAfter() time.Duration {
	if f.RetryAfter != 0 {
		return f.RetryAfter
	}
	return defaultRetryAfter
}
