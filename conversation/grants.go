package conversation

import (
	"slices"

	"github.com/convene-run/convene/events"
)

// Permissions that handoffs and delegations need. A target may require others besides, in
// the team's own words, such as "skill:create".
const (
	PermissionInitiate = "handoff:initiate"
	PermissionCancel   = "handoff:cancel"
	PermissionDelegate = "orchestration:delegate"
	// What a supervisor does: write to the user, hand over, have a person take over.
	PermissionNote      = "supervisor:note"
	PermissionIntervene = "supervisor:handoff"
	PermissionPause     = "supervisor:pause"
)

// Grants are the permissions of whoever sent a message, which everybody who acts on it has,
// and nobody has more. nil is everything: the local user; empty is nothing.
type Grants []string

// Allow reports whether the permission is among the grants. The empty permission always is.
func (g Grants) Allow(permission string) bool {
	return g == nil || permission == "" || slices.Contains(g, permission)
}

// Caller is on whose behalf something is done.
type Caller struct {
	UserID string
	Grants Grants
}

// Denied checks a permission before something is done that needs it: it gives the fact to
// record where it is missing, nil where it is there. what says in words what was asked for.
func (c Caller) Denied(permission, what string) *events.PermissionDenied {
	if c.Grants.Allow(permission) {
		return nil
	}
	return &events.PermissionDenied{Permission: permission, UserID: c.UserID, What: what}
}
