package facilitator

import (
	"fmt"
	"strings"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/handoff"
	"github.com/convene-run/convene/internal/quote"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/thread"
)

// tell writes to the facilitator what became of the conversation.
func tell(tx *thread.Tx, reason, content string) {
	tx.Emit(events.FacilitatorID, thread.Facilitator, events.UserMessage{Content: content, Synthetic: true, Reason: reason})
}

// TellRejected tells the facilitator that a handoff was rejected which it did not ask for
// itself, so that it answers the user.
func TellRejected(tx *thread.Tx, desk *handoff.Desk, target events.AgentID, rejected *conversation.RejectedError) {
	text := quote.After(fmt.Sprintf("The conversation could not be handed over to %s:", target), rejected.Reason)
	if rejected.Code == conversation.CodeUnavailable {
		text += "\n" + saying(desk.Team.Messages().Unavailable, desk.Policy(tx.Run).Name(target))
	}
	tell(tx, nudgeRejected, text+"\n\nTell the user so, and offer what else you can do.")
}

// TellRefused tells the facilitator that what the user asked for was refused.
func TellRefused(tx *thread.Tx, refused error) {
	tell(tx, nudgeRejected, quote.After("This was refused:", refused.Error())+"\n\nTell the user so.")
}

// TellAsked tells the facilitator of a person who was asked beside it, so that it does not
// wait.
func TellAsked(tx *thread.Tx, desk *handoff.Desk, person *conversation.Session) {
	tell(tx, nudgeAsked, fmt.Sprintf("The user's message asks for %s, who was told and answers the user here as soon as possible. Do not hand over to %[1]s again. %s\nThen help with what you can.",
		person.Request.Target, saying(desk.Team.Messages().PersonAsked, desk.Policy(tx.Run).Name(person.Request.Target))))
}

// TellExpired tells the facilitator that the user's message found a session closed that was
// idle for too long.
func TellExpired(tx *thread.Tx, desk *handoff.Desk, session *conversation.Session) {
	tell(tx, thread.ToldReturned, fmt.Sprintf("%s\n%s %s", quote.After("The session with "+string(session.Request.Target)+" was closed:", session.Result),
		handoff.Describe(session), resuming(desk, tx, session)))
}

// TellSaved tells the facilitator of a session that could be continued, where the user's
// message has a phrase that would begin another with the same specialist.
func TellSaved(tx *thread.Tx, desk *handoff.Desk, session *conversation.Session) {
	tell(tx, nudgeSaved, fmt.Sprintf("The user's message asks for %s. %s %s", session.Request.Target, handoff.Describe(session), resuming(desk, tx, session)))
}

// resuming says how a session is continued, and how the user is asked.
func resuming(desk *handoff.Desk, tx *thread.Tx, session *conversation.Session) string {
	return fmt.Sprintf("If the user's message goes on with it, call %s with resume %q; if they want to begin anew, with resume \"new\". "+
		"Otherwise offer to continue it. %s", specialists.HandoffTool, session.ID,
		saying(desk.Team.Messages().WelcomeBack, desk.Policy(tx.Run).Name(session.Request.Target)))
}

// saying gives the sentence that the user is to read.
func saying(sentence, agent string) string {
	return quote.After("Say in the user's language:", conversation.Say(sentence, agent))
}

// maxSaved is how many saved sessions the facilitator is told of: the newest.
const maxSaved = 3

// tellHandoffs tells the facilitator of the handoffs that have ended since it last had the
// conversation, so that it answers the user; else, once in a run, of those that the user may
// want to continue.
func (r *Role) tellHandoffs(tx *thread.Tx, conv *thread.Conversation) {
	state := &tx.Run.Thread().Handoffs
	if ended := tx.Run.Thread().Returned(); len(ended) > 0 {
		var told []string
		for _, id := range ended {
			told = append(told, returned(state.Session(id)))
		}
		last := state.Session(ended[len(ended)-1])
		if !last.Ended.Before(tx.Run.Start) { // else the user's message is about something else
			told = append(told, r.afterwards(tx, last))
		}
		tell(tx, thread.ToldReturned, strings.Join(told, "\n\n"))
		return
	}
	if r.desk == nil || conv.Turns() > 0 || conv.Nudges(nudgeSaved) > 0 || conv.Nudges(thread.ToldReturned) > 0 {
		return
	}
	if saved := r.desk.Saved(tx, ""); len(saved) > 0 {
		var told []string
		for _, session := range saved[:min(maxSaved, len(saved))] {
			told = append(told, handoff.Describe(session))
		}
		tell(tx, nudgeSaved, fmt.Sprintf("%s\nIf the user wants to continue one of these, call %s with its id as resume. Otherwise do not mention them.",
			strings.Join(told, "\n"), specialists.HandoffTool))
	}
}

// returned says how a session ended.
func returned(s *conversation.Session) string {
	var b strings.Builder
	b.WriteString(quote.After(fmt.Sprintf("%s gives the conversation back (%s):", s.Request.Target, s.Status), s.Result))
	if len(s.Artifacts) > 0 {
		b.WriteString("\n" + quote.After("It made:", strings.Join(s.Artifacts, "\n")))
	}
	if w := s.Workflow; w.Steps > 0 {
		fmt.Fprintf(&b, "\nIt stood at step %d of %d, %s.", w.Step, w.Steps, w.State)
		if len(w.Metadata) > 0 {
			b.WriteString("\n" + quote.After("It had gathered:", string(w.Metadata)))
		}
	}
	return b.String()
}

// afterwards says how to go on with the user whose specialist has ended.
func (r *Role) afterwards(tx *thread.Tx, s *conversation.Session) string {
	switch {
	case s.Status == conversation.StatusCompleted:
		return "Answer the user now: say in a sentence or two what came of it."
	case s.Status == conversation.StatusCancelled && r.desk != nil && s.Request.PreserveState:
		return "The user has left that work, and what was gathered is kept. " +
			saying(r.desk.Team.Messages().ContinueLater, r.desk.Policy(tx.Run).Name(s.Request.Target))
	case s.Status == conversation.StatusCancelled:
		return "The user has left that work. Say in a sentence that you are back."
	}
	return "Tell the user that this could not be finished, and why, and offer what else you can do."
}
