package llm

import (
	"container/heap"
	"context"
	"errors"
	"sync"
	"time"
)

// DefaultMaxInFlight bounds the calls in flight at one endpoint where nobody set a
// bound: about the connections that a process can have open.
const DefaultMaxInFlight = 10_000

// LimiterConfig is what is known of an endpoint's limits. What is not known is
// learned from its refusals.
type LimiterConfig struct {
	// MaxInFlight bounds the calls in flight. Defaults to [DefaultMaxInFlight].
	MaxInFlight int
	// RequestsPerMinute and TokensPerMinute are the endpoint's published limits; 0 if
	// unknown. Tokens are reserved from an estimate and settled from the usage.
	RequestsPerMinute, TokensPerMinute int
}

// LocalLimiter is the [Limiter] of one process: one for each endpoint and key.
//
// It starts with as many calls as its bound allows and takes from each refusal (429)
// which of two limits the endpoint keeps, or both: places, of which one frees when a
// call ends, or calls in a time. A refusal at about as many in flight as it took
// before is about places; one that asks for a long wait, that meets a lone call, or
// that comes well below those places again and again, is about calls. The limit is
// cut to what was accepted and grows again, in small steps, while nothing is refused.
// Errors of the server (5xx) only pause the growth. Whoever waits is served
// interactive before batch, then the oldest run first, then in order of arrival.
//
// It has no goroutine of its own. Safe for concurrent use.
type LocalLimiter struct {
	max int

	mu sync.Mutex // guards all below
	// queue holds who waits; it is as long as there are callers, who bound themselves.
	queue    waiters
	arrivals uint64
	inFlight int
	// throttled is until when nobody may go.
	throttled time.Time
	requests  *bucket // nil where unknown
	tokens    *bucket // nil where unknown
	output    float64 // running mean of the output tokens of a call
	level     concurrency
	pace      pacing
	// wake admits the next waiter once time alone allows it.
	wake *time.Timer
}

var _ Limiter = (*LocalLimiter)(nil)

// NewLimiter makes a limiter.
func NewLimiter(cfg LimiterConfig) *LocalLimiter {
	if cfg.MaxInFlight <= 0 {
		cfg.MaxInFlight = DefaultMaxInFlight
	}
	now := time.Now()
	l := &LocalLimiter{
		max: cfg.MaxInFlight, output: firstOutputGuess,
		level: concurrency{limit: cfg.MaxInFlight, max: cfg.MaxInFlight},
		pace:  pacing{cycle: tally{since: now}},
	}
	if cfg.RequestsPerMinute > 0 {
		l.requests = newBucket(float64(cfg.RequestsPerMinute)/60*windowShare, requestBurst, now)
	}
	if cfg.TokensPerMinute > 0 {
		l.tokens = newBucket(float64(cfg.TokensPerMinute)/60*windowShare, tokenBurst, now)
	}
	return l
}

const (
	// windowShare is how much of a published limit is used: endpoints count in windows
	// that do not begin when ours do, and a burst comes on top.
	windowShare = 0.98
	// requestBurst and tokenBurst are how much may go at once, in seconds of the limit.
	requestBurst = 1.0
	tokenBurst   = 6.0
	// firstOutputGuess is the output of a call in tokens before any has been seen.
	firstOutputGuess = 500
)

// Acquire waits for a turn. It fails only when ctx ends.
func (l *LocalLimiter) Acquire(ctx context.Context, req *Request) (Permit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	estimate := EstimateInput(req)
	l.mu.Lock()
	estimate += int64(l.output)
	if req.MaxOutputTokens > 0 {
		estimate += min(int64(req.MaxOutputTokens), int64(3*l.output)) - int64(l.output)
	}
	l.arrivals++
	w := &waiter{priority: req.Priority, run: string(req.Run), arrival: l.arrivals, tokens: float64(estimate)}
	if len(l.queue) == 0 && l.ready(w, time.Now()) <= 0 {
		p := l.admit(w, time.Now())
		l.mu.Unlock()
		return p, nil
	}
	w.admitted = make(chan struct{})
	heap.Push(&l.queue, w)
	l.pump()
	l.mu.Unlock()

	select {
	case <-w.admitted:
		return w.permit, nil
	case <-ctx.Done():
		l.leave(w)
		return nil, ctx.Err()
	}
}

// leave takes a waiter out of the queue; one that was admitted in the same moment
// gives its turn to the next.
func (l *LocalLimiter) leave(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.permit == nil {
		heap.Remove(&l.queue, w.index)
		l.pump()
		return
	}
	l.inFlight--
	l.pace.takeBack()
	l.requests.put(1)
	l.tokens.put(w.tokens)
	w.permit.settled = true
	l.pump()
}

// ready tells how long the waiter must still wait for time alone: 0 if not at all,
// never if a call has to end first.
func (l *LocalLimiter) ready(w *waiter, now time.Time) time.Duration {
	return max(l.level.wait(l.inFlight, now), l.throttled.Sub(now), l.pace.wait(now), l.requests.wait(1, now), l.tokens.wait(w.tokens, now))
}

