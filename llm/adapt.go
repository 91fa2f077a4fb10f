package llm

import "time"

// How both controls grow again after a refusal: the first probe after a second;
// each probe that is refused doubles the time to the next, up to half a minute, so
// that a limit which stands costs few refusals.
const (
	firstProbe  = time.Second
	slowestHold = 30 * time.Second
	// serverErrorPause is how long a 5xx puts off the next growth; once for each, or an
	// endpoint that always fails now and then would never be found to have room.
	serverErrorPause = 2 * time.Second
)

// probing is the patience of a control.
type probing struct {
	hold time.Duration
	next time.Time
	// grown is set between a growth and the judgement on it, paused where a 5xx has put
	// off the next.
	grown, paused bool
}

// refused notes a refusal: one that follows a growth makes the next come later.
func (p *probing) refused(now time.Time) {
	if p.hold == 0 {
		p.hold = firstProbe
	} else if p.grown {
		p.hold = min(2*p.hold, slowestHold)
	}
	p.grown = false
	p.next = now.Add(p.hold)
}

// due reports whether it is time to grow.
func (p *probing) due(now time.Time) bool {
	return p.hold > 0 && !now.Before(p.next)
}

// grow notes a growth.
func (p *probing) grow(now time.Time) {
	p.grown, p.paused = true, false
	p.next = now.Add(p.hold)
}

func (p *probing) pause(now time.Time) {
	if until := now.Add(serverErrorPause); p.hold > 0 && !p.paused && until.After(p.next) {
		p.next, p.paused = until, true
	}
}

// concurrency controls how many calls are in flight.
type concurrency struct {
	limit, max int
	// ceiling is the limit after the last cut: what the endpoint is known to take. 0
	// before any.
	ceiling int
	// floor is what the burst of the last cut cannot take the limit below.
	floor   int
	lastCut time.Time
	probe   probing
}

// inBurst reports whether a call went out before the last cut, so that its refusal
// is part of the burst that the cut answered.
func (c *concurrency) inBurst(started time.Time) bool {
	return c.ceiling > 0 && !started.After(c.lastCut)
}

// settleTime is how long after a cut its measure may still be off: calls end while
// the refusals of a burst are on their way.
const settleTime = 250 * time.Millisecond

// below reports whether so many in flight are fewer than the endpoint took before.
func (c *concurrency) below(inFlight int, now time.Time) bool {
	return inFlight < c.ceiling && now.Sub(c.lastCut) > settleTime
}

// refused cuts the limit to the calls that the endpoint took. Within one burst those
// turn out one fewer with each refusal: that is one cut, refined.
func (c *concurrency) refused(started time.Time, inFlight int, now time.Time) {
	switch {
	case c.inBurst(started):
		c.limit = max(c.floor, c.limit-1)
	case c.probe.grown: // too far: back to what is known
		c.limit, c.floor = c.ceiling, c.ceiling
		c.cut(now)
	default:
		c.limit, c.floor = max(1, min(c.limit, inFlight)), 1
		c.cut(now)
	}
	c.ceiling = c.limit
}

func (c *concurrency) cut(now time.Time) {
	c.lastCut = now
	c.probe.refused(now)
}

// accepted grows the limit a step at a time, where it is the limit that binds.
func (c *concurrency) accepted(now time.Time, binding bool) {
	if !binding || c.limit >= c.max || !c.probe.due(now) {
		return
	}
	if c.probe.grown { // the last growth stood: there is room
		c.ceiling = c.limit
		c.probe.hold = firstProbe
	}
	c.limit = min(c.max, c.limit+max(1, c.limit/32))
	c.probe.grow(now)
}

func (c *concurrency) pauseGrowth(now time.Time) { c.probe.pause(now) }

// pacing controls how many calls go out a second, once the endpoint has shown that
// it counts them.
type pacing struct {
	rate   float64 // a second; 0: not limited
	bucket *bucket // of rate; nil where not limited
	// cycle counts since the start, or since the end of the last pause that the
	// endpoint asked for, or, where it does not say, since that behind which it
	// accepted again. fresh counts since the end of the last pause.
	cycle, fresh tally

	// The burst being answered: its first refusal, what was taken in its cycle and
	// how long the cycle lasted with the pause that ends it.
	lastCut    time.Time
	burstTaken int
	burstTime  time.Duration
	before     float64 // the rate before the burst
	pauses     int     // in a row without an accepted call between
	probe      probing
	step       float64 // by which the rate grows next
	lastBound  time.Time
}

