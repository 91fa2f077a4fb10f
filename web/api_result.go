package web

import (
	"context"
	"net/http"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

type resultOutput struct{ Body ResultView }

// ResultView is what a run has come to so far.
type ResultView struct {
	Run    events.RunID  `json:"run_id"`
	Status events.Status `json:"status"`
	Reason string        `json:"reason,omitempty"`
	Answer string        `json:"answer,omitempty" doc:"The final answer, as Markdown."`
	// Document is the shared document as Markdown, without tags.
	Document     string                   `json:"document" doc:"The shared document, as Markdown."`
	Tasks        []events.Task            `json:"tasks"`
	MissingTasks []events.TaskID          `json:"missing_tasks" doc:"Tasks that are open."`
	Versions     []events.DocumentVersion `json:"document_versions"`
	Usage        events.Usage             `json:"usage"`
	CostUSD      *float64                 `json:"cost_usd" doc:"Null where a model has no known price."`
}

func (s *Server) getResult(ctx context.Context, in *runInput) (*resultOutput, error) {
	view, err := s.view(ctx, in.Run)
	if err != nil {
		return nil, s.apiError(err)
	}
	th, err := s.load(ctx, view.Thread, view.LastSeq)
	if err != nil {
		return nil, s.apiError(err)
	}
	for _, run := range th.Runs {
		if run.ID == view.Run {
			return &resultOutput{resultOf(run)}, nil
		}
	}
	return nil, s.apiError(refuse(http.StatusNotFound, "thread %s has no run %s", view.Thread, view.Run))
}

func resultOf(run *thread.Run) ResultView {
	view := ResultView{
		Run: run.ID, Status: run.Status, Reason: run.Reason, Document: run.Document.RenderClean(),
		Tasks: orEmpty(run.Board.Tasks()), MissingTasks: orEmpty(run.Board.Open("")), Versions: orEmpty(run.Document.Versions()),
		Usage: run.Usage, CostUSD: run.CostUSD,
	}
	if run.FinalAnswer != nil {
		view.Answer = run.FinalAnswer.Content
	}
	return view
}

// orEmpty makes a list of none [] in JSON.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// load folds a thread up to a seq.
func (s *Server) load(ctx context.Context, id events.ThreadID, through events.Seq) (*thread.Thread, error) {
	return thread.Load(ctx, s.config.Log, events.ThreadKey{Tenant: s.config.Tenant, Thread: id}, through)
}
