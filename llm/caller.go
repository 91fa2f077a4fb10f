package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/prices"
)

// Defaults and bounds of [Caller], with their reasons.
const (
	// DefaultMaxAttempts bounds the attempts that fail at one target: where one call
	// in five fails, eight in a row happen once in 400,000 calls.
	DefaultMaxAttempts = 8
	// DefaultMaxRefusals bounds the 429s in a row of one call. More than attempts:
	// refusals are cheap, and with the limiter's pauses between them they span two
	// minutes, longer than the minute that rate windows have.
	DefaultMaxRefusals = 14
	// DefaultMaxWait is the longest Retry-After that is waited for. One that asks for
	// more means a budget of hours or a day: waiting would look like hanging.
	DefaultMaxWait = 2 * time.Minute
	// maxUnreachable bounds the attempts at an endpoint that cannot be connected to:
	// enough for a server that restarts, few enough to say soon that it is not there.
	maxUnreachable = 4
)

// Caller makes calls that survive a bad endpoint: it waits for the limiter,
// retries with backoff, falls back along the route and prices the reply. It is
// the only place that retries. The zero value is ready to use. Safe for concurrent
// use.
type Caller struct {
	// MaxAttempts bounds the failed attempts of one call at each target of its route.
	// Defaults to [DefaultMaxAttempts].
	MaxAttempts int
	// MaxRefusals bounds the refusals (429) in a row of one call at each target.
	// Waiting for one's turn never counts. Defaults to [DefaultMaxRefusals].
	MaxRefusals int
	// MaxWait is the longest Retry-After that is waited for; the target fails where
	// the endpoint asks for more. Defaults to [DefaultMaxWait].
	MaxWait time.Duration
	// Prices gives the cost of a reply. Defaults to [prices.Builtin].
	Prices *prices.Table

	gauges   gauges
	prefixes prefixes
}

// errConsumerStopped says that the consumer broke out of its loop.
var errConsumerStopped = errors.New("consumer stopped")

// maxLost is how often a request may fail for good at a target that answers others
// meanwhile: then the request itself is the cause. More than once or twice, because an
// endpoint that comes and goes answers others too.
const maxLost = 5

// Stream makes one call along the route. Its deltas are those of [Client.Stream]
// with Retry deltas between attempts.
//
// A failure that lasts goes on to the next target. Where what fails is the endpoint and
// not the request, and no target is left, the call waits for up to its MaxWait until one
// can be used again; without MaxWait it fails, and an authentication error then ends the
// call at once. So does a prompt over the window and a reply over its bound.
//
// The error of a call that failed at an endpoint wraps the [*Error] of the last attempt,
// with the number of all of them; where it waited without success it is an [*OutageError]. That
// of a call that sent a request at all is a [*CallError], which tells of each.
func (c *Caller) Stream(ctx context.Context, route Route, req Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		call := &call{caller: c, ctx: ctx, req: &req, yield: yield, begun: time.Now()}
		call.take(route)
		defer call.leave()
		if err := call.along(); err != nil && !errors.Is(err, errConsumerStopped) {
			yield(Delta{}, call.lost(err))
		}
	}
}

// call is one call under way. It lives on the goroutine of its consumer.
type call struct {
	caller *Caller
	ctx    context.Context
	req    *Request
	yield  func(Delta, error) bool
	// places are the targets that may still answer.
	places []*place

	begun           time.Time
	attempts        int
	queued, retried time.Duration
	// held is the part of queued in which it waited for a prefix to be cached.
	held time.Duration
	// newest is the newest attempt; sent and ended are when it went out and ended.
	newest      attempt
	sent, ended time.Time
	// failures are the newest attempts that failed, failed counts all of them, and spent
	// is what all of them used; used is what the newest attempt did.
	failures    []Failure
	failed      int
	spent, used *events.Spent
	// earlier are the failures for which targets were given up; unsaid is one that the
	// consumer does not know of yet.
	earlier []error
	unsaid  *Error

	// away is since when the call waits for an endpoint, zero while it does not; waited
	// sums the waits before. woken has a value when a sick endpoint is to be looked at;
	// it is nil while the call has never waited for one.
	away   time.Time
	waited time.Duration
	woken  chan struct{}
}

