package llm

import "time"

// pacing controls how many calls go out a second, once the endpoint has shown that
// it counts them.
type pacing struct {
	rate   float64 // a second; 0: not limited
	bucket *bucket // that spreads the calls; nil where not limited
	// window is how long the endpoint remembers a call, where it is long: rate is then
	// a number of calls in any window. 0 where calls are let in evenly.
	window time.Duration
	// log is when calls went out that were not refused, as far back as a window goes.
	log []time.Time
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
	// catchUp is how much faster than evenly calls go out when a window has opened:
	// nothing is lost of it, and when it is full few are on their way to be refused.
	catchUp = 4
	// windowBurst is how many seconds' worth may go at once in a window: as much as
	// a busy machine's timers come late.
	windowBurst = 0.1
	// windowMargin is how much longer than a window calls are remembered: they do not
	// all take the same time to the endpoint.
	windowMargin = 250 * time.Millisecond
	minute       = time.Minute
	// maxLog bounds the calls remembered, to less than a megabyte. An endpoint that
	// takes more in a minute is paced evenly.
	maxLog = 1 << 15
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
	w := max(p.bucket.wait(1, now), p.full(now))
	if w > 0 {
		p.lastBound = now
	}
	return w
}

// full tells how long the window still holds as many calls as the endpoint takes in
// one: until the oldest of them leaves it.
func (p *pacing) full(now time.Time) time.Duration {
	most := p.quota()
	if p.window == 0 || len(p.log) < most {
		return 0
	}
	return max(0, p.log[len(p.log)-most].Add(p.window+windowMargin).Sub(now))
}

// quota is how many calls go out in a window.
func (p *pacing) quota() int {
	const rounding = 1e-3 // of a call, lost in the division by the window
	return min(max(1, int(p.rate*p.window.Seconds()+rounding)), maxLog)
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
	for len(p.log) > 0 && (len(p.log) == maxLog || now.Sub(p.log[0]) > max(p.window, minute)+windowMargin) {
		p.log = p.log[1:]
	}
	p.log = append(p.log, now)
}

func (p *pacing) takeBack() {
	p.strike()
	p.bucket.put(1)
}

// strike takes a call out of the books that the endpoint did not take. Which one of
// those in flight it was makes no difference.
func (p *pacing) strike() {
	p.count(-1)
	if n := len(p.log); n > 0 {
		p.log = p.log[:n-1]
	}
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
	p.measure(asked, pause, now.Sub(started), now)
	p.lastCut = now
	p.fresh = tally{since: now.Add(pause)}
	if asked > 0 {
		p.cycle = p.fresh
	}
	p.probe.grown = true // a rate a little too high is refused long after its growth
	p.probe.refused(now.Add(pause))
	p.step = smallStep
	p.set(now)
	return pause
}

// measure notes what the endpoint took, and in what time. A long pause tells of a
// window that has to pass: of a minute, as limits are published, or as long as there
// were calls. What went out up to a round trip before the window counts with it: so
// much later may the endpoint have seen it.
func (p *pacing) measure(asked, pause, trip time.Duration, now time.Time) {
	p.burstTaken = p.cycle.taken
	p.burstTime = max(now.Sub(p.cycle.since), 0) + pause
	if asked >= longRetry && len(p.log) < maxLog {
		p.window = max(p.window, asked, min(p.burstTime, minute))
	}
	if p.window == 0 {
		return
	}
	p.burstTime, p.burstTaken = p.window, 0
	from := now.Add(pause - p.window - trip - windowMargin)
	for _, sent := range p.log {
		if sent.After(from) {
			p.burstTaken++
		}
	}
}

// set gives the rate that the burst shows. A rate kept to before was too high, but
// is trusted more than one short cycle, unless that shows far less. Of a window, one
// call less is enough: the count is whole.
func (p *pacing) set(now time.Time) {
	seen := max(float64(p.burstTaken), 1) / p.burstTime.Seconds()
	switch {
	case p.before == 0:
	case p.window > 0:
		seen = min(seen, p.before-1/p.window.Seconds())
	case seen > 0.8*p.before:
		seen = min(max(seen, 0.95*p.before), 0.98*p.before)
	}
	p.change(min(seen, maxRate), now)
}

// maxRate keeps a rate finite; no endpoint counts so many.
const maxRate = 1e5

func (p *pacing) change(rate float64, now time.Time) {
	p.rate = rate
	burst := paceBurst
	if p.bucket == nil {
		p.bucket = newBucket(rate, paceBurst, now)
		p.bucket.level = 0
	}
	p.bucket.refill(now)
	if p.window > 0 {
		rate, burst = rate*catchUp, windowBurst
	}
	p.bucket.rate, p.bucket.size = rate, max(rate*burst, 1)
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
	grown := p.rate * (1 + p.step)
	if p.window > 0 {
		if p.full(now) == 0 {
			return // nothing is known yet of the last growth
		}
		grown = max(grown, p.rate+1/p.window.Seconds())
	}
	p.change(min(grown, maxRate), now)
	if p.step >= sureStep {
		p.probe.hold = max(p.probe.hold/2, firstProbe)
	}
	p.step = min(2*p.step, largeStep)
	p.probe.grow(now)
}

func (p *pacing) pauseGrowth(now time.Time) { p.probe.pause(now) }
