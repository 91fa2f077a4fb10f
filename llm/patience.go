package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/convene-run/convene/internal/firstof"
)

// errAway says that the target cannot be used now: another one may, or the call waits.
var errAway = errors.New("the endpoint cannot be used")

// errNotSent settles the permit of a request that did not go out: nothing is spent.
var errNotSent = &Error{Kind: ErrUnreachable, Message: "not sent"}

// patient reports whether the call waits for endpoints that cannot be used.
func (c *call) patient() bool { return c.req.MaxWait != 0 }

// sick reports whether the target is known not to be usable.
func (c *call) sick(p *place) bool { return c.patient() && p.health.kind(p.Model) != "" }

// mayGo reports whether another attempt may go to the target, as its probe perhaps.
func (c *call) mayGo(p *place) bool {
	p.probing = false
	if !c.patient() {
		return true
	}
	a := p.health.admit(p.Model, c, false)
	p.probing = a.probe
	return a.ok
}

// choose gives the next target to ask: the first that is well, or that the call is to
// probe. Where there is none it waits.
func (c *call) choose() (*place, error) {
	if !c.patient() {
		return c.places[0], c.tell(0, c.places[0].Model)
	}
	for {
		p, _, _ := c.look(false)
		if p != nil {
			return p, c.goTo(p)
		}
		p, first, next := c.look(true)
		switch {
		case p != nil:
			return p, c.goTo(p)
		case next.hopeless:
			return nil, c.outage(first)
		}
		if err := c.await(first, next); err != nil {
			return nil, err
		}
	}
}

// look gives a target that the call may go to now. Where there is none it gives the
// trouble of the first choice, and what is known of when to look again: hopeless only if
// all of them are.
func (c *call) look(eager bool) (_ *place, first, next admission) {
	hopeless := true
	for i, p := range c.places {
		a := p.health.admit(p.Model, c, eager)
		if a.ok {
			p.probing = a.probe
			return p, first, next
		}
		if i == 0 {
			first, next = a, a
		}
		if a.next.Before(next.next) {
			next = a
		}
		hopeless = hopeless && a.hopeless
	}
	next.hopeless = hopeless
	return nil, first, next
}

// goTo ends the wait, unless it is a probe that is sent.
func (c *call) goTo(p *place) error {
	for _, other := range c.places {
		other.health.rest(c)
	}
	if err := c.tell(0, p.Model); err != nil || p.probing {
		return err
	}
	return c.back()
}

// await waits until a target is to be looked at again. Its error is the end of the call's
// patience, or of the call.
func (c *call) await(first, next admission) error {
	now := time.Now()
	if c.away.IsZero() {
		c.away = now
	}
	until, giveUp := next.next, time.Time{}
	if c.req.MaxWait > 0 {
		giveUp = c.away.Add(c.req.MaxWait - c.waited)
		if !now.Before(giveUp) || next.asked && next.next.After(giveUp) {
			return c.outage(first)
		}
		if giveUp.Before(until) {
			until = giveUp
		}
	}
	if err := c.tell(max(0, next.next.Sub(now)), c.places[0].Model); err != nil {
		return err
	}
	if !c.yield(Delta{Away: &Away{Trouble: first.trouble, Since: c.away, GiveUp: giveUp, Next: next.next}}, nil) {
		return errConsumerStopped
	}
	return c.sleepUnless(max(time.Until(until), 1), c.woken)
}

// tell announces the failure that the consumer does not know of yet.
func (c *call) tell(wait time.Duration, model string) error {
	failure := c.unsaid
	if failure == nil {
		return nil
	}
	c.unsaid = nil
	return c.announce(failure, wait, model)
}

// back tells the consumer that the wait for an endpoint is over.
func (c *call) back() error {
	if c.away.IsZero() {
		return nil
	}
	c.waited += time.Since(c.away)
	c.away = time.Time{}
	if !c.yield(Delta{Back: true}, nil) {
		return errConsumerStopped
	}
	return nil
}

// outage gives the error of a call that was not answered for want of an endpoint.
func (c *call) outage(first admission) error {
	e := &OutageError{Trouble: first.trouble, Waited: c.waited}
	if !c.away.IsZero() {
		e.Waited += time.Since(c.away)
	}
	if first.failure != nil {
		last := *first.failure
		last.Attempts = c.attempts
		e.Err = &last
	}
	return e
}

// acquire waits for the call's turn; the permit is nil where nothing is limited.
func (c *call) acquire(target Target) (Permit, error) {
	limiter := target.Endpoint.Limiter
	if limiter == nil {
		return nil, nil //nolint:nilnil // there is nothing to settle
	}
	ctx := c.ctx
	if c.req.Begin != nil {
		begun, stop := firstof.Context(ctx, c.req.Begin)
		defer stop()
		ctx = begun
	}
	asked := time.Now()
	permit, err := limiter.Acquire(ctx, c.req)
	c.queued += time.Since(asked)
	if err != nil && c.ctx.Err() == nil && ctx.Err() != nil {
		return nil, c.notBegun()
	}
	if err != nil {
		return nil, fmt.Errorf("wait for %s: %w", target.Endpoint.Name, err)
	}
	return permit, nil
}

// stillMayGo looks once more, after the wait for the call's turn.
func (c *call) stillMayGo(p *place) error {
	switch {
	case c.req.Begin != nil && c.req.Begin.Err() != nil:
		return c.notBegun()
	case c.ctx.Err() != nil: // it was given up while it waited
		return c.ctx.Err()
	case c.sick(p) && !p.probing:
		return errAway
	}
	return nil
}

func (c *call) begin() <-chan struct{} {
	if c.req.Begin == nil {
		return nil
	}
	return c.req.Begin.Done()
}

// notBegun is the error of a call that may not go out any more.
func (c *call) notBegun() error {
	return fmt.Errorf("call model=%s: not sent: %w", c.req.Model, context.Cause(c.req.Begin))
}
