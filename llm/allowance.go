package llm

import (
	"math"
	"time"
)

// RateLimit is what a reply says of one limit of its endpoint.
type RateLimit struct {
	// Limit is how much the endpoint takes in its period, Remaining how much of that was
	// left when it took the request, in requests or in tokens.
	Limit, Remaining int64
	// Reset is how long it then was until the whole limit is there again.
	Reset time.Duration
}

// RateLimits is what a reply says of the limits of its endpoint. Nil is for what it
// does not say.
type RateLimits struct {
	// Tokens are those of input and output together.
	Requests, Tokens, InputTokens, OutputTokens *RateLimit
}

// tally counts requests and their tokens, estimated until they are known.
type tally struct{ requests, input, output float64 }

func (t tally) tokens() float64 { return t.input + t.output }

func (t tally) plus(o tally) tally {
	return tally{t.requests + o.requests, t.input + o.input, t.output + o.output}
}

func (t tally) minus(o tally) tally {
	return tally{t.requests - o.requests, t.input - o.input, t.output - o.output}
}

// told keeps to all limits that an endpoint tells.
type told struct{ requests, tokens, input, output allowance }

func (t *told) tell(r *RateLimits, sent time.Time, sure, possible tally, now time.Time) {
	if r == nil {
		return
	}
	t.requests.tell(r.Requests, sent, sure.requests, possible.requests, now)
	t.tokens.tell(r.Tokens, sent, sure.tokens(), possible.tokens(), now)
	t.input.tell(r.InputTokens, sent, sure.input, possible.input, now)
	t.output.tell(r.OutputTokens, sent, sure.output, possible.output, now)
}

func (t *told) wait(n tally, now time.Time) time.Duration {
	return max(t.requests.wait(n.requests, now), t.tokens.wait(n.tokens(), now), t.input.wait(n.input, now), t.output.wait(n.output, now))
}

func (t *told) take(n tally, now time.Time) {
	t.requests.take(n.requests, now)
	t.tokens.take(n.tokens(), now)
	t.input.take(n.input, now)
	t.output.take(n.output, now)
}

// allowance keeps to a limit that the endpoint tells with its replies. The zero value
// allows everything.
//
// Some endpoints refill all the time, others at the end of a window, and none says
// which. One that refills says so by its figures: what is used divided by the time
// until it is all back is the limit for a second, a minute, an hour or a day.
type allowance struct {
	limit, level float64
	// rate is what comes back in a second, 0 for an endpoint that refills at the end of a
	// window: that is full, where it is known.
	rate     float64
	at, full time.Time
	// window is set once the figures were not those of an endpoint that refills.
	window bool
}

// tell takes what the reply to a call said that went out at sent.
//
// The level is counted here, and the reply bounds it from both sides: while the call
// was on its way others overtook it, so what it said was left is to be lessened by what
// surely went out later, sure, and by no more than what may have been counted later,
// possible.
func (a *allowance) tell(r *RateLimit, sent time.Time, sure, possible float64, now time.Time) {
	if r == nil || r.Limit <= 0 || r.Remaining < 0 {
		return
	}
	a.refill(now)
	known := a.limit > 0
	a.limit = float64(r.Limit)
	remaining := min(float64(r.Remaining), a.limit)
	a.judge(a.limit-remaining, r.Reset)
	if a.rate == 0 {
		full := sent.Add(r.Reset)
		if !full.After(now) {
			return // of a window that is over
		}
		if full.After(a.full) { // the reply was on its way for the shortest time so far
			a.full = full
		}
	}
	least := remaining - max(0, possible)
	if !known || a.level < least {
		a.level = least
	}
	a.level = min(a.level, remaining-max(0, sure)+a.rate*now.Sub(sent).Seconds(), a.limit)
}

// judge finds out how the endpoint refills.
func (a *allowance) judge(used float64, reset time.Duration) {
	a.rate = refillRate(a.limit, used, reset)
	// Of a little used of the limit the rounding may be larger than the figure.
	a.window = a.window || a.rate == 0 && used > a.limit/10 && reset > 5*time.Second
	if a.window {
		a.rate = 0
	} else if a.rate > 0 {
		a.full = time.Time{}
	}
}

// refillRate gives what comes back in a second, 0 where that happens at the end of a
// window. Who does not say when, or has hardly been used, is taken to mean a minute.
func refillRate(limit, used float64, reset time.Duration) float64 {
	if reset <= 0 || used < limit/50 {
		return limit / time.Minute.Seconds()
	}
	const share, rounding = 0.1, 1.0 // of what endpoints round, and to how many seconds
	for _, period := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		rate := limit / period.Seconds()
		if back := used / rate; math.Abs(back-reset.Seconds()) < back*share+rounding {
			return rate
		}
	}
	return 0
}

func (a *allowance) refill(now time.Time) {
	if gone := now.Sub(a.at); gone > 0 {
		a.level = min(a.limit, a.level+gone.Seconds()*a.rate)
		a.at = now
	}
	if !a.full.IsZero() && !now.Before(a.full) { // of the next window the next reply tells
		a.level, a.full = a.limit, time.Time{}
	}
}

// wait tells how long until n may be taken. What is more than the whole limit goes
// when that is there.
func (a *allowance) wait(n float64, now time.Time) time.Duration {
	if a.limit == 0 {
		return 0
	}
	a.refill(now)
	lacks := min(n, a.limit) - a.level
	switch {
	case lacks <= 0 || a.rate == 0 && a.full.IsZero():
		return 0
	case a.rate > 0:
		return time.Duration(lacks/a.rate*float64(time.Second)) + 1
	default:
		return a.full.Sub(now)
	}
}

// take takes n, or gives it back where n is negative.
func (a *allowance) take(n float64, now time.Time) {
	a.refill(now)
	a.level = min(a.limit, a.level-n)
}
