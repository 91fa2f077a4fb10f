package facilitator

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/handoff"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/internal/quote"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// Reasons of the messages that the engine writes to the facilitator.
const (
	nudgeEmpty     = "empty_reply"
	nudgeOpenTasks = "open_tasks"
	nudgeWrapUp    = "wrap_up"
	nudgeSchema    = "answer_schema"
	nudgeContinued = "continued"
	nudgeRejected  = "handoff_rejected"
	nudgeSaved     = "saved_sessions"
	nudgeAsked     = "person_asked"
)

// Role is what makes an agent the facilitator, or the only agent of a solo run.
// Its end is the end of the run.
type Role struct {
	team        *team.Team
	displayName string
	limits      team.Limits
	desk        *handoff.Desk
	message     string
	// read reads a structured answer; nil where the answer is text.
	read func(text string) (json.RawMessage, error)
}

// NewRole gives the facilitator's role in a run; message is what it is asked. desk is nil
// where the conversation is never handed over.
func NewRole(t *team.Team, desk *handoff.Desk, message string) *Role {
	r := &Role{team: t, displayName: t.Facilitator.DisplayName, limits: t.Limits, desk: desk, message: message}
	if len(t.AnswerSchema) > 0 {
		r.read = t.Answer
	}
	return r
}

// Over reports whether the run has finished, or a specialist has the conversation.
func (r *Role) Over(run *thread.Run) bool {
	return run.Status.Over() || run.FinalAnswer != nil || run.Floor() != thread.Facilitator
}

// Opening is the user's request, with the images that came with it.
func (r *Role) Opening(run *thread.Run) []events.Message {
	return []events.Message{{Role: events.RoleUser, Content: r.message, Parts: run.Attached}}
}

// Prepare nudges, wraps up at a bound, and ends the run when wrapping up brought
// no answer.
func (r *Role) Prepare(tx *thread.Tx, conv *thread.Conversation, limit *events.LimitError) loop.NextStep {
	if conv.Nudges(nudgeWrapUp) > 0 {
		if conv.TurnsSince(nudgeWrapUp) == 0 && limit == nil {
			return loop.WrapUp{}
		}
		r.answerWithout(tx, "the facilitator did not answer in its last turn")
		return loop.End{}
	}
	if turns := conv.Turns(); limit == nil && turns >= r.limits.MaxFacilitatorTurns-1 {
		limit = &events.LimitError{
			Limit: events.LimitMaxFacilitatorTurns, Value: float64(r.limits.MaxFacilitatorTurns), Used: float64(turns + 1),
		}
	}
	switch {
	case limit != nil:
		r.wrapUp(tx, limit)
		return loop.WrapUp{}
	case tx.Run.Before != nil && conv.Turns() == 0 && conv.Nudges(nudgeContinued) == 0:
		r.takeUp(tx, conv)
	case conv.EmptyReplies() >= r.limits.MaxEmptyReplies:
		r.Fail(tx, &events.LimitError{
			Limit: events.LimitMaxEmptyReplies, Value: float64(r.limits.MaxEmptyReplies), Used: float64(conv.EmptyReplies()),
		})
		return loop.End{}
	case conv.EmptyReplies() > 0 && conv.TurnsSince(nudgeEmpty) > 0:
		r.nudge(tx, nudgeEmpty, loop.EmptyReplyNudge(conv, "Go on with the next step of your work, or answer the user."))
	}
	r.tellHandoffs(tx, conv)
	return loop.RunAgain{}
}

// takeUp says where the run begins that continues another one. Where that one came to
// nothing there is nothing to say: the request stands alone, as it does in a first run.
func (r *Role) takeUp(tx *thread.Tx, conv *thread.Conversation) {
	tasks, open := tx.Run.Board.Tasks(), tx.Run.Board.Open("")
	if len(conv.Messages()) == 0 && len(tasks) == 0 && tx.Run.Document.Version() == 0 {
		return
	}
	why := ""
	if reason := tx.Run.Before.Reason; reason != "" {
		why = " (" + clipReason(reason) + ")"
	}
	var said string
	switch {
	case len(open) > 0:
		said = fmt.Sprintf("Tasks are still open, because the attempt before this one ended early%s:\n%s\n"+
			"What was planned and written stands. Dispatch their specialists, then answer the user.", why, tx.Run.Board.RenderTasks(open))
	case len(tasks) > 0:
		said = fmt.Sprintf("The attempt before this one ended early%s, with all tasks of the plan finished. "+
			"See whether anything is missing, then answer the user.", why)
	default:
		said = fmt.Sprintf("The attempt before this one ended early%s. Continue with the user's request.", why)
	}
	r.nudge(tx, nudgeContinued, said)
}

// clipReason bounds what is said of why an attempt ended.
func clipReason(reason string) string {
	const longest = 500 // characters: what is missing is listed after it
	head, more := chars.Cut(strings.Join(strings.Fields(reason), " "), longest)
	if more > 0 {
		head += "…"
	}
	return strings.TrimSuffix(head, ".")
}

