package thread

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/quote"
)

// ToldReturned is the reason under which the facilitator is told of the handoffs that ended.
const ToldReturned = "handoff_returned"

// Heard is the reason under which a conversation counts its turns since the user's newest
// message to a specialist that has the conversation.
const Heard = "user_message"

// Floor is the agent that answers the user now: a specialist that has the conversation, or
// the facilitator. A run whose message was not routed, as one that continues another, is
// the facilitator's.
func (r *Run) Floor() ActorID {
	if session := r.thread.Handoffs.Active(); session != nil && r.Handed {
		return ActorID(session.ID)
	}
	return Facilitator
}

// Returned are the handoffs that ended since the facilitator was last told of one.
func (t *Thread) Returned() []events.HandoffID { return t.returned }

// handOver folds who has the conversation.
func (r *Run) handOver(env events.Envelope) error {
	if err := r.thread.Handoffs.Apply(env); err != nil {
		return err
	}
	switch e := env.Data.(type) {
	case events.MessageRouted:
		if e.Tier != events.TierHandoff && e.Tier != events.TierAffinity {
			break
		}
		r.Handed = true
		conv := r.thread.sessions[r.Floor()]
		if conv == nil {
			return fmt.Errorf("a message to %s, to whom nothing was handed over", e.Agent)
		}
		conv.hear(append(r.notedBefore(), r.Spoken()...))
	case events.HandoffResumed:
		r.Handed = true
		conv := r.thread.sessions[ActorID(e.HandoffID)]
		conv.hear(append([]string{r.resumed(e)}, r.Spoken()...))
	case events.HandoffAccepted:
		if e.AllMayAnswer {
			break
		}
		r.Handed = true
		session := r.thread.Handoffs.Active()
		conv := &Conversation{actor: ActorID(session.ID), thread: r.thread}
		if session.Request.Source != events.RouterID { // else there was no agent before it
			conv.messages = []events.Message{r.context(session.Request)}
		}
		if said := e.UserMessages; r.answers(session.Request.Source) {
			if len(said) == 0 {
				said = r.Spoken()
			}
			conv.hear(said)
		} else {
			r.Passed++
		}
		r.thread.sessions[conv.actor] = conv
	case events.HandoffReturned:
		r.lapse(ActorID(e.HandoffID))
		r.thread.returned = append(r.thread.returned, e.HandoffID)
		if conv := r.thread.sessions[ActorID(e.HandoffID)]; conv != nil {
			for _, m := range conv.unread() { // whoever answers now does not miss it
				if err := r.Facilitator.say(events.UserMessage{Content: m.Content}); err != nil {
					return err
				}
			}
			conv.missed, conv.fresh = nil, nil
		}
	case events.PhaseChanged:
		if e.HandoffID != "" && e.FromHandoffID != "" {
			r.Entered = append(r.Entered, e.HandoffID)
			// What came of the phase went to the next agent, not to the facilitator.
			r.thread.returned = slices.DeleteFunc(r.thread.returned, func(id events.HandoffID) bool { return id == e.FromHandoffID })
		}
	case events.TransitionRolledBack:
		r.RolledBack = &e
	}
	return nil
}

// answers reports whether the target of a handoff answers what the user said to the run.
// Where a specialist handed over, it had answered already.
func (r *Run) answers(source events.AgentID) bool {
	return source == events.FacilitatorID || source == events.RouterID
}

// DisplayName is what the run calls an agent, its id where it has no such agent.
func (r *Run) DisplayName(id events.AgentID) string {
	for _, card := range r.Started.Agents {
		if card.ID == id && card.DisplayName != "" {
			return card.DisplayName
		}
	}
	return string(id)
}

// context is what a specialist is told when it is given the conversation.
func (r *Run) context(request events.HandoffRequested) events.Message {
	var b strings.Builder
	b.WriteString(quote.After(fmt.Sprintf("[Context from previous agent (%s)]:", r.DisplayName(request.Source)), request.ContextSummary))
	if len(request.Metadata) > 0 {
		b.WriteString("\n" + quote.After("It passes on:", string(request.Metadata)))
	}
	shared := request.RecentMessages
	if len(shared) == 0 { // as logs had it that do not say what went along
		for _, m := range r.Recent(request.RecentMessageCount) {
			shared = append(shared, events.SharedMessage{Role: m.Role, Content: m.Content})
		}
	}
	if len(shared) > 0 {
		b.WriteString("\n\nThe newest messages before this one:")
		for _, m := range shared {
			b.WriteString("\n" + quote.After(string(m.Role)+":", m.Content))
		}
	}
	return events.Message{Role: events.RoleUser, Content: b.String()}
}

