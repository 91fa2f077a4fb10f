package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/convene-run/convene/events"
)

// Told gives what a caller may be told of an error: its HTTP status and a detail. What else
// there is to it, such as paths of this machine, is the operator's: then failure is a name that
// stands in the detail, under which the whole error is to be logged. It is "" for an error of the
// caller's.
func Told(err error) (status int, detail, failure string) {
	if status, detail = statusOf(err); status != http.StatusInternalServerError {
		return status, detail, ""
	}
	what := "this server failed"
	var store *events.StoreError
	var event *events.DamagedError
	var artifact *events.DamagedArtifactError
	switch {
	case errors.As(err, &event):
		what = event.Error() + ". Everything else can be read; `convene store check` lists what is damaged"
	case errors.As(err, &artifact):
		what = artifact.Error()
	case errors.As(err, &store):
		what = store.Told()
	}
	failure = strings.ToLower(rand.Text()[:10])
	return status, fmt.Sprintf("%s. What this server wrote to its standard error has more, in the line of failure %s", what, failure), failure
}

// statusOf gives the HTTP status of an error, and what the caller may know of it if that is not
// a failure of the server's.
func statusOf(err error) (status int, detail string) {
	var refusal *Refusal
	var held *events.HeldError
	var keeper *keeperError
	switch {
	case errors.As(err, &refusal):
		return refusal.Status, refusal.Detail
	case errors.As(err, &keeper):
		return http.StatusServiceUnavailable, "credentials cannot be checked at the moment: try again later"
	case errors.As(err, &held):
		return http.StatusConflict, "the run is driven by another process, " + string(held.Owner) + ". Stop that one first"
	case errors.Is(err, events.ErrNotFound):
		return http.StatusNotFound, "there is no such run. GET /api/v1/runs lists them"
	case errors.Is(err, events.ErrAmbiguous):
		return http.StatusConflict, "more than one id begins so: give more of it"
	case errors.Is(err, context.Canceled):
		return 499, "the caller is gone" // nginx's status: nobody reads it
	}
	return http.StatusInternalServerError, ""
}

// told is [Told] of an error that has been logged.
func (s *Server) told(err error) (status int, detail string) {
	status, detail, failure := Told(err)
	if status >= http.StatusInternalServerError {
		line := s.config.Logger.Error().Err(err)
		if failure != "" {
			line = line.Str("failure", failure)
		}
		line.Msg("request failed")
	}
	return status, detail
}

// problem answers an error as application/problem+json (RFC 9457).
func (s *Server) problem(w http.ResponseWriter, r *http.Request, err error) {
	status, detail := s.told(err)
	if wantsPage(r) && !strings.HasPrefix(r.URL.Path, "/api/") {
		s.errorPage(w, r, status, detail)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(huma.ErrorModel{ // a caller who is gone needs no answer
		Title: http.StatusText(status), Status: status, Detail: detail,
	})
}

// apiError makes an error one that huma answers with its status.
func (s *Server) apiError(err error) error {
	status, detail := s.told(err)
	answer := huma.NewError(status, detail)
	if status == http.StatusTooManyRequests {
		seconds := retryAfterSeconds
		var refusal *Refusal
		if errors.As(err, &refusal) && refusal.RetryAfter > 0 {
			seconds = int(math.Ceil(refusal.RetryAfter.Seconds()))
		}
		return huma.ErrorWithHeaders(answer, http.Header{"Retry-After": {strconv.Itoa(seconds)}})
	}
	return answer
}

// retryAfterSeconds is when a caller who was refused for want of room is to come again: a
// run takes a minute or so, and with some of them one ends sooner.
const retryAfterSeconds = 10

// explain puts what is wrong with each parameter into the detail of a refusal, for
// callers who show that alone.
func explain(_ huma.Context, _ string, answer any) (any, error) {
	refusal, ok := answer.(*huma.ErrorModel)
	if !ok {
		return answer, nil
	}
	for _, wrong := range refusal.Errors {
		refusal.Detail += "; " + wrong.Message
		if wrong.Location != "" {
			refusal.Detail += " at " + wrong.Location
		}
	}
	return refusal, nil
}
