package sqlite

import (
	"slices"
	"sync"

	"github.com/convene-run/convene/events"
)

// everyThread is the key of those who wait for growth anywhere.
var everyThread events.ThreadKey

// hub wakes those who wait for threads to grow.
type hub struct {
	// mu guards watches, watchers and ends.
	mu       sync.Mutex
	watches  map[events.ThreadKey][]*watch
	watchers int
	// ends are the last events of threads claimed here, as far as commits have been seen: who
	// waits for more need not read. A thread that others have added to is not among them.
	ends map[events.ThreadKey]events.Seq
	// awaited says that somebody waits where nobody did: the committer then looks
	// for other processes' commits.
	awaited chan struct{}
}

// watch is one who waits.
type watch struct {
	grown chan struct{}
	// kinds are those waited for; none means all.
	kinds []events.Kind
}

// growth is what a commit added to a thread, or that it may have changed if envs is nil.
type growth struct {
	key  events.ThreadKey
	envs []events.Envelope
	// held says that the thread is claimed here.
	held bool
}

func newHub() *hub {
	return &hub{watches: map[events.ThreadKey][]*watch{}, ends: map[events.ThreadKey]events.Seq{}, awaited: make(chan struct{}, 1)}
}

// watch gives a channel that closes when the thread may have got an event of those kinds,
// or of any if none is named. Look at the thread after this call and before waiting; call
// stop when done.
func (h *hub) watch(key events.ThreadKey, kinds []events.Kind) (grown <-chan struct{}, stop func()) {
	w := &watch{grown: make(chan struct{}), kinds: kinds}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watches[key] = append(h.watches[key], w)
	h.watchers++
	if h.watchers == 1 {
		select {
		case h.awaited <- struct{}{}:
		default:
		}
	}
	return w.grown, func() { h.unwatch(key, w) }
}

func (h *hub) unwatch(key events.ThreadKey, w *watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers--
	h.keep(key, slices.DeleteFunc(h.watches[key], func(other *watch) bool { return other == w }))
}

func (h *hub) keep(key events.ThreadKey, waiting []*watch) {
	if len(waiting) == 0 {
		delete(h.watches, key)
		return
	}
	h.watches[key] = waiting
}

func (h *hub) anyone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watchers > 0
}

// wake tells those who wait for what was committed.
func (h *hub) wake(grown []growth) {
	if len(grown) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range grown {
		delete(h.ends, g.key)
		if g.held {
			h.ends[g.key] = g.envs[len(g.envs)-1].Seq
		}
		h.wakeOne(g)
	}
	h.wakeOne(growth{key: everyThread})
}

// wakeAll tells everybody: another process has committed, who knows what.
func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.ends)
	for key := range h.watches {
		h.wakeOne(growth{key: key})
	}
}

// end gives the last event of a thread, 0 where that is not known. A later one wakes whoever
// watches the thread by now.
func (h *hub) end(key events.ThreadKey) events.Seq {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ends[key]
}

// forget drops the end of a thread that was released here.
func (h *hub) forget(key events.ThreadKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.ends, key)
}

func (h *hub) wakeOne(g growth) {
	h.keep(g.key, slices.DeleteFunc(h.watches[g.key], func(w *watch) bool {
		if !w.waitsFor(g.envs) {
			return false
		}
		close(w.grown)
		return true
	}))
}

// waitsFor reports whether one of the events is of the kinds waited for.
func (w *watch) waitsFor(envs []events.Envelope) bool {
	return envs == nil || len(w.kinds) == 0 || slices.ContainsFunc(envs, func(env events.Envelope) bool {
		return slices.Contains(w.kinds, env.Data.Kind())
	})
}
