package events

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-run/convene/internal/chars"
)

// RunSummary is one line of a listing of runs: a fold that every log keeps
// beside the events, so that listing does not read them. workflow_started opens
// it; events of a run that has not started have no summary.
type RunSummary struct {
	Tenant TenantID `json:"tenant_id"`
	Thread ThreadID `json:"thread_id"`
	Run    RunID    `json:"run_id"`
	// UserID is whose thread it is, "" for nobody's: see [WorkflowStarted.UserID].
	UserID string    `json:"user_id,omitempty"`
	Team   string    `json:"team"`
	Status Status    `json:"status"`
	Reason string    `json:"reason,omitempty"`
	Limit  Limit     `json:"limit,omitempty"`
	Solo   bool      `json:"solo,omitempty"`
	Models []string  `json:"models,omitempty"`
	Start  time.Time `json:"started_at"`
	// Updated is the time of the newest event; of the last once the run is over.
	Updated time.Time `json:"updated_at"`
	// DrivenMS is for how long processes have driven the run: waits for endpoints and for
	// people, and downtime, are not in it. While the run is driven the time since DrivenTo
	// comes on top. It is 0 in summaries that earlier versions stored of runs under way.
	DrivenMS int64 `json:"driven_ms,omitempty"`
	// DrivenTo is the time of the driver's newest event, up to which DrivenMS counts; nil
	// where the run is not driven, or waits for an endpoint.
	DrivenTo  *time.Time `json:"driven_to,omitempty"`
	Simulated bool       `json:"simulated,omitempty"`
	// Batch is set on the run of a batch's row.
	Batch *BatchRow `json:"batch,omitempty"`
	// Request and Answer are cut to 2,000 characters.
	Request       string   `json:"request"`
	Answer        string   `json:"answer,omitempty"`
	Tasks         int      `json:"tasks"`
	FinishedTasks int      `json:"finished_tasks"`
	Usage         Usage    `json:"usage"`
	CostUSD       *float64 `json:"cost_usd"`
	ModelCalls    int      `json:"model_calls"`
	// Asks are the requests for input that nobody has answered, in order.
	Asks []Ask `json:"asks,omitempty"`
	// Damaged is set in listings where an event of the run cannot be read: the rest is as of
	// the one before. Nil in nearly all.
	Damaged *Damage `json:"damaged,omitempty"`
	// FirstSeq and LastSeq are the run's stretch of its thread.
	FirstSeq Seq `json:"first_seq"`
	LastSeq  Seq `json:"last_seq"`
}

// Ask is an [InputRequested] as a listing shows it.
type Ask struct {
	InputID InputID   `json:"input_id"`
	For     InputKind `json:"kind"`
	// Question is cut to 500 characters.
	Question string `json:"question"`
	// Handoff is set on a request that stays open when the run ends: see [InputRequested].
	Handoff HandoffID `json:"handoff_id,omitempty"`
	// Dispatch is whose call waits for leave: nobody waits once that has ended.
	Dispatch DispatchID `json:"dispatch_id,omitempty"`
}

// askChars bounds [Ask.Question]: enough to know what is wanted.
const askChars = 500

// summaryTextChars bounds the texts of a [RunSummary]: enough to recognise a run
// and to search in, little enough to list thousands.
const summaryTextChars = 2000

// Apply folds one event of the run into the summary.
func (s *RunSummary) Apply(env Envelope) error {
	if env.Data.Kind() == KindWorkflowStarted {
		s.start(env)
		return nil
	}
	if env.Run != s.Run {
		return fmt.Errorf("event seq=%d belongs to run %s, not %s", env.Seq, env.Run, s.Run)
	}
	s.LastSeq, s.Updated = env.Seq, env.Time
	s.drive(env)
	s.Usage, s.CostUSD = LostIn(env.Data).AddTo(s.Usage, s.CostUSD)
	// Each in a function of its own: a stack has room for one of them at a time.
	s.count(env.Data)
	s.stand(env.Data)
	s.ask(env)
	return nil
}

// count counts tasks and model calls.
func (s *RunSummary) count(data Event) {
	switch e := data.(type) {
	case TasksCreated:
		s.Tasks += len(e.Tasks) - len(e.replaced())
	case TaskUpdated:
		// A board never updates a finished task again.
		if e.Finished {
			s.FinishedTasks++
		}
	case ModelCalled:
		s.ModelCalls++
		s.Usage = s.Usage.Add(e.Usage)
		s.CostUSD = AddCost(s.CostUSD, e.CostUSD)
	}
}

