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
	var out resultOutput
	err = s.fold(ctx, view.Thread, view.LastSeq, func(th *thread.Thread) error {
		run := th.Run(view.Run)
		if run == nil {
			return refuse(http.StatusNotFound, "thread %s has no run %s", view.Thread, view.Run)
		}
		out.Body = resultOf(run)
		return nil
	})
	if err != nil {
		return nil, s.apiError(err)
	}
	return &out, nil
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

// fold lends a thread as it is now, which has the event with seq through at least. use keeps
// nothing of it that changes.
func (s *Server) fold(ctx context.Context, id events.ThreadID, through events.Seq, use func(*thread.Thread) error) error {
	key := callerOf(ctx).key(id)
	return s.config.Kept.Use(ctx, key, func(th *thread.Thread) error {
		if th.Seq < through {
			return &events.DamagedError{Key: key, Seq: th.Seq + 1, Problem: "the log tells of this event and does not have it"}
		}
		return use(th)
	})
}
