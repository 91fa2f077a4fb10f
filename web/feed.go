package web

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-run/convene/events"
)

const (
	// pageEvents is how many events are read, and kept encoded, at once: few reads
	// for a long log, little that one viewer pins.
	pageEvents = 256
	// maxCacheBytes bounds the encoded events that are kept for viewers, all threads
	// together: hundreds of thousands of events. A viewer who is behind what is kept
	// reads from the log again.
	maxCacheBytes = 64 << 20
	// liveInterval is how often the present moment of a watched run is looked at: as
	// often as a person can follow, seldom enough to cost nothing.
	liveInterval = 200 * time.Millisecond
)

// feeds are the threads that somebody watches, each read and encoded once for all
// its viewers.
type feeds struct {
	log  events.Reader
	live func(events.ThreadKey) ([]LiveAgent, bool)

	cached atomic.Int64

	mu     sync.Mutex // guards byKey and each feed's viewers
	byKey  map[events.ThreadKey]*feed
	ending sync.WaitGroup
}

// feed is one watched thread.
type feed struct {
	feeds   *feeds
	key     events.ThreadKey
	stop    context.CancelFunc
	viewers int

	mu    sync.Mutex // guards what follows
	pages map[int64]*page
	clock int64
	// head is the last seq that the follower has seen; grown is closed when it, live
	// or err changes.
	head    events.Seq
	grown   chan struct{}
	live    []byte
	liveNow int
	err     error
}

// page is a stretch of pageEvents events, as far as they are there.
type page struct {
	mu      sync.Mutex // guards events: who holds it reads for all
	events  []events.Encoded
	used    int64 // guarded by feed.mu
	bytes   int64 // guarded by feed.mu
	dropped bool  // guarded by feed.mu
}

// join gives the feed of a thread, for a viewer who has the events up to after.
// The viewer must leave it.
func (fs *feeds) join(key events.ThreadKey, after events.Seq) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.byKey[key]
	if f == nil {
		ctx, stop := context.WithCancel(context.Background())
		f = &feed{feeds: fs, key: key, stop: stop, pages: map[int64]*page{}, head: after, grown: make(chan struct{})}
		fs.byKey[key] = f
		fs.ending.Go(func() { f.follow(ctx) })
		if fs.live != nil {
			fs.ending.Go(func() { f.watch(ctx) })
		}
	}
	f.viewers++
	return f
}

// leave ends a viewer's part; the last one ends the feed.
func (f *feed) leave() {
	f.feeds.mu.Lock()
	defer f.feeds.mu.Unlock()
	if f.viewers--; f.viewers > 0 {
		return
	}
	f.stop()
	delete(f.feeds.byKey, f.key)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.pages {
		f.drop(p)
	}
}

// follow reads the thread as it grows and wakes the viewers.
func (f *feed) follow(ctx context.Context) {
	after := f.head
	for {
		err := f.feeds.log.Wait(ctx, f.key, after)
		var batch []events.Encoded
		if err == nil {
			batch, err = f.read(ctx, after)
		}
		if ctx.Err() != nil {
			return
		}
		if len(batch) > 0 {
			after = batch[len(batch)-1].Seq
		}
		f.mu.Lock()
		f.head, f.err = after, err
		f.wake()
		f.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// watch looks at what the agents do now, as long as somebody may want to see it.
func (f *feed) watch(ctx context.Context) {
	ticker := time.NewTicker(liveInterval)
	defer ticker.Stop()
	var last string
	var sent recent
	for {
		agents, driven := f.feeds.live(f.key)
		sent.trim(agents)
		message, state := encodeLive(agents, driven)
		if state != last {
			last = state
			f.mu.Lock()
			f.live = message
			f.liveNow++
			f.wake()
			f.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// wake tells the viewers that something has changed; f.mu is held.
func (f *feed) wake() {
	close(f.grown)
	f.grown = make(chan struct{})
}

// moment is what a viewer waits on.
type moment struct {
	head  events.Seq
	grown <-chan struct{}
	// live is the present moment of the run; version tells a newer one from an older.
	live    []byte
	version int
	err     error
}

func (f *feed) now() moment {
	f.mu.Lock()
	defer f.mu.Unlock()
	return moment{f.head, f.grown, f.live, f.liveNow, f.err}
}

// read gives the next events after that seq, some or none. Each is read and
// encoded once, whoever asks.
func (f *feed) read(ctx context.Context, after events.Seq) ([]events.Encoded, error) {
	base := int64(after) / pageEvents * pageEvents
	at := int(int64(after) - base)
	p := f.page(base)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.events) <= at {
		from := base + int64(len(p.events))
		more, err := f.feeds.log.ReadEncoded(ctx, f.key, events.Seq(from), pageEvents-len(p.events))
		if err != nil {
			return nil, err
		}
		more = slices.Clone(more) // the log's own are whole
		for i := range more {
			more[i].Body = events.ForViewers(more[i].Body)
		}
		p.events = append(p.events, more...)
		f.keep(p, more)
	}
	if len(p.events) <= at {
		return nil, nil
	}
	return p.events[at:len(p.events):len(p.events)], nil
}

func (f *feed) page(base int64) *page {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.pages[base]
	if p == nil {
		p = &page{}
		f.pages[base] = p
	}
	f.clock++
	p.used = f.clock
	return p
}

// keep counts what was read and drops the pages that were not asked for longest
// while too much is kept.
func (f *feed) keep(p *page, more []events.Encoded) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.dropped {
		return
	}
	size := int64(0)
	for _, e := range more {
		size += int64(len(e.Body))
	}
	p.bytes += size
	for f.feeds.cached.Add(size) > maxCacheBytes {
		var oldest int64
		var victim *page
		for base, candidate := range f.pages {
			if candidate != p && (victim == nil || candidate.used < victim.used) {
				oldest, victim = base, candidate
			}
		}
		if victim == nil {
			return
		}
		delete(f.pages, oldest)
		f.drop(victim)
		size = 0
	}
}

func (f *feed) drop(p *page) {
	f.feeds.cached.Add(-p.bytes)
	p.dropped, p.bytes = true, 0
}

// errGone is for a viewer whose thread can be followed no more.
var errGone = errors.New("the log can no longer be followed")
