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
