package llm

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Trouble is why an endpoint, or one of its models, cannot be used at the moment.
type Trouble struct {
	// Endpoint is the provider's name, Address its base URL; empty where it has none.
	Endpoint, Address string
	// Model is the model that is concerned, "" where all of the endpoint are.
	Model string
	Kind  ErrorKind
	// Message is what the endpoint said, on one line.
	Message string
	// Since is when the trouble was first known to last.
	Since time.Time
	// Attended is set where calls wait for the trouble to pass: they find out. Where none
	// does the next call has to.
	Attended bool
}

// Place names the endpoint for machines: its address, or its name where it has none.
func (t *Trouble) Place() string {
	if t.Address == "" {
		return t.Endpoint
	}
	return t.Address
}

// where names the endpoint for people: by its address, or by its name where it has none. A
// name that is the host of the address, as of one that nobody named, is not said again.
func (t *Trouble) where() string {
	switch {
	case t.Address == "":
		return t.Endpoint
	case t.Endpoint == "", strings.Contains(t.Address, "//"+t.Endpoint):
		return t.Address
	}
	return t.Endpoint + " at " + t.Address
}

func (t *Trouble) String() string {
	what := t.where()
	if t.Model != "" {
		what += " model=" + t.Model
	}
	return fmt.Sprintf("%s: %s: %s", what, t.Kind, t.Message)
}

// OutageError ends a call that was not answered because its endpoints could not be
// used, for as long as the call was ready to wait. The request is not the cause: the
// same call may succeed later.
type OutageError struct {
	// Trouble is that of the first choice of the route.
	Trouble Trouble
	// Waited is how long the call waited for an endpoint to get well.
	Waited time.Duration
	// Err is the failure of the newest attempt; nil where there was none.
	Err error
}

func (e *OutageError) Error() string {
	text := "call " + e.Trouble.String()
	if e.Waited >= time.Second {
		text += fmt.Sprintf(" (waited %s)", e.Waited.Round(time.Second))
	}
	return text
}

func (e *OutageError) Unwrap() error { return e.Err }

// outage reports whether the failure, once it lasts, is a trouble of the endpoint: all
// that the request did not cause itself.
func (e *Error) outage() bool {
	switch e.Kind {
	case ErrUnreachable, ErrTimeout, ErrBrokenStream, ErrRateLimited, ErrAuthentication, ErrQuota, ErrModelNotFound:
		return true
	case ErrServer: // some endpoints give a 4xx for what the model wrote
		return e.Status == 0 || e.Status >= http.StatusInternalServerError
	}
	return false
}

// scope is the model that the failure is about, "" where it is about all of the
// endpoint: one model may be overloaded, unknown or out of credit while others answer.
func (e *Error) scope(model string) string {
	if e.Kind == ErrUnreachable || e.Status == http.StatusUnauthorized {
		return ""
	}
	return model
}

// selective reports whether the failure may be one of this request alone, whatever the
// endpoint calls it.
func (e *Error) selective() bool {
	switch e.Kind {
	case ErrServer, ErrTimeout, ErrBrokenStream, ErrRateLimited, ErrQuota: // too large for what is left
		return true
	case ErrAuthentication: // moderation refuses so
		return e.Status == http.StatusForbidden
	}
	return false
}

// mistaken reports whether a person may have set something wrong: a key, a name, an
// address. Waiting for that helps only where it was right before.
func (e *Error) mistaken() bool {
	switch e.Kind {
	case ErrAuthentication, ErrQuota, ErrModelNotFound:
		return true
	case ErrUnreachable:
		return e.Permanent
	}
	return false
}
