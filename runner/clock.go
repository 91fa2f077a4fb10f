package runner

import (
	"sync"
	"sync/atomic"
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

// stepped reads the machine's clocks where a test steps the wall clock; nil elsewhere. A run
// that an earlier test left behind may read it meanwhile.
var stepped atomic.Pointer[func() time.Time]

// now reads the machine's clocks.
func now() time.Time {
	if read := stepped.Load(); read != nil {
		return (*read)()
	}
	return time.Now()
}

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
