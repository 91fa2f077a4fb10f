package access_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/convene-run/convene/access"
)

func added(t *testing.T, path string, who access.Token) (string, access.Token) {
	t.Helper()
	credential, token, err := access.Add(path, access.Builtin(), who)
	require.NoError(t, err)
	return credential, token
}

// A token lets its holder in until it is revoked or over, and nobody else: not who changes a
// letter of it, and not who has read the file.
func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "sub", "tokens.json")
		tokens, err := access.Open(path, access.Builtin())
		require.NoError(t, err)
		end := time.Now().Add(time.Hour)
		ann, anns := added(t, path, access.Token{Tenant: "acme", User: "ann", Roles: []string{access.RoleUser}, Expires: &end, Note: "laptop"})
		bob, bobs := added(t, path, access.Token{Tenant: "acme", User: "bob", Roles: []string{access.RoleViewer, access.RoleMonitor}})
		require.Regexp(t, `^cvn_[a-z2-7]{10}_[A-Z2-7]{26}$`, ann)

		who, err := tokens.Identify(t.Context(), ann)
		require.NoError(t, err)
		require.Equal(t, "ann", who.User)
		require.Equal(t, anns.ID, who.Token)
		require.True(t, who.Allow(access.RunsStart))
		require.False(t, who.Allow(access.OthersRead))
		require.True(t, who.Sees("ann"))
		require.False(t, who.Sees("bob"))
		require.False(t, who.Sees(""))
		who, err = tokens.Identify(t.Context(), bob)
		require.NoError(t, err)
		require.True(t, who.Sees("ann"))
		require.False(t, who.Changes("ann"))
		require.True(t, who.Allow(access.MetricsRead))

		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotContains(t, string(text), ann[len("cvn_"):])
		for _, wrong := range []string{
			"", "cvn_", "cvn_" + anns.ID, "cvn_" + anns.ID + "_", ann + "A", ann[:len(ann)-1], strings.ToLower(ann), anns.SHA256,
			"cvn_" + anns.ID + "_" + anns.SHA256, strings.Replace(ann, anns.ID, bobs.ID, 1), "cvn_nobody_" + strings.Repeat("A", 26),
		} {
			_, err := tokens.Identify(t.Context(), wrong)
			require.ErrorIs(t, err, access.ErrUnknown, wrong)
		}
		_, err = access.Revoke(path, bobs.ID)
		require.NoError(t, err)
		_, err = tokens.Identify(t.Context(), bob)
		require.ErrorIs(t, err, access.ErrUnknown)
		_, err = access.Revoke(path, bobs.ID)
		require.ErrorContains(t, err, "convene token list shows the ids")
		time.Sleep(time.Hour)
		_, err = tokens.Identify(t.Context(), ann)
		require.ErrorIs(t, err, access.ErrUnknown)
	})
}

// What is wrong with a file is said, with what would be accepted, and the file lets nobody in
// until it is mended.
func TestBadFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	credential, token := added(t, path, access.Token{Tenant: "acme", User: "ann", Roles: []string{access.RoleUser}})
	tokens, err := access.Open(path, access.Builtin())
	require.NoError(t, err)
	write := func(change func(*access.Token)) {
		other := token
		change(&other)
		text, err := json.Marshal(map[string]any{"tokens": []access.Token{other}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, text, 0o600))
	}
	for want, spoil := range map[string]func(){
		`chmod 600`:                 func() { require.NoError(t, os.Chmod(path, 0o644)) },
		`did you mean "user"?`:      func() { write(func(o *access.Token) { o.Roles = []string{"usr"} }) },
		`it has no role`:            func() { write(func(o *access.Token) { o.Roles = nil }) },
		`it has no hash`:            func() { write(func(o *access.Token) { o.SHA256 = "abc" }) },
		`the user is missing`:       func() { write(func(o *access.Token) { o.User = "" }) },
		`the tenant "" is blank`:    func() { write(func(o *access.Token) { o.Tenant = "" }) },
		`cannot be shown`:           func() { write(func(o *access.Token) { o.User = "a\x1bb" }) },
		`as convene token add`:      func() { require.NoError(t, os.WriteFile(path, []byte("{"), 0o600)) },
		`unknown field "passwords"`: func() { require.NoError(t, os.WriteFile(path, []byte(`{"passwords":[]}`), 0o600)) },
	} {
		spoil()
		_, err := access.Open(path, access.Builtin())
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
		_, err = tokens.Identify(t.Context(), credential)
		require.Error(t, err, want)
		require.NotErrorIs(t, err, access.ErrUnknown, want)
		require.NoError(t, os.Chmod(path, 0o600))
		write(func(*access.Token) {})
		_, err = tokens.Identify(t.Context(), credential)
		require.NoError(t, err, "mended after: %s", want)
	}
	_, _, err = access.Add(path, access.Builtin(), access.Token{Tenant: "acme", User: "ann", Roles: []string{"adimn"}})
	require.ErrorContains(t, err, `there is no role "adimn"; did you mean "admin"? The roles are admin, auditor`)
}

