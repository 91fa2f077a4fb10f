package specialists

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/handoff"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// Reasons of the messages that the engine writes when a phase ends.
const (
	nudgePhase      = "phase"
	nudgeRolledBack = "transition_rolled_back"
)

// phases are those that the specialist completes.
func phases(t *team.Team, s team.Specialist) (names []string) {
	if t.Conversation == nil {
		return nil
	}
	for _, stage := range t.Conversation.Pipeline {
		if stage.Agent == s.ID {
			names = append(names, string(stage.Phase))
		}
	}
	return names
}

type phaseArgs struct {
	Result string       `json:"result" jsonschema:"What you found, for whoever goes on: all that the next phase needs to know. The user does not read it."`
	Next   events.Phase `json:"next_phase,omitempty" jsonschema:"The phase that comes next. Leave it out for the usual one."`
}

// completePhase is the tool of a specialist in a pipeline.
func completePhase(t *team.Team, s team.Specialist, desk *handoff.Desk) agent.Tool {
	flow, _ := t.Flow() // the team was checked
	leads, _ := flow.Leads(s.ID)
	return agent.Tool{
		Tool: llm.Tool{
			Name: "complete_phase",
			Description: "Says that your phase is done. The next agent goes on at once, without a message of the user's. " +
				"It is your last call: write your closing words to the user beside it, without a question.",
			Parameters: agent.Schema[phaseArgs](func(schema *jsonschema.Schema) {
				schema.Properties["result"].MaxLength = new(conversation.MaxSummaryChars)
				if len(leads) < 2 {
					delete(schema.Properties, "next_phase")
					schema.PropertyOrder = slices.DeleteFunc(schema.PropertyOrder, func(name string) bool { return name == "next_phase" })
					return
				}
				schema.Properties["next_phase"].Enum = loop.Enum(leads)
			}),
		},
		Handler: loop.Last(func(tx *thread.Tx, in *agent.Invocation) agent.Result {
			var args phaseArgs
			if err := in.Decode(&args); err != nil {
				return agent.Refuse(err)
			}
			return complete(tx, t, flow, desk, in, args)
		}),
	}
}

// complete ends the phase, and has the next agent go on. Beyond [conversation.MaxTransitions]
// in a row the agents go round in a ring: [Session.Prepare] then stops there.
func complete(tx *thread.Tx, t *team.Team, flow *conversation.Flow, desk *handoff.Desk, in *agent.Invocation, args phaseArgs) agent.Result {
	state := &tx.Run.Thread().Handoffs
	before := flow.Phase(state.Progress)
	desk.Learn(tx)
	facts, err := flow.Complete(state, desk.Clean(tx, args.Result, conversation.MaxSummaryChars-1), args.Next)
	if err != nil {
		return agent.Refuse(err)
	}
	if err := away(desk, facts); err != nil {
		return agent.Refuse(err)
	}
	if len(tx.Run.Entered) >= conversation.MaxTransitions {
		tx.Emit(in.Agent, thread.ActorOf(in.Dispatch), conversation.TooDeep())
		return agent.Refuse(errors.New(conversation.TooDeep().Message))
	}
	for _, fact := range facts {
		changed, phase := fact.(events.PhaseChanged)
		if !phase {
			tx.Emit(in.Agent, thread.ActorOf(in.Dispatch), fact)
			continue
		}
		changed.Notice = t.Conversation.Sentences().SayTransition(before, changed.To)
		tx.Emit(in.Agent, thread.ActorOf(in.Dispatch), changed)
	}
	session := state.Active()
	if session == nil {
		return agent.Result{Text: "Your phase is complete. The facilitator has the conversation again."}
	}
	tx.Emit(session.Request.Target, thread.ActorID(session.ID), events.UserMessage{
		Content:   "Your phase begins now. The user has not written anything to you yet: go on from what the previous agent found, and speak to the user first.",
		Synthetic: true, Reason: nudgePhase,
	})
	return agent.Result{Text: fmt.Sprintf("Your phase is complete. %s has the conversation now.", session.Request.Target)}
}

// away says why the agent of the next phase cannot take over, nil where it can.
func away(desk *handoff.Desk, facts []events.Event) error {
	for _, fact := range facts {
		request, ok := fact.(events.HandoffRequested)
		if !ok || desk.Available == nil {
			continue
		}
		if err := desk.Available(request.Target); err != nil {
			return fmt.Errorf("%s cannot take over now: %w. Tell the user so, and that they can go on later", request.Target, err)
		}
	}
	return nil
}

// rollBack takes back the transition that began the session in this run, since its agent
// cannot go on: the user hears it, and is with the agent before again.
func (s *Session) rollBack(tx *thread.Tx, cause error) bool {
	state := &tx.Run.Thread().Handoffs
	if !slices.Contains(tx.Run.Entered, s.ID) || errors.Is(cause, ErrLeft) {
		return false
	}
	rolled, ok := conversation.RollBack(state, chars.Clip(fmt.Sprintf("%s could not go on: %v", s.Agent, cause), conversation.MaxReasonChars-1))
	if !ok {
		return false
	}
	tx.Emit(s.Agent, s.actor(), rolled)
	back := state.Active()
	agent, actor := back.Request.Target, thread.ActorID(back.ID)
	tx.Emit(agent, actor, events.UserMessage{
		Content: fmt.Sprintf("%s could not take over, so you have the conversation again. The user was told. "+
			"When the user wants to go on, call complete_phase again.", s.DisplayName),
		Synthetic: true, Reason: nudgeRolledBack,
	})
	tx.Emit(agent, actor, events.FinalAnswer{Content: s.Sentences.SayRolledBack(s.DisplayName, tx.Run.DisplayName(agent))})
	s.Finish(tx)
	return true
}

// stopRing ends the run where agents pass the conversation on in a ring.
func (s *Session) stopRing(tx *thread.Tx) bool {
	if !tx.Run.Warned(conversation.TooDeep()) {
		return false
	}
	tx.Emit(s.Agent, s.actor(), events.FinalAnswer{Content: s.Sentences.SayRing(s.DisplayName)})
	s.Finish(tx)
	return true
}
