package llm

import (
	"errors"
	"fmt"
	"time"

	"github.com/convene-run/convene/events"
)

// ErrorKind groups the failures of an endpoint by what to do about them.
type ErrorKind string

// The kinds of failure. [Error.Retryable] says which are worth another attempt.
const (
	ErrAuthentication ErrorKind = "authentication"    // 401, 403: the key is refused
	ErrModelNotFound  ErrorKind = "model_not_found"   // 404, or a 400 that says so
	ErrNoTools        ErrorKind = "tools_unsupported" // the model cannot call tools
	ErrContextLength  ErrorKind = "context_length"    // the prompt is over the window
	ErrBadRequest     ErrorKind = "bad_request"       // any other 4xx
	ErrRefused        ErrorKind = "refused"           // the model or its provider will not answer this
	ErrQuota          ErrorKind = "quota"             // 402, or a 429 that says no money is left
	ErrRateLimited    ErrorKind = "rate_limited"      // 429, 408, 409
	ErrServer         ErrorKind = "server"            // 5xx, or an error inside a stream
	ErrTimeout        ErrorKind = "timeout"           // connect, first byte, or a stalled stream
	ErrUnreachable    ErrorKind = "unreachable"       // no connection
	ErrBrokenStream   ErrorKind = "broken_stream"     // ended without being whole
	ErrReplyTooLarge  ErrorKind = "reply_too_large"   // over the bound of one reply
	ErrStopped        ErrorKind = "stopped"           // ended from this side; only in the list of a [CallError]
)

// Error is a failure of an endpoint.
type Error struct {
	Kind ErrorKind
	// Status is the HTTP status, 0 where there was none.
	Status int
	// Code and Message are the endpoint's own words.
	Code    string
	Message string
	// RetryAfter is what the endpoint asked for; 0 if it did not.
	RetryAfter time.Duration
	Provider   string
	Model      string
	// Attempts counts the requests sent before giving up; 0 or 1 for a single one.
	Attempts int
	// Permanent is set where another attempt cannot help though the kind is one that
	// passes: a host that does not exist, a certificate that is refused.
	Permanent bool
	// Answered is set where the endpoint had accepted the request and begun to answer.
	Answered bool
	// Limits is what the endpoint's answer said of its rate limits, nil where it said
	// nothing.
	Limits *RateLimits
	// Usage is what the endpoint said that the attempt used before it failed; nil where
	// it said nothing.
	Usage *events.Usage
	// Tier is the service tier that the endpoint said it served the attempt in, "" where it
	// said nothing or the ordinary one.
	Tier string
	// Instead is the API that the endpoint wants to be asked by, where it says so or has
	// none of this kind; else empty.
	Instead events.API
	Cause   error
}

func (e *Error) Error() string {
	where := e.Provider
	if e.Model != "" {
		where += " model=" + e.Model
	}
	text := e.said()
	if e.Attempts > 1 {
		text += fmt.Sprintf(" (after %d attempts)", e.Attempts)
	}
	return fmt.Sprintf("call %s: %s: %s", where, e.Kind, text)
}

// said is what went wrong, in words, with the status.
func (e *Error) said() string {
	if e.Status == 0 {
		return e.text()
	}
	return fmt.Sprintf("HTTP %d: %s", e.Status, e.text())
}

// text is what went wrong, in words.
func (e *Error) text() string {
	if e.Message == "" && e.Cause != nil {
		return e.Cause.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Cause }

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	if e.Permanent {
		return false
	}
	switch e.Kind {
	case ErrRateLimited, ErrServer, ErrTimeout, ErrUnreachable, ErrBrokenStream:
		return true
	}
	return false
}

// KindOf gives the kind of an endpoint's failure, or "" for any other error.
func KindOf(err error) ErrorKind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}
