package batch

import (
	"encoding/json"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/evidence"
	"github.com/convene-run/convene/runner"
)

// Output is what became of one row: one line of the output file.
type Output struct {
	// ID is the row's own, else its Index, which counts the rows of the input from 0.
	ID    string `json:"id"`
	Index int    `json:"index"`
	// Line is where a row without an id of its own begins in its file, from 1: people know
	// it by that. 0 for all others.
	Line   int           `json:"line,omitempty"`
	Status events.Status `json:"status"`
	Answer string        `json:"answer"`
	// Data is the answer as JSON where the team has an answer_schema.
	Data json.RawMessage `json:"data,omitempty"`
	// Document is the document as Markdown, without authors and ids.
	Document string `json:"document"`
	// Basis are the passages that answer and document rest on.
	Basis []evidence.Basis `json:"basis,omitempty"`
	Tasks []events.Task    `json:"tasks"`
	// Usage, CostUSD and the others below are of the row's run, over all resumes.
	Usage events.Usage `json:"usage"`
	// CostUSD is nil where a model has no known price.
	CostUSD    *float64 `json:"cost_usd"`
	ModelCalls int      `json:"model_calls"`
	// DurationMS is the time that the run was driven, downtime apart.
	DurationMS int64           `json:"duration_ms"`
	RunID      events.RunID    `json:"run_id,omitempty"`
	ThreadID   events.ThreadID `json:"thread_id,omitempty"`
	// Attempt counts how often the row was retried after a failure, from 0.
	Attempt int `json:"attempt,omitempty"`
	// Simulated marks an answer of the simulated model.
	Simulated bool `json:"simulated,omitempty"`
	// Input is what the row had beyond what convene reads.
	Input json.RawMessage `json:"input,omitempty"`
	// Error says why the status is not "completed".
	Error *OutputError `json:"error"`

	position int
	// rejected is set where the row never had a run.
	rejected *RowError
}

// OutputError is why a row failed, or why its answer lacks something.
type OutputError struct {
	// Kind groups errors for machines: one of the kinds of this package, the kind of
	// an endpoint's failure, or the name of a limit.
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Failed reports whether the row has no result.
func (o *Output) Failed() bool {
	return o.Status == events.StatusFailed || o.Status == events.StatusCancelled
}

// Sink takes outputs. Write is called by one goroutine at a time; its error stops
// the batch, whose runs are then left to be resumed.
type Sink interface {
	Write(out Output) error
}

// SinkFunc is a function that is a [Sink].
type SinkFunc func(out Output) error

// Write calls the function.
func (f SinkFunc) Write(out Output) error { return f(out) }

// outputOf gives the output of a run that is over.
func outputOf(row *Row, result runner.Result) Output {
	out := Output{
		ID: row.ID, Index: row.Index, Line: row.nameLine(), Status: result.Status, Answer: result.Answer, Data: result.Data, Document: result.Document, Basis: result.Basis,
		Tasks: result.Tasks, Usage: result.Usage, CostUSD: result.CostUSD, ModelCalls: result.ModelCalls,
		DurationMS: result.Driven.Milliseconds(), RunID: result.Run, ThreadID: result.Thread,
		Attempt: row.Attempt, Simulated: result.Simulated, Input: row.Input, position: row.position,
	}
	if result.Status != events.StatusCompleted {
		out.Error = &OutputError{Kind: kindOf(result), Message: result.Reason}
	}
	return out
}

func kindOf(result runner.Result) string {
	switch {
	case result.Status == events.StatusCancelled:
		return KindCancelled
	case result.Limit != "":
		return string(result.Limit)
	case result.Failure != nil && result.Failure.Code != "":
		return result.Failure.Code
	case result.Status == events.StatusDegraded && len(result.MissingTasks) == 0:
		return KindNoResult
	case result.Status == events.StatusDegraded:
		return KindOpenTasks
	}
	return KindInternal
}

// failedOutput gives the output of a row that could not be run.
func failedOutput(e *RowError) Output {
	zero := 0.0
	out := Output{
		ID: e.ID, Index: e.Index, Status: events.StatusFailed, CostUSD: &zero, Input: e.Input,
		Error: &OutputError{Kind: e.Kind, Message: e.Error()}, position: e.position, rejected: e,
	}
	if e.unnamed {
		out.Line = e.Line
	}
	return out
}
