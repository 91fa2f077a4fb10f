package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/lazyregexp"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
)

const (
	// maxToolName is the longest name of a tool that every endpoint takes.
	maxToolName = 64
	// maxDescriptionChars bounds what a server says of one tool: every request carries it.
	maxDescriptionChars = 8000
)

// List connects to the server, unless it is connected already, and gives the tools that its
// settings allow. The error says why there is no connection, without the values of
// variables. name is the server's name in the team file.
func (p *Pool) List(ctx context.Context, name string, config team.MCPServer) (*Listing, error) {
	s, err := p.server(name, config)
	if err != nil {
		return nil, err
	}
	live, err := s.conn(ctx, func() {})
	if err != nil {
		return nil, err
	}
	return live.listing().Allowed(config), nil
}

// Tools makes tools for agents of a listing, under names such as wiki__search. It connects
// to nothing: a call does, and is refused if the server describes the tool in other words
// than the listing by then. The notes say what had to be changed for endpoints to accept
// the tools, and which had to be left out.
func (p *Pool) Tools(name string, config team.MCPServer, listing *Listing) (tools []agent.Tool, notes []string) {
	names := toolNames(name, listing.Tools)
	for i, listed := range listing.Tools {
		parameters, changes, err := adapt(listed.Schema)
		for _, change := range changes {
			notes = append(notes, fmt.Sprintf("%s: %s", names[i], change))
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s is left out: %v", names[i], err))
			continue
		}
		call := &call{pool: p, server: name, config: config, tool: listed, effect: effectOf(config, listed.Name)}
		tools = append(tools, agent.Tool{
			Tool:    llm.Tool{Name: names[i], Description: describe(name, listed), Parameters: parameters},
			Handler: agent.External{Effect: call.effect, Call: call.run},
		})
	}
	return tools, notes
}

// effectOf says what repeating a call would do: what the team file says, else the worst.
func effectOf(config team.MCPServer, tool string) events.Effect {
	if effect, said := config.Effects[tool]; said {
		return effect
	}
	return events.EffectEffectful
}

func describe(server string, tool Tool) string {
	if tool.Description == "" {
		return fmt.Sprintf("The tool %s of the server %s.", tool.Name, server)
	}
	return chars.Clip(tool.Description, maxDescriptionChars)
}

// notInName are the characters that some endpoint refuses in the name of a tool.
var notInName = lazyregexp.New(`[^a-zA-Z0-9_-]`)

// toolNames gives the names under which agents have the tools: the server's name and the
// tool's own, with _ for what endpoints refuse. A name that is too long, or that would be
// another's, ends with a hash of the tool's own.
func toolNames(server string, tools []Tool) []string {
	names, count := make([]string, len(tools)), map[string]int{}
	for i, tool := range tools {
		names[i] = server + team.MCPSeparator + notInName.ReplaceAllString(tool.Name, "_")
		count[names[i]]++
	}
	for i, tool := range tools {
		exact := names[i] == server+team.MCPSeparator+tool.Name
		if len(names[i]) > maxToolName || count[names[i]] > 1 && !exact {
			sum := sha256.Sum256([]byte(tool.Name))
			end := "_" + hex.EncodeToString(sum[:4])
			names[i] = names[i][:min(len(names[i]), maxToolName-len(end))] + end
		}
	}
	return names
}
