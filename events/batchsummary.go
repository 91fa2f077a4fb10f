package events

import "time"

// BatchSummary is one line of a listing of batches: a fold over the events of the
// batch's thread that belong to no run, which every log keeps beside the events.
// batch_started opens it.
type BatchSummary struct {
	Tenant TenantID `json:"tenant_id"`
	Batch  BatchID  `json:"batch_id"`
	Input  string   `json:"input,omitempty"`
	Output string   `json:"output,omitempty"`
	// Command continues the batch, in Folder; see [BatchStarted].
	Command   string   `json:"command,omitempty"`
	Folder    string   `json:"folder,omitempty"`
	Team      string   `json:"team"`
	Models    []string `json:"models,omitempty"`
	Solo      bool     `json:"solo,omitempty"`
	Simulated bool     `json:"simulated,omitempty"`
	// Rows is the number of rows, 0 where nobody knows.
	Rows int `json:"rows"`
	// Status is "running" from batch_started to batch_ended, whose status it then is.
	Status Status `json:"status"`
	// Reason says why rows are left, or why no more are started.
	Reason string `json:"reason,omitempty"`
	// Start is when the first call of the batch began, Updated the time of the newest
	// event.
	Start   time.Time `json:"started_at"`
	Updated time.Time `json:"updated_at"`
	BatchFigures
	// Damaged is as in [RunSummary].
	Damaged *Damage `json:"damaged,omitempty"`
	LastSeq Seq     `json:"last_seq"`
}

// Apply folds one event of the batch's thread into the summary. Of events of other
// kinds place and time alone count.
func (s *BatchSummary) Apply(env Envelope) {
	switch e := env.Data.(type) {
	case BatchStarted:
		s.start(env, e)
	case BatchProgress:
		s.BatchFigures, s.Reason = e.BatchFigures, e.Stopping
	case BatchEnded:
		s.BatchFigures, s.Status, s.Reason = e.BatchFigures, e.Status, e.Reason
	}
	s.LastSeq, s.Updated = env.Seq, env.Time
}

func (s *BatchSummary) start(env Envelope, e BatchStarted) {
	if s.Start.IsZero() {
		zero := 0.0
		s.Tenant, s.Batch, s.Start, s.CostUSD = env.Tenant, BatchID(env.Thread), env.Time, &zero
	}
	// What is of the call before, and not of the whole batch.
	s.Running, s.ElapsedMS, s.RowsPerSecond, s.LeftMS, s.Slowest, s.Limiters = 0, 0, 0, 0, nil, nil
	s.Outages, s.Held = nil, 0
	s.Command, s.Folder = e.Command, e.Folder
	s.Input, s.Output, s.Team, s.Models, s.Solo, s.Simulated = e.Input, e.Output, e.Team, e.Models, e.Solo, e.Simulated
	s.Rows, s.Status, s.Reason = e.Rows, StatusRunning, ""
}

// Finished reports whether no more is to come of the batch: every row has its output, or
// the batch was given up. Until then it takes from its rows what its output lacks.
func (s *BatchSummary) Finished() bool {
	switch s.Status {
	case StatusCompleted, StatusDegraded, StatusCancelled:
		return true
	}
	return false
}

// Continues gives the command line that continues the batch, or has its failed and degraded
// rows run again; "" where none does.
func (s *BatchSummary) Continues(retry bool) string {
	command := s.Command
	if command == "" || !retry {
		return command
	}
	if s.Failed > 0 {
		command += " --retry-failed"
	}
	if s.Degraded > 0 {
		command += " --retry-degraded"
	}
	return command
}

// Searched gives the texts that [BatchQuery.Search] looks into.
func (s *BatchSummary) Searched() []string {
	return []string{s.Input, s.Output, s.Team, string(s.Batch)}
}
