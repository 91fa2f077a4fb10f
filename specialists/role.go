package specialists

import (
	"errors"
	"fmt"
	"strings"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/board"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// role is what makes an agent a specialist.
type role struct {
	id          events.DispatchID
	agent       events.AgentID
	displayName string
	limits      team.Limits
}

func (r *role) dispatch(run *thread.Run) *thread.Dispatch { return run.Dispatch(r.id) }

func (r *role) Over(run *thread.Run) bool { return r.dispatch(run).Finish != nil }

// Opening injects the tasks: their texts too, so that no turn is spent on reading
// them.
func (r *role) Opening(run *thread.Run) []events.Message {
	start := r.dispatch(run).Start
	if start.Asked {
		return []events.Message{{Role: events.RoleUser, Content: "The facilitator asks you: " + start.Message +
			"\n\nAnswer in text. You have no tasks and no tools for this, and nothing is written into the document."}}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Your tasks: %s\n\n", taskList(start.TaskIDs))
	for _, id := range start.TaskIDs {
		if task, ok := run.Board.Task(id); ok {
			fmt.Fprintf(&b, "- %d: %s\n", task.ID, task.Text)
		}
	}
	if start.Message != "" {
		fmt.Fprintf(&b, "\nThe facilitator says: %s\n", start.Message)
	}
	return []events.Message{{Role: events.RoleUser, Content: b.String()}}
}

const nudgeEmpty = "empty_reply"

func (r *role) Prepare(tx *thread.Tx, conv *thread.Conversation, limit *agent.LimitError) agent.NextStep {
	switch {
	case limit != nil:
		r.Fail(tx, limit)
		return agent.Stop{}
	case conv.Turns() >= r.limits.MaxSpecialistTurns:
		r.Fail(tx, &agent.LimitError{
			Limit: team.LimitMaxSpecialistTurns, Value: float64(r.limits.MaxSpecialistTurns), Used: float64(conv.Turns()),
		})
		return agent.Stop{}
	case conv.EmptyReplies() >= r.limits.MaxEmptyReplies:
		r.Fail(tx, &agent.LimitError{
			Limit: team.LimitMaxEmptyReplies, Value: float64(r.limits.MaxEmptyReplies), Used: float64(conv.EmptyReplies()),
		})
		return agent.Stop{}
	case conv.EmptyReplies() > 0 && conv.TurnsSince(nudgeEmpty) > 0:
		tx.Emit(r.agent, r.id, events.UserMessage{
			Synthetic: true, Reason: nudgeEmpty,
			Content: agent.EmptyReplyNudge(conv, "Work on your tasks with the tools, or answer with your summary if they are done."),
		})
	}
	return agent.RunAgain{}
}

// Beside records nothing: what a specialist says beside its calls is in the model
// call.
func (r *role) Beside(*thread.Tx, string) {}

// Close ends the dispatch well: open tasks of its own are completed for it.
func (r *role) Close(tx *thread.Tx, reply events.Reply) {
	tx.Emit(r.agent, r.id, events.AgentMessage{Agent: r.agent, DisplayName: r.displayName, Content: reply.Text})
	for _, fact := range tx.Run.Board.AutoComplete(r.dispatch(tx.Run).Start.TaskIDs) {
		tx.Emit(r.agent, r.id, fact)
	}
	r.finish(tx, events.OutcomeOK, reply.Text, nil)
}

// Fail ends the dispatch without touching its tasks: the facilitator is told which
// are open and why.
func (r *role) Fail(tx *thread.Tx, cause error) {
	status := outcome(cause)
	var limit *agent.LimitError
	if errors.As(cause, &limit) && !tx.Run.LimitMet(limit.Limit) {
		tx.Emit(r.agent, r.id, limit.Fact("The specialist ends here; its open tasks stay open."))
	}
	r.finish(tx, status, r.failure(tx.Run, cause), cause)
}

func outcome(cause error) events.Outcome {
	var limit *agent.LimitError
	switch {
	case errors.As(cause, &limit) && (limit.Limit == team.LimitSpecialistTimeout || limit.Limit == team.LimitSilenceTimeout):
		return events.OutcomeTimedOut
	case limit != nil:
		return events.OutcomeLimit
	case errors.Is(cause, agent.ErrCancelled):
		return events.OutcomeCancelled
	case llm.KindOf(cause) == llm.ErrTimeout:
		return events.OutcomeTimedOut
	}
	return events.OutcomeFailed
}

// failure is what the facilitator reads.
func (r *role) failure(run *thread.Run, cause error) string {
	d := r.dispatch(run)
	var tasks []events.Task
	for _, id := range d.Start.TaskIDs {
		if task, ok := run.Board.Task(id); ok {
			tasks = append(tasks, task)
		}
	}
	return fmt.Sprintf("Error: %s did not finish: %v.\nIts tasks:\n%s\nWhat it wrote stays in the document. "+
		"Dispatch it again for what is open, give the work to another, or go on without and name the limitation in your answer.",
		r.agent, cause, board.Render(tasks, run.Board.AutoCompleted))
}

func (r *role) finish(tx *thread.Tx, status events.Outcome, result string, cause error) {
	d := r.dispatch(tx.Run)
	finished := events.AgentFinished{
		Agent: r.agent, DisplayName: r.displayName, CallID: d.Start.CallID, Status: status,
		Result: agent.Bound(tx, r.agent, r.id, result, r.limits.MaxToolResultBytes), ElapsedMS: tx.Run.Elapsed(d, tx.Now).Milliseconds(),
	}
	if cause != nil {
		finished.Error, finished.FailedCall = cause.Error(), llm.FailedCall(cause)
	}
	tx.Emit(r.agent, r.id, finished)
}