const never = time.Duration(1<<63 - 1)

func (l *LocalLimiter) admit(w *waiter, now time.Time) *permit {
	l.inFlight++
	l.pace.take(now)
	l.requests.take(1, now)
	l.tokens.take(w.tokens, now)
	return &permit{limiter: l, tokens: w.tokens, started: now, among: l.inFlight}
}

// pump admits whoever may go, in order, and sets the alarm for the next.
func (l *LocalLimiter) pump() {
	for len(l.queue) > 0 {
		now := time.Now()
		head := l.queue[0]
		switch wait := l.ready(head, now); {
		case wait == never:
			return // a Settle will pump again
		case wait > 0:
			l.alarm(wait)
			return
		}
		heap.Pop(&l.queue)
		head.permit = l.admit(head, now)
		close(head.admitted)
	}
}

func (l *LocalLimiter) alarm(wait time.Duration) {
	if l.wake == nil {
		l.wake = time.AfterFunc(wait, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.pump()
		})
		return
	}
	l.wake.Reset(wait)
}

// permit is the right to make one call.
type permit struct {
	limiter *LocalLimiter
	tokens  float64
	started time.Time
	// among is how many were in flight when it went out, with it.
	among   int
	settled bool // guarded by the limiter's mu
}

// Settle gives the slot back. A second Settle does nothing.
func (p *permit) Settle(done *Completion, err error) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.settled {
		return
	}
	p.settled = true
	l.inFlight--
	now := time.Now()
	if done != nil {
		l.tokens.put(p.tokens - float64(done.Usage.Total()))
		l.output += (float64(done.Usage.OutputTokens) - l.output) / 16
		l.accepted(p.started, now)
	} else {
		l.failed(p, err, now)
	}
	l.pump()
}

func (l *LocalLimiter) accepted(started, now time.Time) {
	wanted := len(l.queue) > 0
	l.level.accepted(started, now, wanted && l.inFlight+1 >= l.level.limit)
	l.pace.accepted(started, now, wanted)
}

// failed takes what an error says about the endpoint. A call that broke after it
// was accepted keeps its estimate as spent.
func (l *LocalLimiter) failed(p *permit, err error, now time.Time) {
	var e *Error
	if !errors.As(err, &e) {
		return // the consumer stopped
	}
	asked := min(e.RetryAfter, DefaultMaxWait)
	switch {
	case refused(e):
		l.tokens.put(p.tokens)
		l.refused(p, asked, now)
	case e.Kind == ErrUnreachable || e.Kind == ErrAuthentication:
		l.tokens.put(p.tokens)
	case e.Status >= 500:
		l.level.pauseGrowth(now)
		l.pace.pauseGrowth(now)
	}
	l.throttle(now.Add(asked))
}

// longRetry is a Retry-After that no lack of places explains: calls end sooner.
const longRetry = 5 * time.Second

// refused takes a 429, for the limit that it is about.
func (l *LocalLimiter) refused(p *permit, asked time.Duration, now time.Time) {
	l.pace.strike()
	lone := p.among == 1 && l.inFlight == 0
	rateLike := asked >= longRetry || lone || l.level.lowAgain(p.among, now) || l.pace.binds(now)
	if l.pace.inBurst(p.started) || (rateLike && !l.level.inBurst(p.started)) {
		l.throttle(now.Add(l.pace.refused(p.started, asked, now)))
		return
	}
	l.level.refused(p, l.inFlight, now)
}

func (l *LocalLimiter) throttle(until time.Time) {
	if until.After(l.throttled) {
		l.throttled = until
	}
}

// LimiterState is what a limiter does at one moment, for people.
type LimiterState struct {
	// Endpoint names the endpoint; empty where whoever asked the limiter did not say.
	Endpoint string
	// Limit is how many calls may be in flight, InFlight how many are, Waiting how
	// many wait for their turn.
	Limit, InFlight, Waiting int
	// ThrottledUntil is zero where the endpoint does not hold everybody back.
	ThrottledUntil time.Time
	// RequestsPerMinute and TokensPerMinute are the limits kept to, published or
	// learned; 0 where there is none.
	RequestsPerMinute, TokensPerMinute int
}

// State tells what the limiter does.
func (l *LocalLimiter) State() LimiterState {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := LimiterState{Limit: l.level.limit, InFlight: l.inFlight, Waiting: len(l.queue)}
	if l.throttled.After(time.Now()) {
		s.ThrottledUntil = l.throttled
	}
	rate := l.pace.rate
	if l.requests != nil && (rate == 0 || l.requests.rate < rate) {
		rate = l.requests.rate
	}
	s.RequestsPerMinute = int(rate * 60)
	if l.tokens != nil {
		s.TokensPerMinute = int(l.tokens.rate * 60)
	}
	return s
}
