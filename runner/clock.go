package runner

import (
	"sync"
	"time"
)

// clock gives the times of a run's events: that of the claim plus the monotonic time
// since. So a step of the wall clock is not time that the run was driven. It is safe for
// concurrent use.
type clock struct {
	mu sync.Mutex // guards what follows
	// at is the clock's time at the moment since.
	at, since time.Time
}

// now reads the machine's clocks. Tests step the wall clock with it.
var now = time.Now

func newClock() *clock {
	claimed := now()
	return &clock{at: claimed.UTC().Round(0), since: claimed}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.time()
}

// time is now. The caller holds mu.
func (c *clock) time() time.Time { return c.at.Add(now().Sub(c.since)) }

// reach moves the clock on to a time that the thread has already: an event that was
// posted, or written by another process, may come from a clock that is ahead.
func (c *clock) reach(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.time()) {
		c.at, c.since = t, now()
	}
}
