package specialists

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/evidence"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// CitingTools are [Tools] for a specialist that has further tools: what it writes can name
// its sources.
func CitingTools(t *team.Team) []agent.Tool {
	list := Tools(t)
	list[len(list)-1] = tools{team: t}.writeCited()
	return list
}

// citedArgs are the arguments of write_section where it takes sources.
type citedArgs struct {
	writeArgs
	Sources []sourceArgs `json:"sources,omitempty" jsonschema:"Passages that the content rests on. Each is looked up in what your tools returned."`
}

// citedCall are all arguments of write_section where it takes sources.
type citedCall struct {
	loop.Placed
	citedArgs
}

// sourceArgs is an [evidence.Claim] as the model is told of it.
type sourceArgs struct {
	URL      string `json:"url,omitempty" jsonschema:"Address of its page."`
	File     string `json:"file,omitempty" jsonschema:"Its file, as the tool names it."`
	Artifact string `json:"artifact,omitempty" jsonschema:"Id of its artifact."`
	Tool     string `json:"tool,omitempty" jsonschema:"The tool that returned it, where there is no url, file or artifact."`
	Quote    string `json:"quote" jsonschema:"The passage, word for word, without gaps: the sentence or line that says it."`
}

func (t tools) writeCited() agent.Tool {
	plain := t.writeSection().Tool
	return loop.PureFunc(llm.Tool{
		Name:        plain.Name,
		Description: plain.Description + " Give as sources the passages of your tools' results that it rests on.",
		Parameters:  agent.Schema[citedArgs](boundSources, loop.Place(t.team.Document, false)),
	}, func(tx *thread.Tx, in *agent.Invocation, args citedCall) agent.Result {
		updated, err := t.entry(tx, in, args.Args(), args.writeArgs)
		if err == nil {
			err = t.support(tx, in, &updated, args.Sources)
		}
		return t.put(tx, in, updated, err)
	})
}

func boundSources(schema *jsonschema.Schema) {
	sources := schema.Properties["sources"]
	sources.MaxItems = new(evidence.MaxClaims)
	for _, property := range sources.Items.Properties {
		property.MaxLength = new(evidence.MaxQuoteChars)
	}
}

// support checks the sources of an entry and records them with it. The error, for the
// model, refuses the entry: once, the next one at its place is written as it is.
func (t tools) support(tx *thread.Tx, in *agent.Invocation, entry *events.DocumentUpdated, claims []sourceArgs) error {
	dispatch := tx.Run.Dispatch(in.Dispatch)
	cited, problems := check(dispatch, claims)
	t.mark(entry, cited)
	refused := events.EvidenceRefused{
		Author: in.Agent, Section: entry.Section, Slot: entry.Slot, Sources: cited, ModelCall: in.Ref.ModelCall,
	}
	var err error
	switch {
	case len(problems) > 0:
		refused.Reason, err = events.EvidenceNotFound, fmt.Errorf("nothing was written, because of its sources:\n%s\n"+
			"Correct them, or leave them out with what rests on them. What is still not found next time is written, and marked as not found", strings.Join(problems, "\n"))
	case entry.Unsupported:
		refused.Reason, err = events.EvidenceMissing, errors.New("nothing was written: this team requires evidence, and the entry names no source. "+
			"Give as sources the passages of your tools' results that it rests on. Without any, the entry is written next time and marked as unsupported")
	default:
		return nil
	}
	if slices.ContainsFunc(dispatch.Refused, func(r events.EvidenceRefused) bool {
		return r.Section == entry.Section && r.Slot == entry.Slot && r.ModelCall != in.Ref.ModelCall
	}) {
		return nil
	}
	tx.Emit(in.Agent, thread.ActorOf(in.Dispatch), refused)
	return err
}

// mark records with an entry what it rests on, and that it rests on nothing where the team
// requires evidence.
func (t tools) mark(entry *events.DocumentUpdated, cited []events.Citation) {
	entry.Sources = cited
	entry.Unsupported = t.team.Evidence == team.EvidenceRequired &&
		!slices.ContainsFunc(cited, func(c events.Citation) bool { return c.Found })
}

// check looks the claims up in what tools returned in the dispatch, and says what is wrong
// with them.
func check(dispatch *thread.Dispatch, claims []sourceArgs) (cited []events.Citation, problems []string) {
	var results []evidence.Result
	for i := range dispatch.Returned {
		r := &dispatch.Returned[i]
		results = append(results, evidence.Result{
			Tool: r.Tool, Text: r.Result, Sources: r.Sources, Call: &events.CallPlace{ModelCall: r.ModelCall, Index: r.Index},
		})
	}
	for _, by := range dispatch.Cited {
		for _, page := range by.Pages {
			results = append(results, evidence.Result{
				Tool: team.ToolWebSearch, Text: page.Quote, Sources: []events.Source{{URL: page.URL, Title: page.Title}},
				Unseen: page.Quote == "",
			})
		}
	}
	for _, claim := range claims {
		citation, err := evidence.Check(results, evidence.Claim(claim))
		if err != nil {
			problems = append(problems, "- "+err.Error()+".")
		}
		cited = append(cited, citation)
	}
	return cited, problems
}
