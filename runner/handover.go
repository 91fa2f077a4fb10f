package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/handoff"
	"github.com/convene-run/convene/thread"
)

// HandOff gives the conversation of a thread to a specialist at the wish of a program or
// of the user: the specialist speaks first, in a run of its own. The team is that of the
// thread's newest run. The error is a [*conversation.RejectedError] where the handoff is
// refused, which the log records, and [ErrBusy] while a run is under way or messages wait.
func (r *Runner) HandOff(ctx context.Context, tenant events.TenantID, id events.ThreadID, h conversation.Handoff) (events.HandoffID, error) {
	return r.handOff(ctx, events.ThreadKey{Tenant: tenant.OrLocal(), Thread: id}, h, Terms{})
}

func (r *Runner) handOff(ctx context.Context, key events.ThreadKey, h conversation.Handoff, terms Terms) (events.HandoffID, error) {
	if err := h.Check(); err != nil {
		return "", &InputError{err.Error()}
	}
	if h.Source == "" {
		h.Source = events.FacilitatorID
	}
	terms.By = h.Actor
	var rejected *conversation.RejectedError
	var session events.HandoffID
	text := fmt.Sprintf("[The conversation is handed to %s: %s]", chars.Clip(string(h.Target), conversation.MaxReasonChars), h.Reason)
	if h.Resume != "" {
		text = fmt.Sprintf("[The conversation is handed back to whoever had it in %s.]", chars.Clip(string(h.Resume), conversation.MaxReasonChars))
	}
	err := r.leadWhenFree(ctx, key, terms, text, func(tx *thread.Tx, p *plan) error {
		state := &tx.Run.Thread().Handoffs
		session, rejected = p.desk.HandOver(tx, thread.Facilitator, h)
		switch {
		case rejected != nil:
			facilitator.Finish(tx, facilitator.Ending{Failed: true, Reason: rejected.Reason})
		case state.Active() != state.Session(session) && state.Person() != state.Session(session): // it waits for another to end
			facilitator.Finish(tx, facilitator.Ending{})
		}
		return nil
	})
	if err == nil && rejected != nil {
		err = rejected
	}
	if err != nil {
		return "", fmt.Errorf("hand off thread %s: %w", key.Thread, err)
	}
	return session, nil
}

// Leave gives a conversation that was handed over back to the facilitator, who then
// answers the user: in the run under way there, or in one of its own. session is the handoff
// that is left, "" for the active one; where a person answers beside the agents, that session
// can be named too, is left with "" where no other is active, and nobody answers the user for
// it. by is who leaves, with
// the grants that [access.HandoffCancel] is looked for in; a refusal is a
// [*conversation.RejectedError], which the log records. What the specialist had gathered is
// kept. Where nothing is handed over the error is [conversation.ErrNoHandoff].
func (r *Runner) Leave(ctx context.Context, tenant events.TenantID, id events.ThreadID, session events.HandoffID, by conversation.Caller) error {
	return r.leave(ctx, events.ThreadKey{Tenant: tenant.OrLocal(), Thread: id}, session, by, Terms{})
}

