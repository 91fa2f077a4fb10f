package llm

// waiter is a call that waits for its turn.
type waiter struct {
	priority Priority
	run      string // a UUID version 7: sorts by age
	arrival  uint64
	cost     tally // by estimate
	index    int   // in the heap
	// permit is set, and admitted closed, when the call may go.
	permit   *permit
	admitted chan struct{}
}

// waiters is a heap: interactive before batch, the oldest run first so that runs
// finish, and within a run in order of arrival.
type waiters []*waiter

func (q waiters) Len() int { return len(q) }

func (q waiters) Less(i, j int) bool {
	a, b := q[i], q[j]
	if a.priority != b.priority {
		return a.priority < b.priority
	}
	if a.run != b.run {
		return a.run < b.run
	}
	return a.arrival < b.arrival
}

func (q waiters) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements heap.Interface.
func (q *waiters) Push(x any) {
	w := x.(*waiter)
	w.index = len(*q)
	*q = append(*q, w)
}

// Pop implements heap.Interface.
func (q *waiters) Pop() any {
	old := *q
	last := len(old) - 1
	w := old[last]
	old[last] = nil
	*q = old[:last]
	return w
}
