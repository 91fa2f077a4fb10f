package llm

import "time"

// places controls how many calls are in flight at an endpoint that says nothing of
// its limits: additive increase, multiplicative decrease, and a pause when most calls
// are refused.
//
// One refusal (429) means little: endpoints refuse a few calls at random. Only where
// at least half of the latest calls were refused the endpoint is full: the limit is
// cut, everybody waits, and then one call at a time finds out whether there is room
// again. The limit grows while a whole round of calls is taken.
type places struct {
	limit, max int
	// latest is how the latest calls since the last cut went: true for a refusal.
	latest []bool

	// cut is when the limit was cut: refusals of calls from before it are part of what
	// the cut answered.
	cut time.Time
	// shut is set between a cut and the first call that is taken again; nobody goes
	// before until, then one call at a time, the probe.
	shut    bool
	until   time.Time
	pauses  int // since the last round of which few were refused
	probing bool

	// The round under way, of as many calls as there are places: how many of it were
	// taken while the limit held others back, and how many refused.
	taken, refusals int
	// least is how many ran at the least when one of the round was refused.
	least int
	// grown is by how much the last round made the limit grow, 0 where it did not. It
	// grows no sooner than next; hold is how much later that is after a growth that was
	// refused.
	grown int
	next  time.Time
	hold  time.Duration
	// regain is half of what the limit was before the last cut: up to there it doubles.
	regain int
}

const (
	// memory is how many of the latest calls decide: of so many hardly ever half are
	// refused where one in ten is at random. It is twice as many as run, and leastMemory
	// at the least.
	memory, leastMemory = 32, 8
	// leastRound is how many calls a round has at least.
	leastRound = 4
	// firstPause doubles to longestPause while the endpoint refuses and does not say for
	// how long: ten of them outlast a window of a minute.
	firstPause   = 500 * time.Millisecond
	longestPause = 10 * time.Second
	// refusedHold is how long a refused call keeps its place, where the endpoint asks for
	// no longer: else one place too many would be refused as fast as calls come.
	refusedHold = time.Second
	// freedLate is how long a call keeps its place behind its end at an endpoint that was
	// full once: it may free the place a moment after its client sees the end.
	freedLate = 10 * time.Millisecond
	// firstHold doubles to longestHold while growths are refused.
	firstHold   = time.Second
	longestHold = 30 * time.Second
	// growthShare is the part of the limit by which it grows and shrinks.
	growthShare = 16
	// toleratedShare is the part of a round that may be refused without a meaning: some
	// endpoints refuse so many at random. fewShare is the part that may be refused of a
	// round after which the limit grows.
	toleratedShare, fewShare = 8, 32
)

// wait tells how long until one more than so many may go; never where a call has to
// end first.
func (p *places) wait(taken int, now time.Time) time.Duration {
	switch {
	case taken >= p.limit:
		return never
	case !p.shut:
		return 0
	case p.probing:
		return never
	default:
		return max(0, p.until.Sub(now))
	}
}

// wasFull reports whether the endpoint has refused most calls at any time.
func (p *places) wasFull() bool { return !p.cut.IsZero() }

// admit notes that a call goes, and reports whether it is a probe.
func (p *places) admit() (probe bool) {
	p.probing = p.shut
	return p.shut
}

// accepted notes a call that the endpoint took, while so many others run. binding is
// whether the limit held others back.
func (p *places) accepted(c *permit, binding bool, running int, now time.Time) {
	if !c.started.After(p.cut) {
		return
	}
	if p.shut {
		p.open(running, now)
	}
	p.remember(false)
	if binding {
		p.taken++
	}
	p.round(now)
}

// round judges a round of calls once it is over.
func (p *places) round(now time.Time) {
	calls := p.taken + p.refusals
	switch {
	case calls < max(leastRound, p.limit):
		return
	case p.grown > 0 && p.refusals*fewShare > calls: // there was no room for the growth
		back := p.limit - p.grown
		p.limit = max(1, back-back/growthShare, min(p.least, p.limit-1))
		p.regain = 0
		p.settle(now)
		return
	case p.refusals*toleratedShare > calls:
		p.limit = max(1, p.limit-max(1, p.limit/growthShare))
	case p.refusals*fewShare <= calls && p.limit < p.max && (p.limit < p.regain || !now.Before(p.next)):
		p.grow(now)
	}
	if p.refusals*toleratedShare <= calls {
		p.pauses = 0
	}
	p.taken, p.refusals = 0, 0
}

// grow makes room for a few more, or for twice as many while the limit is far below
// what it was before the last cut.
func (p *places) grow(now time.Time) {
	if p.grown > 0 { // the last growth stood
		p.hold = max(p.hold/2, firstHold)
	}
	p.grown = max(1, p.limit/growthShare)
	if p.limit < p.regain {
		p.grown = min(p.limit, p.regain-p.limit)
	}
	p.grown = min(p.grown, p.max-p.limit)
	p.limit += p.grown
	p.next = now.Add(p.hold)
}

// open lets others go again: as many as run, and twice as many with each round.
func (p *places) open(running int, now time.Time) {
	p.shut, p.probing = false, false
	p.regain = max(p.regain, p.limit)
	p.limit = min(p.limit, running+1)
	p.next = now.Add(p.hold)
}

// refused notes a 429 that asked for a wait, 0 if it did not, while so many other
// calls run.
func (p *places) refused(c *permit, asked time.Duration, running int, now time.Time) {
	if !c.started.After(p.cut) { // each shows that one fewer was taken
		p.lower(running)
		return
	}
	if c.probe {
		p.lower(running)
		p.pause(asked, now)
		return
	}
	p.remember(true)
	if p.full(running) {
		p.regain = p.limit / 2
		p.lower(min(p.limit*3/4, running))
		if running == 0 {
			p.limit = max(1, p.limit*3/4)
		}
		p.cut, p.latest, p.shut = now, p.latest[:0], true
		p.settle(now)
		p.hold = firstHold
		p.pause(asked, now)
		return
	}
	if p.refusals == 0 || running < p.least {
		p.least = running
	}
	p.refusals++
	p.round(now)
}

// settle begins a new round behind a limit that was lowered. The next growth comes
// later if the last one was refused.
func (p *places) settle(now time.Time) {
	if p.grown > 0 {
		p.hold = min(2*p.hold, longestHold)
	}
	p.grown, p.taken, p.refusals = 0, 0, 0
	p.next = now.Add(p.hold)
}

// lower takes the limit down to what runs, if anything does: that is what the
// endpoint took.
func (p *places) lower(running int) {
	if running > 0 {
		p.limit = min(p.limit, running)
	}
}

func (p *places) pause(asked time.Duration, now time.Time) {
	own := min(firstPause<<min(p.pauses, 10), longestPause)
	p.pauses++
	p.probing = false
	p.until = now.Add(max(asked, own))
}

// abandoned notes a call that never went, or of which nothing is known.
func (p *places) abandoned(c *permit) {
	if c.probe {
		p.probing = false
	}
}

func (p *places) remember(refused bool) {
	p.latest = append(p.latest, refused)
	if n := len(p.latest) - memory; n > 0 {
		p.latest = append(p.latest[:0], p.latest[n:]...)
	}
}

// full reports whether the endpoint refused at least half of the latest calls. Where
// few run they are fewer, lest a call is refused too often before they have come.
func (p *places) full(running int) bool {
	n := min(memory, max(leastMemory, 2*running))
	if len(p.latest) < n {
		return false
	}
	refused := 0
	for _, r := range p.latest[len(p.latest)-n:] {
		if r {
			refused++
		}
	}
	return 2*refused >= n
}
