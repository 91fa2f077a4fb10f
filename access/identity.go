package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/convene-run/convene/events"
)

// Identity is who asks. The zero Identity may do nothing.
type Identity struct {
	// Tenant is whose data there is; no other exists for whoever asks.
	Tenant events.TenantID
	// User is the user's id within the tenant; "" for an operator who is none.
	User string
	// Roles are the names of the roles.
	Roles []string
	// Grants are what the roles amount to.
	Grants Grants
	// Token is the id of the token, which is no secret; "" where there is none.
	Token string
	// Issuer is the identity provider whose token it is; "" for a token of our own, or none.
	Issuer string
	// Expires is when the identity ends; zero for never.
	Expires time.Time
	// Door is where the holder came in this time, Remote the address of the other end.
	Door   events.Door
	Remote string
}

// Actor is the identity as the log has it of what its holder does.
func (i Identity) Actor() *events.Actor {
	return &events.Actor{UserID: i.User, TokenID: i.Token, Issuer: i.Issuer, Door: i.Door, Remote: i.Remote}
}

// Operator is whoever may do everything in a tenant and see the figures of the server: the
// person who started it.
func Operator(tenant events.TenantID) Identity {
	return Identity{Tenant: tenant.OrLocal(), Roles: []string{RoleAdmin, RoleMonitor}}
}

// Allow reports whether the identity has the permission; "" asks for nothing but that it is one.
func (i Identity) Allow(permission string) bool {
	switch {
	case i.Tenant == "":
		return false
	case permission == MetricsRead:
		return slices.Contains(i.Roles, RoleMonitor)
	}
	return i.Grants.Allow(permission)
}

// Sees reports whether a thread may be known to exist, by the user that it is of: "" for one
// of nobody, which belongs to the operators of the tenant.
func (i Identity) Sees(owner string) bool {
	return i.Tenant != "" && owner != "" && owner == i.User || i.Allow(OthersRead)
}

// Changes reports whether a thread of that user may be changed by who has the permission for
// the change itself.
func (i Identity) Changes(owner string) bool {
	return i.Tenant != "" && owner != "" && owner == i.User || i.Allow(OthersAct)
}

// sound refuses an identity that could own nothing and see nothing.
func (i Identity) sound() error {
	if err := checkName("tenant", string(i.Tenant)); err != nil {
		return err
	}
	if i.User != "" {
		return checkName("user", i.User)
	}
	if !i.Allow(OthersRead) && !i.Allow(MetricsRead) {
		return fmt.Errorf("%w: only who may see the threads of all (%s) can do without", ErrNoUser, OthersRead)
	}
	return nil
}

// ErrNoUser is for an identity that could own nothing and see nothing.
var ErrNoUser = errors.New("the user is missing")

// ErrUnknown is for a credential that lets nobody in: unknown, revoked, expired or not valid
// yet. Callers are told nothing more.
var ErrUnknown = errors.New("the credential is not known here")

// Keeper knows the holders of credentials. Implementations are safe for concurrent use.
type Keeper interface {
	// Identify gives whose credential it is, now. The error is [ErrUnknown] for one that lets
	// nobody in; any other says why nothing can be told at the moment, and holds no secret.
	Identify(ctx context.Context, credential string) (Identity, error)
}

// Keepers asks one after the other, until one knows the credential. What keeps one from
// answering is told only where no other knows it.
type Keepers []Keeper

// Identify implements [Keeper].
func (k Keepers) Identify(ctx context.Context, credential string) (Identity, error) {
	failed := ErrUnknown
	for _, keeper := range k {
		who, err := keeper.Identify(ctx, credential)
		if err == nil {
			return who, nil
		}
		if !errors.Is(err, ErrUnknown) {
			failed = err
		}
	}
	return Identity{}, failed
}

// OneToken is the [Keeper] of a single token, whose holder is an [Operator] of
// [events.LocalTenant].
func OneToken(token string) Keeper { return oneToken(sha256.Sum256([]byte(token))) }

type oneToken [sha256.Size]byte

func (t oneToken) Identify(_ context.Context, credential string) (Identity, error) {
	given := sha256.Sum256([]byte(credential))
	if subtle.ConstantTimeCompare(given[:], t[:]) != 1 {
		return Identity{}, ErrUnknown
	}
	return Operator(events.LocalTenant), nil
}

// maxNameChars bounds the names of tenants, users and roles.
const maxNameChars = 255

// CheckTenant refuses what is no name of a tenant.
func CheckTenant(tenant events.TenantID) error { return checkName("tenant", string(tenant)) }

// checkName refuses what is no name of a tenant, a user or a role.
func checkName(what, name string) error {
	switch {
	case name == "" || strings.TrimSpace(name) != name:
		return fmt.Errorf("the %s %q is blank, or begins or ends with a space", what, name)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("the %s %.300q has characters that cannot be shown", what, name)
	case utf8.RuneCountInString(name) > maxNameChars:
		return fmt.Errorf("the %s is longer than %d characters", what, maxNameChars)
	}
	return nil
}
