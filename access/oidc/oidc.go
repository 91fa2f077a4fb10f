// Package oidc takes the tokens of identity providers (OpenID Connect): JWTs that an issuer has
// signed are checked by its published keys, and mapped to tenant, user and roles.
//
//	keeper, err := oidc.New(oidc.Issuer{URL: "https://login.example.org/", Audience: "convene", TenantClaim: "tenant"})
//
// It neither signs anybody in nor asks the provider about a token: a token is good until it
// expires.
package oidc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	coreos "github.com/coreos/go-oidc/v3/oidc"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
)

// Issuer is an identity provider, and what its tokens say.
type Issuer struct {
	// URL is the issuer as its tokens name it (iss).
	URL string
	// Audience is what tokens must be for (aud).
	Audience string
	// KeysURL is where the issuer publishes its keys. Defaults to what its
	// /.well-known/openid-configuration says.
	KeysURL string
	// Tenant is the tenant of all its users. Where it is empty, TenantClaim says which.
	Tenant      events.TenantID
	TenantClaim string
	// UserClaim has the user. Defaults to "sub".
	UserClaim string
	// RolesClaim has the roles, a list or words with spaces between. Defaults to "roles".
	RolesClaim string
	// Roles maps values of that claim to roles. Defaults to roles of the same names. Values
	// that are no role give no permission.
	Roles map[string]string
	// Known are the roles that there are. Defaults to [access.Builtin].
	Known access.Roles
}

const (
	// leeway is by how much clocks may differ, as other users of such tokens take it.
	leeway = 5 * time.Minute
	// fetchTimeout bounds one look at the issuer's keys, fetchPause how often there is one: a
	// key that was rotated in is known so soon, and tokens with made-up keys cost the issuer
	// no more requests than that.
	fetchTimeout = 10 * time.Second
	fetchPause   = 5 * time.Second
)

// algorithms are those that only the issuer can sign with: neither "none" nor any whose key
// would be shared.
var algorithms = []string{
	coreos.RS256, coreos.RS384, coreos.RS512, coreos.PS256, coreos.PS384, coreos.PS512, coreos.ES256, coreos.ES384, coreos.ES512, coreos.EdDSA,
}

