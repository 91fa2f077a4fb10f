package llm

import (
	"errors"

	"github.com/convene-run/convene/events"
)

// CallError is the error of a call that got no reply, and what was tried.
type CallError struct {
	Call events.ModelCallID
	// Failures are the attempts of the call, the newest [events.MaxRetries] of them and
	// never none; the last has no Wait unless the call was stopped in it. Earlier counts
	// those before them.
	Failures []Failure
	Earlier  int
	// Lost is what all attempts used, nil if they used nothing.
	Lost *events.Spent
	// Err is why the call ended.
	Err error
}

func (e *CallError) Error() string { return e.Err.Error() }

func (e *CallError) Unwrap() error { return e.Err }

// FailedCall gives, as the log has it, the call whose failure an error is about. It is
// empty where no [CallError] is in the chain.
func FailedCall(err error) events.FailedCall {
	var call *CallError
	if !errors.As(err, &call) {
		return events.FailedCall{}
	}
	return events.FailedCall{ModelCall: call.Call, Attempts: Recorded(call.Failures), EarlierAttempts: call.Earlier, Lost: call.Lost}
}

// Recorded gives failed attempts as the log has them.
func Recorded(failures []Failure) []events.FailedAttempt {
	var list []events.FailedAttempt
	for i := range failures {
		list = append(list, failures[i].Recorded())
	}
	return list
}
