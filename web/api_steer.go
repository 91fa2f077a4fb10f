package web

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/convene-run/convene/events"
)

type startInput struct {
	Traceparent string `header:"traceparent" doc:"The caller's span, as W3C Trace Context writes it: the run's trace goes on from it."`
	Body        struct {
		Request string            `json:"request" minLength:"1" doc:"What the team is to do."`
		Team    string            `json:"team,omitempty" doc:"Name of a team; the default team if left out."`
		Model   string            `json:"model,omitempty" doc:"Asked instead of the team's models, as provider/name."`
		Solo    bool              `json:"solo,omitempty" doc:"A single agent answers, without specialists."`
		Vars    map[string]string `json:"vars,omitempty" doc:"Values for the placeholders of the team's request template."`
		Thread  events.ThreadID   `json:"thread_id,omitempty" doc:"The thread to start in; a new one if left out."`
	}
}

type startOutput struct {
	Location string `header:"Location"`
	Body     Started
}

type cancelInput struct {
	Run  string `path:"run_id"`
	Body *struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Kept in the log."`
	} `required:"false"`
}

type forkInput struct {
	Run  string `path:"run_id"`
	Body struct {
		At          events.Seq `json:"at" minimum:"1" doc:"The last seq that the new run keeps."`
		Model       string     `json:"model,omitempty" doc:"Asked instead of the run's models."`
		Instruction string     `json:"instruction,omitempty" maxLength:"20000" doc:"Told to the facilitator."`
	}
}

func (s *Server) registerSteering(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "start-run", Method: http.MethodPost, Path: "/api/v1/runs", Summary: "Start a run",
		DefaultStatus: http.StatusCreated, MaxBodyBytes: maxBodyBytes,
	}, func(ctx context.Context, in *startInput) (*startOutput, error) {
		return s.begun(ctx, func(runs Runs) (Started, error) {
			if in.Body.Thread != "" {
				if _, err := s.tipOfAny(ctx, in.Body.Thread); err != nil {
					return Started{}, err
				}
			}
			return runs.Start(ctx, callerOf(ctx).Identity, Job{
				Request: in.Body.Request, Team: in.Body.Team, Model: in.Body.Model, Solo: in.Body.Solo,
				Vars: in.Body.Vars, Thread: in.Body.Thread, Traceparent: in.Traceparent,
			})
		})
	})
	huma.Register(api, huma.Operation{
		OperationID: "fork-run", Method: http.MethodPost, Path: "/api/v1/runs/{run_id}/fork",
		Summary:       "Start a new run from the facts of another one up to a point",
		DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *forkInput) (*startOutput, error) {
		view, err := s.view(ctx, in.Run)
		if err != nil {
			return nil, s.apiError(err)
		}
		return s.begun(ctx, func(runs Runs) (Started, error) {
			return runs.Fork(ctx, callerOf(ctx).Identity, view.Run, Fork{At: in.Body.At, Model: in.Body.Model, Instruction: in.Body.Instruction})
		})
	})
	huma.Register(api, huma.Operation{
		OperationID: "cancel-run", Method: http.MethodPost, Path: "/api/v1/runs/{run_id}/cancel", Summary: "End a run permanently",
		DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *cancelInput) (*runOutput, error) {
		return s.steered(ctx, in.Run, func(runs Runs, run events.RunID) error {
			reason := "cancelled by the user"
			if in.Body != nil && in.Body.Reason != "" {
				reason = in.Body.Reason
			}
			return runs.Cancel(ctx, callerOf(ctx).Identity, run, reason)
		})
	})
	huma.Register(api, huma.Operation{
		OperationID: "stop-run", Method: http.MethodPost, Path: "/api/v1/runs/{run_id}/stop",
		Summary:       "Park a run, to be resumed: its model calls under way end first",
		DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *runInput) (*runOutput, error) {
		return s.steered(ctx, in.Run, func(runs Runs, run events.RunID) error { return runs.Stop(ctx, callerOf(ctx).Identity, run) })
	})
	huma.Register(api, huma.Operation{
		OperationID: "resume-run", Method: http.MethodPost, Path: "/api/v1/runs/{run_id}/resume", Summary: "Take up a run that nobody drives",
		DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *runInput) (*runOutput, error) {
		return s.steered(ctx, in.Run, func(runs Runs, run events.RunID) error { return runs.Resume(ctx, callerOf(ctx).Identity, run) })
	})
}

// begun starts a run and says where it is.
func (s *Server) begun(ctx context.Context, start func(Runs) (Started, error)) (*startOutput, error) {
	runs, err := s.runs()
	if err != nil {
		return nil, s.apiError(err)
	}
	started, err := start(runs)
	if err != nil {
		return nil, s.apiError(err)
	}
	s.metrics.started.WithLabelValues(s.config.tenantLabel(callerOf(ctx).Tenant)).Inc()
	return &startOutput{Location: "/api/v1/runs/" + string(started.Run), Body: started}, nil
}

// steered does something to a run that is not over and gives it as it is then.
func (s *Server) steered(ctx context.Context, idOrPrefix string, do func(Runs, events.RunID) error) (*runOutput, error) {
	runs, err := s.runs()
	if err != nil {
		return nil, s.apiError(err)
	}
	view, err := s.view(ctx, idOrPrefix)
	if err == nil && view.Status.Over() {
		err = refuse(http.StatusConflict, "run %s is over: it is %s", view.Run, view.Status)
	}
	if err == nil {
		err = do(runs, view.Run)
	}
	if err == nil {
		view, err = s.view(ctx, string(view.Run))
	}
	if err != nil {
		return nil, s.apiError(err)
	}
	return &runOutput{view}, nil
}

func (s *Server) runs() (Runs, error) {
	if s.config.Runs == nil {
		return nil, refuse(http.StatusConflict, "this server only shows runs: `convene serve` starts one that can also start and steer them")
	}
	return s.config.Runs, nil
}
