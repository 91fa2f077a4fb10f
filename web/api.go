package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
)

// maxBodyBytes is more than the longest request that a run takes, as JSON.
const maxBodyBytes = 16 << 20

// registerAPI adds the operations that the OpenAPI document describes.
func (s *Server) registerAPI(mux router) {
	config := huma.DefaultConfig("convene", s.config.Version)
	config.Info.Description = "Start, follow and steer runs, and watch batches. Events come by WebSocket from /ws?thread_id=…&after=SEQ, " +
		"or as server-sent events from /api/v1/threads/{thread_id}/events."
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "/api/v1/openapi", "", ""
	config.CreateHooks = nil // no $schema member in every answer
	config.Transformers = append(config.Transformers, explain)
	api := humago.New(mux, config)
	describeStreams(api.OpenAPI())
	for _, register := range []func(huma.API){s.registerReading, s.registerArtifacts, s.registerSteering, s.registerThreads, s.registerMessages, s.registerValues, s.registerBatches, s.registerBatchSteering, s.registerUsers, s.registerAudit} {
		register(api)
	}
	s.describeAccess(api.OpenAPI())
	describeStatuses(api.OpenAPI().Components.Schemas.Map())
}

// RunFilter is how a request narrows runs. It is exported for huma, which sees no other
// embedded struct.
type RunFilter struct {
	Search string          `query:"search" maxLength:"200" doc:"Matched against request and answer, without regard to case."`
	Status []events.Status `query:"status" enum:"queued,running,suspended,awaiting_input,completed,degraded,failed,cancelled" doc:"Only runs with these statuses, separated by commas."`
	Thread events.ThreadID `query:"thread_id" doc:"Only runs of this thread."`
	Team   string          `query:"team" maxLength:"200" doc:"Only runs of the team with this name."`
	Model  string          `query:"model" maxLength:"200" doc:"Only runs with a model whose name contains this."`
	Own    bool            `query:"own" doc:"Without the runs of batches' rows."`
	Batch  events.BatchID  `query:"batch" maxLength:"200" doc:"Only runs of this batch's rows."`
	Since  time.Time       `query:"since" doc:"Only runs that started then or later; rows of a batch started when it did."`
	Cost   float64         `query:"min_cost" minimum:"0" doc:"Only runs that have cost at least as many US dollars, by known prices."`
}

type listInput struct {
	RunFilter
	Before events.RunID `query:"before" doc:"Only runs that started before this one: the last of the page before."`
	Limit  int          `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Runs at most."`
}

type listOutput struct {
	Body struct {
		Runs []RunView `json:"runs" doc:"Newest first."`
		More bool      `json:"more" doc:"Whether there may be older ones."`
	}
}

type totalsInput struct{ RunFilter }

type totalsOutput struct{ Body events.RunTotals }

type runInput struct {
	Run string `path:"run_id" doc:"The run's id, or the beginning of it where only one begins so."`
}

// RunView is a run as the API gives it.
type RunView struct {
	events.RunSummary
	// HeldBy names the process that drives the run; empty where none does.
	HeldBy events.Owner `json:"held_by,omitempty"`
	// HeldSince is when that process took the run.
	HeldSince *time.Time `json:"held_since,omitempty"`
	// Interrupted is set where the log has the run running and no process drives it: its
	// process was killed. Resuming continues it.
	Interrupted bool `json:"interrupted,omitempty"`
}

type runOutput struct{ Body RunView }

type eventsInput struct {
	Run   string     `path:"run_id"`
	After events.Seq `query:"after" minimum:"0" doc:"Only events with a seq above this one."`
	Limit int        `query:"limit" minimum:"1" maximum:"1000" default:"500" doc:"Events at most."`
}

type eventsOutput struct {
	Body struct {
		Events []rawEvent `json:"events" doc:"Events of the run's thread, in order."`
	}
}

