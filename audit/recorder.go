package audit

import (
	"context"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
)

const (
	// maxRefused is how many refusals of one caller are told one by one within refusedWindow;
	// the others are counted, so that nobody fills the disk by being refused.
	maxRefused    = 10
	refusedWindow = time.Minute
	// maxCallers is how many callers are told apart at once while they are refused; those
	// beyond it are counted together.
	maxCallers = 60
)

// Recorder adds facts to the tenants' own threads for a server. It is safe for concurrent use.
// A nil one records nothing.
type Recorder struct {
	log  events.Writer
	told func(Entry, error)

	mu     sync.Mutex // guards what follows
	closed bool
	// refused are the callers that were refused something within the last minute.
	refused map[caller]*refusals
	// ending counts those whose minute is being ended.
	ending sync.WaitGroup
}

// caller is who is refused something.
type caller struct {
	tenant events.TenantID
	by     events.Actor
	kind   events.Kind
}

// refusals are those of a caller within a minute.
type refusals struct {
	count, more int
	newest      events.Event
	timer       *time.Timer
}

// NewRecorder gives a recorder that adds to the log. told gets each entry once it is durable,
// and those that could not be added with the error; nil for nobody. It must not wait.
func NewRecorder(log events.Writer, told func(Entry, error)) *Recorder {
	return &Recorder{log: log, told: told, refused: map[caller]*refusals{}}
}

// Record adds a fact durably: an [events.Audited] or an [events.PermissionDenied]. Where the log
// takes nothing only told knows of it: what is recorded here was decided already.
func (r *Recorder) Record(ctx context.Context, tenant events.TenantID, by *events.Actor, fact events.Event) {
	if r == nil {
		return
	}
	// Whoever is gone meanwhile has done it all the same.
	err := Append(context.WithoutCancel(ctx), r.log, tenant, by, fact)
	if r.told == nil {
		return
	}
	entry, _ := newFold("").entry(events.Envelope{Tenant: tenant, Thread: events.AuditThread, Time: time.Now().UTC(), By: by, Data: fact})
	r.told(entry, err)
}

// Refused is Record of a refusal. Beyond ten of a caller within a minute they are counted, and
// the number is added at the end of that minute.
func (r *Recorder) Refused(ctx context.Context, tenant events.TenantID, by *events.Actor, fact events.Event) {
	if r != nil && r.tell(caller{tenant, *by, fact.Kind()}, fact) {
		r.Record(ctx, tenant, by, fact)
	}
}

// tell reports whether a refusal is told by itself, and counts it otherwise.
func (r *Recorder) tell(c caller, fact events.Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return true
	}
	if r.refused[c] == nil && len(r.refused) >= maxCallers {
		c.by = events.Actor{Door: c.by.Door}
	}
	seen := r.refused[c]
	if seen == nil {
		seen = &refusals{}
		seen.timer = time.AfterFunc(refusedWindow, func() { r.end(c) })
		r.refused[c] = seen
	}
	if seen.count++; seen.count <= maxRefused {
		return true
	}
	seen.more, seen.newest = seen.more+1, fact
	return false
}

// end tells how many refusals of a caller were not told by themselves.
func (r *Recorder) end(c caller) {
	r.mu.Lock()
	seen := r.refused[c]
	delete(r.refused, c)
	if seen != nil {
		r.ending.Add(1)
	}
	r.mu.Unlock()
	if seen == nil {
		return
	}
	defer r.ending.Done()
	if seen.more > 0 {
		r.Record(context.Background(), c.tenant, &c.by, counted(seen.newest, seen.more))
	}
}

// counted is a refusal that stands for more of them.
func counted(fact events.Event, more int) events.Event {
	switch d := fact.(type) {
	case events.PermissionDenied:
		d.More = more
		return d
	case events.Audited:
		d.More = more
		return d
	}
	return fact
}

// Close adds the numbers that are still to be told, and returns once they are in the log. The
// log may be closed then. Twice is fine.
func (r *Recorder) Close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.closed = true
	var left []caller
	for c, seen := range r.refused {
		seen.timer.Stop()
		left = append(left, c)
	}
	r.mu.Unlock()
	for _, c := range left {
		r.end(c)
	}
	r.ending.Wait()
}
