// Package builtin has the built-in tools that a team switches on: see [team.Tools]. A call
// of any of them which a crash has cut off is repeated: they only read, or do no more the second time.
package builtin

import (
	"context"
	"sync"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/internal/artifact"
	"github.com/convene-run/convene/team"
)

// Kit makes the built-in tools, and keeps what they share. It is safe for concurrent use.
type Kit struct {
	// Env gives the variables that settings name, "" where one is not set. Needed where there
	// are databases.
	Env func(string) string
	// Extract gives a file that is no text with its type and the text of its pages, see
	// [agent.File]. nil is that only text is read.
	Extract func(ctx context.Context, name string, data []byte) agent.File

	pages pages
	// places are those of [documents]; once makes them.
	places chan struct{}
	once   sync.Once
}

func (k *Kit) lookup(name string) (string, bool) {
	value := k.Env(name)
	return value, value != ""
}

// Tools gives the tools that a team switches on, in the order of [team.Tools.Names]. The
// error says which of them cannot be had here.
func (k *Kit) Tools(t *team.Team) ([]agent.Tool, error) {
	var tools []agent.Tool
	settings, most := t.Tools, partChars(t.Limits.MaxToolResultChars)
	if settings == nil {
		return nil, nil
	}
	if settings.Now != nil {
		tools = append(tools, nowTool(*settings.Now))
	}
	if settings.Calculate != nil {
		tools = append(tools, calculateTool())
	}
	if settings.Files != nil {
		within, err := newFolders(settings.Files.Roots)
		if err != nil {
			return nil, err
		}
		tools = append(tools, listFiles(within, most), readFile(within, most, k.documents()), searchFiles(within))
	}
	if settings.FetchURL != nil {
		tools = append(tools, k.fetchURL(*settings.FetchURL, most))
	}
	if settings.WebSearch != nil {
		tools = append(tools, webSearch(*settings.WebSearch))
	}
	if settings.QuerySQL != nil {
		query, err := k.querySQL(*settings.QuerySQL, most)
		if err != nil {
			return nil, err
		}
		tools = append(tools, query)
	}
	if settings.ReadArtifact != nil {
		tools = append(tools, artifact.Reader())
	}
	if settings.WriteArtifact != nil {
		tools = append(tools, artifact.Writer())
	}
	return tools, nil
}
