package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/thread"
)

// Message is what a [Job] says of its request where that is a user's message in a
// conversation.
type Message struct {
	// ID names the message within its thread, at most [MaxMessageIDChars]. One that the
	// thread has already starts no second run: see [AnsweredError]. Defaults to a new one.
	ID events.MessageID
	// UserID, ChannelType and ChannelID say who sent it and where.
	UserID, ChannelType, ChannelID string
	// Metadata is a JSON object of the sender's, at most [MaxMetadataBytes].
	Metadata json.RawMessage
	// Grants are the sender's permissions, which nobody exceeds who acts on the message. nil
	// is everything.
	Grants access.Grants
	// Actor is who sent it, and from where, for the log. Defaults to nobody.
	Actor *events.Actor
	// Delivery says what [Runner.Send] is to do with the message. Defaults to what the
	// thread allows: it starts a run where none is under way, it answers where just one input
	// is asked for, and else it is queued. [events.DeliveryStart] does nothing but start:
	// [ErrBusy] otherwise. [events.DeliverySteer] starts a run where none is under way.
	Delivery events.Delivery
	// InputID names the request for input that the message answers. It may be left out
	// where one is open.
	InputID events.InputID
	// Approval is the decision on a call, which answers an input of the kind
	// [events.InputApproval] and no other. Arguments that fit the tool's schema replace the
	// model's. The job's Request may then be left out: it tells the decision in words.
	Approval *events.Approval

	// logged is set on a message that the thread has already.
	logged bool
}

// event is the message as a fact.
func (m *Message) event(content string) events.UserMessage {
	return events.UserMessage{
		Content: content, MessageID: m.ID, UserID: m.UserID, ChannelType: m.ChannelType, ChannelID: m.ChannelID, Metadata: m.Metadata,
		Delivery: m.Delivery, InputID: m.InputID, Approval: m.Approval, Grants: m.Grants,
	}
}

// queued is the message that a thread has in its queue.
func queued(m events.UserMessage) *Message {
	return &Message{
		ID: m.MessageID, UserID: m.UserID, ChannelType: m.ChannelType, ChannelID: m.ChannelID, Metadata: m.Metadata,
		Delivery: m.Delivery, InputID: m.InputID, Grants: m.Grants, logged: true,
	}
}

// Bounds of a message beside its text: identifiers and notes.
const (
	MaxMessageIDChars = 255
	MaxMetadataBytes  = 64 << 10
)

func (m *Message) check() error {
	for _, text := range []struct{ what, value string }{
		{"the message id", string(m.ID)}, {"the user id", m.UserID}, {"the channel type", m.ChannelType}, {"the channel id", m.ChannelID},
		{"the id of the input", string(m.InputID)},
	} {
		if err := checkText(text.what, text.value); err != nil {
			return err
		}
		if chars.Over(text.value, MaxMessageIDChars) {
			return &InputError{fmt.Sprintf("%s has %d characters; at most %d are taken", text.what, chars.Count(text.value), MaxMessageIDChars)}
		}
	}
	switch m.Delivery {
	case "", events.DeliveryStart, events.DeliveryQueue, events.DeliverySteer, events.DeliveryAnswer:
	default:
		return &InputError{fmt.Sprintf("there is no delivery %q: choose %s, %s, %s or %s, or leave it out", chars.Clip(string(m.Delivery), 100),
			events.DeliveryStart, events.DeliveryQueue, events.DeliverySteer, events.DeliveryAnswer)}
	}
	if m.InputID != "" && m.Delivery != "" && m.Delivery != events.DeliveryAnswer {
		return &InputError{fmt.Sprintf("a message that names an input answers it: its delivery is %s, or left out", events.DeliveryAnswer)}
	}
	if err := m.checkApproval(); err != nil {
		return err
	}
	if len(m.Metadata) > MaxMetadataBytes {
		return &InputError{fmt.Sprintf("the metadata has %d bytes; at most %d are taken", len(m.Metadata), MaxMetadataBytes)}
	}
	var object map[string]json.RawMessage
	if m.Metadata != nil && json.Unmarshal(m.Metadata, &object) != nil {
		return &InputError{"the metadata is not a JSON object"}
	}
	return nil
}

// AnsweredError is for a message that the thread has already: nothing was done.
type AnsweredError struct {
	Message events.MessageID
	// Run is the run that answers it.
	Run events.RunID
}

func (e *AnsweredError) Error() string {
	return fmt.Sprintf("message %s was taken already: run %s answers it", e.Message, e.Run)
}

// answered is an [AnsweredError] where the thread has the job's message.
func (job *Job) answered(th *thread.Thread) error {
	if job.Message == nil || job.Message.ID == "" {
		return nil
	}
	if run := th.Answering(job.Message.ID); run != nil {
		return &AnsweredError{job.Message.ID, run.ID}
	}
	return nil
}

func (job *Job) key() events.ThreadKey {
	return events.ThreadKey{Tenant: job.Tenant, Thread: job.Thread}
}

// user is who sent the job's message, "" where none says.
func (job *Job) user() string {
	if job.Message == nil {
		return ""
	}
	return job.Message.UserID
}

