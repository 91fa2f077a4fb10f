package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/access/oidc"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/team"
)

// keeper gives what knows the credentials of a server's callers: the file of tokens, that of a
// single one, and identity providers. nil where there is none: then this machine alone can connect.
func (a *app) keeper(tokenFile string) (access.Keeper, error) {
	var all access.Keepers
	token, err := readToken(tokenFile)
	if err != nil {
		return nil, err
	}
	if token != "" {
		a.say("note: whoever has the token in " + tokenFile + " administers the tenant local. convene token add makes tokens for people and programs, with what each may do")
		all = append(all, access.OneToken(token))
	}
	tokens, err := a.tokens()
	if err != nil {
		return nil, err
	}
	if tokens != nil {
		all = append(all, tokens)
	}
	issuers, err := a.config.Issuers()
	if err != nil {
		return nil, err
	}
	for _, issuer := range issuers {
		keeper, err := oidc.New(issuer)
		if err != nil {
			return nil, err
		}
		all = append(all, keeper)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// issuers are the addresses of the identity providers that [app.keeper] asks.
func (a *app) issuers() (addresses []string) {
	issuers, _ := a.config.Issuers() // what is wrong with them the keeper said
	for _, issuer := range issuers {
		addresses = append(addresses, issuer.URL)
	}
	return addresses
}

// tokens opens the file of tokens, nil where there is none that the configuration names.
func (a *app) tokens() (*access.Tokens, error) {
	path, named := a.config.Tokens()
	if !named {
		if _, err := os.Stat(path); path == "" || errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	roles, err := a.config.Roles()
	if err != nil {
		return nil, err
	}
	return access.Open(path, roles)
}

// readToken reads the token that callers must know.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("--token-file %w", unreadable(path, err))
	}
	token := strings.TrimSpace(string(body))
	if len(token) < minTokenBytes {
		return "", fmt.Errorf("%s: the token has %d characters, at least %d are needed. Make one with: openssl rand -hex 32", path, len(token), minTokenBytes)
	}
	return token, nil
}

// minTokenBytes keeps a token from being guessed.
const minTokenBytes = 16

// sayUngranted names the permissions that handoff targets and tools require and no role grants:
// only administrators can be handed over there, or have them called.
func (a *app) sayUngranted(teams map[string]*team.Team) error {
	roles, err := a.config.Roles()
	if err != nil {
		return err
	}
	check := func(team, what, permission string) {
		if permission == "" {
			return
		}
		if err := roles.CheckRequired(permission); err != nil {
			a.say(termview.Line(fmt.Sprintf("note: team %s: %s: %v", team, what, err)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(teams)) {
		t := teams[name]
		if t.Handoff != nil {
			for _, target := range t.Handoff.Targets {
				check(name, fmt.Sprintf("handing over to %s", target.Agent), target.Requires)
			}
		}
		for _, tool := range slices.Sorted(maps.Keys(t.Requires)) {
			check(name, "calling "+tool, t.Requires[tool])
		}
	}
	return nil
}
