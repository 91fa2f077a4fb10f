package llm

import "time"

// concurrency controls how many calls are in flight.
type concurrency struct {
	limit, max int
	// known is the most that the endpoint is known to take, 0 before any refusal. A cut
	// at the limit leaves it: what is refused ever further below counts calls, not
	// places.
	known int
	// floor is what the burst of the last cut cannot take the limit below, stood the
	// limit before the last growth.
	floor, stood int
	lastCut      time.Time
	// low is when calls well below the limit were refused for the first time of late.
	low   time.Time
	probe probing
	// ended is when the last calls ended whose places the endpoint may not yet count
	// as free; length the running mean of how long a call takes.
	ended  []time.Time
	length time.Duration
}

const (
	// A place counts as taken for a moment after the client sees the end of its call:
	// longer than an endpoint takes to notice, but no more than a lingerShare-th of a
	// call.
	longestLinger = 10 * time.Millisecond
	lingerShare   = 128
)

// linger is how long a place stays taken after its call; 0 while nothing shows that
// the endpoint counts places.
func (c *concurrency) linger() time.Duration {
	if c.known == 0 {
		return 0
	}
	return min(c.length/lingerShare, longestLinger)
}

// wait tells how long until there is a place for one more than so many in flight;
// never where a call has to end first.
func (c *concurrency) wait(inFlight int, now time.Time) time.Duration {
	linger := c.linger()
	for len(c.ended) > 0 && now.Sub(c.ended[0]) >= linger {
		c.ended = c.ended[1:]
	}
	switch free := c.limit - inFlight; {
	case free <= 0:
		return never
	case free > len(c.ended):
		return 0
	default:
		return c.ended[len(c.ended)-free].Add(linger).Sub(now)
	}
}

// inBurst reports whether a call went out before the last cut, so that its refusal
// is part of the burst that the cut answered.
func (c *concurrency) inBurst(started time.Time) bool {
	return c.known > 0 && !started.After(c.lastCut)
}

// near reports whether a call that went out as one of so many in flight met the
// known limit, give or take a few: an endpoint frees a place a moment after its
// client sees the end, and others may hold places too.
func (c *concurrency) near(among int) bool {
	return c.known == 0 || among > c.known-max(2, c.known/16)
}

// lowTime is how long after a loss of places another is another loss.
const lowTime = time.Minute

// lowAgain reports whether a call well below the limit was refused, and that again:
// an endpoint that loses places refuses so once, until the calls from before have
// ended; one that counts calls always does.
func (c *concurrency) lowAgain(among int, now time.Time) bool {
	since := now.Sub(c.low)
	return !c.near(among) && since > c.length && since < lowTime
}

// refused cuts the limit. The first burst, and one well below the limit, shows what
// the endpoint takes: with each of its refusals one fewer turns out to be in flight.
// One at the limit takes a place or two, one after a growth takes the growth back.
func (c *concurrency) refused(p *permit, inFlight int, now time.Time) {
	burst, learns := c.inBurst(p.started), c.known == 0 || !c.near(p.among)
	switch {
	case burst:
		c.limit = max(c.floor, c.limit-1)
		learns = c.floor == 1 // a burst that shows what there is
	case learns:
		if c.known > 0 && now.Sub(c.low) >= lowTime {
			c.low = now
			c.probe = probing{} // what was learned of the limit before is void
		}
		c.limit, c.floor = max(1, min(c.limit, inFlight)), 1
	case c.probe.grown:
		c.limit, c.floor = c.stood, c.stood
	default:
		c.limit = max(1, c.limit-1)
		c.floor = max(1, c.limit-1)
	}
	if learns {
		c.known = c.limit
	}
	if !burst {
		c.lastCut = now
		c.probe.refused(now)
	}
}

// accepted grows the limit a step at a time, where it is the limit that binds.
func (c *concurrency) accepted(started, now time.Time, binding bool) {
	c.length += (now.Sub(started) - c.length) / 16
	if c.known > 0 {
		c.ended = append(c.ended, now)
	}
	if !binding || c.limit >= c.max || !c.probe.due(now) {
		return
	}
	if c.probe.grown { // the last growth stood: there is room
		c.known = max(c.known, c.limit)
		c.probe.hold = max(c.probe.hold/2, firstProbe)
	}
	c.stood = c.limit
	c.limit = min(c.max, c.limit+max(1, c.limit/32))
	c.probe.grow(now)
}

func (c *concurrency) pauseGrowth(now time.Time) { c.probe.pause(now) }
