package llm

import (
	"container/heap"

	"github.com/convene-run/convene/events"
)

// waiter is a call that waits for its turn.
type waiter struct {
	tenant   events.TenantID
	priority Priority
	run      string // a UUID version 7: sorts by age
	arrival  uint64
	cost     tally // by estimate
	index    int   // in the heap of its line
	// permit is set, and admitted closed, when the call may go.
	permit   *permit
	admitted chan struct{}
}

// before is the order within a tenant: interactive before batch, the oldest run first so that
// runs finish, and within a run in order of arrival.
func (w *waiter) before(other *waiter) bool {
	if w.priority != other.priority {
		return w.priority < other.priority
	}
	if w.run != other.run {
		return w.run < other.run
	}
	return w.arrival < other.arrival
}

// queue holds who waits, in a line for each tenant. Tenants take turns: next is the line that
// was served longest ago, however long it is, so that a call waits for at most one of every
// other tenant beside those of its own.
type queue struct {
	// lines are those in which somebody waits, next the one whose turn it is.
	lines lines
	// known has the lines of all tenants since the queue was empty last: one that comes back
	// keeps its turn.
	known map[events.TenantID]*line
	// turns counts who was served.
	turns uint64
	size  int
}

// line is what waits of a tenant.
type line struct {
	waiters []*waiter // a heap
	// served is the turn in which one of them went last; 0 if none has.
	served uint64
	index  int // in the heap of lines
}

func (q *queue) len() int { return q.size }

// head is whose turn it is; somebody must wait.
func (q *queue) head() *waiter { return q.lines[0].waiters[0] }

func (q *queue) push(w *waiter) {
	if q.known == nil {
		q.known = map[events.TenantID]*line{}
	}
	l := q.known[w.tenant]
	if l == nil {
		l = &line{}
		q.known[w.tenant] = l
	}
	q.size++
	if l.Len() == 0 {
		heap.Push(l, w)
		heap.Push(&q.lines, l)
		return
	}
	heap.Push(l, w)
	heap.Fix(&q.lines, l.index)
}

// pop takes out whose turn it is, who goes.
func (q *queue) pop() *waiter {
	l, w := q.lines[0], q.head()
	q.turns++
	l.served = q.turns
	q.remove(w)
	return w
}

// remove takes out somebody who waits.
func (q *queue) remove(w *waiter) {
	l := q.known[w.tenant]
	heap.Remove(l, w.index)
	if l.Len() == 0 {
		heap.Remove(&q.lines, l.index)
	} else {
		heap.Fix(&q.lines, l.index)
	}
	if q.size--; q.size == 0 {
		q.known, q.turns = nil, 0
	}
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (l *line) Len() int           { return len(l.waiters) }
func (l *line) Less(i, j int) bool { return l.waiters[i].before(l.waiters[j]) }
func (l *line) Swap(i, j int) {
	l.waiters[i], l.waiters[j] = l.waiters[j], l.waiters[i]
	l.waiters[i].index, l.waiters[j].index = i, j
}
func (l *line) Push(x any) {
	w := x.(*waiter)
	w.index = len(l.waiters)
	l.waiters = append(l.waiters, w)
}
func (l *line) Pop() any { return cut(&l.waiters) }

// lines is a heap: first the one that was served longest ago, and of those that never were
// whoever would be first in one line.
type lines []*line

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (ls lines) Len() int { return len(ls) }
func (ls lines) Less(i, j int) bool {
	a, b := ls[i], ls[j]
	if a.served != b.served || a.Len() == 0 || b.Len() == 0 {
		return a.served < b.served
	}
	return a.waiters[0].before(b.waiters[0])
}
func (ls lines) Swap(i, j int) {
	ls[i], ls[j] = ls[j], ls[i]
	ls[i].index, ls[j].index = i, j
}
func (ls *lines) Push(x any) {
	l := x.(*line)
	l.index = len(*ls)
	*ls = append(*ls, l)
}
func (ls *lines) Pop() any { return cut((*[]*line)(ls)) }

// cut takes the last of a list away, and leaves nothing of it there.
func cut[T any](list *[]*T) *T {
	last := len(*list) - 1
	x := (*list)[last]
	(*list)[last] = nil
	*list = (*list)[:last]
	return x
}