// Tokens that several processes add at once are all there.
func TestTokensAreAddedTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	var all errgroup.Group
	for range 8 {
		all.Go(func() error {
			_, _, err := access.Add(path, access.Builtin(), access.Token{Tenant: "acme", User: "ann", Roles: []string{access.RoleUser}})
			return err
		})
	}
	require.NoError(t, all.Wait())
	list, err := access.List(path)
	require.NoError(t, err)
	require.Len(t, list, 8)
}

// Permissions that are misspelt get the nearest name; those of a team's own are roles' to grant.
func TestPermissions(t *testing.T) {
	require.ErrorContains(t, access.CheckPermission("handof:initiate"), `did you mean "handoff:initiate"?`)
	require.ErrorContains(t, access.CheckPermission("Skill Create"), "write it as skill:create")
	require.NoError(t, access.CheckPermission("skill:create"))
	require.NoError(t, access.CheckPermission("orders:read"), "near others:read, and a word of its own")
	roles := access.Builtin()
	require.ErrorContains(t, roles.CheckRequired("skill:create"), "access.roles")
	require.ErrorContains(t, roles.With("admin", nil), "convene's own")
	require.ErrorContains(t, roles.With("author", []string{"metrics:read"}), "monitor")
	require.ErrorContains(t, roles.With("author", []string{"runs:red"}), `did you mean "runs:read"?`)
	require.NoError(t, roles.With("author", []string{"skill:create"}))
	require.NoError(t, roles.CheckRequired("skill:create"))
	require.ErrorContains(t, roles.CheckRequired("skil:create"), `did you mean "skill:create"?`)
}

// Nobody has more than the least of those who have a say.
func TestGrants(t *testing.T) {
	all, some := access.Grants(nil), access.Grants{"a:b", "c:d"}
	require.Equal(t, some, all.And(some))
	require.Equal(t, some, some.And(all))
	require.Equal(t, access.Grants{"c:d"}, some.And(access.Grants{"c:d", "e:f"}))
	none := some.And(access.Grants{})
	require.False(t, none.Allow("a:b"))
	require.NotNil(t, none)
	var nobody access.Identity
	require.False(t, nobody.Allow(""))
	require.False(t, nobody.Sees("") || nobody.Changes(""))
}

// A keeper that cannot answer is told of only where no other knows the credential.
func TestKeepers(t *testing.T) {
	broken := keeperFunc(func(context.Context, string) (access.Identity, error) { return access.Identity{}, os.ErrPermission })
	keepers := access.Keepers{broken, access.OneToken("a-very-secret-token")}
	who, err := keepers.Identify(t.Context(), "a-very-secret-token")
	require.NoError(t, err)
	require.Equal(t, access.Operator("local"), who)
	_, err = keepers.Identify(t.Context(), "other")
	require.ErrorIs(t, err, os.ErrPermission)
	_, err = keepers[1:].Identify(t.Context(), "other")
	require.ErrorIs(t, err, access.ErrUnknown)
}

type keeperFunc func(context.Context, string) (access.Identity, error)

func (f keeperFunc) Identify(ctx context.Context, credential string) (access.Identity, error) {
	return f(ctx, credential)
}
