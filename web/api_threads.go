package web

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

type threadInput struct {
	Thread events.ThreadID `path:"thread_id"`
}

type threadOutput struct{ Body ThreadView }

// ThreadView is the state of a thread.
type ThreadView struct {
	thread.Context
	Events  events.Seq    `json:"events"`
	Runs    []RunLine     `json:"runs" doc:"The newest 100, oldest first. GET /api/v1/runs?thread_id=… lists all of them."`
	Active  []ActiveAgent `json:"active" doc:"Agents with an open dispatch."`
	Started time.Time     `json:"started_at"`
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

// threadRuns bounds the runs of a [ThreadView]: a conversation has one for each message.
const threadRuns = 100

// ThreadLine is a thread in a listing.
type ThreadLine struct {
	Thread events.ThreadID `json:"thread_id"`
	Title  string          `json:"title" doc:"What the thread began with, cut to 2,000 characters."`
	Team   string          `json:"team"`
	Run    events.RunID    `json:"run_id" doc:"The newest run."`
	Status events.Status   `json:"status" doc:"That of the newest run."`
	Asks   []events.Ask    `json:"asks" doc:"What the thread waits for a person to say, in order."`
	// Request and Answer are of the newest run.
	Request string    `json:"request" doc:"The newest message that started a run, cut to 2,000 characters."`
	Answer  string    `json:"answer,omitempty" doc:"Its answer, cut to 2,000 characters."`
	Started time.Time `json:"started_at" doc:"When the newest run started."`
	Updated time.Time `json:"updated_at"`
	// Damaged is set where an event of the newest run cannot be read.
	Damaged *events.Damage `json:"damaged,omitempty" doc:"Set where an event of the newest run cannot be read: the rest is as of the one before."`
}

type listThreadsInput struct {
	Waiting string          `query:"waiting" enum:"human,question,approval" doc:"Only threads that wait for this kind of input. human: the user waits for a person in an agent's place."`
	Status  []events.Status `query:"status" enum:"queued,running,suspended,awaiting_input,completed,degraded,failed,cancelled" doc:"Only threads whose newest run has one of these statuses, separated by commas."`
	Search  string          `query:"search" maxLength:"200" doc:"Matched against request and answer of the newest run, without regard to case."`
	Cursor  string          `query:"cursor" maxLength:"100" doc:"The next of the page before."`
	Limit   int             `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Threads at most."`
}

type listThreadsOutput struct {
	Body struct {
		Threads []ThreadLine `json:"threads" doc:"Those that wait for a person first, then the newest first."`
		Next    string       `json:"next,omitempty" doc:"The cursor of the next page; left out on the last."`
	}
}

func (s *Server) registerThreads(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "list-threads", Method: http.MethodGet, Path: "/api/v1/threads",
		Summary: "List and search threads, those that wait for a person first",
	}, s.listThreads)
	huma.Register(api, huma.Operation{
		OperationID: "get-thread", Method: http.MethodGet, Path: "/api/v1/threads/{thread_id}",
		Summary: "The state of a thread: who answers next, handoff and step, what is waited for, its runs, counts and times",
	}, s.getThread)
}

// threadPages are the two parts of a listing of threads, by the prefix of their cursors.
var threadPages = []struct {
	name     string
	statuses []events.Status
}{
	{"waiting", []events.Status{events.StatusAwaitingInput}},
	{"rest", []events.Status{
		events.StatusQueued, events.StatusRunning, events.StatusSuspended,
		events.StatusCompleted, events.StatusDegraded, events.StatusFailed, events.StatusCancelled,
	}},
}

func (s *Server) listThreads(ctx context.Context, in *listThreadsInput) (*listThreadsOutput, error) {
	from, before, err := parseCursor(in.Cursor)
	if err != nil {
		return nil, s.apiError(err)
	}
	out, c := &listThreadsOutput{}, callerOf(ctx)
	out.Body.Threads = []ThreadLine{}
	for _, page := range threadPages[from:] {
		statuses := common(page.statuses, in.Status)
		if len(statuses) == 0 {
			continue
		}
		runs, err := s.threadRuns(ctx, in, events.RunQuery{
			Tenant: c.Tenant, UserID: c.only(), Threads: true, Status: statuses, Search: in.Search, Before: before,
		}, in.Limit+1-len(out.Body.Threads))
		if err != nil {
			return nil, s.apiError(err)
		}
		before = ""
		for _, run := range runs {
			if len(out.Body.Threads) == in.Limit {
				return out, nil // and there is a next page
			}
			line, err := s.threadLine(ctx, run)
			if err != nil {
				return nil, s.apiError(err)
			}
			out.Body.Threads = append(out.Body.Threads, line)
			out.Body.Next = page.name + ":" + string(run.Run)
		}
	}
	out.Body.Next = ""
	return out, nil
}