// place is a target of the route as the call finds it.
type place struct {
	Target
	health *Health
	// probing is set while the call goes there to find out whether the endpoint is well.
	probing bool
	// lost counts how often the request failed for good though others were answered, since
	// is from when on they are counted.
	lost  int
	since time.Time
	// own is set once the request itself is the cause of the failure there.
	own bool
}

func (c *call) take(route Route) {
	for _, target := range route {
		health := target.Endpoint.Health
		if health == nil {
			health = &Health{}
		}
		c.places = append(c.places, &place{Target: target, health: health})
	}
}

func (c *call) leave() {
	for _, p := range c.places {
		p.health.leave(c)
	}
}

// along asks targets of the route until one answers.
func (c *call) along() error {
	if len(c.places) == 0 {
		return errors.New("call model: the route is empty")
	}
	for {
		p, err := c.choose()
		if err != nil {
			return err
		}
		c.req.Model, c.req.API = p.Model, p.API
		err = c.at(p)
		var failure *Error
		switch {
		case errors.Is(err, errAway):
			continue
		case err == nil || !errors.As(err, &failure):
			return err
		case p.own:
			if len(c.places) == 1 || c.endsCall(failure.Kind) {
				return c.lasting(failure)
			}
			c.giveUp(p, failure)
		case failure.Kind == ErrAuthentication && p.health.mistaken(p.Model, failure):
			return c.outage(p.health.admit(p.Model, c, false))
		}
		c.unsaid = failure
	}
}

// endsCall names the failures that another model must not hide: a refused key
// wants mending, and the loop itself answers the other two.
func (c *call) endsCall(kind ErrorKind) bool {
	return kind == ErrAuthentication && !c.patient() || kind == ErrContextLength || kind == ErrReplyTooLarge
}

// giveUp takes a target out of the route.
func (c *call) giveUp(p *place, failure *Error) {
	p.health.leave(c)
	c.places = slices.DeleteFunc(c.places, func(other *place) bool { return other == p })
	c.earlier = append(c.earlier, failure)
}

// lasting gives the failure that the consumer sees.
func (c *call) lasting(failure *Error) error {
	last := *failure
	last.Attempts = c.attempts
	if len(c.earlier) > 0 {
		last.Cause = errors.Join(append(c.earlier, last.Cause)...)
	}
	return &last
}

// at asks one target until it answers, fails for good, or cannot be used.
func (c *call) at(p *place) error {
	var failures, refusals int
	if p.since.IsZero() {
		p.since = time.Now()
	}
	for {
		err := c.attempt(p)
		var failure *Error
		if err == nil || !errors.As(err, &failure) {
			return err
		}
		failure = c.overlong(failure)
		c.keep(failure)
		if refused(failure) {
			refusals++
			c.turnedAway(p)
		} else {
			failures++
			refusals = 0
		}
		if !failure.Retryable() || refusals >= c.maxRefusals() || failures >= c.maxAttempts(failure.Kind) || c.sick(p) {
			if c.isOver(p, failure) {
				return failure
			}
			failures, refusals = 1, 0
		}
		wait := backoff(failures+refusals, failure.RetryAfter)
		if err := c.announce(failure, max(wait, failure.RetryAfter), p.Model); err != nil {
			return err
		}
		if err := c.sleep(wait); err != nil {
			return err
		}
		if !c.mayGo(p) {
			return errAway
		}
	}
}

