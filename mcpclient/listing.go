package mcpclient

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-run/convene/team"
)

// maxListed bounds the tools of one server; more than a specialist could ever be offered.
const maxListed = 2000

// Listing is what a server says of itself and of its tools. Its JSON form can be kept, to be
// compared with what the server says another time.
type Listing struct {
	// Server is the name and version that the server gives itself, and Protocol the version
	// that is spoken with it.
	Server   string `json:"server"`
	Protocol string `json:"protocol"`
	Tools    []Tool `json:"tools"` // by name
}

// Tool is a tool as its server describes it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
	// Hints are what the server says a call would do. They are shown, and decide nothing.
	Hints []string `json:"hints,omitempty"`
}

// Hash is equal for tools that a model is told the same of, however their schemas are
// indented.
func (t *Tool) Hash() string {
	var schema bytes.Buffer
	if json.Compact(&schema, t.Schema) != nil {
		schema.Write(t.Schema) // edited by hand: equal to no other
	}
	body, err := json.Marshal([]string{t.Name, t.Description, schema.String()})
	if err != nil {
		panic(fmt.Sprintf("mcpclient: marshal texts: %v", err)) // cannot fail
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Hash is equal for listings of the same tools.
func (l *Listing) Hash() string {
	sum := sha256.New()
	for _, tool := range l.Tools {
		fmt.Fprintln(sum, tool.Hash())
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Allowed gives the listing with the tools that the server's settings allow.
func (l *Listing) Allowed(config team.MCPServer) *Listing {
	allowed := *l
	allowed.Tools = slices.DeleteFunc(slices.Clone(l.Tools), func(t Tool) bool {
		return len(config.Allow) > 0 && !named(t.Name, config.Allow) || named(t.Name, config.Deny)
	})
	return &allowed
}

// named says whether one of the patterns, whose * stands for any ending, names the tool.
func named(tool string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if start, open := strings.CutSuffix(pattern, "*"); open {
			return strings.HasPrefix(tool, start)
		}
		return tool == pattern
	})
}

// listTools reads what the server says of its tools.
func listTools(ctx context.Context, session *mcp.ClientSession) (*Listing, error) {
	said := session.InitializeResult()
	list := &Listing{Protocol: said.ProtocolVersion}
	if info := said.ServerInfo; info != nil {
		list.Server = strings.TrimSpace(info.Name + " " + info.Version)
	}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(list.Tools) == maxListed {
			return nil, fmt.Errorf("it lists more than %d tools", maxListed)
		}
		listed, err := toolOf(tool)
		if err != nil {
			return nil, err
		}
		list.Tools = append(list.Tools, listed)
	}
	slices.SortStableFunc(list.Tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	list.Tools = slices.CompactFunc(list.Tools, func(a, b Tool) bool { return a.Name == b.Name })
	return list, nil
}

func toolOf(tool *mcp.Tool) (Tool, error) {
	if tool == nil || tool.Name == "" {
		return Tool{}, errors.New("it lists a tool without a name")
	}
	schema, err := json.Marshal(tool.InputSchema) // a map: its keys are sorted
	if err != nil {
		return Tool{}, fmt.Errorf("schema of %s: %w", tool.Name, err)
	}
	return Tool{Name: tool.Name, Description: tool.Description, Schema: schema, Hints: hintsOf(tool.Annotations)}, nil
}

func hintsOf(said *mcp.ToolAnnotations) []string {
	var hints []string
	switch {
	case said == nil:
	case said.ReadOnlyHint:
		hints = append(hints, "read-only")
	case said.IdempotentHint:
		hints = append(hints, "idempotent")
	case said.DestructiveHint != nil && *said.DestructiveHint:
		hints = append(hints, "destructive")
	}
	return hints
}
