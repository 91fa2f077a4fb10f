package runner

import (
	"encoding/json"
	"fmt"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/thread"
)

// route decides who answers.
func (r *Run) route(tx *thread.Tx, message *Message) {
	state, request := &tx.Run.Thread().Handoffs, tx.Run.Started.Message
	active := state.Active()
	if message == nil {
		if active != nil && tx.Run.Started.Continues != "" {
			giveBack(tx, active, events.CompletionError, "The attempt that it was part of ended early.")
		}
		return
	}
	if active != nil && r.plan.sessions[active.Request.Target] == nil && active.Request.Target != events.HumanID {
		giveBack(tx, active, events.CompletionError, fmt.Sprintf("%s is not part of the team any more.", active.Request.Target))
	}
	routed, ok := r.plan.router.Route(state, message.routed(request))
	if !ok {
		return
	}
	tx.Emit("", "", routed)
	switch routed.Tier {
	case events.TierExit:
		if exit, err := conversation.Exit(state, message.UserID); err == nil {
			tx.Emit("", "", exit)
			giveBack(tx, active, events.CompletionCancelled, "The user left.")
		}
	case events.TierTrigger:
		if active := state.Active(); active != nil {
			giveBack(tx, active, events.CompletionCancelled, "The user asked for somebody else.")
		}
		facilitator.HandOver(tx, &r.plan.config.Team, conversation.Handoff{
			Source: events.FacilitatorID, Target: routed.Agent, UserID: message.UserID, Summary: facilitator.Summarize(request),
			Reason: fmt.Sprintf("the message has %q", chars.Clip(routed.Rule, 100)), RecentMessages: r.plan.config.Team.Handoff.RecentMessageCount,
		})
	case events.TierRule, events.TierDefault:
		r.enter(tx, message, routed)
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
	state := &tx.Run.Thread().Handoffs
	for _, fact := range conversation.Request(state, []events.AgentID{routed.Agent}, conversation.Handoff{
		Source: events.RouterID, Target: routed.Agent, UserID: message.UserID, Summary: facilitator.Summarize(tx.Run.Started.Message), Reason: reason,
	}) {
		tx.Emit("", "", fact)
	}
	if changed := r.plan.flow.Begin(state); changed != nil {
		tx.Emit("", "", *changed)
	}
}

// giveBack ends a session whose specialist does not end it itself.
func giveBack(tx *thread.Tx, session *conversation.Session, status events.CompletionStatus, summary string) {
	if returned, err := conversation.Return(&tx.Run.Thread().Handoffs, status, summary, nil); err == nil {
		tx.Emit(session.Request.Target, thread.ActorID(session.ID), returned)
	}
}
