package conversation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/conversation"
)

// Proves R39: the three patterns of the source, and what is left alone.
func TestPatterns(t *testing.T) {
	for text, want := range map[string]string{
		"Write to Ann.Lee+x@mail.example.org, please": "Write to [EMAIL], please",
		"card 4111111111111111.":                      "card [CARD].",
		"order 411111111111111 and 41111111111111112": "order 411111111111111 and 41111111111111112",
		"password: hunter2 and TOKEN=abc, Secret : s": "[REDACTED] and [REDACTED] [REDACTED]",
		"a secret garden, the password policy, me@x":  "a secret garden, the password policy, me@x",
		"": "",
	} {
		require.Equal(t, want, conversation.Patterns{}.Sanitize(text), text)
	}
}

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