func (s *Server) registerReading(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "list-runs", Method: http.MethodGet, Path: "/api/v1/runs", Summary: "List and search runs",
	}, s.listRuns)
	huma.Register(api, huma.Operation{
		OperationID: "get-run-totals", Method: http.MethodGet, Path: "/api/v1/runs/totals", Summary: "What all matching runs come to: number, tokens, cost",
	}, func(ctx context.Context, in *totalsInput) (*totalsOutput, error) {
		totals, err := s.config.Log.Totals(ctx, callerOf(ctx).narrowed(&in.RunFilter))
		if err != nil {
			return nil, s.apiError(err)
		}
		return &totalsOutput{totals}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-run", Method: http.MethodGet, Path: "/api/v1/runs/{run_id}", Summary: "One run: where it stands, what it cost",
	}, func(ctx context.Context, in *runInput) (*runOutput, error) {
		view, err := s.view(ctx, in.Run)
		if err != nil {
			return nil, s.apiError(err)
		}
		return &runOutput{view}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-run-result", Method: http.MethodGet, Path: "/api/v1/runs/{run_id}/result",
		Summary: "What a run has come to: answer, document, tasks",
	}, s.getResult)
	huma.Register(api, huma.Operation{
		OperationID: "get-run-events", Method: http.MethodGet, Path: "/api/v1/runs/{run_id}/events", Summary: "The events of a run's thread, a page at a time",
	}, s.listEvents)
	huma.Register(api, huma.Operation{
		OperationID: "list-teams", Method: http.MethodGet, Path: "/api/v1/teams", Summary: "The teams that a run can be started with",
	}, s.listTeams)
	huma.Register(api, huma.Operation{
		OperationID: "get-server", Method: http.MethodGet, Path: "/api/v1/server", Summary: "What this server is and can do",
	}, s.getServer)
}

func (s *Server) listRuns(ctx context.Context, in *listInput) (*listOutput, error) {
	query := callerOf(ctx).narrowed(&in.RunFilter)
	query.Before, query.Limit = in.Before, in.Limit
	runs, err := s.config.Log.Runs(ctx, query)
	if err != nil {
		return nil, s.apiError(err)
	}
	out := &listOutput{}
	out.Body.Runs, out.Body.More = make([]RunView, len(runs)), len(runs) == in.Limit
	for i, run := range runs {
		if out.Body.Runs[i], err = ViewRun(ctx, s.config.Log, run); err != nil {
			return nil, s.apiError(err)
		}
	}
	return out, nil
}

// narrowed gives the query for runs that the caller may see.
func (c caller) narrowed(in *RunFilter) events.RunQuery {
	query := events.RunQuery{
		Tenant: c.Tenant, UserID: c.only(), Thread: in.Thread, Status: in.Status, Search: in.Search,
		Team: in.Team, Model: in.Model, Own: in.Own, Batch: in.Batch, MinCostUSD: in.Cost,
	}
	if !in.Since.IsZero() {
		query.After = firstID(in.Since)
	}
	return query
}

// firstID is below the ids of all runs that started at a time or later: they begin with the
// milliseconds since 1970 in 48 bits (RFC 9562, UUIDv7).
func firstID(at time.Time) events.RunID {
	ms := fmt.Sprintf("%012x", max(0, at.UnixMilli()))
	return events.RunID(ms[:8] + "-" + ms[8:12])
}

func (s *Server) view(ctx context.Context, idOrPrefix string) (RunView, error) {
	c := callerOf(ctx)
	summary, err := s.config.Log.FindRun(ctx, c.Tenant, idOrPrefix)
	if c.only() != "" && (errors.Is(err, events.ErrAmbiguous) || err == nil && string(summary.Run) != idOrPrefix) {
		err = events.ErrNotFound // how much of an id is needed would tell of the runs of others
	}
	if err == nil {
		err = c.reaches(summary.UserID, events.ErrNotFound)
	}
	if errors.Is(err, events.ErrNotFound) {
		return RunView{}, s.noRun(ctx, idOrPrefix)
	}
	if err != nil {
		return RunView{}, err
	}
	return ViewRun(ctx, s.config.Log, summary)
}

