package oidc_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/access/oidc"
)

// issuer is an identity provider with keys that rotate.
type issuer struct {
	*httptest.Server
	mu      sync.Mutex // guards what follows
	keys    []jose.JSONWebKey
	fetched int
	down    bool
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL, "token_endpoint": i.URL})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.fetched++
		if i.down {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		set := jose.JSONWebKeySet{}
		for _, key := range i.keys {
			set.Keys = append(set.Keys, key.Public())
		}
		_ = json.NewEncoder(w).Encode(set)
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// rotate has the issuer sign with a new key from now on.
func (i *issuer) rotate(t *testing.T, id string) jose.JSONWebKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = []jose.JSONWebKey{{Key: key, KeyID: id, Algorithm: "ES256"}}
	return i.keys[0]
}

func (i *issuer) fetches() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetched
}

func sign(t *testing.T, key jose.JSONWebKey, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, nil)
	require.NoError(t, err)
	body, err := json.Marshal(claims)
	require.NoError(t, err)
	signed, err := signer.Sign(body)
	require.NoError(t, err)
	text, err := signed.CompactSerialize()
	require.NoError(t, err)
	return text
}

// Proves R60: a token lets in by the issuer's signature, audience and times alone, and says
// tenant, user and roles; keys that were rotated in are found.
func TestTokensOfAnIssuer(t *testing.T) {
	provider := newIssuer(t)
	key := provider.rotate(t, "first")
	now := time.Now()
	claims := map[string]any{
		"iss": provider.URL, "aud": []string{"other", "convene"}, "sub": "ann", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"org": map[string]any{"id": "acme"}, "groups": []string{"staff", "convene-operators"}, "jti": "t-1",
	}
	keeper, err := oidc.New(oidc.Issuer{
		URL: provider.URL, Audience: "convene", KeysURL: provider.URL + "/keys", TenantClaim: "org.id", RolesClaim: "groups",
		Roles: map[string]string{"convene-operators": access.RoleOperator},
	})
	require.NoError(t, err)
	who, err := keeper.Identify(t.Context(), sign(t, key, claims))
	require.NoError(t, err)
	require.Equal(t, "acme ann t-1 [operator]", fmt.Sprint(who.Tenant, " ", who.User, " ", who.Token, " ", who.Roles))
	require.True(t, who.Allow(access.OthersAct))
	require.False(t, who.Allow(access.AuditRead))
	require.WithinDuration(t, now.Add(time.Hour), who.Expires, time.Second)

	with := func(changes map[string]any) string {
		other := maps.Clone(claims)
		maps.Copy(other, changes)
		maps.DeleteFunc(other, func(_ string, value any) bool { return value == nil })
		return sign(t, key, other)
	}
	good := sign(t, key, claims)
	head, rest, _ := strings.Cut(good, ".")
	body, _, _ := strings.Cut(rest, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))
	shared, err := json.Marshal(key.Public())
	require.NoError(t, err)
	foreign, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	for name, token := range map[string]string{
		"wrong key":            sign(t, jose.JSONWebKey{Key: foreign, KeyID: "first", Algorithm: "RS256"}, claims),
		"unknown key":          sign(t, jose.JSONWebKey{Key: foreign, KeyID: "never", Algorithm: "RS256"}, claims),
		"shared secret":        sign(t, jose.JSONWebKey{Key: shared, KeyID: "first", Algorithm: "HS256"}, claims),
		"alg none":             none + "." + body + ".",
		"alg none, signed":     none + "." + rest,
		"no signature":         head + "." + body + ".",
		"wrong audience":       with(map[string]any{"aud": "other"}),
		"no audience":          with(map[string]any{"aud": nil}),
		"expired":              with(map[string]any{"exp": now.Add(-time.Second).Unix()}),
		"no expiry":            with(map[string]any{"exp": nil}),
		"not yet valid":        with(map[string]any{"nbf": now.Add(10 * time.Minute).Unix()}),
		"issued in the future": with(map[string]any{"iat": now.Add(10 * time.Minute).Unix()}),
		"another issuer":       with(map[string]any{"iss": "https://other.example.org"}),
		"no tenant":            with(map[string]any{"org": nil}),
		"tenant of no name":    with(map[string]any{"org": map[string]any{"id": "a\nb"}}),
		"no user, no roles":    with(map[string]any{"sub": nil, "groups": nil}),
		"no token":             "cvn_abc_def",
		"empty":                "",
		"dots":                 "..",
	} {
		_, err := keeper.Identify(t.Context(), token)
		require.ErrorIs(t, err, access.ErrUnknown, name)
	}
	require.LessOrEqual(t, provider.fetches(), 2, "made-up keys cost the issuer nothing")
	who, err = keeper.Identify(t.Context(), with(map[string]any{"groups": []string{"staff"}}))
	require.NoError(t, err)
	require.False(t, who.Allow(access.RunsRead), "a role that there is not gives nothing")
}

