package llm

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
)

// DefaultMaxInFlight bounds the calls in flight at one endpoint where nobody set a
// bound: about the connections that a process can have open.
const DefaultMaxInFlight = 10_000

// LimiterConfig is what is known of an endpoint's limits. Of the rest the endpoint
// tells with its replies, or refuses.
type LimiterConfig struct {
	// MaxInFlight bounds the calls in flight. Defaults to [DefaultMaxInFlight].
	MaxInFlight int
	// RequestsPerMinute and TokensPerMinute are the endpoint's published limits; 0 if
	// unknown. Tokens are reserved from an estimate and settled from the usage.
	RequestsPerMinute, TokensPerMinute int
}

// LocalLimiter is the [Limiter] of one process: one for each endpoint and key.
//
// It keeps to the limits that it was given, to those that the endpoint tells with its
// replies ([Completion.Limits]) and refusals ([Error.Limits]), and to as many calls in
// flight as the endpoint takes, which it finds by growing and cutting: see places.
// Tenants that wait take turns; of a tenant whoever waits is served interactive before batch,
// then the oldest run first, then in order of arrival.
//
// It has no goroutine of its own. Safe for concurrent use.
type LocalLimiter struct {
	mu sync.Mutex // guards all below
	// queue holds who waits; it is as long as there are callers, who bound themselves.
	queue    queue
	arrivals uint64
	// inFlight counts the calls under way, held the places of refused calls that are not
	// free yet, and freeing those of calls that have just ended.
	inFlight, held, freeing int
	places                  places
	// requests and tokens are limits that were given, nil where none was; told are those
	// that the endpoint tells.
	requests, tokens *bucket
	told             told
	// last is when the newest call went out.
	last time.Time
	// sent is what all calls so far took, counted what those of them did of which the
	// endpoint is known to have counted them.
	sent, counted tally
	output        float64 // running mean of the output tokens of a call
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
	l := &LocalLimiter{output: firstOutputGuess, places: places{limit: cfg.MaxInFlight, max: cfg.MaxInFlight, hold: firstHold}}
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
	cost := tally{requests: 1, input: float64(estimateInput(req))}
	l.mu.Lock()
	cost.output = l.output
	if req.MaxOutputTokens > 0 {
		cost.output = min(float64(req.MaxOutputTokens), 3*l.output)
	}
	l.arrivals++
	if now := time.Now(); l.queue.len() == 0 && l.ready(cost, now) <= 0 {
		p := l.admit(cost, now)
		l.mu.Unlock()
		return p, nil
	}
	w := &waiter{
		tenant: req.Tenant, priority: req.Priority, run: string(req.Run), arrival: l.arrivals, cost: cost, admitted: make(chan struct{}),
	}
	l.queue.push(w)
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
		l.queue.remove(w)
		l.pump()
		return
	}
	l.inFlight--
	l.places.abandoned(w.permit)
	l.spend(tally{}.minus(w.cost), time.Now())
	w.permit.settled = true
	l.pump()
}

// spend counts requests and tokens, against all limits; what is given back is
// negative.
func (l *LocalLimiter) spend(n tally, now time.Time) {
	l.sent = l.sent.plus(n)
	l.requests.take(n.requests, now)
	l.tokens.take(n.tokens(), now)
	l.told.take(n, now)
}

// ready tells how long a call must still wait for time alone: 0 if not at all, never if another
// has to end first.
func (l *LocalLimiter) ready(cost tally, now time.Time) time.Duration {
	// A call that would have to wait very long is sent anyway, to be told so by a refusal.
	told := min(l.told.wait(cost, now), DefaultMaxWait-now.Sub(l.last))
	return max(l.places.wait(l.inFlight+l.held+l.freeing, now), l.requests.wait(1, now), l.tokens.wait(cost.tokens(), now), told)
}

const never = time.Duration(1<<63 - 1)

func (l *LocalLimiter) admit(cost tally, now time.Time) *permit {
	l.inFlight++
	l.last = now
	l.spend(cost, now)
	return &permit{limiter: l, cost: cost, started: now, countedBefore: l.counted, probe: l.places.admit()}
}

