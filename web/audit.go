package web

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/lazyregexp"
)

// doorOf says by which door a request comes in. Browsers say of each of theirs where it comes
// from.
func doorOf(r *http.Request) events.Door {
	switch _, err := r.Cookie(cookieName); {
	case r.URL.Path == "/ws":
		return events.DoorSocket
	case r.Pattern == "GET /api/v1/threads/{thread_id}/events":
		return events.DoorSSE
	case err == nil, r.Header.Get("Sec-Fetch-Site") != "", r.URL.Path == loginAddress:
		return events.DoorPage
	}
	return events.DoorREST
}

// remoteOf is the address that a request comes from, which is that of a proxy where there is one.
func remoteOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// refusedWriter tells of an answer before it is sent.
type refusedWriter struct {
	http.ResponseWriter
	tell func(status int)
}

func (w *refusedWriter) WriteHeader(status int) {
	w.tell(status)
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (w *refusedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack hands the connection over, for a WebSocket.
func (w *refusedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// refused keeps that a caller was refused something: what is not allowed, and what there is not
// for the caller.
func (s *Server) refused(r *http.Request, c caller, status int) {
	hidden := status == http.StatusNotFound && c.door.needs != ""
	if !hidden && (status != http.StatusForbidden || *c.lacks == "") {
		return
	}
	s.config.Audit.Refused(r.Context(), c.Tenant, c.Actor(), events.PermissionDenied{
		Permission: *c.lacks, UserID: c.User, What: r.Pattern, Target: targetOf(r),
	})
}

// idForm is what ids look like. A text of another form may be anything, a secret too.
var idForm = lazyregexp.New(`^[0-9a-f-]{1,36}$`)

// targetOf is the run, thread or batch that a request names.
func targetOf(r *http.Request) string {
	for _, id := range []string{r.PathValue("run_id"), r.PathValue("thread_id"), r.PathValue("batch_id"), r.URL.Query().Get("thread_id")} {
		if idForm.MatchString(id) {
			return id
		}
	}
	return ""
}

// unknownCaller keeps that a credential was sent that lets nobody in.
func (s *Server) unknownCaller(r *http.Request, err error) {
	if credential, sent := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); sent {
		s.signInFailed(r, credential, err)
	}
}

// signInFailed keeps, in the operator's tenant, that somebody could not come in.
func (s *Server) signInFailed(r *http.Request, credential string, err error) {
	if !errors.Is(err, errNotAuthorized) {
		return // nothing can be said of the credential
	}
	by := &events.Actor{Door: doorOf(r), Remote: remoteOf(r)}
	s.config.Audit.Refused(r.Context(), s.guard.as.Tenant, by, events.Audited{Action: events.AuditSignInFailed, TokenID: access.TokenID(credential)})
}

// signed keeps who signed in at the page, or out.
func (s *Server) signed(r *http.Request, who access.Identity, action events.AuditAction) {
	who.Door, who.Remote = events.DoorPage, remoteOf(r)
	s.config.Audit.Record(r.Context(), who.Tenant, who.Actor(), events.Audited{Action: action})
}

// exported keeps that a run was exported.
func (s *Server) exported(r *http.Request, run events.RunID) {
	c := callerOf(r.Context())
	s.config.Audit.Record(r.Context(), c.Tenant, c.Actor(), events.Audited{Action: events.AuditExported, Target: string(run)})
}
