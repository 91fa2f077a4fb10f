package toolbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/mcpclient"
	"github.com/convene-run/convene/team"
)

// Server is what an MCP server of a team lists now.
type Server struct {
	Name string
	// Key is that of the listing, see [ListingKey].
	Key     string
	Listing *mcpclient.Listing
	// Notes say what of its tools had to be changed or left out for models to be offered
	// them.
	Notes []string
}

// Servers connects to the servers of a team and gives what they list, by their names. It
// needs consent as [Toolbox.Open] does.
func (b *Toolbox) Servers(ctx context.Context, t *team.Team) ([]Server, error) {
	if err := b.allowed(t); err != nil {
		return nil, err
	}
	var servers []Server
	for _, name := range slices.Sorted(maps.Keys(t.MCP)) {
		config := t.MCP[name]
		listing, err := b.servers.List(ctx, name, config)
		if err != nil {
			return nil, err
		}
		_, notes := b.servers.Tools(name, config, listing)
		servers = append(servers, Server{name, ListingKey(config), listing, notes})
	}
	return servers, nil
}

// served gives the tools of the team's servers.
func (b *Toolbox) served(ctx context.Context, t *team.Team) ([]agent.Tool, error) {
	var tools []agent.Tool
	for _, name := range slices.Sorted(maps.Keys(t.MCP)) {
		config := t.MCP[name]
		listing, err := b.listing(ctx, name, t)
		if err != nil {
			return nil, err
		}
		of, _ := b.servers.Tools(name, config, listing)
		tools = append(tools, of...)
	}
	return tools, nil
}

// listing gives what a server lists: as somebody confirmed it, where that is asked for.
func (b *Toolbox) listing(ctx context.Context, name string, t *team.Team) (*mcpclient.Listing, error) {
	config := t.MCP[name]
	if b.config.Confirmed == nil {
		return b.servers.List(ctx, name, config)
	}
	listing, err := b.config.Confirmed(ListingKey(config))
	if err == nil && listing == nil {
		err = fmt.Errorf("nobody on this machine has confirmed the tools of its MCP server %s\n`%s` connects to it and shows them", name, checkCommand(t.File()))
	}
	return listing, err
}

// ListingKey stands for a server and what its settings allow of it.
func ListingKey(config team.MCPServer) string {
	config.Effects, config.Timeout = nil, 0
	text, err := json.Marshal(config)
	if err != nil {
		panic(fmt.Sprintf("toolbox: marshal a server: %v", err)) // texts alone
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// serverLine says what a server of a team asks for.
func serverLine(name string, config team.MCPServer) string {
	var b strings.Builder
	if config.URL != "" {
		fmt.Fprintf(&b, "send what its agents ask the MCP server %s to %q", name, config.URL)
		writeValues(&b, ", with the headers", config.Headers)
		if config.OAuth != nil {
			fmt.Fprintf(&b, ", signing in as the client %q", config.OAuth.ClientID)
			if config.OAuth.ClientSecret != "" {
				fmt.Fprintf(&b, " with the secret %q", config.OAuth.ClientSecret)
			}
		}
		return b.String()
	}
	fmt.Fprintf(&b, "run the MCP server %s: %q", name, config.Command)
	for _, arg := range config.Args {
		fmt.Fprintf(&b, " %q", arg)
	}
	if config.Dir != "" {
		fmt.Fprintf(&b, " in %q", config.Dir)
	}
	writeValues(&b, ", with the variables", config.Env)
	return b.String()
}

func writeValues(b *strings.Builder, what string, values map[string]string) {
	if len(values) == 0 {
		return
	}
	b.WriteString(what)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(b, " %s=%q", name, values[name])
	}
}
