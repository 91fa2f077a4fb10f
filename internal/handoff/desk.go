// Package handoff carries out what package conversation decides, in the run under way: the
// facts are emitted for whom they are about, what goes along is sanitized, and whoever waits
// for the conversation gets it when it is free.
//
//	desk := &handoff.Desk{Team: t}
//	if _, rejected := desk.HandOver(tx, thread.Facilitator, h); rejected != nil {
//		return agent.Refuse(rejected)
//	}
//
// It asks no model and drives nobody.
package handoff

import (
	"errors"
	"fmt"
	"slices"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/sanitize"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// Desk decides who has the conversation, for one team in one program. Its methods are
// decisions, safe for concurrent use as long as its fields are not changed.
type Desk struct {
	Team *team.Team
	// Available says why an agent cannot take over now, nil where it can. It must not wait.
	// nil is that all can.
	Available func(events.AgentID) error
	// Flow says which phase begins when an agent takes over, and where it may not. nil is
	// that the phase stays.
	Flow *conversation.Flow
	// Sanitizer finds what does not go along. Defaults to all that package sanitize finds.
	Sanitizer sanitize.Finder
}

// maxSharedChars bounds each message that goes along: what is longer is a document, of which
// the summary says what matters.
const maxSharedChars = 4000

// Policy is the team's, on behalf of whoever sent the run's message.
func (d *Desk) Policy(run *thread.Run) conversation.Policy { return d.policy(run.Caller()) }

func (d *Desk) policy(caller conversation.Caller) conversation.Policy {
	p := d.Team.Policy()
	p.Caller, p.Available = caller, d.away
	return p
}

func (d *Desk) away(id events.AgentID) error {
	if why := d.Team.Handoff.Unavailable(id); why != "" {
		return errors.New(why)
	}
	if d.Available == nil {
		return nil
	}
	return d.Available(id)
}

// HandOver decides a handoff that passed its check, asked for by the actor. Where it is
// rejected the log says so, and the source keeps the conversation. A handoff that waits for
// another to end is not the active one.
func (d *Desk) HandOver(tx *thread.Tx, actor thread.ActorID, h conversation.Handoff) (events.HandoffID, *conversation.RejectedError) {
	caller := tx.Run.Caller()
	if h.UserID == "" {
		h.UserID = caller.UserID
	}
	if h.Grants != nil {
		caller = conversation.Caller{UserID: h.UserID, Grants: h.Grants}
	}
	if h.Resume != "" {
		return h.Resume, d.resume(tx, caller, h, actor)
	}
	h = d.sanitized(tx, h)
	var id events.HandoffID
	state, p := &tx.Run.Thread().Handoffs, d.policy(caller)
	p.Allowed = d.allowed(state)
	for _, fact := range conversation.Request(state, p, h) {
		d.emit(tx, h.Source, actor, fact)
		switch e := fact.(type) {
		case events.HandoffRequested:
			id = e.HandoffID
		case events.HandoffRejected:
			return id, &conversation.RejectedError{Code: e.Code, Reason: e.Reason}
		}
	}
	return id, nil
}

// Route gives the conversation to the agent to whom the user's message was routed: nobody
// hands it over, and the user is shown nothing.
func (d *Desk) Route(tx *thread.Tx, agent events.AgentID, h conversation.Handoff) *conversation.RejectedError {
	h.Source, h.Target = events.RouterID, agent
	p := conversation.Policy{Targets: []conversation.Target{{Agent: agent, AllMayAnswer: d.Team.Handoff.AllMayAnswer(agent)}}, Available: d.away}
	for _, fact := range conversation.Request(&tx.Run.Thread().Handoffs, p, d.sanitized(tx, h)) {
		d.emit(tx, "", "", fact)
		if rejected, ok := fact.(events.HandoffRejected); ok {
			return &conversation.RejectedError{Code: rejected.Code, Reason: rejected.Reason}
		}
	}
	return nil
}

// Pause gives the conversation to a person, whatever the team's targets are.
func (d *Desk) Pause(tx *thread.Tx, actor thread.ActorID, h conversation.Handoff) *conversation.RejectedError {
	p := conversation.Policy{Targets: []conversation.Target{{Agent: events.HumanID}}}
	for _, fact := range conversation.Request(&tx.Run.Thread().Handoffs, p, d.sanitized(tx, h)) {
		d.emit(tx, h.Source, actor, fact)
		if rejected, ok := fact.(events.HandoffRejected); ok {
			return &conversation.RejectedError{Code: rejected.Code, Reason: rejected.Reason}
		}
	}
	return nil
}

// emit adds a fact about the source's handoff. The end of a session is its agent's.
func (d *Desk) emit(tx *thread.Tx, source events.AgentID, actor thread.ActorID, fact events.Event) {
	if returned, ok := fact.(events.HandoffReturned); ok {
		session := tx.Run.Thread().Handoffs.Session(returned.HandoffID)
		source, actor = session.Request.Target, thread.ActorID(session.ID)
	}
	accepted, ok := fact.(events.HandoffAccepted)
	if ok {
		accepted.UserMessages = d.heard(tx, accepted)
		fact = accepted
	}
	tx.Emit(source, actor, fact)
	switch {
	case !ok:
	case accepted.AllMayAnswer: // the phase is that of who goes on answering
		question := tx.Run.Started.Message
		if tx.Run.Started.Synthetic {
			question = tx.Run.Thread().Handoffs.Person().Request.Reason
		}
		ask(tx, question)
	case d.Flow != nil:
		if changed := d.Flow.Begin(&tx.Run.Thread().Handoffs); changed != nil {
			tx.Emit(source, actor, *changed)
		}
	}
}

// heard is what people said to the run as the target of a handoff reads it; nil where that is
// as they said it. What was routed to the target was said to it.
func (d *Desk) heard(tx *thread.Tx, accepted events.HandoffAccepted) []string {
	if tx.Run.Thread().Handoffs.Session(accepted.HandoffID).Request.Source == events.RouterID || accepted.AllMayAnswer {
		return nil
	}
	said := tx.Run.Spoken()
	heard := make([]string, len(said))
	for i, text := range said {
		heard[i] = d.CleanSaid(tx, text, 0)
	}
	if slices.Equal(heard, said) {
		return nil
	}
	return heard
}

// Ask puts what the user says in the run to the person who answers beside the agents, if
// there is one and that was not done. A run that no message began asks again what is open:
// the listing of threads shows what their newest runs ask.
func Ask(tx *thread.Tx) {
	th := tx.Run.Thread()
	beside, question := th.Beside(), tx.Run.Started.Message
	if tx.Run.Started.Synthetic && beside != nil {
		question = beside.Question
	}
	if th.Handoffs.Person() != nil && (beside == nil && !tx.Run.Started.Synthetic || beside != nil && beside.Run != tx.Run) {
		ask(tx, question)
	}
}

// ask puts a question to the person who answers beside the agents.
func ask(tx *thread.Tx, question string) {
	th := tx.Run.Thread()
	tx.Emit("", "", events.InputRequested{InputID: th.NextInput(), For: events.InputHuman, Question: question, HandoffID: th.Handoffs.Person().ID})
}

// allowed says which handoffs the phases of the conversation rule out.
func (d *Desk) allowed(state *conversation.State) func(conversation.Handoff) error {
	return func(h conversation.Handoff) error {
		if d.Flow == nil {
			return nil
		}
		if _, why := d.Flow.Enter(state.Progress, h.Target, h.NextPhase); why != "" {
			return errors.New(why)
		}
		return nil
	}
}

// sanitized takes out of a handoff what its target must not read, and has the newest
// messages go along, the oldest first.
func (d *Desk) sanitized(tx *thread.Tx, h conversation.Handoff) conversation.Handoff {
	d.Learn(tx)
	h.Summary = d.Clean(tx, h.Summary, conversation.MaxSummaryChars-1)
	h.Reason = d.Clean(tx, h.Reason, conversation.MaxReasonChars-1)
	h.Metadata = d.cleanJSON(tx, h.Metadata)
	for _, m := range tx.Run.Recent(h.RecentMessages) {
		text, more := chars.Cut(tx.Sanitize(d.finder(), m.Content, m.Role == events.RoleUser), maxSharedChars)
		if more > 0 {
			text += fmt.Sprintf("… (%d more characters)", more)
		}
		h.Messages = append(h.Messages, events.SharedMessage{Role: m.Role, Content: text})
	}
	return h
}

// GiveBack ends the active session. Whoever waits for the conversation gets it, else the
// facilitator has it again. An error says why nothing ended.
func (d *Desk) GiveBack(tx *thread.Tx, status events.CompletionStatus, summary string, artifacts []string) error {
	state := &tx.Run.Thread().Handoffs
	returned, err := conversation.Return(state, status, summary, artifacts)
	if err != nil {
		return err
	}
	d.Learn(tx)
	returned.ResultSummary = d.Clean(tx, summary, conversation.MaxSummaryChars-1)
	messages := d.Team.Messages()
	notice := map[events.CompletionStatus]string{
		events.CompletionCompleted: messages.Completed, events.CompletionCancelled: messages.Cancelled, events.CompletionError: messages.Failed,
	}[status]
	p := d.Policy(tx.Run)
	returned.Notice = conversation.Say(notice, p.Name(state.Active().Request.Target))
	d.emit(tx, "", "", returned)
	d.next(tx)
	return nil
}

// next gives the conversation to the first who waits for it.
func (d *Desk) next(tx *thread.Tx) {
	state := &tx.Run.Thread().Handoffs
	for _, fact := range conversation.Next(state, d.Policy(tx.Run)) {
		d.emit(tx, events.FacilitatorID, thread.Facilitator, fact)
	}
}

// Leave ends a session at the wish of by: see [conversation.Exit]. The
// error is a [*conversation.RejectedError] where by may not leave, and
// [conversation.ErrNoHandoff] where there is nothing to leave.
func (d *Desk) Leave(tx *thread.Tx, id events.HandoffID, by conversation.Caller) error {
	state := &tx.Run.Thread().Handoffs
	person := state.Person()
	fact, err := conversation.Exit(state, id, by)
	if fact != nil {
		tx.Emit("", "", fact)
	}
	if err != nil || person != nil && state.Person() == nil {
		return err
	}
	return d.GiveBack(tx, events.CompletionCancelled, left, nil)
}

// left is what came of a session that the user left.
const left = "The user left."

// resume gives the conversation back to the agent of a saved session, who goes on where it
// was.
func (d *Desk) resume(tx *thread.Tx, caller conversation.Caller, h conversation.Handoff, actor thread.ActorID) *conversation.RejectedError {
	state, p := &tx.Run.Thread().Handoffs, d.policy(caller)
	if session := state.Session(h.Resume); session != nil {
		if denied := p.Denied(session.Request.Target); denied != nil {
			tx.Emit(h.Source, actor, *denied)
			return &conversation.RejectedError{Code: conversation.CodePermissionDenied, Reason: fmt.Sprintf(
				"the user may not go on with %s: the permission %s is missing", session.Request.Target, denied.Permission)}
		}
	}
	summary := d.Clean(tx, h.Summary, conversation.MaxSummaryChars-1)
	resumed, rejected := conversation.Resume(state, p, h.Resume, summary, tx.Now)
	if rejected == nil {
		tx.Emit(h.Source, actor, resumed)
	}
	return rejected
}

// Expire ends the active session where it was idle for too long, as the message finds it that
// comes at the decision's time. It reports whether it did.
func (d *Desk) Expire(tx *thread.Tx) bool {
	returned, expired := conversation.Expire(&tx.Run.Thread().Handoffs, d.Policy(tx.Run), tx.Now)
	if expired {
		d.emit(tx, "", "", returned)
		d.next(tx)
	}
	return expired
}

// Saved are the sessions that can be resumed, the newest first; with a target, those with it.
func (d *Desk) Saved(tx *thread.Tx, target events.AgentID) (saved []*conversation.Session) {
	p := d.Policy(tx.Run)
	for _, session := range tx.Run.Thread().Handoffs.Saved(tx.Now, p.KeepState) {
		if p.Known(session.Request.Target) && (target == "" || session.Request.Target == p.Resolve(target)) {
			saved = append(saved, session)
		}
	}
	return saved
}

// Describe says of a saved session whose it is and where it stands.
func Describe(s *conversation.Session) string {
	text := fmt.Sprintf("Session %s with %s was left", s.ID, s.Request.Target)
	if w := s.Workflow; w.Steps > 0 {
		text += fmt.Sprintf(" at step %d of %d, %s,", w.Step, w.Steps, w.State)
	}
	return text + " and its state is kept."
}
