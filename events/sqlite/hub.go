package sqlite

import (
	"sync"

	"github.com/convene-run/convene/events"
)

// everyThread is the key of those who wait for growth anywhere.
var everyThread events.ThreadKey

// hub wakes those who wait for threads to grow.
type hub struct {
	// mu guards watches and watchers.
	mu       sync.Mutex
	watches  map[events.ThreadKey]*watch
	watchers int
	// watched says that somebody waits where nobody did: the committer then looks
	// for other processes' commits.
	watched chan struct{}
}

type watch struct {
	grown    chan struct{}
	watchers int
}

func newHub() *hub {
	return &hub{watches: map[events.ThreadKey]*watch{}, watched: make(chan struct{}, 1)}
}

// watch gives a channel that closes when the thread may have grown. Look at the
// thread after this call and before waiting; call stop when done.
func (h *hub) watch(key events.ThreadKey) (grown <-chan struct{}, stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.watches[key]
	if w == nil {
		w = &watch{grown: make(chan struct{})}
		h.watches[key] = w
	}
	w.watchers++
	h.watchers++
	if h.watchers == 1 {
		select {
		case h.watched <- struct{}{}:
		default:
		}
	}
	return w.grown, func() { h.unwatch(key, w) }
}

func (h *hub) unwatch(key events.ThreadKey, w *watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers--
	w.watchers--
	if w.watchers == 0 && h.watches[key] == w {
		delete(h.watches, key)
	}
}

func (h *hub) anyone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watchers > 0
}

// wake tells those who wait for any of the threads.
func (h *hub) wake(keys []events.ThreadKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.watches) == 0 {
		return
	}
	for _, key := range keys {
		h.wakeOne(key)
	}
	h.wakeOne(everyThread)
}

// wakeAll tells everybody: another process has committed, who knows what.
func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key := range h.watches {
		h.wakeOne(key)
	}
}

func (h *hub) wakeOne(key events.ThreadKey) {
	if w := h.watches[key]; w != nil {
		close(w.grown)
		delete(h.watches, key)
	}
}