const (
	// paceBurst is how many seconds' worth may go at once.
	paceBurst = 0.5
	// firstPause doubles to longestPause while an endpoint refuses without saying for
	// how long: ten of them outlast a window of a minute.
	firstPause   = 500 * time.Millisecond
	longestPause = 15 * time.Second
	// smallStep is the first growth of a rate, largeStep the largest. Only sureStep
	// shows that there is room: a rate a little too high is refused late.
	smallStep, sureStep, largeStep = 0.01, 0.04, 0.32
	// forgetPace drops a learned rate that has not bound for so long.
	forgetPace = 5 * time.Minute
)

func (p *pacing) wait(now time.Time) time.Duration {
	w := p.bucket.wait(1, now)
	if w > 0 {
		p.lastBound = now
	}
	return w
}

// binds reports whether it is the rate that holds calls back.
func (p *pacing) binds(now time.Time) bool {
	return p.rate > 0 && now.Sub(p.lastBound) <= firstProbe
}

// tally counts what an endpoint took.
type tally struct {
	since time.Time
	taken int // admitted and, as far as is known, not refused
}

func (p *pacing) take(now time.Time) {
	p.count(1)
	p.bucket.take(1, now)
}

func (p *pacing) takeBack() {
	p.count(-1)
	p.bucket.put(1)
}

func (p *pacing) count(n int) {
	p.cycle.taken += n
	p.fresh.taken += n
}

func (p *pacing) inBurst(started time.Time) bool {
	return p.burstTime > 0 && !started.After(p.lastCut)
}

// refused learns the rate: what the endpoint took in this cycle, over the time of
// the cycle and the pause that it asks for. That holds for a bucket that refills, a
// sliding window and a fixed one alike. It returns the pause.
func (p *pacing) refused(started time.Time, asked time.Duration, now time.Time) time.Duration {
	if p.inBurst(started) {
		p.burstTaken--
		p.set(now)
		return asked
	}
	pause := asked
	if pause == 0 {
		pause = min(firstPause<<min(p.pauses, 10), longestPause)
	}
	if p.pauses == 0 || asked > 0 {
		p.before = p.rate
	}
	p.pauses++
	p.burstTaken = p.cycle.taken
	p.burstTime = max(now.Sub(p.cycle.since), 0) + pause
	p.lastCut = now
	p.fresh = tally{since: now.Add(pause)}
	if asked > 0 {
		p.cycle = p.fresh
	}
	p.probe.grown = true // a rate a little too high is refused long after its growth
	p.probe.refused(now.Add(pause))
	if asked >= longRetry {
		// A window that opens anew takes much at once: the pause is the patience.
		p.probe.hold = firstProbe
	}
	p.step = smallStep
	p.set(now)
	return pause
}

// set gives the rate that the burst shows. A rate kept to before was too high, but
// is trusted more than one short cycle, unless that shows far less.
func (p *pacing) set(now time.Time) {
	seen := max(float64(p.burstTaken), 1) / p.burstTime.Seconds()
	if p.before > 0 && seen > 0.8*p.before {
		seen = min(max(seen, 0.95*p.before), 0.98*p.before)
	}
	p.change(min(seen, maxRate), now)
}

// maxRate keeps a rate finite; no endpoint counts so many.
const maxRate = 1e5

func (p *pacing) change(rate float64, now time.Time) {
	p.rate = rate
	if p.bucket == nil {
		p.bucket = newBucket(rate, paceBurst, now)
		p.bucket.level = 0
		return
	}
	p.bucket.refill(now)
	p.bucket.rate, p.bucket.size = rate, max(rate*paceBurst, 1)
	p.bucket.level = min(p.bucket.level, p.bucket.size)
}

// accepted grows the rate while it binds: in ever larger steps until a refusal.
func (p *pacing) accepted(started, now time.Time, wanted bool) {
	if p.pauses > 0 && started.After(p.lastCut) {
		p.pauses = 0
		p.cycle = p.fresh
	}
	if p.rate == 0 {
		return
	}
	if now.Sub(p.lastBound) > forgetPace && now.Sub(p.lastCut) > forgetPace {
		*p = pacing{cycle: tally{since: now}}
		return
	}
	if !wanted || !p.binds(now) || !p.probe.due(now) {
		return
	}
	p.change(min(p.rate*(1+p.step), maxRate), now)
	if p.step >= sureStep {
		p.probe.hold = max(p.probe.hold/2, firstProbe)
	}
	p.step = min(2*p.step, largeStep)
	p.probe.grow(now)
}

func (p *pacing) pauseGrowth(now time.Time) { p.probe.pause(now) }