// resumed is what a specialist is told whose session goes on.
func (r *Run) resumed(e events.HandoffResumed) string {
	said := "[You have the conversation with the user again. Go on where you were.]"
	if w := r.thread.Handoffs.Active().Workflow; w.Steps > 0 {
		said = fmt.Sprintf("[You have the conversation with the user again. Go on where you were: at step %d of %d, %s.]", w.Step, w.Steps, w.State)
	}
	if e.ContextSummary == "" {
		return said
	}
	return said + "\n" + quote.After("Said meanwhile:", e.ContextSummary)
}

// Recent are the newest messages of earlier runs, at most count, the oldest first. What
// agents other than the facilitator said has their names before it.
func (r *Run) Recent(count int) []events.Message {
	var messages []events.Message
	for _, e := range slices.Backward(r.thread.exchanges) {
		if len(messages) >= count {
			break
		}
		messages = slices.Concat(e.messages, messages)
	}
	return messages[max(0, len(messages)-count):]
}

// Caller is who sent the message that the run answers, or asked for the run: everybody in it
// acts on that one's behalf, and has no permission that anybody lacks who wrote to the run.
// The local user, who may do everything, asked where nothing says who did.
func (r *Run) Caller() conversation.Caller {
	caller := conversation.Caller{UserID: r.Started.UserID}
	if sent := r.thread.Sent(r.Started.MessageID); sent != nil {
		caller = conversation.Caller{UserID: sent.UserID, Grants: sent.Grants}
	} else if before := r.thread.before(r); before != nil && r.Started.Synthetic { // it is part of what was said before
		caller = before.Caller()
	}
	caller.UserID = cmp.Or(r.Started.By, caller.UserID)
	caller.Grants = caller.Grants.And(r.Started.Grants).And(r.common)
	return caller
}

// before is the run that came before another one, nil if there is none.
func (t *Thread) before(r *Run) *Run {
	if at := slices.Index(t.Runs, r); at > 0 {
		return t.Runs[at-1]
	}
	return nil
}

// Spoken is what people have said to the run so far.
func (r *Run) Spoken() []string {
	request := r.Started.Message
	if r.Started.Prompt != "" {
		request = r.Started.Prompt
	}
	return append([]string{request}, r.said...)
}

// SaidBefore is what people said to the runs before this one, at most count messages, the
// oldest first. A run that another continues said the same, and what a person wrote who was
// asked is not the user's: neither counts.
func (r *Run) SaidBefore(count int) (said []string) {
	runs, continued := r.thread.Runs, r.Before
	for at := slices.Index(runs, r) - 1; at >= 0 && len(said) < count; at-- {
		run := runs[at]
		if run != continued && !run.Started.Synthetic && run.Person() == nil {
			said = slices.Concat(run.Spoken(), said)
		}
		continued = run.Before
	}
	return said[max(0, len(said)-count):]
}

// notedBefore is what others than agents in the conversation wrote to the user since the
// answer of the run before this one, which is the newest: notes of a supervisor, and what a
// person answered beside the agents.
func (r *Run) notedBefore() (noted []string) {
	runs := r.thread.Runs
	for _, run := range slices.Backward(runs[:len(runs)-1]) {
		said := slices.Clone(run.notes)
		person := run.Person()
		if person != nil && run.FinalAnswer != nil {
			said = append([]string{quote.After("[A person answered the user:]", run.FinalAnswer.Content)}, said...)
		}
		noted = append(said, noted...)
		if person == nil && !run.Started.Synthetic {
			break
		}
	}
	return noted
}

// maxHeardBytes bounds what a specialist reads of the user's newest message in its own words
// once its history was summarized. A longer message is summarized with the rest: it may be
// what does not fit into the window.
const maxHeardBytes = 16 << 10

// hear takes in what the user says to a specialist. A turn that an earlier run left open is
// closed: nobody goes on with it.
func (c *Conversation) hear(texts []string) {
	if c.turn != nil {
		if !c.turn.Called {
			c.turns++ // its calls have its id
		}
		c.messages = c.left()
		c.turn, c.held = nil, nil
	}
	c.heard = nil
	size := 0
	for _, text := range texts {
		c.heard = append(c.heard, events.Message{Role: events.RoleUser, Content: text})
		size += len(text)
	}
	c.messages = slices.Concat(c.messages, c.heard)
	if size > maxHeardBytes {
		c.heard = nil
	}
	c.empty = 0
	if c.nudges == nil {
		c.nudges = map[string]nudge{}
	}
	c.nudges[Heard] = nudge{turn: c.turns}
}
