package web

import (
	"context"
	"net/http"
	"time"

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

type threadInput struct {
	Thread events.ThreadID `path:"thread_id"`
}

type threadOutput struct{ Body ThreadView }

// ThreadView is the state of a thread.
type ThreadView struct {
	Thread  events.ThreadID `json:"thread_id"`
	Events  events.Seq      `json:"events"`
	Runs    []RunLine       `json:"runs" doc:"Oldest first."`
	Status  events.Status   `json:"status" doc:"That of the newest run."`
	Active  []ActiveAgent   `json:"active" doc:"Agents with an open dispatch."`
	Started time.Time       `json:"started_at"`
	Updated time.Time       `json:"updated_at"`
	// Totals over all runs.
	Tasks         int          `json:"tasks"`
	FinishedTasks int          `json:"finished_tasks"`
	ModelCalls    int          `json:"model_calls"`
	Usage         events.Usage `json:"usage"`
	CostUSD       *float64     `json:"cost_usd" doc:"Null where a model has no known price."`
}

// RunLine is one run of a thread.
type RunLine struct {
	Run     events.RunID  `json:"run_id"`
	Status  events.Status `json:"status"`
	Request string        `json:"request"`
	Started time.Time     `json:"started_at"`
}

// ActiveAgent is an agent at work.
type ActiveAgent struct {
	Agent    events.AgentID    `json:"agent"`
	Dispatch events.DispatchID `json:"dispatch_id"`
	Tasks    []events.TaskID   `json:"task_ids"`
	Started  time.Time         `json:"started_at"`
}

func (s *Server) getThread(ctx context.Context, in *threadInput) (*threadOutput, error) {
	tip, err := s.tip(ctx, in.Thread)
	if err == nil && tip.Run == "" {
		err = refuse(http.StatusNotFound, "thread %s is a batch's: GET /api/v1/batches/%[1]s gives its state", in.Thread)
	}
	if err != nil {
		return nil, s.apiError(err)
	}
	th, err := s.load(ctx, in.Thread, tip.Seq)
	if err != nil {
		return nil, s.apiError(err)
	}
	return &threadOutput{threadOf(th)}, nil
}

func threadOf(th *thread.Thread) ThreadView {
	zero := 0.0
	view := ThreadView{
		Thread: th.Key.Thread, Events: th.Seq, Active: []ActiveAgent{}, Updated: th.Time, CostUSD: &zero,
		Status: th.Current().Status, Started: th.Runs[0].Start,
	}
	for _, run := range th.Runs {
		view.Runs = append(view.Runs, RunLine{Run: run.ID, Status: run.Status, Request: run.Request, Started: run.Start})
		view.Tasks += run.Tasks
		view.FinishedTasks += run.FinishedTasks
		view.ModelCalls += run.ModelCalls
		view.Usage = view.Usage.Add(run.Usage)
		view.CostUSD = events.AddCost(view.CostUSD, run.CostUSD)
	}
	if !th.Current().Status.Over() {
		for _, d := range th.Current().Dispatches {
			if d.Finish == nil {
				view.Active = append(view.Active, ActiveAgent{Agent: d.Start.Agent, Dispatch: d.ID, Tasks: orEmpty(d.Start.TaskIDs), Started: d.Started})
			}
		}
	}
	return view
}