// stand notes what became of the run.
func (s *RunSummary) stand(data Event) {
	switch e := data.(type) {
	case FinalAnswer:
		s.Answer, _ = chars.Cut(e.Content, summaryTextChars)
	case OutageBegan:
		s.Reason = "waits for " + e.Message
	case OutageEnded:
		s.Reason = ""
	case RunSuspended:
		s.Status, s.Reason, s.Limit, s.DrivenMS = StatusSuspended, e.Reason, e.Limit, e.DrivenMS
		if e.AwaitingInput {
			s.Status = StatusAwaitingInput
		}
	case RunResumed:
		s.Status, s.Reason, s.Limit = StatusRunning, "", ""
	case WorkflowFinished:
		s.Status, s.Reason, s.Limit, s.DrivenMS = e.Status, e.Reason, e.Limit, e.DrivenMS
	}
}

// ask keeps the requests for input that are open.
func (s *RunSummary) ask(env Envelope) {
	switch e := env.Data.(type) {
	case InputRequested:
		question, _ := chars.Cut(e.Question, askChars)
		ask := Ask{InputID: e.InputID, For: e.For, Question: question, Handoff: e.HandoffID}
		if e.For == InputApproval {
			ask.Dispatch = env.Dispatch
		}
		s.Asks = append(s.Asks[:len(s.Asks):len(s.Asks)], ask)
	case UserMessage:
		s.close(func(a Ask) bool { return e.Answers(a.InputID, a.For) })
	case AgentFinished:
		s.close(func(a Ask) bool { return a.Dispatch != "" && a.Dispatch == env.Dispatch })
	case HandoffReturned:
		s.close(func(a Ask) bool { return a.Dispatch != "" && a.Dispatch == DispatchID(e.HandoffID) })
	case HandoffExitRequested:
		s.close(func(a Ask) bool { return a.Handoff == e.HandoffID })
	case WorkflowFinished:
		s.close(func(a Ask) bool { return a.Handoff == "" })
	}
}

// drive counts the time up to an event. What others post says nothing about who drives the
// run, and nobody drove it from its last event until it was resumed.
func (s *RunSummary) drive(env Envelope) {
	if Posted(env.Data) {
		return
	}
	now := env.Time // of its own, so that no event is kept for it
	_, resumed := env.Data.(RunResumed)
	if s.DrivenTo != nil && !resumed {
		s.DrivenMS += max(0, now.UnixMilli()-s.DrivenTo.UnixMilli())
		s.DrivenTo = &now
	}
	switch env.Data.(type) {
	case RunResumed, OutageEnded, RunCancelled:
		s.DrivenTo = &now
	case OutageBegan, RunSuspended, WorkflowFinished:
		s.DrivenTo = nil
	}
}

// close takes requests for input off the list.
func (s *RunSummary) close(closed func(Ask) bool) {
	if slices.ContainsFunc(s.Asks, closed) {
		s.Asks = slices.DeleteFunc(slices.Clone(s.Asks), closed)
	}
	if len(s.Asks) == 0 {
		s.Asks = nil
	}
}

func (s *RunSummary) start(env Envelope) {
	e := env.Data.(WorkflowStarted)
	zero, now := 0.0, env.Time
	request, _ := chars.Cut(e.Message, summaryTextChars)
	*s = RunSummary{
		Tenant: env.Tenant, Thread: env.Thread, Run: env.Run,
		UserID: e.UserID, Team: e.Team, Status: StatusRunning, Solo: e.Solo, Simulated: e.Simulated, Batch: e.Batch,
		Start: env.Time, Updated: env.Time, DrivenTo: &now, Request: request,
		CostUSD: &zero, FirstSeq: env.Seq, LastSeq: env.Seq, Tasks: e.TasksBefore, FinishedTasks: e.FinishedBefore,
	}
	seen := map[string]bool{}
	for _, card := range e.Agents {
		for _, model := range card.Models {
			if !seen[model] {
				seen[model] = true
				s.Models = append(s.Models, model)
			}
		}
	}
}

// Elapsed is how long the run has been driven, up to its newest event; where an earlier
// version stored no such time, that from its start.
func (s *RunSummary) Elapsed() time.Duration {
	if s.DrivenMS > 0 || s.DrivenTo != nil {
		return time.Duration(s.DrivenMS) * time.Millisecond
	}
	return s.Updated.Sub(s.Start)
}

// Searched gives the texts that [RunQuery.Search] looks into.
func (s *RunSummary) Searched() []string {
	texts := []string{s.Request, s.Answer}
	if s.Batch != nil {
		texts = append(texts, s.Batch.Row)
	}
	return texts
}

// AddCost sums two costs; one unknown (nil) makes the sum unknown.
func AddCost(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}
