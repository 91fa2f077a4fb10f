package agent

import (
	"errors"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// warnOfFinish records that a reply is not whole, so that nobody takes it for all
// that the model had to say.
func (l *Loop) warnOfFinish(tx *thread.Tx, reply events.Reply) {
	switch reply.FinishReason {
	case events.FinishLength:
		tx.Emit(l.Spec.ID, l.ID, events.Warning{
			Code: events.WarnReplyCut, Message: "The reply was cut off at the output limit of the model.",
		})
	case events.FinishContentFilter:
		tx.Emit(l.Spec.ID, l.ID, events.Warning{
			Code: events.WarnReplyFiltered, Message: "The provider's content filter withheld the reply or a part of it.",
		})
	}
}

// warnOfBreak records that a turn is only the calls of it that had started, and the
// bound that broke it off, if one did.
func (l *Loop) warnOfBreak(tx *thread.Tx, cause error) {
	if cause == nil {
		return
	}
	l.emitInterrupted(tx)
	var limit *LimitError
	if errors.As(cause, &limit) && !tx.Run.LimitMet(limit.Limit) {
		tx.Emit(l.Spec.ID, l.ID, limit.Fact("The reply was broken off; the calls of it that had started are the turn."))
	}
}

func (l *Loop) emitInterrupted(tx *thread.Tx) {
	tx.Emit(l.Spec.ID, l.ID, events.Warning{
		Code:    events.WarnStreamInterrupted,
		Message: "The reply broke off after calls of it had started; those calls are the turn.",
	})
}

// EmptyReplyNudge tells an agent why its reply had nothing in it, and then how to
// go on.
func EmptyReplyNudge(conv *thread.Conversation, goOn string) string {
	switch conv.LastFinish() {
	case events.FinishLength:
		return "Your reply reached the output limit before it said anything. Take smaller steps. " + goOn
	case events.FinishContentFilter:
		return "A content filter withheld your reply. Say it in other words, or leave that part out. " + goOn
	}
	return "Your reply was empty. " + goOn
}
