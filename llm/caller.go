package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/convene-run/convene/events"
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
	// Prices gives the cost of a reply. Defaults to [DefaultPrices].
	Prices *Prices
}

// errConsumerStopped says that the consumer broke out of its loop.
var errConsumerStopped = errors.New("consumer stopped")

// Stream makes one call along the route. Its deltas are those of [Client.Stream]
// with Retry deltas between attempts.
//
// An authentication error, a prompt over the window and a reply over its bound end
// the call at once; any other failure that lasts goes on to the next target. The
// error of a call that failed at an endpoint wraps the [*Error] of the last attempt,
// with the number of all of them; that of a call that sent a request at all is a
// [*CallError], which tells of each.
func (c *Caller) Stream(ctx context.Context, route Route, req Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		call := call{caller: c, ctx: ctx, req: req, yield: yield, begun: time.Now()}
		if err := call.along(route); err != nil && !errors.Is(err, errConsumerStopped) {
			yield(Delta{}, call.lost(err))
		}
	}
}

// call is one call under way. It lives on the goroutine of its consumer.
type call struct {
	caller *Caller
	ctx    context.Context
	req    Request
	yield  func(Delta, error) bool

	begun           time.Time
	attempts        int
	queued, retried time.Duration
	// sent and ended are when the newest attempt went out and ended.
	sent, ended time.Time
	// failures are the newest attempts that failed, failed counts all of them.
	failures []Failure
	failed   int
}

// along asks each target of the route in turn.
func (c *call) along(route Route) error {
	if len(route) == 0 {
		return errors.New("call model: the route is empty")
	}
	var earlier []error
	for i, target := range route {
		c.req.Model = target.Model
		err := c.at(target)
		var failure *Error
		if err == nil || !errors.As(err, &failure) {
			return err
		}
		if i == len(route)-1 || endsCall(failure.Kind) {
			c.keep(failure)
			return c.lasting(failure, earlier)
		}
		earlier = append(earlier, failure)
		if err := c.announce(failure, 0, route[i+1].Model); err != nil {
			return err
		}
	}
	return nil
}

// endsCall names the failures that another model must not hide: a refused key
// wants mending, and the loop itself answers the other two.
func endsCall(kind ErrorKind) bool {
	return kind == ErrAuthentication || kind == ErrContextLength || kind == ErrReplyTooLarge
}

// lasting gives the failure that the consumer sees.
func (c *call) lasting(failure *Error, earlier []error) error {
	last := *failure
	last.Attempts = c.attempts
	if len(earlier) > 0 {
		last.Cause = errors.Join(append(earlier, last.Cause)...)
	}
	return &last
}

// at asks one target until it answers or fails for good.
func (c *call) at(target Target) error {
	var failures, refusals int
	for {
		err := c.attempt(target)
		var failure *Error
		if err == nil || !errors.As(err, &failure) || !failure.Retryable() {
			return err
		}
		if refused(failure) {
			refusals++
		} else {
			failures++
			refusals = 0
		}
		if failure.RetryAfter > c.maxWait() {
			return tooLongAWait(failure)
		}
		if refusals >= c.maxRefusals() || failures >= c.maxAttempts(failure.Kind) {
			return failure
		}
		wait := backoff(failures+refusals, failure.RetryAfter)
		if refused(failure) && target.Endpoint.Limiter != nil {
			// The limiter holds back every call to the endpoint, this one among them.
			wait = 0
		}
		if err := c.announce(failure, max(wait, failure.RetryAfter), target.Model); err != nil {
			return err
		}
		if err := c.sleep(wait); err != nil {
			return err
		}
	}
}

// refused reports whether the endpoint turned the call away for want of room.
func refused(e *Error) bool { return e.Kind == ErrRateLimited && e.Status == statusTooMany }

const statusTooMany = 429

func tooLongAWait(e *Error) error {
	final := *e
	final.Permanent = true
	final.Message += fmt.Sprintf(" (it asks to wait %s; ask again then, or set another model)", e.RetryAfter.Round(time.Second))
	return &final
}

// attempt makes one request.
func (c *call) attempt(target Target) (err error) {
	var permit Permit
	if limiter := target.Endpoint.Limiter; limiter != nil {
		asked := time.Now()
		permit, err = limiter.Acquire(c.ctx, &c.req)
		c.queued += time.Since(asked)
		if err != nil {
			return fmt.Errorf("wait for %s: %w", target.Endpoint.Name, err)
		}
	}
	var done *Completion
	settle := func() {
		if permit != nil {
			permit.Settle(done, err)
			permit = nil
		}
	}
	defer func() { settle() }()

	c.attempts++
	c.sent = time.Now()
	if len(c.failures) > 0 {
		c.failures[len(c.failures)-1].Wait = c.sent.Sub(c.ended)
	}
	defer func() { c.ended = time.Now() }()
	err = errConsumerStopped // what holds if the consumer stops or panics
	if !c.yield(Delta{Sent: c.attempts}, nil) {
		return err
	}
	for delta, failure := range target.Endpoint.Client.Stream(c.ctx, c.req) {
		if failure != nil {
			err = failure
			return err
		}
		if delta.Done != nil {
			done, err = c.complete(target, delta.Done), nil
			settle() // before the consumer acts on the reply
			delta.Done = done
		}
		if !c.yield(delta, nil) && done == nil {
			return err
		}
		if done != nil {
			return nil
		}
	}
	err = &Error{Kind: ErrBrokenStream, Provider: target.Endpoint.Name, Model: target.Model, Message: "the stream ended without a completion"}
	return err
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
	done.Failures = c.failures
	prices := c.caller.Prices
	if prices == nil {
		prices = DefaultPrices()
	}
	done.CostUSD = prices.Cost(target.Endpoint.Name, target.Model, done.Usage)
	if done.CostUSD == nil {
		done.CostUSD = prices.Cost(target.Endpoint.Name, done.Model, done.Usage)
	}
	return &done
}

// announce tells the consumer that all deltas so far are void.
func (c *call) announce(failure *Error, wait time.Duration, model string) error {
	c.keep(failure)
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
	c.failures = append(c.failures, Failure{Sent: c.sent.Sub(c.begun), Ran: c.ended.Sub(c.sent), Model: c.req.Model, Err: failure})
	c.failed++
}

// lost adds to the error of a call that brought no reply what was tried.
func (c *call) lost(err error) error {
	var failure *Error
	switch {
	case c.attempts == 0:
		return err
	case errors.As(err, &failure): // the last attempt is kept
	case c.failed < c.attempts:
		cause := context.Cause(c.ctx)
		if cause == nil {
			cause = err
		}
		c.keep(&Error{Kind: ErrStopped, Message: cause.Error()})
	default: // it waited for another
		c.failures[len(c.failures)-1].Wait = time.Since(c.ended)
	}
	return &CallError{Call: c.req.Call, Failures: c.failures, Earlier: c.failed - len(c.failures), Err: err}
}

func (c *call) sleep(wait time.Duration) error {
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
