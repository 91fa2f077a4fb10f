package conversation

import (
	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
)

// Caller is on whose behalf something is done.
type Caller struct {
	UserID string
	// Grants are the permissions of whoever sent a message, which everybody who acts on it has,
	// and nobody has more. nil is everything: the local user.
	Grants access.Grants
	// Actor is who asks, and from where, for the log; nil where nobody does from outside.
	Actor *events.Actor
}

// Denied checks a permission before something is done that needs it: it gives the fact to
// record where it is missing, nil where it is there. what says in words what was asked for.
func (c Caller) Denied(permission, what string) *events.PermissionDenied {
	if c.Grants.Allow(permission) {
		return nil
	}
	return &events.PermissionDenied{Permission: permission, UserID: c.UserID, What: what}
}
