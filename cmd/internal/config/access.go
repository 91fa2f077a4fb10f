package config

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/team"
)

// tokensFile keeps the hashes of tokens, in the folder of the user's file.
const tokensFile = "tokens.json"

// accessEntry says who may use convene serve.
type accessEntry struct {
	Tokens string              `json:"tokens,omitempty" jsonschema:"File of tokens that convene token add writes. A relative path begins as that of store does. Defaults to tokens.json beside the user's file."`
	Roles  map[string][]string `json:"roles,omitempty" jsonschema:"Roles of your own beside convene's, each a list of permissions: such as those that handoff targets of your teams require."`
}

func (a *accessEntry) check(file *team.YAML) {
	roles := access.Builtin()
	for _, name := range slices.Sorted(maps.Keys(a.Roles)) {
		if err := roles.With(name, a.Roles[name]); err != nil {
			file.Problem("access.roles."+name, "%s", err)
		}
	}
}

// values adds what the entry says to all.
func (a *accessEntry) values(all map[string]string) {
	all["access.tokens"] = a.Tokens
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
