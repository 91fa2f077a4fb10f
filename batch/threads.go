package batch

import (
	"sync"
	"time"

	"github.com/convene-run/convene/events"
)

// maxQueued bounds the rows that wait for their thread: as many as may be under way at
// once. At the bound no further row is read.
const maxQueued = MaxConcurrency

// threads holds back rows that name a thread in which another row is under way: a thread
// has one run at a time, and what comes later in the input comes later in the thread.
// Rows that wait take no slot.
type threads struct {
	room chan struct{}

	mu     sync.Mutex // guards queues
	queues map[events.ThreadID]*queue
}

// queue is a thread that a row has.
type queue struct {
	rows []*Row
	// left is set once a row of the thread was left to be resumed: those behind it are
	// for the next call.
	left bool
}

func newThreads() *threads {
	return &threads{room: make(chan struct{}, maxQueued), queues: map[events.ThreadID]*queue{}}
}

// enter reports whether the row may go ahead. Otherwise it is queued, or left. While it
// waits for room it calls idle, which may say that there is no use.
func (t *threads) enter(row *Row, stopped <-chan struct{}, idle func() bool) bool {
	if row.Thread == "" {
		return true
	}
	if t.take(row.Thread) {
		return true
	}
	for room := false; !room; {
		select {
		case <-stopped:
			return false
		case t.room <- struct{}{}:
			room = true
		case <-time.After(admissionInterval):
			if !idle() {
				return false
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch q := t.queues[row.Thread]; {
	case q == nil: // it came free meanwhile
		t.queues[row.Thread] = &queue{}
		<-t.room
		return true
	case q.left:
		<-t.room
	default:
		q.rows = append(q.rows, row)
	}
	return false
}

// take makes the thread the caller's, if nobody has it.
func (t *threads) take(thread events.ThreadID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queues[thread] != nil {
		return false
	}
	t.queues[thread] = &queue{}
	return true
}

// next gives the row that waits behind one that ended, nil if none does. Behind one that
// did not end none may run.
func (t *threads) next(thread events.ThreadID, ended bool) *Row {
	if thread == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[thread]
	if !ended {
		for range q.rows {
			<-t.room
		}
		q.rows, q.left = nil, true
		return nil
	}
	if len(q.rows) == 0 {
		delete(t.queues, thread)
		return nil
	}
	row := q.rows[0]
	q.rows = q.rows[1:]
	<-t.room
	return row
}
