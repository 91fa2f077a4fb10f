package bench

import (
	"context"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/bench/bareloop"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
)

// bare is the bare loop with the prompts and tools of a team.
type bare struct{ loop *bareloop.Loop }

func newBare(t *team.Team, baseURL string) (*bare, error) {
	system, err := facilitator.System(t)
	if err != nil {
		return nil, err
	}
	agents := map[string]bareloop.Agent{"facilitator": {System: system, Tools: bareTools(facilitator.Tools(t, nil))}}
	for _, s := range t.Specialists {
		system, err := specialists.System(t, s, nil)
		if err != nil {
			return nil, err
		}
		agents[string(s.ID)] = bareloop.Agent{System: system, Tools: bareTools(specialists.Tools(t))}
	}
	return &bare{bareloop.New(baseURL, httpClient(), agents)}, nil
}

func bareTools(tools []agent.Tool) []bareloop.Tool {
	var list []bareloop.Tool
	for _, t := range tools {
		list = append(list, bareloop.NewTool(t.Name, t.Description, t.Parameters))
	}
	return list
}

func (b *bare) run(ctx context.Context, request string) error { return b.loop.Run(ctx, request) }
