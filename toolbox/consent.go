package toolbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-run/convene/team"
)

// Ask is what a team would have its agents do that needs somebody's consent.
type Ask struct {
	// Lines say it to a person, one thing in each; none is a team that needs no consent.
	Lines []string
	// Hash stands for all of it: consent to it is consent to this alone, of whatever team.
	Hash string
}

// AskOf gives what the team asks for. It opens nothing.
func AskOf(t *team.Team) Ask {
	var ask Ask
	wants := reach{}
	if tools := t.Tools; tools != nil {
		wants.Files, wants.FetchURL, wants.QuerySQL, wants.WebSearch = tools.Files, tools.FetchURL, tools.QuerySQL, tools.WebSearch
	}
	if wants.Files != nil {
		if len(wants.Files.Roots) == 0 {
			ask.Lines = append(ask.Lines, "read the files below the folder that a row of a batch names, within the batch's --files-root")
		}
		for _, root := range wants.Files.Roots {
			ask.Lines = append(ask.Lines, fmt.Sprintf("read the files below %q", root))
		}
	}
	if wants.QuerySQL != nil {
		for _, name := range slices.Sorted(maps.Keys(wants.QuerySQL.Databases)) {
			ask.Lines = append(ask.Lines, fmt.Sprintf("query the database %s at %q", name, wants.QuerySQL.Databases[name]))
		}
	}
	wants.MCP = t.MCP
	for _, name := range slices.Sorted(maps.Keys(t.MCP)) {
		ask.Lines = append(ask.Lines, serverLine(name, t.MCP[name]))
	}
	ask.Lines = append(ask.Lines, wants.fetches(len(ask.Lines) > 0)...)
	if wants.WebSearch != nil && len(ask.Lines) > 0 {
		ask.Lines = append(ask.Lines, "search the web through the provider of the model, which learns what is searched for")
	}
	if len(ask.Lines) > 0 {
		ask.Hash = wants.hash()
	}
	return ask
}

// reach is everything by which a team reaches outside. All of it is hashed together, because
// what is harmless alone need not be so beside the rest: files to read, and a page to fetch
// with what they say in its address.
type reach struct {
	Files     *team.FilesTool           `json:"files,omitempty"`
	FetchURL  *team.FetchURLTool        `json:"fetch_url,omitempty"`
	WebSearch *team.WebSearchTool       `json:"web_search,omitempty"`
	MCP       map[string]team.MCPServer `json:"mcp,omitempty"`
	QuerySQL  *team.QuerySQLTool        `json:"query_sql,omitempty"`
}

// fetches says what is fetched. Public pages alone need no consent; beside anything else they
// are a way out for it.
func (r reach) fetches(beside bool) (lines []string) {
	f := r.FetchURL
	if f == nil {
		return nil
	}
	for _, host := range f.PrivateHosts {
		lines = append(lines, fmt.Sprintf("fetch pages from %q, also where its address is not public", host))
	}
	switch {
	case !beside && len(lines) == 0:
	case len(f.Allow) == 0:
		lines = append(lines, "fetch pages from every public host, which learns the address that is asked for")
	default:
		lines = append(lines, fmt.Sprintf("fetch pages from %q, which learn the address that is asked for", f.Allow))
	}
	return lines
}

func (r reach) hash() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("toolbox: marshal what a team asks for: %v", err)) // the types are constant
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ConsentError says that a team asks for something that nobody has consented to.
type ConsentError struct {
	Ask Ask
	// File is the team's file, "" for a team from elsewhere.
	File string
}

// Error gives what is asked for, and the command that consents to it.
func (e *ConsentError) Error() string {
	return fmt.Sprintf("it asks for what nobody on this machine has allowed:\n  %s\n`%s` shows it and asks you",
		strings.Join(e.Ask.Lines, "\n  "), checkCommand(e.File))
}

// checkCommand is the command that asks for consent, with the team's file, "" for none.
func checkCommand(file string) string {
	if file == "" {
		return "convene team check --connect FILE"
	}
	return fmt.Sprintf("convene team check --connect %q", file)
}
