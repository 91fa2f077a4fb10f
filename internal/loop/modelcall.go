package loop

import (
	"context"
	"errors"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// modelCall is one call under way, with all its attempts: what is reserved for it, what
// was spent on attempts that failed, and the way to give it up. It belongs to the
// goroutine of its loop.
type modelCall struct {
	loop     *Loop
	id       events.ModelCallID
	estimate Estimate
	// agent is the agent's context; ctx is the call's, which ends before it when the
	// call is given up.
	agent, ctx context.Context
	stop       context.CancelCauseFunc
	// reservation is nil between the settling of an attempt and the next.
	reservation Reservation
	// lost is what failed attempts used. last is what the newest used on which a turn
	// stands: it is the turn's.
	lost, last *events.Spent
	// begun is when the call began. before are the failed attempts for a reply that did not
	// end, of which earlier are not kept; the call began anew offset after begun.
	begun   time.Time
	before  []llm.Failure
	earlier int
	offset  time.Duration
	// refused is set where a bound stood against another attempt.
	refused bool
}

// admit waits until the bounds allow the call.
func (l *Loop) admit(ctx context.Context, id events.ModelCallID, estimate Estimate) (*modelCall, error) {
	l.Live.Enter(agent.PhaseQueued)
	reservation, err := l.Governor.Admit(ctx, estimate)
	if err != nil {
		return nil, err
	}
	c := &modelCall{loop: l, id: id, estimate: estimate, agent: ctx, reservation: reservation, begun: time.Now()}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	return c, nil
}

// end gives back what is still held.
func (c *modelCall) end() {
	c.stop(nil)
	c.settle(events.Usage{}, new(float64))
}

// settle counts what the newest attempt used, once.
func (c *modelCall) settle(usage events.Usage, costUSD *float64) {
	if c.reservation != nil {
		c.reservation.Settle(usage, costUSD)
		c.reservation = nil
	}
}

// lose counts what an attempt used that failed, unless a turn stands on it.
func (c *modelCall) lose(spent *events.Spent, stands bool) {
	if stands {
		c.last = spent
		return
	}
	c.settle(spent.Usage, spent.CostUSD)
	c.lost = c.lost.Plus(spent)
}

// again makes room for another attempt, or gives the call up: the last attempt may have
// used what the bounds had left.
func (c *modelCall) again() {
	if c.reservation != nil || c.given() {
		return
	}
	var err error
	if c.reservation, err = c.loop.Governor.Admit(c.ctx, c.estimate); err != nil {
		c.reservation = nil
		c.refused = errors.As(err, new(*events.LimitError))
		c.giveUp(err)
	}
}

// giveUp ends the call, with the cause as its error. The first one stands.
func (c *modelCall) giveUp(cause error) { c.stop(cause) }

// given reports whether the call itself was given up, and not its agent.
func (c *modelCall) given() bool { return c.ctx.Err() != nil && c.agent.Err() == nil }

// unwanted tells why a reply is not taken though it came whole: it is over a bound. It
// is lost, but paid for.
func (c *modelCall) unwanted(done *llm.Completion) error {
	cause := context.Cause(c.ctx)
	if !c.given() || !errors.As(cause, new(*events.LimitError)) {
		return nil
	}
	c.lose(&events.Spent{Usage: done.Usage, CostUSD: done.CostUSD}, false)
	return cause
}

// failed gives the error of a call that got no reply: why it ended, with what was
// tried and what that used.
func (c *modelCall) failed(err error) error {
	tried := llm.CallError{Call: c.id, Err: err}
	var call *llm.CallError
	if errors.As(err, &call) {
		tried = *call
	}
	if c.ctx.Err() != nil {
		tried.Err = context.Cause(c.ctx)
	}
	tried.Failures, tried.Earlier = c.all(tried.Failures, tried.Earlier)
	if tried.Lost = c.lost; tried.Lost == nil && len(tried.Failures) == 0 {
		return tried.Err // nothing was sent
	}
	return &tried
}

// Unanswered records a call that got no reply, if the error is about one: for ends
// that are told by facts without it. [events.LostIn] names those that have it.
func Unanswered(tx *thread.Tx, agent events.AgentID, actor thread.ActorID, err error) {
	if failed := llm.FailedCall(err); failed.ModelCall != "" {
		tx.Emit(agent, actor, events.ModelCallFailed{FailedCall: failed})
	}
}

// tellUnanswered records a call that got no reply, where nothing else follows.
func (l *Loop) tellUnanswered(err error) error {
	return l.Journal.Do(func(tx *thread.Tx) {
		if !l.Role.Over(tx.Run) {
			Unanswered(tx, l.Spec.ID, l.ID, err)
		}
	})
}
