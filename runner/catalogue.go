package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
)

const (
	// maxOffered is how many further tools a specialist is offered as they are. With more,
	// models choose badly, and every request would carry all schemas: find_tool and use_tool
	// take their place.
	maxOffered = 40
	// maxFound bounds the tools that one search describes.
	maxFound = 10

	findTool = "find_tool"
	useTool  = "use_tool"
)

type findArgs struct {
	Query string `json:"query,omitempty" jsonschema:"Words that the tool's name or description may hold. Without any, all names are listed."`
}

type useArgs struct {
	Name      string          `json:"name" jsonschema:"Name of the tool, from find_tool."`
	Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"Arguments of the tool, as its schema says."`
}

// catalogues are the tools of the specialists that have too many to be offered them all.
type catalogues map[events.AgentID]*loop.Toolset

// catalogues gives those of a team. Tools that cannot be offered are told of when they are.
func (s shelf) catalogues(t *team.Team) (catalogues, error) {
	found := catalogues{}
	for _, specialist := range t.Specialists {
		tools := s.named(specialist)
		if len(tools) <= maxOffered {
			continue
		}
		set, err := loop.NewToolset(tools)
		if err != nil {
			return nil, err
		}
		found[specialist.ID] = set
	}
	return found, nil
}

// tools are those that stand for the catalogues. Whose they are shows in the call.
func (c catalogues) tools() []agent.Tool {
	effect := events.EffectPure
	for _, set := range c {
		effect = set.WorstEffect(effect)
	}
	return standIns(effect, c.find, c.use)
}

// standIns are the two tools that are offered in place of many.
func standIns(effect events.Effect, find func(agent.Invocation, findArgs) (agent.Result, error), use func(context.Context, agent.Invocation, useArgs) (agent.Result, error)) []agent.Tool {
	return []agent.Tool{
		agent.Func(llm.Tool{Name: findTool, Description: "Finds tools that you have, by words, and describes them with the schemas of their arguments. Call one with " + useTool + "."},
			events.EffectPure, func(_ context.Context, in agent.Invocation, args findArgs) (agent.Result, error) {
				return find(in, args)
			}),
		agent.Func(llm.Tool{Name: useTool, Description: "Calls a tool that " + findTool + " has described.", Parameters: useSchema}, effect, use),
	}
}

// useSchema lets the arguments be any object: they are checked against the tool's own schema.
var useSchema = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"Name of the tool, from find_tool."},` +
	`"arguments":{"type":"object","description":"Arguments of the tool, as its schema says.","properties":{},"additionalProperties":true}},"required":["name"]}`)

func (c catalogues) find(in agent.Invocation, args findArgs) (agent.Result, error) {
	set := c[in.Agent]
	if set == nil {
		return agent.Result{}, fmt.Errorf("%s is no longer available", findTool)
	}
	specs := set.Specs()
	words := strings.Fields(strings.ToLower(args.Query))
	if len(words) == 0 {
		return agent.Result{Text: "Your tools: " + strings.Join(namesOf(specs), ", ")}, nil
	}
	specs = slices.DeleteFunc(slices.Clone(specs), func(t llm.Tool) bool { return matches(t, words) == 0 })
	slices.SortStableFunc(specs, func(a, b llm.Tool) int { return cmp.Compare(matches(b, words), matches(a, words)) })
	if len(specs) == 0 {
		return agent.Result{Text: fmt.Sprintf("No tool matches %q. Your tools: %s", args.Query, strings.Join(namesOf(set.Specs()), ", "))}, nil
	}
	var b strings.Builder
	for _, t := range specs[:min(len(specs), maxFound)] {
		fmt.Fprintf(&b, "%s: %s\narguments: %s\n\n", t.Name, t.Description, t.Parameters)
	}
	if further := namesOf(specs[min(len(specs), maxFound):]); len(further) > 0 {
		fmt.Fprintf(&b, "Also: %s", strings.Join(further, ", "))
	}
	return agent.Result{Text: strings.TrimSpace(b.String())}, nil
}

// matches counts the words that a tool's name or description holds; one in the name counts
// more than all in descriptions.
func matches(t llm.Tool, words []string) (points int) {
	name, text := strings.ToLower(t.Name), strings.ToLower(t.Description)
	for _, word := range words {
		if strings.Contains(name, word) {
			points += 100
		} else if strings.Contains(text, word) {
			points++
		}
	}
	return points
}

func namesOf(specs []llm.Tool) []string {
	names := make([]string, len(specs))
	for i, t := range specs {
		names[i] = t.Name
	}
	return names
}

func (c catalogues) use(ctx context.Context, in agent.Invocation, args useArgs) (agent.Result, error) {
	set := c[in.Agent]
	if set == nil {
		return agent.Result{}, fmt.Errorf("%s is no longer available", useTool)
	}
	external, err := set.External(args.Name, string(args.Arguments))
	if err != nil {
		return agent.Result{}, err
	}
	in.Tool, in.Ref.Arguments = args.Name, string(args.Arguments)
	return external.Call(ctx, in)
}