// actor is who asked for the job, nil for nobody.
func (job *Job) actor() *events.Actor {
	if job.Message != nil && job.Message.Actor != nil {
		return job.Message.Actor
	}
	return job.By.Actor
}

// message gives the message that the job is: the one it says, or one of its own where the
// team can hand the conversation over. nil for a job that is none.
func (p *plan) message(job Job) *Message {
	if job.Continues != "" || p.config.Delegation != nil || job.Message == nil && (p.config.Solo || !p.config.Team.Converses()) {
		return nil
	}
	message := Message{UserID: job.By.UserID, Grants: job.By.Grants}
	if job.Message != nil {
		message = *job.Message
	}
	if !message.logged {
		message.Delivery = events.DeliveryStart
	}
	if message.ID == "" {
		message.ID = events.MessageID(uuid.NewString())
	}
	return &message
}

// first applies the first facts of the run to the thread and gives them: the message, the
// start, and what is decided at once, such as who answers.
func (r *Run) first(th *thread.Thread, message *Message, started events.WorkflowStarted, decide func(*thread.Tx) error) ([]events.Envelope, error) {
	now := r.clock.now()
	envelope := func(run events.RunID, data events.Event) events.Envelope {
		return events.Envelope{Tenant: r.key.Tenant, Thread: r.key.Thread, Run: run, Seq: th.Seq + 1, Time: now, By: r.by, Data: data}
	}
	var facts []events.Envelope
	if len(th.Runs) > 0 { // the thread stays whose it is
		started.UserID = th.Runs[0].Started.UserID
	}
	if message != nil {
		started.MessageID = message.ID
	}
	if message != nil && !message.logged {
		facts = append(facts, envelope("", message.event(started.Message)))
		if err := th.Apply(facts[0]); err != nil {
			return nil, err
		}
	}
	facts = append(facts, envelope(r.id, started))
	if err := th.Apply(facts[len(facts)-1]); err != nil {
		return nil, err
	}
	tx := th.Begin(now)
	tx.By = r.by
	if err := decide(tx); err != nil {
		return nil, err
	}
	more, err := tx.Facts()
	return append(facts, more...), err
}

// talk drives whoever has the floor until the run has ended.
func (r *Run) talk(ctx, work context.Context, live *agent.Live, dispatcher loop.Dispatcher) error {
	for {
		var session *conversation.Session
		var supervision *thread.Dispatch
		over := false
		err := r.journal.Do(func(tx *thread.Tx) {
			over, session = tx.Run.Status.Over() || tx.Run.Suspended != nil, nil
			supervision = tx.Run.Supervision()
			if tx.Run.Floor() != thread.Facilitator {
				session = tx.Run.Thread().Handoffs.Active()
			}
		})
		switch {
		case err != nil || over:
			return err
		case supervision != nil:
			err = r.supervised(work, supervision.ID, dispatcher)
		case session != nil && session.Request.Target == events.HumanID:
			err = r.awaitPerson()
		case session != nil:
			err = r.converse(work, session, dispatcher)
		default:
			l := &loop.Loop{
				Spec: r.plan.specs[events.FacilitatorID], Role: facilitator.NewRole(&r.plan.config.Team, r.plan.facilitators(), r.prompt),
				ID: thread.Facilitator, Run: r.id, Priority: r.terms.Priority, Journal: r.journal, Caller: r.patience, Governor: r.governor,
				Dispatcher: dispatcher, Work: work, Live: live, Files: r.files(), FilesRoot: r.terms.FilesRoot,
			}
			err = l.Drive(ctx)
		}
		if errors.Is(err, loop.ErrAwaitingInput) {
			err = r.awaitInput()
		}
		if err != nil {
			return err
		}
	}
}

// converse drives a specialist that has the conversation.
func (r *Run) converse(ctx context.Context, session *conversation.Session, dispatcher loop.Dispatcher) error {
	target := session.Request.Target
	spec := r.plan.sessions[target]
	if spec == nil {
		return fmt.Errorf("drive handoff %s: the team has no specialist %q to talk to", session.ID, target)
	}
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	r.leave.Store(&leave)
	defer r.leave.Store(nil)
	ctx, live, done := r.watch.add(ctx, spec, events.DispatchID(session.ID), 0)
	defer done()
	l := &loop.Loop{
		Spec: spec, ID: thread.ActorID(session.ID), Run: r.id, Priority: r.terms.Priority, Journal: r.journal, Caller: r.patience,
		Governor: r.governor, Dispatcher: dispatcher, Decide: r.terms.Approve.decision(), Live: live, Files: r.files(), FilesRoot: r.terms.FilesRoot,
		Role: &specialists.Session{
			ID: session.ID, Agent: target, DisplayName: spec.DisplayName, Limits: r.plan.config.Team.Limits, Desk: r.plan.desk,
			Sentences: r.plan.config.Team.Conversation.Sentences(), Memory: r.plan.config.Team.Conversation.Window(),
			Finish: r.answered,
			Cancel: func(tx *thread.Tx) { facilitator.Cancel(tx, "") },
		},
	}
	return l.Drive(ctx)
}

// left reports whether somebody asked that the specialist give the conversation back.
func left(run *thread.Run) bool {
	session := run.Thread().Handoffs.Active()
	return session != nil && session.Status == conversation.StatusReturning
}
