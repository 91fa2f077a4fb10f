package runner

import (
	"encoding/json"
	"fmt"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/handoff"
	"github.com/convene-run/convene/thread"
)

// route decides who answers. A person who was asked beside the agents is asked this as well.
func (r *Run) route(tx *thread.Tx, message *Message) {
	if message != nil && r.personAnswers(tx) {
		return
	}
	before := tx.Run.Thread().Handoffs.Person()
	r.routeTo(tx, message)
	if person := tx.Run.Thread().Handoffs.Person(); person != nil && person != before && tx.Run.Floor() == thread.Facilitator {
		facilitator.TellAsked(tx, r.plan.desk, person)
	}
	if active := tx.Run.Thread().Handoffs.Active(); message != nil && (active == nil || active.Request.Target != events.HumanID) {
		handoff.Ask(tx)
	}
}

// routeTo gives the conversation to who answers.
func (r *Run) routeTo(tx *thread.Tx, message *Message) {
	desk, state := r.plan.desk, &tx.Run.Thread().Handoffs
	active := state.Active()
	if message == nil {
		if active != nil && tx.Run.Started.Continues != "" {
			_ = desk.GiveBack(tx, events.CompletionError, "The attempt that it was part of ended early.", nil) // there is one
		}
		return
	}
	if active != nil && !r.plan.talks(active.Request.Target) {
		_ = desk.GiveBack(tx, events.CompletionError, fmt.Sprintf("%s is not part of the team any more.", active.Request.Target), nil)
		active = state.Active()
	}
	expired := desk.Expire(tx) && state.Active() == nil
	routed, ok := r.plan.router.Route(state, message.routed(tx.Run.Started.Message))
	if !ok {
		return
	}
	target := routed.Agent
	var saved []*conversation.Session
	if routed.Tier == events.TierTrigger {
		if saved = desk.Saved(tx, target); len(saved) > 0 {
			routed.Agent = events.FacilitatorID // who asks whether to continue
		}
	}
	tx.Emit("", "", routed)
	if expired && routed.Agent == events.FacilitatorID && len(saved) == 0 {
		facilitator.TellExpired(tx, desk, active)
	}
	switch routed.Tier {
	case events.TierExit:
		if err := desk.Leave(tx, active.ID, tx.Run.Caller()); err != nil {
			facilitator.TellRefused(tx, err)
		}
	case events.TierTrigger:
		if active := state.Active(); active != nil {
			giveBack(tx, active, events.CompletionCancelled, "The user asked for somebody else.")
		}
		if len(saved) > 0 {
			facilitator.TellSaved(tx, desk, saved[0])
		} else {
			r.triggered(tx, target, routed.Rule)
		}
	case events.TierRule, events.TierDefault:
		r.enter(tx, message, routed)
	}
}

// triggered hands over to the target, of which the user's message has a phrase.
func (r *Run) triggered(tx *thread.Tx, target events.AgentID, phrase string) {
	_, rejected := r.plan.desk.HandOver(tx, thread.Facilitator, conversation.Handoff{
		Source: events.FacilitatorID, Target: target, Summary: r.plan.desk.Summary(tx),
		Reason: fmt.Sprintf("the message has %q", chars.Clip(phrase, 100)), RecentMessages: r.plan.config.Team.Handoff.Shared(),
	})
	if rejected != nil {
		facilitator.TellRejected(tx, r.plan.desk, target, rejected)
	}
}

// routed gives the message as the router sees it.
func (m *Message) routed(text string) conversation.Message {
	var said struct {
		Intent string `json:"intent"`
	}
	_ = json.Unmarshal(m.Metadata, &said) // an intent that is no text is none
	return conversation.Message{
		ID: m.ID, Text: text, UserID: m.UserID, ChannelType: m.ChannelType, Channel: m.ChannelID, Intent: said.Intent,
	}
}

// enter gives the conversation to the agent to whom the message was routed.
func (r *Run) enter(tx *thread.Tx, message *Message, routed events.MessageRouted) {
	if routed.Agent == events.FacilitatorID {
		return
	}
	reason := "it answers by default"
	if routed.Rule != "" {
		reason = fmt.Sprintf("the rule %q", chars.Clip(routed.Rule, 100))
	}
	if rejected := r.plan.desk.Route(tx, routed.Agent, conversation.Handoff{
		UserID: message.UserID, Summary: r.plan.desk.Summary(tx), Reason: reason,
	}); rejected != nil {
		facilitator.TellRejected(tx, r.plan.desk, routed.Agent, rejected)
	}
}

// giveBack ends a session for another of the same message.
func giveBack(tx *thread.Tx, session *conversation.Session, status events.CompletionStatus, summary string) {
	if returned, err := conversation.Return(&tx.Run.Thread().Handoffs, status, summary, nil); err == nil {
		tx.Emit(session.Request.Target, thread.ActorID(session.ID), returned)
	}
}
