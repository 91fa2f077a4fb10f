package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/access/oidc"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

// tokensFile keeps the hashes of tokens, in the folder of the user's file.
const tokensFile = "tokens.json"

// accessEntry says who may use convene serve.
type accessEntry struct {
	Tokens  string              `json:"tokens,omitempty" jsonschema:"File of tokens that convene token add writes. A relative path begins as that of store does. Defaults to tokens.json beside the user's file."`
	Issuers []issuerEntry       `json:"issuers,omitempty" jsonschema:"Identity providers (OpenID Connect) whose tokens are accepted beside those of the file."`
	Roles   map[string][]string `json:"roles,omitempty" jsonschema:"Roles of your own beside convene's, each a list of permissions: such as those that handoff targets of your teams require."`
}

// issuerEntry is an identity provider.
type issuerEntry struct {
	Issuer      string            `json:"issuer" jsonschema:"Address of the issuer, as its tokens name it (iss)."`
	Audience    string            `json:"audience" jsonschema:"What its tokens must be for (aud)."`
	KeysURL     string            `json:"keys_url,omitempty" jsonschema:"Where it publishes its keys. Defaults to what its /.well-known/openid-configuration says."`
	Tenant      events.TenantID   `json:"tenant,omitempty" jsonschema:"Tenant of all its users."`
	TenantClaim string            `json:"tenant_claim,omitempty" jsonschema:"Claim that names the tenant, where tenant does not. Dots lead into objects."`
	UserClaim   string            `json:"user_claim,omitempty" jsonschema:"Claim with the user. Defaults to sub."`
	RolesClaim  string            `json:"roles_claim,omitempty" jsonschema:"Claim with the roles, a list or words. Defaults to roles."`
	Roles       map[string]string `json:"roles,omitempty" jsonschema:"Roles by the values of that claim. Defaults to roles of the same names."`
}

func (e *issuerEntry) issuer(roles access.Roles) oidc.Issuer {
	return oidc.Issuer{
		URL: e.Issuer, Audience: e.Audience, KeysURL: e.KeysURL, Tenant: e.Tenant, TenantClaim: e.TenantClaim,
		UserClaim: e.UserClaim, RolesClaim: e.RolesClaim, Roles: e.Roles, Known: roles,
	}
}

// Issuers are the identity providers whose tokens are accepted.
func (c *Config) Issuers() ([]oidc.Issuer, error) {
	roles, err := c.Roles()
	if err != nil {
		return nil, err
	}
	a, _ := c.access()
	if a == nil {
		return nil, nil
	}
	all := make([]oidc.Issuer, len(a.Issuers))
	for i := range a.Issuers {
		all[i] = a.Issuers[i].issuer(roles)
	}
	return all, nil
}

func (a *accessEntry) check(file *team.YAML) {
	roles := access.Builtin()
	for _, name := range slices.Sorted(maps.Keys(a.Roles)) {
		if err := roles.With(name, a.Roles[name]); err != nil {
			file.Problem("access.roles."+name, "%s", err)
		}
	}
	for i := range a.Issuers {
		if err := a.Issuers[i].issuer(roles).Check(); err != nil {
			file.Problem(fmt.Sprintf("access.issuers[%d]", i), "%s", err)
		}
	}
}

// values adds what the entry says to all.
func (a *accessEntry) values(all map[string]string) {
	all["access.tokens"] = a.Tokens
	for i, e := range a.Issuers {
		all[fmt.Sprintf("access.issuers[%d].issuer", i)] = e.Issuer
	}
	for name, permissions := range a.Roles {
		all["access.roles."+name] = joined(permissions)
	}
}

// access gives what counts of who may use a server, and the file that says so; nil where none
// does.
func (c *Config) access() (*accessEntry, *file) {
	for _, f := range c.layers() {
		if f.counts.Access != nil {
			return f.counts.Access, f
		}
	}
	return nil, nil
}

// Tokens is the path of the file of tokens, and whether the configuration names it; "" without
// a home.
func (c *Config) Tokens() (path string, named bool) {
	if a, f := c.access(); a != nil && a.Tokens != "" {
		return f.resolve(a.Tokens), true
	}
	if c.dir == "" {
		return "", false
	}
	return filepath.Join(c.dir, tokensFile), false
}

// Roles are those that tokens may have.
func (c *Config) Roles() (access.Roles, error) {
	roles := access.Builtin()
	a, _ := c.access()
	if a == nil {
		return roles, nil
	}
	for _, name := range slices.Sorted(maps.Keys(a.Roles)) {
		if err := roles.With(name, a.Roles[name]); err != nil {
			return nil, err
		}
	}
	return roles, nil
}
