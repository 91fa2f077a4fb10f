package llm

import (
	"sync"
	"time"

	"github.com/convene-run/convene/events"
)

// The bounds of waiting for a prefix to be cached, with their reasons.
const (
	// maxPrefixWait is how long the first call holds others back at most, and how long a
	// call is held back at most over all of its attempts: longer than the first token of
	// most models takes, short beside a row.
	maxPrefixWait = 2 * time.Second
	// minPrefixTokens is the shortest prefix that providers cache.
	minPrefixTokens = 1024
	// prefixKept is how long providers keep a prefix that nobody asks for, at least.
	prefixKept = 5 * time.Minute
)

// prefix is what requests begin with, as the cache of one model knows it.
type prefix struct {
	endpoint *Endpoint
	model    string
	api      events.API
	key      string // [Request.CacheKey]
}

// prefixes knows which prefixes providers have in their caches. One is there once a
// reply to a request with it has begun; requests that go out together before that pay
// for it in full each. The zero value knows none. Safe for concurrent use.
type prefixes struct {
	mu sync.Mutex // guards all below
	// of has the prefixes that are cached and those that are about to be.
	of map[prefix]*warmth
}

// warmth is how far a prefix has come.
type warmth struct {
	// settled is closed once a reply has begun, or the call that was to bring one failed.
	settled chan struct{}
	// since is when the first call set out.
	since time.Time
	// until is when the provider may have dropped the prefix; zero before it has it.
	until time.Time
}

// join gives nil where the prefix is cached. Else it gives how far it has come, and
// whether the caller is the first, who goes ahead.
func (p *prefixes) join(one prefix) (w *warmth, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	switch w := p.of[one]; {
	case w == nil || w.cold(now):
	case w.until.IsZero():
		return w, false
	default:
		return nil, false
	}
	if p.of == nil {
		p.of = map[prefix]*warmth{}
	}
	for other, w := range p.of { // who goes first is rare, so this costs nothing
		if w.cold(now) {
			delete(p.of, other)
		}
	}
	w = &warmth{settled: make(chan struct{}), since: now}
	p.of[one] = w
	return w, true
}

func (w *warmth) cold(now time.Time) bool { return !w.until.IsZero() && now.After(w.until) }

// begun notes that a reply has begun.
func (p *prefixes) begun(one prefix) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.of[one]
	if w == nil { // the first call failed meanwhile
		return
	}
	if w.until.IsZero() {
		close(w.settled)
	}
	w.until = time.Now().Add(prefixKept)
}

// failed notes that the reply that w waits for has not begun: another call goes first.
func (p *prefixes) failed(one prefix, w *warmth) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[one] == w && w.until.IsZero() {
		delete(p.of, one)
		close(w.settled)
	}
}

// sharing is the part of one attempt in a prefix; nil has none.
type sharing struct {
	all    *prefixes
	prefix prefix
	// first is set for the attempt that others wait for.
	first *warmth
}

// share waits for the prefix of the request to be cached, if another call is about to
// see to that and the wait pays. Only calls of batches wait: a run that somebody looks
// at is not slowed to save money.
func (c *call) share(t Target) *sharing {
	if c.req.Priority != PriorityBatch || c.req.CacheKey == "" || !c.cacheSaves(t) {
		return nil
	}
	s := &sharing{all: &c.caller.prefixes, prefix: prefix{t.Endpoint, t.Model, t.API, c.req.CacheKey}}
	for {
		w, first := s.all.join(s.prefix)
		if first {
			s.first = w
		}
		if w == nil || first || !c.hold(w) {
			return s
		}
	}
}

// hold waits for a prefix to be settled. It reports false when the call may wait no
// longer, or is not to go out any more.
func (c *call) hold(w *warmth) bool {
	asked := time.Now()
	timer := time.NewTimer(maxPrefixWait - max(c.held, asked.Sub(w.since)))
	defer timer.Stop()
	defer func() {
		waited := time.Since(asked)
		c.held, c.queued = c.held+waited, c.queued+waited
	}()
	select {
	case <-w.settled:
		return true
	case <-timer.C:
	case <-c.begin():
	case <-c.ctx.Done():
	}
	return false
}

// cacheSaves reports whether the target caches what the request begins with, and charges
// less for it then.
func (c *call) cacheSaves(t Target) bool {
	beginning := Request{Messages: c.req.Messages[:min(1, len(c.req.Messages))], Tools: c.req.Tools}
	length := estimateInput(&beginning)
	if length < minPrefixTokens {
		return false
	}
	full := c.price(t, &Completion{Usage: events.Usage{InputTokens: length}})
	cached := c.price(t, &Completion{Usage: events.Usage{InputTokens: length, CachedInputTokens: length}})
	return full != nil && cached != nil && *cached < *full
}

// begun notes that the reply has begun.
func (s *sharing) begun() {
	if s != nil {
		s.all.begun(s.prefix)
	}
}

// end lets others go on if the reply has not begun.
func (s *sharing) end() {
	if s != nil && s.first != nil {
		s.all.failed(s.prefix, s.first)
	}
}
