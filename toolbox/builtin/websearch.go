package builtin

import (
	"context"
	"errors"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
)

// webSearch is the search of the model's provider, which runs it within the reply: a call
// that comes here is one that the model made up.
func webSearch(settings team.WebSearchTool) agent.Tool {
	return agent.Func(llm.Tool{
		Name:        team.ToolWebSearch,
		Description: "Searches the web.",
		Search:      &llm.WebSearch{Allow: settings.Allow, MaxUses: settings.Uses()},
	}, events.EffectPure, func(context.Context, agent.Invocation, struct{}) (agent.Result, error) {
		return agent.Result{}, errors.New("web_search is the provider's own and is no function to call: search within your reply")
	})
}
