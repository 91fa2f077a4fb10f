package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-run/convene/events"
)

// job is what run_team and start_run take.
type job struct {
	Request string            `json:"request" jsonschema:"What the team is to do, with everything that it needs to know: it sees nothing of this conversation."`
	Team    string            `json:"team,omitempty"`
	Vars    map[string]string `json:"vars,omitempty"`
}

// named is what the tools take that are about a run.
type named struct {
	Run string `json:"run_id" jsonschema:"The run's id."`
}

// ended is what cancel_run takes.
type ended struct {
	named
	Reason string `json:"reason,omitempty" jsonschema:"Why, for the log."`
}

// addTools makes the tools known. Its error is about schemas of our own.
func (s *Server) addTools() error {
	input, err := s.jobSchema()
	if err != nil {
		return err
	}
	no, yes := false, true
	addTool(s, &mcp.Tool{
		Name: "run_team", Title: "Run a team", InputSchema: input,
		Description: "Has a team of specialists work on a request and waits for the answer. It takes minutes and costs money. " + s.teams(),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes},
	}, s.runTeam)
	addTool(s, &mcp.Tool{
		Name: "start_run", Title: "Start a run", InputSchema: input,
		Description: "Like run_team, but returns at once with the run's id: ask get_run for the answer later. " + s.teams(),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes},
	}, s.startRun)
	addTool(s, &mcp.Tool{
		Name: "get_run", Title: "Look at a run",
		Description: "Tells where a run stands and what it has come to: answer, document, sources, cost, and what it waits for.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no},
	}, s.getRun)
	addTool(s, &mcp.Tool{
		Name: "list_events", Title: "Read a run's log",
		Description: "Gives the events of a run in order, a page at a time: every task, model call, tool call and entry. They are long; name the types that you need.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no},
	}, s.listEvents)
	addTool(s, &mcp.Tool{
		Name: "cancel_run", Title: "Cancel a run",
		Description: "Ends a run for good. What it has come to is kept.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &no},
	}, s.cancelRun)
	return nil
}

// jobSchema is the schema of a job, with the teams that there are.
func (s *Server) jobSchema() (*jsonschema.Schema, error) {
	schema, err := jsonschema.For[job](nil)
	if err != nil {
		return nil, fmt.Errorf("the schema of a job: %w", err)
	}
	schema.Properties["team"].Description = "The team; " + s.config.Teams[0].Name + " if left out."
	for _, t := range s.config.Teams {
		schema.Properties["team"].Enum = append(schema.Properties["team"].Enum, t.Name)
	}
	if !slices.ContainsFunc(s.config.Teams, func(t Team) bool { return len(t.Vars) > 0 }) {
		delete(schema.Properties, "vars")
		return schema, nil
	}
	schema.Properties["vars"].Description = "Values for the placeholders of the team's request template."
	return schema, nil
}

// teams describes the teams for a model.
func (s *Server) teams() string {
	var b strings.Builder
	b.WriteString("The teams:")
	for _, t := range s.config.Teams {
		fmt.Fprintf(&b, "\n- %s: %s", t.Name, strings.Join(strings.Fields(t.Description), " "))
		if len(t.Vars) > 0 {
			fmt.Fprintf(&b, " Needs vars: %s.", strings.Join(t.Vars, ", "))
		}
	}
	return b.String()
}

// names lists the teams.
func (s *Server) names() string {
	var names []string
	for _, t := range s.config.Teams {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

func (s *Server) getRun(ctx context.Context, c *call, in named) (*mcp.CallToolResult, view, error) {
	v, err := s.look(ctx, c, in.Run, true)
	return v.result(), v, err
}

func (s *Server) cancelRun(ctx context.Context, c *call, in ended) (*mcp.CallToolResult, view, error) {
	run, err := s.find(ctx, c, in.Run)
	if err != nil {
		return nil, view{}, err
	}
	if run.Status != events.StatusCancelled {
		if in.Reason == "" {
			in.Reason = "cancelled by the client of the MCP server"
		}
		if err := s.config.Runs.Cancel(ctx, c.who.Identity, run.Run, in.Reason); err != nil {
			return nil, view{}, err
		}
	}
	v, err := s.look(ctx, c, string(run.Run), false)
	return v.result(), v, err
}
