package conversation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/conversation"
)

// Proves R62: nil is everything, and a denial says what was missing to whom.
func TestGrants(t *testing.T) {
	require.True(t, access.Grants(nil).Allow("skill:create"))
	require.False(t, access.Grants{}.Allow("skill:create"))
	require.True(t, access.Grants{}.Allow(""))
	require.True(t, access.Grants{"skill:create"}.Allow("skill:create"))
	ann := conversation.Caller{UserID: "ann", Grants: access.Grants{"handoff:initiate"}}
	require.Nil(t, ann.Denied(access.HandoffInitiate, "hand over"))
	denied := ann.Denied(access.HandoffCancel, "leave h1")
	require.Equal(t, []string{"handoff:cancel", "ann", "leave h1"}, []string{denied.Permission, denied.UserID, denied.What})
}
