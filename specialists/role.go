package specialists

import (
	"errors"
	"fmt"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/internal/quote"
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
// them, and the images that came with the request.
func (r *role) Opening(run *thread.Run) []events.Message {
	start := r.dispatch(run).Start
	if start.Tool == events.SuperviseTool {
		return []events.Message{{Role: events.RoleUser, Content: exchanged(run)}}
	}
	if start.Asked {
		return []events.Message{{Role: events.RoleUser, Content: quote.After(asker(run, start)+" asks you:", start.Message) +
			"\n\nAnswer in text. You have no tasks for this, and nothing is written into the document.", Parts: run.Attached}}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Your tasks: %s\n\n", taskList(start.TaskIDs))
	for _, id := range start.TaskIDs {
		if task, ok := run.Board.Task(id); ok {
			b.WriteString(quote.After(fmt.Sprintf("- %d:", task.ID), task.Text) + "\n")
		}
	}
	if start.Message != "" {
		b.WriteString("\n" + quote.After("The facilitator says:", start.Message) + "\n")
	}
	return []events.Message{{Role: events.RoleUser, Content: b.String(), Parts: run.Attached}}
}

// asker is who asks a specialist: the facilitator, or one that has the conversation.
func asker(run *thread.Run, start events.AgentStarted) string {
	id, _, _ := strings.Cut(string(start.ModelCall), ".")
	if session := run.Thread().Handoffs.Session(events.HandoffID(id)); session != nil {
		return string(session.Request.Target)
	}
	return "The facilitator"
}

// Reasons of the messages that the engine writes to a specialist.
const (
	nudgeEmpty     = "empty_reply"
	nudgeUnwritten = "unwritten_tasks"
)

func (r *role) Prepare(tx *thread.Tx, conv *thread.Conversation, limit *events.LimitError) loop.NextStep {
	switch {
	case limit != nil:
		r.Fail(tx, limit)
		return loop.End{}
	case conv.Turns() >= r.limits.MaxSpecialistTurns:
		r.Fail(tx, &events.LimitError{
			Limit: events.LimitMaxSpecialistTurns, Value: float64(r.limits.MaxSpecialistTurns), Used: float64(conv.Turns()),
		})
		return loop.End{}
	case conv.EmptyReplies() >= r.limits.MaxEmptyReplies:
		r.Fail(tx, &events.LimitError{
			Limit: events.LimitMaxEmptyReplies, Value: float64(r.limits.MaxEmptyReplies), Used: float64(conv.EmptyReplies()),
		})
		return loop.End{}
	case conv.EmptyReplies() > 0 && conv.TurnsSince(nudgeEmpty) > 0:
		r.nudge(tx, nudgeEmpty, loop.EmptyReplyNudge(conv, "Work on your tasks with the tools, or answer with your summary if they are done."))
	}
	return loop.RunAgain{}
}

// Beside records nothing: what a specialist says beside its calls is in the model
// call.
func (r *role) Beside(*thread.Tx, string) {}

// Close ends the dispatch well. Of tasks that it has neither written nor declined it is
// told, once; what is then still unwritten stays open. What it wrote and did not tick
// off is completed for it.
func (r *role) Close(tx *thread.Tx, reply events.Reply) {
	d := r.dispatch(tx.Run)
	conv := d.Conversation
	unwritten := tx.Run.Unwritten(d)
	if len(unwritten) > 0 && conv.Nudges(nudgeUnwritten) == 0 && conv.Turns() < r.limits.MaxSpecialistTurns {
		r.nudge(tx, nudgeUnwritten, "You are about to end, but these tasks are neither done nor declined, and no entry of yours names them:\n"+
			tx.Run.Board.RenderTasks(unwritten)+"\nWrite what is missing with write_section and the task_id, then call complete_task; "+
			"or call decline_task with the reason. Then answer with your summary again. What is not written stays open.")
		return
	}
	tx.Emit(r.agent, thread.ActorOf(r.id), events.AgentMessage{Agent: r.agent, DisplayName: r.displayName, Content: reply.Text})
	for _, fact := range tx.Run.Board.AutoComplete(d.Start.TaskIDs, func(id events.TaskID) bool { return d.Written[id] }) {
		tx.Emit(r.agent, thread.ActorOf(r.id), fact)
	}
	r.finish(tx, events.OutcomeOK, r.outcome(tx.Run, reply.Text), nil)
}

func (r *role) nudge(tx *thread.Tx, reason, content string) {
	tx.Emit(r.agent, thread.ActorOf(r.id), events.UserMessage{Content: content, Synthetic: true, Reason: reason})
}

// outcome is what the facilitator reads of a dispatch that ended well: the specialist's
// summary, behind what it left open, if anything. The summary is quoted then, so that it
// cannot speak for the board.
func (r *role) outcome(run *thread.Run, summary string) string {
	start := r.dispatch(run).Start
	for _, id := range start.TaskIDs {
		if task, ok := run.Board.Task(id); ok && !task.Finished {
			return fmt.Sprintf("%s left tasks open:\n%s\n\n%s", r.agent, run.Board.RenderTasks(start.TaskIDs), quote.After("It says:", summary))
		}
	}
	return summary
}

// Fail ends the dispatch without touching its tasks: the facilitator is told which
// are open and why.
func (r *role) Fail(tx *thread.Tx, cause error) {
	status := outcomeOf(cause)
	var limit *events.LimitError
	if errors.As(cause, &limit) && !tx.Run.LimitMet(limit.Limit) {
		tx.Emit(r.agent, thread.ActorOf(r.id), limit.Fact("The specialist ends here; its open tasks stay open."))
	}
	r.finish(tx, status, r.failure(tx.Run, cause), cause)
}

func outcomeOf(cause error) events.Outcome {
	var limit *events.LimitError
	switch {
	case errors.As(cause, &limit) && (limit.Limit == events.LimitSpecialistTimeout || limit.Limit == events.LimitSilenceTimeout):
		return events.OutcomeTimedOut
	case limit != nil:
		return events.OutcomeLimit
	case errors.Is(cause, loop.ErrCancelled):
		return events.OutcomeCancelled
	case llm.KindOf(cause) == llm.ErrTimeout:
		return events.OutcomeTimedOut
	}
	return events.OutcomeFailed
}

// failure is what the facilitator reads.
func (r *role) failure(run *thread.Run, cause error) string {
	tasks := r.dispatch(run).Start.TaskIDs
	if len(tasks) == 0 {
		return fmt.Sprintf("Error: %s did not answer: %v.", r.agent, cause)
	}
	return fmt.Sprintf("Error: %s did not finish: %v.\nIts tasks:\n%s\nWhat it wrote stays in the document. "+
		"Dispatch it again for what is open, give the work to another, or go on without and name the limitation in your answer.",
		r.agent, cause, run.Board.RenderTasks(tasks))
}

func (r *role) finish(tx *thread.Tx, status events.Outcome, result string, cause error) {
	d := r.dispatch(tx.Run)
	text, _ := loop.Bound(tx, r.agent, thread.ActorOf(r.id), result, r.limits.MaxToolResultChars)
	finished := events.AgentFinished{
		Agent: r.agent, DisplayName: r.displayName, CallID: d.Start.CallID, Status: status,
		Result: text, ElapsedMS: tx.Run.Elapsed(d, tx.Now).Milliseconds(),
	}
	if cause != nil {
		finished.Error, finished.FailedCall = cause.Error(), llm.FailedCall(cause)
	}
	tx.Emit(r.agent, thread.ActorOf(r.id), finished)
}