// wrapUp announces the last turn.
func (r *Role) wrapUp(tx *thread.Tx, limit *events.LimitError) {
	tx.Emit(events.FacilitatorID, thread.Facilitator, limit.Fact("The facilitator answers now, from what there is."))
	r.nudge(tx, nudgeWrapUp, fmt.Sprintf("This is your last turn: %v. Answer the user now, without calling a tool, "+
		"from what has been written so far, and say what is missing.\n\nThe plan:\n%s\n\nThe document:\n%s",
		limit, tx.Run.Board.RenderTasks(nil), quote.Lines(r.clipped(tx.Run.Document.RenderClean()))))
}

// clipped keeps what the last turn reads within the budget of a reading tool.
func (r *Role) clipped(text string) string {
	head, more := chars.Cut(text, r.limits.MaxReadChars)
	if more > 0 {
		head += fmt.Sprintf("… (%d more characters)", more)
	}
	return head
}

func (r *Role) nudge(tx *thread.Tx, reason, content string) {
	tx.Emit(events.FacilitatorID, thread.Facilitator, events.UserMessage{Content: content, Synthetic: true, Reason: reason})
}

// Beside records what the facilitator says while it works.
func (r *Role) Beside(tx *thread.Tx, text string) {
	tx.Emit(events.FacilitatorID, thread.Facilitator, events.FacilitatorMessage{
		Agent: events.FacilitatorID, DisplayName: r.displayName, Content: text,
	})
}

// Close takes the final answer. While tasks are open it says so, once; the next
// answer stands.
func (r *Role) Close(tx *thread.Tx, reply events.Reply) {
	conv := tx.Run.Facilitator
	open := tx.Run.Board.Open("")
	if len(open) > 0 && conv.Nudges(nudgeOpenTasks) == 0 && conv.Nudges(nudgeWrapUp) == 0 {
		r.Beside(tx, reply.Text)
		r.nudge(tx, nudgeOpenTasks, fmt.Sprintf("Tasks are still open:\n%s\nDispatch their specialists again if that can help, "+
			"or create tasks that replace those that were declined. Otherwise answer the user now and say what is missing.", tx.Run.Board.RenderTasks(open)))
		return
	}
	if r.read != nil {
		r.closeStructured(tx, reply)
		return
	}
	tx.Emit(events.FacilitatorID, thread.Facilitator, events.FinalAnswer{Content: reply.Text})
	if !specialists.Supervise(tx, r.team) {
		Finish(tx, Ending{})
	}
}

// closeStructured takes an answer that fits the team's schema. What is wrong with
// one that does not is said once; a second one fails the run.
func (r *Role) closeStructured(tx *thread.Tx, reply events.Reply) {
	conv := tx.Run.Facilitator
	data, err := r.read(reply.Text)
	switch {
	case err == nil:
		tx.Emit(events.FacilitatorID, thread.Facilitator, events.FinalAnswer{Content: string(data), Structured: true})
		Finish(tx, Ending{})
	case conv.Nudges(nudgeSchema) == 0 && conv.Nudges(nudgeWrapUp) == 0:
		r.nudge(tx, nudgeSchema, fmt.Sprintf("%v. Answer again, with one JSON value that fits the schema and nothing else.", err))
	default:
		tx.Emit(events.FacilitatorID, thread.Facilitator, events.Error{Message: err.Error(), Code: codeAnswerSchema})
		tx.Emit(events.FacilitatorID, thread.Facilitator, events.FinalAnswer{Content: reply.Text})
		Finish(tx, Ending{Failed: true, Reason: err.Error()})
	}
}

// codeAnswerSchema is the code of the error of an answer that does not fit.
const codeAnswerSchema = "answer_schema"

// Fail ends the run without an answer of the model's: what the document holds, or the
// specialists said, is the answer, with attribution.
func (r *Role) Fail(tx *thread.Tx, cause error) {
	var limit *events.LimitError
	switch {
	case errors.Is(cause, loop.ErrCancelled):
		loop.Unanswered(tx, events.FacilitatorID, thread.Facilitator, cause)
		Cancel(tx, "")
		return
	case errors.As(cause, &limit):
		loop.Unanswered(tx, events.FacilitatorID, thread.Facilitator, cause)
		if !tx.Run.LimitMet(limit.Limit) {
			tx.Emit(events.FacilitatorID, thread.Facilitator, limit.Fact("The run ends with what there is."))
		}
	default:
		tx.Emit(events.FacilitatorID, thread.Facilitator, events.Error{Message: cause.Error(), Code: string(llm.KindOf(cause)), FailedCall: llm.FailedCall(cause)})
	}
	r.answerWithout(tx, "the facilitator could not answer: "+cause.Error())
}

func (r *Role) answerWithout(tx *thread.Tx, reason string) {
	text, ok := fallback(tx.Run)
	if ok || len(tx.Run.Dispatches) > 0 {
		tx.Emit(events.FacilitatorID, thread.Facilitator, events.FinalAnswer{Content: text, Fallback: true})
	}
	// A fallback is text: it is no answer where one of a certain form was asked for.
	Finish(tx, Ending{Failed: !ok || r.read != nil, Reason: reason})
}
