package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

// call is what calling a tool does.
type call struct {
	pool   *Pool
	server string
	config team.MCPServer
	tool   Tool // as it was listed
	effect events.Effect
}

// repeatable says whether a call may be made again when nobody knows what came of it.
func (c *call) repeatable() bool {
	return c.effect == events.EffectPure || c.effect == events.EffectIdempotent
}

// run calls the tool, once more if the server died during the call and repeating it does
// no harm. What goes wrong is a result that the model reads.
func (c *call) run(ctx context.Context, in agent.Invocation) (agent.Result, error) {
	result, err := c.try(ctx, in)
	if errors.As(err, new(*lostError)) && c.repeatable() && ctx.Err() == nil {
		result, err = c.try(ctx, in)
	}
	if err != nil && ctx.Err() != nil {
		return agent.Result{}, context.Cause(ctx) // the loop says what that means
	}
	if lost := new(lostError); errors.As(err, &lost) && !c.repeatable() {
		err = fmt.Errorf("%w. The outcome of the call is unknown: check before repeating it", err)
	}
	if err != nil {
		return agent.Refuse(err), nil
	}
	return result, nil
}

// lostError says that a call was under way when its connection, or its patience, ended.
type lostError struct{ error }

// try calls the tool over the connection that there is, or that it waits for.
func (c *call) try(ctx context.Context, in agent.Invocation) (agent.Result, error) {
	s, err := c.pool.server(c.server, c.config)
	if err != nil {
		return agent.Result{}, err
	}
	live, err := s.conn(ctx, in.Progress)
	if err != nil {
		return agent.Result{}, err
	}
	if err := c.unchanged(ctx, live); err != nil {
		return agent.Result{}, err
	}
	arguments := map[string]json.RawMessage{}
	if err := in.Decode(&arguments); err != nil {
		return agent.Result{}, err
	}
	params := &mcp.CallToolParams{Name: c.tool.Name, Arguments: arguments}
	if span := c.pool.options.Traceparent(in); span != "" {
		params.Meta = mcp.Meta{"traceparent": span}
	}
	return c.send(ctx, live, params, in.Report)
}

// unchanged refuses a tool that its server describes in other words than those that
// somebody confirmed, and that the model read.
func (c *call) unchanged(ctx context.Context, live *conn) error {
	now, there, err := live.current(ctx, c.tool.Name)
	switch {
	case err != nil:
		return fmt.Errorf("the MCP server %s: %w", c.server, err)
	case !there:
		return fmt.Errorf("the MCP server %s no longer has the tool %s", c.server, c.tool.Name)
	case now.Hash() != c.tool.Hash():
		return fmt.Errorf("the MCP server %s has changed what it says of %s. The tool is refused until a person has confirmed that: convene team check --connect", c.server, c.tool.Name)
	}
	return nil
}

// send makes the call and waits for its result, for as long as the server reports progress.
func (c *call) send(ctx context.Context, live *conn, params *mcp.CallToolParams, report func(words string)) (agent.Result, error) {
	limit := time.Duration(c.config.Timeout)
	if limit == 0 {
		limit = team.DefaultMCPTimeout
	}
	whole := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.pool.ctx, cancel)()
	var silent atomic.Bool
	timer := time.AfterFunc(limit, func() { silent.Store(true); cancel() })
	defer timer.Stop()
	token, forget := live.listen(func(words string) {
		timer.Reset(limit)
		report(words)
	})
	defer forget()
	params.SetProgressToken(token)
	result, err := live.session.CallTool(ctx, params)
	switch {
	case err == nil:
		return resultOf(result, live.hide), nil
	case silent.Load():
		return agent.Result{}, &lostError{fmt.Errorf("%s was given up: it reported no progress for %s", c.tool.Name, limit)}
	}
	return agent.Result{}, c.failure(whole, err, live)
}

// failure says what an error of a call means.
func (c *call) failure(ctx context.Context, err error, live *conn) error {
	var answered *jsonrpc.Error
	var dialed *net.OpError
	text := live.hide.in(err.Error())
	if needs := new(signInError); errors.As(err, &needs) {
		return fmt.Errorf("unavailable: the MCP server %s: %w", c.server, needs)
	}
	switch answers := errors.As(err, &answered); {
	case errors.As(err, &dialed) && dialed.Op == "dial":
		return fmt.Errorf("unavailable: the MCP server %s cannot be reached: %s", c.server, text)
	case answers && answered.Code == rejectedByTransport:
		return &lostError{fmt.Errorf("the MCP server %s: %s", c.server, text)}
	case answers && !errors.Is(err, mcp.ErrConnectionClosed):
		return fmt.Errorf("the MCP server %s refused the call: %s", c.server, live.hide.in(answered.Message))
	}
	if why := live.ending(ctx); why != nil {
		return &lostError{fmt.Errorf("during the call the MCP server %s %w", c.server, why)}
	}
	return &lostError{fmt.Errorf("the MCP server %s: %s", c.server, text)}
}

// rejectedByTransport is the SDK's own code for a request that it could not deliver.
const rejectedByTransport = -32005