// ViewRun adds to a run's summary who drives it. One that nobody holds may have ended since
// it was read: it is then read again.
func ViewRun(ctx context.Context, log events.Index, summary events.RunSummary) (RunView, error) {
	view := RunView{RunSummary: summary}
	if summary.Status.Over() {
		return view, nil
	}
	owner, since, err := log.Holder(ctx, events.ThreadKey{Tenant: summary.Tenant, Thread: summary.Thread})
	switch {
	case err != nil:
		return view, err
	case owner != "":
		view.HeldBy, view.HeldSince = owner, &since
		return view, nil
	case summary.Status != events.StatusRunning:
		return view, nil
	case summary.Damaged != nil: // nothing more can be read of it
		view.Interrupted = true
		return view, nil
	}
	view.RunSummary, err = log.FindRun(ctx, summary.Tenant, string(summary.Run))
	view.Interrupted = view.Status == events.StatusRunning
	return view, err
}

func (s *Server) listEvents(ctx context.Context, in *eventsInput) (*eventsOutput, error) {
	view, err := s.view(ctx, in.Run)
	if err != nil {
		return nil, s.apiError(err)
	}
	encoded, err := s.config.Log.ReadEncoded(ctx, callerOf(ctx).key(view.Thread), in.After, in.Limit)
	if err != nil {
		return nil, s.apiError(err)
	}
	out := &eventsOutput{}
	out.Body.Events = make([]rawEvent, len(encoded))
	for i, e := range encoded {
		out.Body.Events[i] = rawEvent(events.ForViewers(e.Body))
	}
	return out, nil
}

// CallerView is who a caller is.
type CallerView struct {
	Tenant events.TenantID `json:"tenant_id"`
	User   string          `json:"user_id,omitempty"`
	Roles  []string        `json:"roles"`
	// SignedIn is set for a browser that can sign out.
	SignedIn bool `json:"signed_in,omitempty"`
	// CanRestore is set for callers who may read what placeholders stand for.
	CanRestore bool `json:"can_restore,omitempty"`
}

type serverOutput struct{ Body ServerView }

// ServerView is what a server is and can do.
type ServerView struct {
	Version string `json:"version"`
	// CanStart is set where the caller can start and steer runs.
	CanStart bool       `json:"can_start"`
	Caller   CallerView `json:"caller" doc:"Who the server takes the caller for."`
	Teams    []TeamInfo `json:"teams"`
	Now      time.Time  `json:"now" doc:"The server's clock."`
}

func (s *Server) getServer(ctx context.Context, _ *struct{}) (*serverOutput, error) {
	c := callerOf(ctx)
	return &serverOutput{ServerView{
		Version: s.config.Version, CanStart: s.config.Runs != nil && c.Allow(access.RunsStart), Teams: s.teams(ctx), Now: time.Now().UTC(),
		Caller: CallerView{
			Tenant: c.Tenant, User: c.User, Roles: orEmpty(c.Roles), SignedIn: c.signedIn, CanRestore: c.Allow(access.ContextRestore),
		},
	}}, nil
}

type teamsOutput struct {
	Body struct {
		Teams []TeamInfo `json:"teams" doc:"None where the server only shows runs."`
	}
}

func (s *Server) listTeams(ctx context.Context, _ *struct{}) (*teamsOutput, error) {
	out := &teamsOutput{}
	out.Body.Teams = s.teams(ctx)
	return out, nil
}

func (s *Server) teams(ctx context.Context) []TeamInfo {
	if s.config.Runs == nil {
		return []TeamInfo{}
	}
	return orEmpty(s.config.Runs.Teams(callerOf(ctx).Tenant))
}
