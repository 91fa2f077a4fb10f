package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// door is who may call a tool.
type door struct {
	// needs is the permission.
	needs string
	// changes says that a run of others needs [access.OthersAct] in addition, not only that it
	// may be seen.
	changes bool
}

// doors has every tool: one that is missing here cannot be added.
var doors = map[string]door{
	"run_team":    {needs: access.RunsStart},
	"start_run":   {needs: access.RunsStart},
	"get_run":     {needs: access.RunsRead},
	"list_events": {needs: access.RunsRead},
	"cancel_run":  {needs: access.RunsCancel, changes: true},
}

// answering is the door of answers that run_team brings to what a run asked.
var answering = door{needs: access.ThreadsWrite, changes: true}

// call is a request for a tool, and who sent it.
type call struct {
	*mcp.CallToolRequest
	who  web.Guest
	door door
}

// addTool makes a tool known, which those may call who have the permission of its door. What
// is called for does not count yet: nobody learns from a refusal whether it exists.
func addTool[In, Out any](s *Server, tool *mcp.Tool, handle func(context.Context, *call, In) (*mcp.CallToolResult, Out, error)) {
	d, known := doors[tool.Name]
	if !known {
		panic(fmt.Sprintf("tool %q has no door in mcpserver/caller.go", tool.Name))
	}
	mcp.AddTool(s.mcp, tool, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		c := &call{req, s.callerOf(req.Extra), d}
		if err := s.admit(ctx, c, d); err != nil {
			var none Out
			return nil, none, err
		}
		result, out, err := handle(ctx, c, in)
		return result, out, s.told(ctx, err)
	})
}

// refusal is an error that a caller may read as it is.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func refuse(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

// told gives what the caller is told of an error; what is the operator's to know is logged.
func (s *Server) told(ctx context.Context, err error) error {
	if err == nil || errors.As(err, new(refusal)) || ctx.Err() != nil {
		return err
	}
	_, detail, failure := web.Told(err)
	if failure != "" {
		s.config.Logger.ErrorContext(ctx, "a call of a tool failed", "failure", failure, "err", err)
	}
	return refuse("%s", detail)
}

// admit refuses who lacks the permission of the door.
func (s *Server) admit(ctx context.Context, c *call, d door) error {
	if c.who.Allow(d.needs) {
		return nil
	}
	return s.missing(ctx, c, d.needs)
}

// missing refuses a caller, and keeps that.
func (s *Server) missing(ctx context.Context, c *call, permission string) error {
	s.refused(ctx, c, permission)
	return refuse("you may not do this: the permission %s is missing", permission)
}

// refused keeps that a caller was refused something: what is not allowed, or, without a
// permission, what there is not for the caller.
func (s *Server) refused(ctx context.Context, c *call, permission string) {
	s.config.Audit.Refused(ctx, c.who.Tenant, c.who.Actor(), events.PermissionDenied{Permission: permission, UserID: c.who.User, What: "tool " + c.Params.Name})
}

// still refuses a caller whose credential has ended or lost the permission since it called.
func (c *call) still() error {
	who, err := c.who.Again()
	if err != nil {
		return err
	}
	if !who.Allow(c.door.needs) {
		return refuse("you may no longer do this: the permission %s is missing", c.door.needs)
	}
	return nil
}

func (c *call) key(id events.ThreadID) events.ThreadKey {
	return events.ThreadKey{Tenant: c.who.Tenant, Thread: id}
}

// guestKey is where a request of the SDK has its [web.Guest].
const guestKey = "guest"

// callerOf gives who sent a request: As where nobody checked that, as on standard input.
func (s *Server) callerOf(extra *mcp.RequestExtra) web.Guest {
	if extra == nil || extra.TokenInfo == nil {
		return web.Guest{Identity: s.config.As}
	}
	guest, _ := extra.TokenInfo.Extra[guestKey].(web.Guest) // nobody, who may do nothing, where it is missing
	guest.Door = events.DoorMCP
	return guest
}

// withGuest hands on who sent a request, in the form that the SDK takes: it keeps a session for
// whoever opened it. The credential goes no further.
func withGuest(next http.Handler) http.Handler {
	known := auth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		guest, come := web.GuestOf(ctx)
		if !come {
			return nil, errors.New("nobody is known")
		}
		return &auth.TokenInfo{UserID: fmt.Sprintf("%q %q", guest.Tenant, guest.User), Extra: map[string]any{guestKey: guest}}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, come := web.GuestOf(r.Context()); !come {
			next.ServeHTTP(w, r)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer known")
		r.Header.Del("Cookie")
		known.ServeHTTP(w, r)
	})
}