// Keys are discovered and fetched once, and again when a token names a new one.
func TestKeysRotate(t *testing.T) {
	provider := newIssuer(t)
	first := provider.rotate(t, "first")
	claims := map[string]any{"iss": provider.URL, "aud": "convene", "sub": "ann", "exp": time.Now().Add(time.Hour).Unix(), "roles": "user viewer"}
	keeper, err := oidc.New(oidc.Issuer{URL: provider.URL, Audience: "convene", Tenant: "acme"})
	require.NoError(t, err)
	old := sign(t, first, claims)
	for range 3 {
		who, err := keeper.Identify(t.Context(), old)
		require.NoError(t, err)
		require.Equal(t, []string{access.RoleUser, access.RoleViewer}, who.Roles)
	}
	require.Equal(t, 1, provider.fetches())
	second := provider.rotate(t, "second")
	oidc.Later(keeper)
	// The library puts a key set in its place a moment after the call that waited for it has
	// returned: until then the one before counts.
	identify := func(token string, as func(error) bool) func() bool {
		return func() bool {
			_, err = keeper.Identify(t.Context(), token)
			return as(err)
		}
	}
	known, unknown := func(err error) bool { return err == nil }, func(err error) bool { return errors.Is(err, access.ErrUnknown) }
	require.Eventually(t, identify(sign(t, second, claims), known), time.Minute, time.Millisecond)
	require.Eventually(t, identify(old, unknown), time.Minute, time.Millisecond, "its key is no longer the issuer's")

	provider.mu.Lock()
	provider.down = true
	provider.mu.Unlock()
	third := provider.rotate(t, "third")
	require.Eventually(t, func() bool {
		oidc.Later(keeper)
		_, err = keeper.Identify(t.Context(), sign(t, third, claims))
		return !errors.Is(err, access.ErrUnknown)
	}, time.Minute, time.Millisecond, "it is not the token that is wrong")
	require.ErrorContains(t, err, "502")
	_, err = keeper.Identify(t.Context(), sign(t, second, claims))
	require.NoError(t, err, "known keys go on while the issuer is down")
}

// Settings that would let anybody in are refused, with what would be accepted.
func TestBadIssuers(t *testing.T) {
	good := oidc.Issuer{URL: "https://login.example.org/", Audience: "convene", Tenant: "acme"}
	require.NoError(t, good.Check())
	for want, spoil := range map[string]func(*oidc.Issuer){
		"begins with https://":     func(i *oidc.Issuer) { i.URL = "http://login.example.org/" },
		"keys_url":                 func(i *oidc.Issuer) { i.KeysURL = "keys" },
		"audience is missing":      func(i *oidc.Issuer) { i.Audience = "" },
		"either tenant":            func(i *oidc.Issuer) { i.TenantClaim = "org" },
		`did you mean "operator"?`: func(i *oidc.Issuer) { i.Roles = map[string]string{"a": "operater"} },
	} {
		bad := good
		spoil(&bad)
		_, err := oidc.New(bad)
		require.ErrorContains(t, err, want)
	}
}