// pump admits whoever may go, in order, and sets the alarm for the next.
func (l *LocalLimiter) pump() {
	for l.queue.len() > 0 {
		now := time.Now()
		head := l.queue.head()
		switch wait := l.ready(head.cost, now); {
		case wait == never:
			return // a Settle will pump again
		case wait > 0:
			l.alarm(wait)
			return
		}
		l.queue.pop()
		head.permit = l.admit(head.cost, now)
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
	cost    tally // by estimate
	started time.Time
	// countedBefore is what the endpoint had surely counted when the call went out,
	// sentBefore what had been sent when the endpoint was known to have counted the call.
	countedBefore, sentBefore tally
	// probe is set on the one call that finds out whether a full endpoint has room.
	probe bool
	// accepted and settled are guarded by the limiter's mu.
	accepted, settled bool
}

// Accepted notes that there is room at the endpoint.
func (p *permit) Accepted() {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.settled {
		return
	}
	l.took(p, l.inFlight-1, time.Now())
	l.pump()
}

// Settle gives the place back. A second Settle does nothing.
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
		l.output += (float64(done.Usage.OutputTokens) - l.output) / 16
		l.took(p, l.inFlight, now)
		l.tell(p, done.Limits, now)
		more := tally{1, float64(done.Usage.InputTokens), float64(done.Usage.OutputTokens)}.minus(p.cost)
		l.spend(more, now)
		l.counted = l.counted.plus(more)
		if l.places.wasFull() {
			l.hold(&l.freeing, freedLate)
		}
	} else {
		l.failed(p, err, now)
	}
	l.pump()
}

// took notes, once, that the endpoint took a call while so many others run.
func (l *LocalLimiter) took(p *permit, others int, now time.Time) {
	if p.accepted {
		return
	}
	p.accepted = true
	p.sentBefore = l.sent
	l.counted = l.counted.plus(p.cost)
	binding := l.queue.len() > 0 && others+1+l.held+l.freeing >= l.places.limit
	l.places.accepted(p, binding, others, now)
}

// failed takes what an error says about the endpoint. A call that broke after it was
// accepted keeps its estimate as spent.
func (l *LocalLimiter) failed(p *permit, err error, now time.Time) {
	var e *Error
	switch {
	case !errors.As(err, &e): // the consumer stopped
		l.places.abandoned(p)
	case refused(e):
		l.spend(tally{}.minus(p.cost), now)
		p.cost, p.sentBefore = tally{}, l.sent // the endpoint has counted nothing of it, and looked just now
		l.tell(p, e.Limits, now)
		asked := min(e.RetryAfter, DefaultMaxWait)
		l.places.refused(p, asked, l.inFlight+l.freeing, now)
		l.hold(&l.held, max(asked, refusedHold))
	case e.Kind == ErrUnreachable || e.Kind == ErrAuthentication:
		l.spend(tally{requests: 1}.minus(p.cost), now)
		l.places.abandoned(p)
	default:
		l.took(p, l.inFlight, now)
		l.tell(p, e.Limits, now)
	}
}

// tell takes what the answer to a call said of the endpoint's limits.
func (l *LocalLimiter) tell(p *permit, limits *RateLimits, now time.Time) {
	l.told.tell(limits, p.started, l.sent.minus(p.sentBefore), l.sent.minus(p.countedBefore).minus(p.cost), now)
}

// hold keeps the place of a call that has ended for a time, and counts it meanwhile.
func (l *LocalLimiter) hold(count *int, d time.Duration) {
	*count++
	time.AfterFunc(d, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		*count--
		l.pump()
	})
}

// LimiterState is what a limiter does at one moment, for people.
type LimiterState struct {
	// Endpoint names the endpoint; empty where whoever asked the limiter did not say.
	Endpoint string
	// Limit is how many calls may be in flight, InFlight how many are, Waiting how
	// many wait for their turn.
	Limit, InFlight, Waiting int
	// ThrottledUntil is until when nobody goes because the endpoint was full; zero where
	// it is not.
	ThrottledUntil time.Time
	// RequestsPerMinute and TokensPerMinute are the limits kept to, given or told by the
	// endpoint; 0 where there is none.
	RequestsPerMinute, TokensPerMinute int
}

// At gives the state as logs and dashboards have it.
func (s LimiterState) At(now time.Time) events.BatchLimiter {
	return events.BatchLimiter{
		Endpoint: s.Endpoint, Limit: s.Limit, InFlight: s.InFlight, Waiting: s.Waiting,
		RequestsPerMinute: s.RequestsPerMinute, TokensPerMinute: s.TokensPerMinute,
		HeldBackMS: max(0, s.ThrottledUntil.Sub(now).Milliseconds()),
	}
}

// State tells what the limiter does.
func (l *LocalLimiter) State() LimiterState {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := LimiterState{Limit: l.places.limit, InFlight: l.inFlight, Waiting: l.queue.len()}
	if l.places.shut && l.places.until.After(time.Now()) {
		s.ThrottledUntil = l.places.until
	}
	s.RequestsPerMinute = perMinute(l.requests, &l.told.requests)
	s.TokensPerMinute = perMinute(l.tokens, &l.told.tokens)
	return s
}

// perMinute is the lower of a limit that was given and one that the endpoint tells; a
// window that it does not say the length of counts as a minute.
func perMinute(given *bucket, told *allowance) int {
	rate := told.rate * 60
	if rate == 0 {
		rate = told.limit
	}
	if given != nil {
		if published := given.rate * 60 / windowShare; rate == 0 || published < rate {
			rate = published
		}
	}
	return int(math.Round(rate))
}