// parseCursor gives the part of the listing that goes on, and the run that it goes on behind.
func parseCursor(cursor string) (from int, before events.RunID, err error) {
	if cursor == "" {
		return 0, "", nil
	}
	name, run, found := strings.Cut(cursor, ":")
	for i, page := range threadPages {
		if found && run != "" && page.name == name {
			return i, events.RunID(run), nil
		}
	}
	return 0, "", refuse(http.StatusUnprocessableEntity, "cursor=%.40q is none of this listing: give the next of the page before, or leave it out", cursor)
}

// common gives what is in both lists; an empty wanted is everything.
func common(all, wanted []events.Status) (both []events.Status) {
	if len(wanted) == 0 {
		return all
	}
	for _, status := range all {
		for _, w := range wanted {
			if w == status {
				both = append(both, status)
				break
			}
		}
	}
	return both
}

// threadRuns gives the newest runs of threads, at most limit, that wait for what is wanted.
func (s *Server) threadRuns(ctx context.Context, in *listThreadsInput, query events.RunQuery, limit int) (found []events.RunSummary, err error) {
	if in.Waiting == "" {
		query.Limit = limit
		return s.config.Log.Runs(ctx, query)
	}
	query.Limit = pageEvents
	for len(found) < limit {
		page, err := s.config.Log.Runs(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, run := range page {
			if asksFor(run, events.InputKind(in.Waiting)) {
				found = append(found, run)
			}
		}
		if len(page) < query.Limit {
			break
		}
		query.Before = page[len(page)-1].Run
	}
	return found[:min(limit, len(found))], nil
}

func asksFor(run events.RunSummary, kind events.InputKind) bool {
	for _, ask := range run.Asks {
		if ask.For == kind {
			return true
		}
	}
	return false
}

func (s *Server) threadLine(ctx context.Context, run events.RunSummary) (ThreadLine, error) {
	first, err := s.config.Log.Runs(ctx, events.RunQuery{Tenant: run.Tenant, Thread: run.Thread, OldestFirst: true, Limit: 1})
	if err != nil {
		return ThreadLine{}, err
	}
	line := ThreadLine{
		Thread: run.Thread, Title: run.Request, Team: run.Team, Run: run.Run, Status: run.Status, Asks: orEmpty(run.Asks),
		Request: run.Request, Answer: run.Answer, Started: run.Start, Updated: run.Updated, Damaged: run.Damaged,
	}
	if len(first) > 0 { // it was not removed meanwhile
		line.Title = first[0].Request
	}
	return line, nil
}

func (s *Server) getThread(ctx context.Context, in *threadInput) (*threadOutput, error) {
	view, err := s.threadView(ctx, in.Thread)
	if err != nil {
		return nil, s.apiError(err)
	}
	return &threadOutput{view}, nil
}

func (s *Server) threadView(ctx context.Context, id events.ThreadID) (ThreadView, error) {
	var view ThreadView
	err := s.foldThread(ctx, id, func(th *thread.Thread) error {
		view = threadOf(th)
		return nil
	})
	return view, err
}

// foldThread lends a thread of runs: see [Server.fold].
func (s *Server) foldThread(ctx context.Context, id events.ThreadID, use func(*thread.Thread) error) error {
	tip, err := s.tip(ctx, id)
	if err == nil && tip.Run == "" {
		err = refuse(http.StatusNotFound, "thread %s is a batch's: GET /api/v1/batches/%[1]s gives its state", id)
	}
	if err != nil {
		return err
	}
	return s.fold(ctx, id, tip.Seq, use)
}

func threadOf(th *thread.Thread) ThreadView {
	zero := 0.0
	view := ThreadView{Context: th.Context(), Events: th.Seq, Active: []ActiveAgent{}, CostUSD: &zero, Started: th.Runs[0].Start}
	for _, run := range th.Runs {
		view.Tasks += run.Tasks
		view.FinishedTasks += run.FinishedTasks
		view.ModelCalls += run.ModelCalls
		view.Usage = view.Usage.Add(run.Usage)
		view.CostUSD = events.AddCost(view.CostUSD, run.CostUSD)
	}
	for _, run := range th.Runs[max(0, len(th.Runs)-threadRuns):] {
		view.Runs = append(view.Runs, RunLine{Run: run.ID, Status: run.Status, Request: run.Request, Started: run.Start})
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