func (r *Runner) leave(ctx context.Context, key events.ThreadKey, session events.HandoffID, by conversation.Caller, terms Terms) error {
	for range maxConflicts {
		err := r.tryLeave(ctx, key, session, by, terms)
		if !errors.Is(err, events.ErrRunOver) && !errors.Is(err, ErrBusy) && !errors.Is(err, events.ErrHeld) {
			if err != nil {
				err = fmt.Errorf("leave the handoff of thread %s: %w", key.Thread, err)
			}
			return err
		}
		if err := overtaken(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("leave the handoff of thread %s: %w", key.Thread, ErrBusy)
}

// tryLeave leaves the handoff as the thread is now.
func (r *Runner) tryLeave(ctx context.Context, key events.ThreadKey, session events.HandoffID, by conversation.Caller, terms Terms) error {
	var fact events.Event
	var refused error
	var underWay events.RunID
	text := ""
	queued := false
	err := r.kept.Use(ctx, key, func(th *thread.Thread) error {
		if fact, refused = conversation.Exit(&th.Handoffs, session, by); fact == nil {
			return refused
		}
		if current := th.Current(); !current.Status.Over() {
			underWay = current.ID
		}
		queued, text = len(th.Queue()) > 0, leaving(&th.Handoffs, session)
		return nil
	})
	switch {
	case err != nil:
		return err
	case underWay != "":
		if err := r.post(ctx, key, events.Envelope{Run: underWay, By: by.Actor, Data: fact}); err != nil {
			return err
		}
		if refused != nil {
			return refused
		}
		return r.heard(r.carryOn(ctx, key, terms, nil))
	case queued: // they were meant for the specialist
		return errors.Join(ErrBusy, r.heard(r.carryOn(ctx, key, terms, nil)))
	}
	terms.By = by.Actor
	var rejected *conversation.RejectedError
	err = r.lead(ctx, key, terms, text, func(tx *thread.Tx, p *plan) error {
		person := tx.Run.Thread().Handoffs.Person()
		err := p.desk.Leave(tx, session, by)
		if err == nil && person != nil && person.Status.Over() {
			facilitator.Finish(tx, facilitator.Ending{})
		}
		if errors.As(err, &rejected) {
			facilitator.Finish(tx, facilitator.Ending{Failed: true, Reason: rejected.Reason})
			return nil
		}
		return err
	})
	if err == nil && rejected != nil {
		err = rejected
	}
	return err
}

// leaving says what a run is about in which a session is left.
func leaving(state *conversation.State, session events.HandoffID) string {
	if active := state.Active(); active != nil && (session == "" || session == active.ID) {
		return fmt.Sprintf("[The user leaves %s.]", active.Request.Target)
	}
	return "[The person who was asked leaves the user to the agents.]"
}

// heard forgets that somebody else drives the thread, who hears what was posted.
func (r *Runner) heard(_ *Run, err error) error {
	if errors.Is(err, events.ErrHeld) {
		return nil
	}
	return err
}

// leadWhenFree is lead for a thread that is being given back: its run is over, and who drove
// it still holds it for a moment.
func (r *Runner) leadWhenFree(ctx context.Context, key events.ThreadKey, terms Terms, text string, decide func(*thread.Tx, *plan) error) error {
	for range maxConflicts {
		err := r.lead(ctx, key, terms, text, decide)
		if !errors.Is(err, events.ErrHeld) {
			return err
		}
		err = r.kept.Use(ctx, key, func(th *thread.Thread) error {
			if !th.Quiet() {
				return busy(th)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := overtaken(ctx); err != nil {
			return err
		}
	}
	return ErrBusy
}

// lead begins a run that no message starts, with a decision, and drives it.
func (r *Runner) lead(ctx context.Context, key events.ThreadKey, terms Terms, text string, decide func(*thread.Tx, *plan) error) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	run := &Run{runner: r, id: events.RunID(id.String()), done: make(chan struct{}), terms: terms}
	if err := run.claim(ctx, key); err != nil {
		return err
	}
	err = run.fold.Use(ctx, func(th *thread.Thread) error { return run.leads(ctx, th, text, decide) })
	if err != nil {
		run.release()
		return err
	}
	run.drive(ctx)
	return nil
}

func (r *Run) leads(ctx context.Context, th *thread.Thread, text string, decide func(*thread.Tx, *plan) error) error {
	before := th.Current()
	switch {
	case before == nil:
		return &InputError{fmt.Sprintf("thread %s is new: begin it with a message", r.key.Thread)}
	case !th.Quiet():
		return busy(th)
	}
	if err := r.takePlace(ctx); err != nil {
		return err
	}
	plan, started, err := r.runner.again(before, text, r.terms.Functions)
	if err != nil {
		return err
	}
	r.plan, started.Follows, started.Synthetic, r.by = plan, before.ID, true, r.terms.By
	return r.openWith(ctx, th, nil, started, func(tx *thread.Tx) error {
		handoff.Ask(tx)
		return decide(tx, plan)
	})
}
