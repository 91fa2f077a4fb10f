package team

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tools are the built-in tools that a team switches on, with their settings; nil is off. A
// specialist has those that it names.
type Tools struct {
	Now       *NowTool       `json:"now,omitempty" jsonschema:"The tool now: date and time."`
	Calculate *CalculateTool `json:"calculate,omitempty" jsonschema:"The tool calculate: arithmetic on numbers. It has no settings: write {}."`
	Files     *FilesTool     `json:"files,omitempty" jsonschema:"The tools list_files, read_file and search_files: text files below the folders of roots, and nothing outside."`
	QuerySQL  *QuerySQLTool  `json:"query_sql,omitempty" jsonschema:"The tool query_sql: queries that only read, on SQLite files and PostgreSQL."`
	WebSearch *WebSearchTool `json:"web_search,omitempty" jsonschema:"The tool web_search: the web search of the model's provider, through Responses and Messages."`
	FetchURL  *FetchURLTool  `json:"fetch_url,omitempty" jsonschema:"The tool fetch_url: the text of web pages at public addresses."`

	ReadArtifact  *ReadArtifactTool  `json:"read_artifact,omitempty" jsonschema:"The tool read_artifact: reads files that are kept beside the log, by pages. Who has a tool that reaches outside has it anyway. It has no settings: write {}."`
	WriteArtifact *WriteArtifactTool `json:"write_artifact,omitempty" jsonschema:"The tool write_artifact: keeps a text as a file. It has no settings: write {}."`
}

// NowTool sets the tool that tells the date and time.
type NowTool struct {
	// Zone is the time zone by its IANA name. Empty is UTC.
	Zone string `json:"zone,omitempty" jsonschema:"Time zone of the answer where the model names none, such as Europe/Berlin. Defaults to UTC."`
}

// CalculateTool sets the tool that does arithmetic. It has no settings.
type CalculateTool struct{}

// ReadArtifactTool sets the tool that reads artifacts. It has no settings.
type ReadArtifactTool struct{}

// WriteArtifactTool sets the tool that writes artifacts. It has no settings.
type WriteArtifactTool struct{}

// The names of the built-in tools.
const (
	ToolNow           = "now"
	ToolCalculate     = "calculate"
	ToolListFiles     = "list_files"
	ToolReadFile      = "read_file"
	ToolSearchFiles   = "search_files"
	ToolFetchURL      = "fetch_url"
	ToolWebSearch     = "web_search"
	ToolQuerySQL      = "query_sql"
	ToolReadArtifact  = "read_artifact"
	ToolWriteArtifact = "write_artifact"
)

// builtinTools are the built-in tools, each with the key under tools that switches it on, in
// the order in which they are offered.
var builtinTools = []struct {
	name, key string
	on        func(*Tools) bool
}{
	{ToolNow, "now", func(t *Tools) bool { return t.Now != nil }},
	{ToolCalculate, "calculate", func(t *Tools) bool { return t.Calculate != nil }},
	{ToolListFiles, "files", func(t *Tools) bool { return t.Files != nil }},
	{ToolReadFile, "files", func(t *Tools) bool { return t.Files != nil }},
	{ToolSearchFiles, "files", func(t *Tools) bool { return t.Files != nil }},
	{ToolFetchURL, "fetch_url", func(t *Tools) bool { return t.FetchURL != nil }},
	{ToolWebSearch, "web_search", func(t *Tools) bool { return t.WebSearch != nil }},
	{ToolQuerySQL, "query_sql", func(t *Tools) bool { return t.QuerySQL != nil }},
	{ToolReadArtifact, "read_artifact", func(t *Tools) bool { return t.ReadArtifact != nil }},
	{ToolWriteArtifact, "write_artifact", func(t *Tools) bool { return t.WriteArtifact != nil }},
}

// Names are the built-in tools that are switched on, in the order in which they are offered.
func (t *Tools) Names() []string {
	var names []string
	for _, tool := range builtinTools {
		if t != nil && tool.on(t) {
			names = append(names, tool.name)
		}
	}
	return names
}

// Settings tells in a line how a built-in tool is set that is switched on, "" where there is
// nothing to tell.
func (t *Tools) Settings(tool string) string {
	switch tool {
	case ToolNow:
		return cmp.Or(t.Now.Zone, "UTC")
	case ToolListFiles, ToolReadFile, ToolSearchFiles:
		if len(t.Files.Roots) == 0 {
			return "below the own folder of each row of a batch"
		}
		return "below " + join(t.Files.Roots)
	case ToolQuerySQL:
		return t.QuerySQL.said()
	case ToolWebSearch:
		return t.WebSearch.said()
	case ToolFetchURL:
		if len(t.FetchURL.Allow) == 0 {
			return join(append([]string{"every public host"}, t.FetchURL.PrivateHosts...))
		}
		return join(slices.Concat(t.FetchURL.Allow, t.FetchURL.PrivateHosts))
	}
	return ""
}

func (t *Tools) check(found *problems) {
	if t == nil {
		return
	}
	if t.Now != nil && t.Now.Zone != "" {
		if _, err := time.LoadLocation(t.Now.Zone); err != nil {
			found.add("tools.now.zone", "%q is no time zone; write an IANA name, such as Europe/Berlin", clip(t.Now.Zone))
		}
	}
	if t.Files != nil {
		t.Files.check(found)
	}
	if t.FetchURL != nil {
		t.FetchURL.check(found)
	}
	if t.WebSearch != nil {
		t.WebSearch.check(found)
	}
	if t.QuerySQL != nil {
		t.QuerySQL.check(found)
	}
}

// everyToolOf ends a name that stands for all tools that begin like it.
const everyToolOf = "*"

// Names reports whether the specialist names a tool, by its name or by a beginning that ends
// in *.
func (s Specialist) Names(tool string) bool {
	return slices.ContainsFunc(s.Tools, func(name string) bool { return names(name, tool) })
}

func names(name, tool string) bool {
	if begin, all := strings.CutSuffix(name, everyToolOf); all && begin != "" {
		return strings.HasPrefix(tool, begin)
	}
	return name == tool
}

// CheckTools checks that the tools which specialists name are among those that are offered:
// by the program, or because the team switches them on. It gives a *[FileError] with all
// that are not.
func (t *Team) CheckTools(offered []string) error {
	var found problems
	for i, s := range t.Specialists {
		for j, tool := range s.Tools {
			if !slices.ContainsFunc(offered, func(there string) bool { return names(tool, there) }) {
				found.add(fmt.Sprintf("specialists[%d].tools[%d]", i, j), "%s", cmp.Or(t.unknownServer(tool), unknownTool(tool, offered)))
			}
		}
	}
	t.findApproved(offered, &found)
	t.findRequiring(offered, &found)
	return found.err(t.file, t.places)
}

// unknownTool says what is wrong with the name of a tool that is not offered.
func unknownTool(tool string, offered []string) string {
	known := slices.Clone(offered)
	for _, b := range builtinTools {
		if b.name == tool {
			return fmt.Sprintf("the tool %q is off; add %q under \"tools:\" of the team to switch it on", tool, b.key+": {…}")
		}
		known = append(known, b.name)
	}
	there := "the built-in tools, which the team switches on under \"tools:\", are " + join(builtinNamesOfTools())
	if len(offered) > 0 {
		there = "the tools here are " + join(offered)
	}
	return fmt.Sprintf("unknown tool %q%s %s", clip(tool), didYouMean(tool, known), there)
}

func builtinNamesOfTools() []string {
	names := make([]string, len(builtinTools))
	for i, tool := range builtinTools {
		names[i] = tool.name
	}
	return names
}
