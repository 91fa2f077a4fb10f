package mcpserver

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// startRun starts a run, which goes on by itself.
func (s *Server) startRun(ctx context.Context, c *call, in job) (*mcp.CallToolResult, view, error) {
	started, err := s.start(ctx, c, in)
	if err != nil {
		return nil, view{}, err
	}
	v, err := s.look(ctx, c, string(started.Run), false)
	return v.result(), v, err
}

func (s *Server) start(ctx context.Context, c *call, in job) (web.Started, error) {
	team, err := s.team(in.Team)
	if err != nil {
		return web.Started{}, err
	}
	return s.config.Runs.Start(ctx, c.who.Identity, web.Job{Request: in.Request, Team: team, Vars: in.Vars, Traceparent: traceparent(c.CallToolRequest)})
}

// traceparent is the caller's span: in the request's _meta, whatever the transport, or in the
// header. The runner leaves out one that is not valid.
func traceparent(req *mcp.CallToolRequest) string {
	if given, ok := req.Params.Meta["traceparent"].(string); ok {
		return given
	}
	if req.Extra == nil {
		return ""
	}
	return req.Extra.Header.Get("traceparent")
}

// runTeam starts a run and waits until it is over or needs somebody. A caller who gives the
// request up ends the run; one who is gone, without having said so, does not.
func (s *Server) runTeam(ctx context.Context, c *call, in job) (*mcp.CallToolResult, view, error) {
	if asked := c.Params.RequestState; asked != "" && !answered(c.CallToolRequest) {
		return s.getRun(ctx, c, named{Run: asked}) // the user would not say, and it goes on waiting
	}
	key, run, after, err := s.begin(ctx, c, in)
	if err != nil {
		return nil, view{}, err
	}
	w := &watcher{server: s, key: key, run: run, after: after, call: c, named: map[events.DispatchID]string{}}
	if err := w.watch(ctx); err != nil {
		return nil, view{}, s.left(ctx, c, run, err)
	}
	v, err := s.look(ctx, c, string(run), false)
	if err != nil {
		return nil, view{}, err
	}
	if asked := asks(c.CallToolRequest, v); asked != nil {
		return asked, view{}, nil
	}
	result := v.result()
	result.IsError = v.unanswered()
	return result, v, nil
}

// begin starts the run of the request or, where the request brings the user's answers to what
// a run asked, has that one go on. What happens in it comes behind after.
func (s *Server) begin(ctx context.Context, c *call, in job) (key events.ThreadKey, run events.RunID, after events.Seq, err error) {
	if c.Params.RequestState != "" {
		return s.answer(ctx, c)
	}
	started, err := s.start(ctx, c, in)
	return c.key(started.Thread), started.Run, 0, err
}

// left decides what becomes of a run that nobody waits for any more. The client's cancellation
// ends it: that has no cause of its own, a connection that broke has.
func (s *Server) left(ctx context.Context, c *call, run events.RunID, err error) error {
	if ctx.Err() == nil || !errors.Is(context.Cause(ctx), context.Canceled) {
		return err
	}
	cancelled := s.config.Runs.Cancel(context.WithoutCancel(ctx), c.who.Identity, run, "the client of the MCP server cancelled the request")
	return errors.Join(err, cancelled)
}
