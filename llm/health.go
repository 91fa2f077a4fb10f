package llm

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// firstProbePause doubles to longestProbePause between the probes of a sick endpoint: soon
	// enough to notice a restart, seldom enough to be no load.
	firstProbePause   = time.Second
	longestProbePause = 30 * time.Second
	// probeGrace is how much longer whoever probed last waits before it probes again
	// while others wait: where one request alone is refused, another one tells.
	probeGrace = time.Second
	// longestProbe is how long a probe keeps others from probing: one that hangs must not
	// hide that the endpoint is back.
	longestProbe = 30 * time.Second
)

// Health is what the calls of this process know of an endpoint: whether it can be used,
// since when it cannot and why, and whether it ever answered. All runs that ask the
// endpoint share it. While it is sick one waiting call at a time is sent as the probe, and
// the others wait for what comes of it. The zero value is an endpoint that nobody has
// asked. Safe for concurrent use.
type Health struct {
	mu sync.Mutex // guards what follows
	// answered is when the newest request went out that was answered, by model.
	answered map[string]time.Time
	// sick are the troubles that last, by the model concerned; under "" those of the
	// whole endpoint.
	sick map[string]*sickness
}

// sickness is a trouble that lasts, and who sees to it.
type sickness struct {
	trouble Trouble
	// failure is the newest one.
	failure *Error
	// probes counts those that failed, next is when the next one is due.
	probes int
	next   time.Time
	// prober is the call that is sent at this moment, since probing; last probed before.
	prober, last *call
	probing      time.Time
	// waiting are as many as there are calls, which bound themselves.
	waiting map[*call]struct{}
}

// Trouble is what keeps calls from the model, nil where nothing is known to. A nil Health
// knows nothing.
func (h *Health) Trouble(model string) *Trouble {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of(model)
	if s == nil {
		return nil
	}
	t := s.trouble
	t.Attended = len(s.waiting) > 0 || s.prober != nil
	return &t
}

// of gives the sickness that concerns the model. The caller holds mu.
func (h *Health) of(model string) *sickness {
	if s := h.sick[""]; s != nil {
		return s
	}
	return h.sick[model]
}

// kind is that of the trouble that concerns the model, "" where it is well.
func (h *Health) kind(model string) ErrorKind {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.of(model); s != nil {
		return s.trouble.Kind
	}
	return ""
}

// admission says whether a call may go out.
type admission struct {
	ok bool
	// probe is set where it goes out to find out whether the endpoint is well again.
	probe bool

	// What follows is set where it may not.

	trouble Trouble
	failure *Error
	// next is when to ask again, unless something changes before; asked is set where the
	// endpoint itself named the time.
	next  time.Time
	asked bool
	// hopeless is set where waiting cannot help: the endpoint never took what it refuses.
	hopeless bool
}

// admit reports whether a call may go to the model: it is well, or the call is to be its
// probe. Otherwise the call is one of those that wait, and is woken when that changes.
// eager is set for a call that has nowhere else to go: where nobody waits it probes at once.
func (h *Health) admit(model string, c *call, eager bool) admission {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of(model)
	if s == nil {
		return admission{ok: true}
	}
	now, due := time.Now(), s.next
	_, waits := s.waiting[c]
	alone := len(s.waiting) == 0 || waits && len(s.waiting) == 1
	switch {
	case s.last == c && !alone:
		due = due.Add(probeGrace)
	case s.last != c && alone && eager:
		due = now // nobody sees to it
	}
	if s.prober != nil && now.Sub(s.probing) < longestProbe {
		due = s.probing.Add(longestProbe)
	} else if !now.Before(due) {
		s.prober, s.probing = c, now
		delete(s.waiting, c)
		return admission{ok: true, probe: true}
	}
	if c.woken == nil {
		c.woken = make(chan struct{}, 1)
	}
	s.waiting[c] = struct{}{}
	return admission{
		trouble: s.trouble, failure: s.failure, next: due, asked: s.failure.RetryAfter > 0, hopeless: h.hopeless(model, s.failure),
	}
}

// hopeless reports whether waiting for the failure to pass cannot help. The caller
// holds mu.
func (h *Health) hopeless(model string, failure *Error) bool {
	if failure.Kind == ErrModelNotFound {
		return h.answered[model].IsZero()
	}
	return failure.mistaken() && len(h.answered) == 0
}

// mistaken reports whether the failure is one of what was set, and not of an endpoint
// that took it before.
func (h *Health) mistaken(model string, failure *Error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hopeless(model, failure)
}

// failed notes a failure that lasts.
func (h *Health) failed(target Target, failure *Error, c *call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	scope := failure.scope(target.Model)
	probed := h.free(c)
	if s := h.sick[""]; s != nil && scope != "" && !c.sent.Before(s.trouble.Since) {
		h.cure("") // it is another trouble now
	}
	s := h.sick[scope]
	if s == nil {
		s = &sickness{waiting: map[*call]struct{}{}, trouble: Trouble{Since: time.Now()}}
		if h.sick == nil {
			h.sick = map[string]*sickness{}
		}
		h.sick[scope] = s
	} else if !probed {
		return // it was sent before this was known
	}
	t := &s.trouble
	t.Endpoint, t.Address, t.Model = target.Endpoint.Name, target.Endpoint.Address, scope
	t.Kind, t.Message = failure.Kind, oneLine(failure.said())
	s.failure, s.last = failure, c
	s.next = time.Now().Add(probePause(s.probes, failure.RetryAfter))
	s.probes++
	s.wake()
}

// probePause is the time to the next probe after so many failed. A quarter of it is
// random; what the endpoint asked for is never cut short.
func probePause(failed int, asked time.Duration) time.Duration {
	pause := min(firstProbePause<<min(failed, 16), longestProbePause)
	return max(pause*3/4+rand.N(pause/2), asked+rand.N(min(asked/10, time.Second)+1))
}

// replied notes that the endpoint answered a request for the model that went out at
// that time.
func (h *Health) replied(model string, sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.answered == nil {
		h.answered = map[string]time.Time{}
	}
	if sent.After(h.answered[model]) {
		h.answered[model] = sent
	}
	h.spoken(model, sent)
}

// refused notes that the endpoint refused a request for what it is, and so is there.
func (h *Health) refused(model string, sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spoken(model, sent)
}

func (h *Health) spoken(model string, sent time.Time) {
	for _, scope := range []string{"", model} {
		if s := h.sick[scope]; s != nil && !sent.Before(s.trouble.Since) {
			h.cure(scope)
		}
	}
}

// cure ends a sickness. The caller holds mu.
func (h *Health) cure(scope string) {
	if s := h.sick[scope]; s != nil {
		delete(h.sick, scope)
		s.wake()
	}
}

// answeredSince reports whether a request for the model that went out later than then
// was answered.
func (h *Health) answeredSince(model string, then time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.answered[model].After(then)
}

// rest takes the call from those that wait.
func (h *Health) rest(c *call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sick {
		delete(s.waiting, c)
	}
}

// leave takes the call from those that wait or probe. Where it was the probe another may
// be.
func (h *Health) leave(c *call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.free(c)
	for _, s := range h.sick {
		delete(s.waiting, c)
		s.wake() // the next in line sees to it
	}
}

// free ends the call's probe and reports whether it was one. The caller holds mu.
func (h *Health) free(c *call) (was bool) {
	for _, s := range h.sick {
		if s.prober == c {
			s.prober, was = nil, true
		}
	}
	return was
}

// wake has all who wait look again.
func (s *sickness) wake() {
	for c := range s.waiting {
		select {
		case c.woken <- struct{}{}:
		default: // it will look anyway
		}
	}
}
