package web

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/convene-run/convene/events"
)

func (s *Server) registerBatchSteering(api huma.API) {
	for _, o := range []struct {
		id, action, summary string
		do                  func(context.Context, Batches, BatchView) error
	}{
		{"stop-batch", "stop", "Stop a batch, to be continued: the model calls of its rows under way end first", s.stopBatch},
		{"resume-batch", "resume", "Continue a batch that nobody runs, in the process that was given its files", s.resumeBatch},
		{"retry-batch", "retry", "Run the failed and degraded rows of a batch again, in the process that was given its files", s.retryBatch},
	} {
		huma.Register(api, huma.Operation{
			OperationID: o.id, Method: http.MethodPost, Path: "/api/v1/batches/{batch_id}/" + o.action, Summary: o.summary,
			DefaultStatus: http.StatusAccepted,
		}, func(ctx context.Context, in *batchInput) (*batchOutput, error) {
			return s.steeredBatch(ctx, in.Batch, o.do)
		})
	}
}

// steeredBatch does something to a batch and gives it as it is then.
func (s *Server) steeredBatch(ctx context.Context, id events.BatchID, do func(context.Context, Batches, BatchView) error) (*batchOutput, error) {
	if s.config.Batches == nil {
		return nil, s.apiError(refuse(http.StatusConflict, "this server only shows batches: the command that started one continues it, and ^C there stops it"))
	}
	view, err := s.batchView(ctx, id)
	if err == nil {
		err = do(ctx, s.config.Batches, view)
	}
	if err == nil {
		view, err = s.batchView(ctx, view.Batch)
	}
	if err != nil {
		return nil, s.apiError(err)
	}
	return &batchOutput{view}, nil
}

func (s *Server) stopBatch(ctx context.Context, batches Batches, view BatchView) error {
	if view.HeldBy == "" {
		return refuse(http.StatusConflict, "no process runs batch %s", view.Batch)
	}
	return batches.Stop(ctx, callerOf(ctx).Identity, view.Batch)
}

func (s *Server) resumeBatch(ctx context.Context, batches Batches, view BatchView) error {
	if err := idle(view); err != nil {
		return err
	}
	if view.Finished() || view.Rows > 0 && view.Done == view.Rows {
		return refuse(http.StatusConflict, "no row of batch %s is left: it is %s", view.Batch, view.Status)
	}
	return batches.Continue(ctx, callerOf(ctx).Identity, view.BatchSummary, false)
}

func (s *Server) retryBatch(ctx context.Context, batches Batches, view BatchView) error {
	if err := idle(view); err != nil {
		return err
	}
	if view.Failed+view.Degraded == 0 {
		return refuse(http.StatusConflict, "no row of batch %s has failed or is degraded", view.Batch)
	}
	return batches.Continue(ctx, callerOf(ctx).Identity, view.BatchSummary, true)
}

// idle refuses a batch that runs.
func idle(view BatchView) error {
	if view.HeldBy != "" {
		return refuse(http.StatusConflict, "batch %s is running (%s): stop it first", view.Batch, view.HeldBy)
	}
	return nil
}
