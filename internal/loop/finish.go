package loop

import (
	"errors"
	"fmt"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
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

// warnOfEndpoint records, before the call, that an endpoint wanted another API than
// the usual, and that it refused what it was sent back.
func (l *Loop) warnOfEndpoint(tx *thread.Tx, done *llm.Completion) {
	if done.Rerouted && tx.Run.AskedBy(done.Provider, done.Model) != done.API { // once for all agents
		tx.Emit(l.Spec.ID, l.ID, events.Warning{
			Code: events.WarnDoorChanged, Message: fmt.Sprintf("%s does not offer the usual API for %s; it is asked by %s instead.", done.Provider, done.Model, done.API),
		})
	}
	if done.KeptDropped {
		tx.Emit(l.Spec.ID, l.ID, events.Warning{
			Code: events.WarnKeptDropped, Message: done.Provider + " refused what it was sent back of the model's earlier thinking; it is left out from here on.",
		})
	}
}

// warnOfTier records, once for each model, that it was not asked, or not served, in the
// tier that the team wants: the provider has none of that name, refused it or had no room.
func (l *Loop) warnOfTier(tx *thread.Tx, done *llm.Completion) {
	wanted := l.Spec.Tier
	if done.Tier != "" || wanted == "" || wanted == llm.TierStandard {
		return
	}
	w := events.Warning{Code: events.WarnTierMissing, Message: fmt.Sprintf(
		"%s did not serve %s in the tier %s: the call is priced as an ordinary one.", done.Provider, done.Model, wanted)}
	if !tx.Run.Warned(w) {
		tx.Emit(l.Spec.ID, l.ID, w)
	}
}

// warnOfBreak records that a turn is only the calls of it that had started, and the
// bound that broke it off, if one did.
func (l *Loop) warnOfBreak(tx *thread.Tx, cause error) {
	if cause == nil {
		return
	}
	l.emitInterrupted(tx)
	var limit *events.LimitError
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