// Check says what is wrong with the settings, and what would be accepted.
func (i Issuer) Check() error {
	for what, address := range map[string]string{"the issuer": i.URL, "keys_url": i.KeysURL} {
		if address == "" && what == "keys_url" {
			continue
		}
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
			return fmt.Errorf("%s %q is no address that begins with https://; http:// is for this machine alone", what, address)
		}
	}
	switch {
	case i.Audience == "":
		return errors.New("audience is missing: without it the issuer's tokens for other services would be accepted")
	case (i.Tenant == "") == (i.TenantClaim == ""):
		return errors.New("give either tenant, for all users of the issuer, or tenant_claim, the claim that names it")
	}
	known := i.known()
	for value, role := range i.Roles {
		if err := known.CheckRole(role); err != nil {
			return fmt.Errorf("roles: %q: %w", value, err)
		}
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (i Issuer) known() access.Roles {
	if i.Known == nil {
		return access.Builtin()
	}
	return i.Known
}

// Keeper is the [access.Keeper] of an issuer's tokens. It is safe for concurrent use. It asks
// the issuer for its keys when the first token comes, and when one names a key that it does not
// know.
type Keeper struct {
	issuer Issuer
	client *http.Client
	door   *throttle

	mu       sync.Mutex // guards verifier
	verifier *coreos.IDTokenVerifier
}

// New gives the keeper of an issuer. It asks the issuer nothing yet.
func New(issuer Issuer) (*Keeper, error) {
	if err := issuer.Check(); err != nil {
		return nil, err
	}
	if issuer.UserClaim == "" {
		issuer.UserClaim = "sub"
	}
	if issuer.RolesClaim == "" {
		issuer.RolesClaim = "roles"
	}
	k := &Keeper{issuer: issuer, door: &throttle{}}
	k.client = &http.Client{Transport: k.door, Timeout: fetchTimeout}
	return k, nil
}

// Identify implements [access.Keeper].
func (k *Keeper) Identify(ctx context.Context, credential string) (access.Identity, error) {
	if !k.meant(credential) {
		return access.Identity{}, access.ErrUnknown
	}
	verifier, err := k.verified(ctx)
	if err != nil {
		return access.Identity{}, err
	}
	token, err := verifier.Verify(ctx, credential)
	if err != nil {
		if failed := k.door.failure(); failed != nil {
			return access.Identity{}, fmt.Errorf("the keys of %s cannot be fetched: %w", k.issuer.URL, failed)
		}
		return access.Identity{}, access.ErrUnknown
	}
	if token.IssuedAt.After(time.Now().Add(leeway)) {
		return access.Identity{}, access.ErrUnknown
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return access.Identity{}, access.ErrUnknown
	}
	return k.identity(claims, token.Expiry)
}

// meant reports whether a credential says that it is of this issuer and for us, which nothing
// proves yet: others are not worth a look at the issuer's keys.
func (k *Keeper) meant(credential string) bool {
	parts := strings.Split(credential, ".")
	if len(parts) != 3 {
		return false
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var says struct {
		Issuer string `json:"iss"`
	}
	return json.Unmarshal(body, &says) == nil && says.Issuer == k.issuer.URL
}

// verified gives what checks tokens.
func (k *Keeper) verified(ctx context.Context) (*coreos.IDTokenVerifier, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.verifier != nil {
		return k.verifier, nil
	}
	config := &coreos.Config{ClientID: k.issuer.Audience, SupportedSigningAlgs: algorithms}
	// The keys outlive the request that asks for them first.
	lasting := coreos.ClientContext(context.WithoutCancel(ctx), k.client)
	if k.issuer.KeysURL != "" {
		k.verifier = coreos.NewVerifier(k.issuer.URL, coreos.NewRemoteKeySet(lasting, k.issuer.KeysURL), config)
		return k.verifier, nil
	}
	provider, err := coreos.NewProvider(lasting, k.issuer.URL)
	if err != nil {
		return nil, fmt.Errorf("the issuer %s cannot be asked for its keys: %w", k.issuer.URL, err)
	}
	k.door.open() // the keys themselves come next
	k.verifier = provider.VerifierContext(lasting, config)
	return k.verifier, nil
}

// identity is whom the claims are of.
func (k *Keeper) identity(claims map[string]any, expires time.Time) (access.Identity, error) {
	tenant := k.issuer.Tenant
	if tenant == "" {
		named, _ := claim(claims, k.issuer.TenantClaim).(string)
		tenant = events.TenantID(named)
	}
	user, _ := claim(claims, k.issuer.UserClaim).(string)
	id, _ := claims["jti"].(string)
	who, err := k.issuer.known().Identity(tenant, user, k.roles(claims))
	if err != nil {
		return access.Identity{}, access.ErrUnknown
	}
	who.Token, who.Issuer, who.Expires = id, k.issuer.URL, expires
	return who, nil
}

// roles are those of the claim that there are.
func (k *Keeper) roles(claims map[string]any) (roles []string) {
	var values []string
	switch said := claim(claims, k.issuer.RolesClaim).(type) {
	case string:
		values = strings.Fields(said)
	case []any:
		for _, value := range said {
			if text, ok := value.(string); ok {
				values = append(values, text)
			}
		}
	}
	known := k.issuer.known()
	for _, value := range values {
		if k.issuer.Roles != nil {
			value = k.issuer.Roles[value]
		}
		if _, there := known[value]; there && !slices.Contains(roles, value) {
			roles = append(roles, value)
		}
	}
	return roles
}

// claim finds a claim by its name, or by the names of objects within each other with dots
// between, as realm_access.roles.
func claim(claims map[string]any, name string) any {
	if value, there := claims[name]; there {
		return value
	}
	first, rest, nested := strings.Cut(name, ".")
	if inner, ok := claims[first].(map[string]any); ok && nested {
		return claim(inner, rest)
	}
	return nil
}