// isOver judges a failure that lasts: it is the request's own, or the endpoint cannot be
// used. It is neither where others are answered meanwhile; then it is tried further.
func (c *call) isOver(p *place, failure *Error) bool {
	switch {
	case !failure.outage():
		p.health.refused(p.Model, c.sent)
		p.own = true
	case !c.patient():
		p.own = true
	case !c.sick(p) && failure.selective() && p.health.answeredSince(p.Model, p.since):
		p.lost++
		p.since = time.Now()
		p.own = p.lost == maxLost
		return p.own
	default:
		p.health.failed(p.Target, failure, c)
	}
	return true
}

// turnedAway notes that a probe found the endpoint at work, though without room.
func (c *call) turnedAway(p *place) {
	if kind := p.health.kind(p.Model); kind != ErrRateLimited && kind != ErrQuota {
		p.health.refused(p.Model, c.sent)
	}
}

// refused reports whether the endpoint turned the call away for lack of capacity.
func refused(e *Error) bool { return e.Kind == ErrRateLimited && e.Status == statusTooMany }

const statusTooMany = 429

// overlong makes a failure one for good where the endpoint asks for too long a wait.
func (c *call) overlong(e *Error) *Error {
	if e.RetryAfter <= c.maxWait() || !e.Retryable() {
		return e
	}
	final := *e
	final.Permanent = true
	final.Message += fmt.Sprintf(" (it asks to wait %s; try again then, or use another model)", e.RetryAfter.Round(time.Second))
	return &final
}

// attempt is one request under way.
type attempt struct {
	place  *place
	shared *sharing
	// permit is nil where there is nothing to settle, or nothing any more.
	permit Permit
	came   streamed
	// answered is set once anything has come.
	answered bool
}

// attempt makes one request.
func (c *call) attempt(p *place) error {
	shared := c.share(p.Target)
	defer shared.end()
	permit, err := c.acquire(p.Target)
	if err != nil {
		return err
	}
	c.newest = attempt{place: p, shared: shared, permit: permit}
	if err := c.stillMayGo(p); err != nil {
		c.settle(nil, errNotSent)
		return err
	}
	defer c.over()
	c.attempts++
	c.sent, c.used = time.Now(), nil
	if len(c.failures) > 0 {
		c.failures[len(c.failures)-1].Wait = c.sent.Sub(c.ended)
	}
	if !c.yield(Delta{Sent: c.attempts}, nil) {
		return errConsumerStopped
	}
	for delta, failure := range p.Endpoint.Client.Stream(c.ctx, *c.req) {
		if failure != nil {
			return c.broke(failure)
		}
		if err := c.hear(&delta); err != nil {
			return err
		}
		if delta.Done != nil {
			return nil
		}
	}
	return c.broke(&Error{
		Kind: ErrBrokenStream, Provider: p.Endpoint.Name, Model: p.Model, Answered: true,
		Message: "the stream ended without a completion",
	})
}

// hear hands a delta of the newest attempt on.
func (c *call) hear(delta *Delta) error {
	a := &c.newest
	a.came.add(delta)
	if !a.answered {
		a.answered = true
		a.shared.begun()
		if a.permit != nil {
			a.permit.Accepted()
		}
		a.place.health.replied(a.place.Model, c.sent)
		if err := c.back(); err != nil {
			return err
		}
	}
	if delta.Done != nil {
		delta.Done = c.complete(a.place.Target, delta.Done)
		c.settle(delta.Done, nil) // before the consumer acts on the reply
	}
	if !c.yield(*delta, nil) && delta.Done == nil {
		return errConsumerStopped
	}
	return nil
}

// broke ends the newest attempt, which failed.
func (c *call) broke(failure error) error {
	c.settle(nil, failure)
	return c.lose(c.newest.place.Target, c.newest.came, failure)
}

// settle gives back what the limiter gave the newest attempt, once.
func (c *call) settle(done *Completion, err error) {
	if permit := c.newest.permit; permit != nil {
		c.newest.permit = nil
		permit.Settle(done, err)
	}
}

// over ends the newest attempt. One that is not settled is the consumer's end: it stopped, or
// panicked.
func (c *call) over() {
	c.ended = time.Now()
	c.settle(nil, errConsumerStopped)
}

