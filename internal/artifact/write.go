package artifact

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

type writeArgs struct {
	Name    string `json:"name" jsonschema:"What the file is called, such as prices.csv. Its ending says what it is."`
	Content string `json:"content" jsonschema:"The whole text of the file."`
}

// Writer keeps a text as a file. The same text is the same artifact, so a call that a crash
// has cut off is repeated.
func Writer() agent.Tool {
	return agent.Func(llm.Tool{
		Name:        WriteTool,
		Description: "Keeps a text as a file for the user and the other specialists, and says under which id. A file is never changed: writing again makes another.",
	}, events.EffectIdempotent, func(_ context.Context, _ agent.Invocation, args writeArgs) (agent.Result, error) {
		if strings.TrimSpace(args.Name) == "" || args.Content == "" {
			return agent.Result{}, errors.New("give the file a name and a content")
		}
		return agent.Result{Text: "Kept.", Files: []agent.File{{Name: args.Name, MediaType: TypeOf(args.Name), Data: []byte(args.Content)}}}, nil
	})
}

// TypeOf is the media type of a text by the ending of its name.
func TypeOf(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return "text/markdown"
	case ".csv":
		return "text/csv"
	case ".html", ".htm":
		return "text/html"
	case ".json":
		return "application/json"
	case ".jsonl", ".ndjson":
		return "application/x-ndjson"
	case ".yaml", ".yml":
		return "application/yaml"
	case ".xml":
		return "application/xml"
	}
	return "text/plain"
}
