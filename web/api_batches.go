package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/convene-run/convene/events"
)

// BatchView is a batch as the API gives it.
type BatchView struct {
	events.BatchSummary
	// HeldBy names the process that runs the batch; empty where none does.
	HeldBy events.Owner `json:"held_by,omitempty"`
	// HeldSince is when that process took the batch up.
	HeldSince *time.Time `json:"held_since,omitempty"`
	// Interrupted is set where the log has the batch running and no process runs it: its
	// process was killed. The command that started the batch continues it.
	Interrupted bool `json:"interrupted,omitempty"`
}

type listBatchesInput struct {
	Search string          `query:"search" maxLength:"200" doc:"Matched against input, output, team and id, without regard to case."`
	Status []events.Status `query:"status" enum:"running,suspended,completed,degraded,failed,cancelled" doc:"Only batches with these statuses, separated by commas. A batch whose process was killed stays running until it is continued."`
	Before events.BatchID  `query:"before" doc:"Only batches that started before this one: the last of the page before."`
	Limit  int             `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Batches at most."`
}

type listBatchesOutput struct {
	Body struct {
		Batches []BatchView `json:"batches" doc:"Newest first."`
		More    bool        `json:"more" doc:"Whether there may be older ones."`
	}
}

type batchInput struct {
	Batch events.BatchID `path:"batch_id" doc:"The batch's id, or the beginning of it where only one begins so."`
}

type batchOutput struct{ Body BatchView }

type rowsInput struct {
	Batch  events.BatchID  `path:"batch_id"`
	Search string          `query:"search" maxLength:"200" doc:"Matched against the row's id, request and answer, without regard to case."`
	Status []events.Status `query:"status" enum:"running,suspended,awaiting_input,completed,degraded,failed,cancelled" doc:"Only rows whose runs have these statuses, separated by commas."`
	After  events.RunID    `query:"after" doc:"Only rows behind the one of this run: the last of the page before."`
	Limit  int             `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Rows at most."`
}

type rowsOutput struct {
	Body struct {
		Rows []events.RunSummary `json:"rows" doc:"The runs of the rows, in the order of the input; a row that was retried has one for each attempt. Rows that never had a run are in the batch's events alone, as batch_row_rejected."`
		More bool                `json:"more" doc:"Whether there may be rows behind these."`
	}
}

func (s *Server) registerBatches(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "list-batches", Method: http.MethodGet, Path: "/api/v1/batches", Summary: "List and search batches",
	}, s.listBatches)
	huma.Register(api, huma.Operation{
		OperationID: "get-batch", Method: http.MethodGet, Path: "/api/v1/batches/{batch_id}",
		Summary:     "One batch: where it stands, what it cost, why rows failed",
		Description: "The events of a batch come as those of a run do, with the batch's id as thread_id.",
	}, func(ctx context.Context, in *batchInput) (*batchOutput, error) {
		view, err := s.batchView(ctx, in.Batch)
		if err != nil {
			return nil, s.apiError(err)
		}
		return &batchOutput{view}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "list-batch-rows", Method: http.MethodGet, Path: "/api/v1/batches/{batch_id}/rows",
		Summary: "The rows of a batch, a page at a time",
	}, s.listRows)
}

func (s *Server) listBatches(ctx context.Context, in *listBatchesInput) (*listBatchesOutput, error) {
	out, c := &listBatchesOutput{}, callerOf(ctx)
	out.Body.Batches = []BatchView{}
	if !c.Sees("") { // a batch is nobody's
		return out, nil
	}
	batches, err := s.config.Log.Batches(ctx, events.BatchQuery{
		Tenant: c.Tenant, Status: in.Status, Search: in.Search, Before: in.Before, Limit: in.Limit,
	})
	if err != nil {
		return nil, s.apiError(err)
	}
	out.Body.Batches, out.Body.More = make([]BatchView, len(batches)), len(batches) == in.Limit
	for i, batch := range batches {
		if out.Body.Batches[i], err = ViewBatch(ctx, s.config.Log, batch); err != nil {
			return nil, s.apiError(err)
		}
	}
	return out, nil
}

