package web

import (
	"context"
	"net/http"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
)

// caller is who sent a request, and by which door it came in.
type caller struct {
	access.Identity
	door door
	// signedIn says that a browser asks, with the cookie of its session.
	signedIn bool
	// lacks is the permission that was found missing, for the audit.
	lacks *string
}

type callerKey struct{}

// withCaller gives the context of a request that was let in. The API's handlers get nothing
// else that could carry it.
func withCaller(ctx context.Context, c caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// callerOf gives who sent the request: nobody, who may do nothing, where it was not let in.
func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// key addresses a thread of the caller's tenant: there are no others for the caller.
func (c caller) key(thread events.ThreadID) events.ThreadKey {
	return events.ThreadKey{Tenant: c.Tenant, Thread: thread}
}

// only is the user whose threads alone the caller may see, "" for those of all.
func (c caller) only() string {
	if c.Allow(access.OthersRead) {
		return ""
	}
	return c.User
}

// reaches refuses a thread or batch by the user that it is of, "" for nobody's: with unknown
// where the caller may not know that it exists, with 403 where it may be seen and not changed.
func (c caller) reaches(owner string, unknown error) error {
	switch {
	case !c.Sees(owner):
		return unknown
	case c.door.changes && !c.Changes(owner):
		return c.missing(access.OthersAct)
	}
	return nil
}

// reach is reaches for a thread, whose user the log knows.
func (s *Server) reach(ctx context.Context, thread events.ThreadID, unknown error) error {
	c := callerOf(ctx)
	if c.Allow(access.OthersRead) && (!c.door.changes || c.Allow(access.OthersAct)) {
		return nil // whosever it is
	}
	first, err := s.config.Log.Runs(ctx, events.RunQuery{Tenant: c.Tenant, Thread: thread, OldestFirst: true, Limit: 1})
	if err != nil {
		return err
	}
	owner := ""
	if len(first) > 0 {
		owner = first[0].UserID
	}
	return c.reaches(owner, unknown)
}

// as gives the user in whose name the caller does something: the caller's own, or another one
// for whom those may speak who act in the threads of others.
func (c caller) as(user string) (string, error) {
	switch {
	case user == "" || user == c.User:
		return c.User, nil
	case !c.Allow(access.OthersAct):
		_ = c.missing(access.OthersAct) // the refusal says more
		return "", refuse(http.StatusForbidden, "user_id is not yours: leave it out; speaking for other users needs the permission %s", access.OthersAct)
	}
	return user, nil
}