// complete adds to a completion what only the caller knows.
func (c *call) complete(target Target, from *Completion) *Completion {
	done := *from
	if done.Provider == "" {
		done.Provider = target.Endpoint.Name
	}
	if done.Model == "" {
		done.Model = target.Model
	}
	done.Queued, done.Retried, done.Attempts = c.queued, c.retried, c.attempts
	done.Failures, done.Lost = c.failures, c.spent
	if done.CostUSD == nil { // a provider that says what it charges knows best
		done.CostUSD = c.price(target, &done)
	}
	c.caller.gauges.learn(target, c.req, &done)
	return &done
}

// price gives the cost of a reply, nil where it is unknown. The name that the model
// was asked for by counts before the one in the reply.
func (c *call) price(target Target, done *Completion) *float64 {
	table := c.caller.Prices
	if table == nil {
		table = prices.Builtin()
	}
	call := prices.Call{Usage: done.Usage, Tier: done.Tier, At: time.Now()}
	if cost := table.Cost(target.Endpoint.Name, target.Model, call); cost != nil {
		return cost
	}
	return table.Cost(target.Endpoint.Name, done.Model, call)
}

// announce tells the consumer that all deltas so far are void.
func (c *call) announce(failure *Error, wait time.Duration, model string) error {
	if c.yield(Delta{Retry: &Retry{Attempt: c.attempts, Wait: wait, Err: failure, Model: model}}, nil) {
		return nil
	}
	return errConsumerStopped
}

// keep adds the newest attempt to those that failed.
func (c *call) keep(failure *Error) {
	if len(c.failures) == events.MaxRetries {
		c.failures = slices.Delete(c.failures, 0, 1)
	}
	c.failures = append(c.failures, Failure{Sent: c.sent.Sub(c.begun), Ran: c.ended.Sub(c.sent), Model: c.req.Model, Lost: c.used, Err: failure})
	c.failed++
}

// lost adds to the error of a call that got no reply what was tried.
func (c *call) lost(err error) error {
	var failure *Error
	switch {
	case c.attempts == 0:
		return err
	case errors.As(err, &failure) && !errors.As(err, new(*OutageError)): // the last attempt is kept
	case c.failed < c.attempts:
		cause := context.Cause(c.ctx)
		if cause == nil {
			cause = err
		}
		c.keep(&Error{Kind: ErrStopped, Message: cause.Error()})
	default: // it waited for another
		c.failures[len(c.failures)-1].Wait = time.Since(c.ended)
	}
	return &CallError{Call: c.req.Call, Failures: c.failures, Earlier: c.failed - len(c.failures), Lost: c.spent, Err: err}
}

// sleep waits before the next attempt.
func (c *call) sleep(wait time.Duration) error { return c.sleepUnless(wait, nil) }

// sleepUnless waits, or until it is woken.
func (c *call) sleepUnless(wait time.Duration, woken <-chan struct{}) error {
	if wait <= 0 {
		return nil // the next attempt looks at ctx
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	started := time.Now()
	defer func() { c.retried += time.Since(started) }()
	select {
	case <-timer.C:
		return nil
	case <-woken:
		return nil
	case <-c.begin():
		return c.notBegun()
	case <-c.ctx.Done():
		return fmt.Errorf("wait to retry model=%s: %w", c.req.Model, c.ctx.Err())
	}
}

func (c *call) maxAttempts(kind ErrorKind) int {
	most := DefaultMaxAttempts
	if c.caller.MaxAttempts > 0 {
		most = c.caller.MaxAttempts
	}
	if kind == ErrUnreachable {
		return min(most, maxUnreachable)
	}
	return most
}

func (c *call) maxRefusals() int {
	if c.caller.MaxRefusals > 0 {
		return c.caller.MaxRefusals
	}
	return DefaultMaxRefusals
}

func (c *call) maxWait() time.Duration {
	if c.caller.MaxWait > 0 {
		return c.caller.MaxWait
	}
	return DefaultMaxWait
}