func (s *Server) listRows(ctx context.Context, in *rowsInput) (*rowsOutput, error) {
	batch, err := s.batch(ctx, in.Batch)
	if err != nil {
		return nil, s.apiError(err)
	}
	rows, err := s.config.Log.Runs(ctx, events.RunQuery{
		Tenant: batch.Tenant, Batch: batch.Batch, Status: in.Status, Search: in.Search,
		OldestFirst: true, After: in.After, Limit: in.Limit,
	})
	if err != nil {
		return nil, s.apiError(err)
	}
	out := &rowsOutput{}
	out.Body.Rows, out.Body.More = orEmpty(rows), len(rows) == in.Limit
	return out, nil
}

func (s *Server) batch(ctx context.Context, id events.BatchID) (events.BatchSummary, error) {
	c := callerOf(ctx)
	summary, err := s.config.Log.FindBatch(ctx, c.Tenant, string(id))
	if err == nil || errors.Is(err, events.ErrAmbiguous) {
		err = cmp.Or(c.reaches("", events.ErrNotFound), err)
	}
	if errors.Is(err, events.ErrNotFound) {
		err = refuse(http.StatusNotFound, "there is no batch %.80q. GET /api/v1/batches lists them", id)
	}
	return summary, err
}

func (s *Server) batchView(ctx context.Context, id events.BatchID) (BatchView, error) {
	summary, err := s.batch(ctx, id)
	if err != nil {
		return BatchView{}, err
	}
	return ViewBatch(ctx, s.config.Log, summary)
}

// ViewBatch adds to a batch's summary who runs it. A batch that nobody holds may have ended
// since it was read: it is then read again.
func ViewBatch(ctx context.Context, log events.Index, summary events.BatchSummary) (BatchView, error) {
	view := BatchView{BatchSummary: summary}
	if summary.Status != events.StatusRunning {
		return view, nil
	}
	owner, since, err := log.Holder(ctx, events.ThreadKey{Tenant: summary.Tenant, Thread: events.ThreadID(summary.Batch)})
	switch {
	case err != nil:
		return view, err
	case owner != "":
		view.HeldBy, view.HeldSince = owner, &since
		return view, nil
	case summary.Damaged != nil: // nothing more can be read of it
		view.Interrupted = true
		return view, nil
	}
	view.BatchSummary, err = log.FindBatch(ctx, summary.Tenant, string(summary.Batch))
	view.Interrupted = view.Status == events.StatusRunning
	return view, err
}

// noRun refuses what is no run, and says so of a batch.
func (s *Server) noRun(ctx context.Context, id string) error {
	c := callerOf(ctx)
	batch, err := s.config.Log.FindBatch(ctx, c.Tenant, id)
	switch {
	case err == nil && c.Sees(""):
		return refuse(http.StatusNotFound, "%.80q is a batch, not a run. GET /api/v1/batches/%s describes it, and /api/v1/batches/%[2]s/rows of its runs", id, batch.Batch)
	case err == nil, errors.Is(err, events.ErrNotFound), errors.Is(err, events.ErrAmbiguous):
		return refuse(http.StatusNotFound, "there is no run %.80q. GET /api/v1/runs lists them", id)
	}
	return err
}

// tip says where a thread of runs, or of a batch, ends, if the caller may know of it.
func (s *Server) tip(ctx context.Context, thread events.ThreadID) (events.Tip, error) {
	tip, err := s.tipOfAny(ctx, thread)
	if err == nil && tip.Seq == 0 {
		err = noThread(thread)
	}
	return tip, err
}

// tipOfAny is tip of a thread that need not be there yet.
func (s *Server) tipOfAny(ctx context.Context, thread events.ThreadID) (events.Tip, error) {
	if thread == events.AuditThread {
		return events.Tip{}, noThread(thread) // GET /api/v1/audit has what it may tell
	}
	tip, err := s.config.Log.Last(ctx, callerOf(ctx).key(thread))
	if err == nil && tip.Seq > 0 {
		err = s.reach(ctx, thread, noThread(thread))
	}
	return tip, err
}

func noThread(thread events.ThreadID) error {
	return refuse(http.StatusNotFound, "there is no thread %.80q. GET /api/v1/runs and /api/v1/batches give the threads", thread)
}
