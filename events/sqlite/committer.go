package sqlite

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
)

const (
	// maxGroup bounds the requests of one transaction: more than there are runs in
	// any sane process, few enough that a commit stays well under a second.
	maxGroup = 512
	// lockRetry is the pause between attempts to begin while another process
	// commits; a commit takes about that long.
	lockRetry = time.Millisecond
	// defaultLockWait is how long a commit waits for another process before it fails:
	// no process of ours holds the file for more than a fraction of it.
	defaultLockWait = 10 * time.Second
	// yieldPause lets the other process in after a commit that had to wait for it.
	yieldPause = 500 * time.Microsecond
	// pollEvery is how often others' commits are looked for while somebody waits: a
	// viewer of another process's run sees its events that late at most.
	pollEvery = 20 * time.Millisecond
)

// committer is the one writer. It commits the waiting requests of all runs
// together, since the cost of a durable commit hardly depends on its size. There
// is no goroutine of its own: whoever finds nobody committing leads, commits what
// waits by then and hands the lead to the first who came meanwhile. A run alone
// thus commits without waking anybody.
type committer struct {
	path   string
	conn   *conn
	owners *owners
	hub    *hub
	// lockWait is [defaultLockWait], but in tests.
	lockWait time.Duration

	// mu guards waiting, leading and closed; idle is signalled when leading ends.
	mu      sync.Mutex
	idle    sync.Cond
	waiting []*request
	leading bool
	closed  bool

	// What follows belongs to the leader.

	// threads caches the threads that this process has claimed. It holds while the
	// generation does: while no other process has committed.
	threads    map[events.ThreadKey]*threadState
	generation int64
	// dataVersion is the file's, as of the last look: it changes when others commit.
	dataVersion int64
}

// request is one change that waits for its commit.
type request struct {
	// apply adds the change to the transaction; nil only looks for others' commits.
	// A refusal concerns this request alone, and it has then changed nothing; a
	// failure ends the transaction.
	apply func(*transaction) (refusal, failure error)
	// err is the outcome, written by the leader before it signals.
	err error
	// signal says that the request is committed or, if lead is set, that it is its
	// sender's turn to commit.
	signal chan struct{}
	lead   bool
}

// submit returns when the request is committed or refused.
func (c *committer) submit(req *request) error {
	req.signal = make(chan struct{}, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return events.ErrClosed
	}
	c.waiting = append(c.waiting, req)
	lead := !c.leading
	c.leading = true
	c.mu.Unlock()
	if !lead {
		<-req.signal
		lead = req.lead
	}
	if lead {
		c.commit(c.gather())
		c.handOver()
	}
	return req.err
}

// gather takes who waits; the leader is the first of them.
func (c *committer) gather() []*request {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.waiting), maxGroup)
	group := c.waiting[:n:n]
	c.waiting = c.waiting[n:]
	return group
}

// handOver makes the first who waits the leader.
func (c *committer) handOver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		c.waiting, c.leading = nil, false
		c.idle.Broadcast()
		return
	}
	next := c.waiting[0]
	next.lead = true
	next.signal <- struct{}{}
}

// close waits for what is under way and refuses what comes.
func (c *committer) close() error {
	c.mu.Lock()
	c.closed = true
	for c.leading {
		c.idle.Wait()
	}
	c.mu.Unlock()
	return c.conn.close()
}

// watch looks for others' commits while somebody waits, until closing.
func (c *committer) watch(closing <-chan struct{}) {
	poll := time.NewTicker(pollEvery)
	poll.Stop()
	defer poll.Stop()
	for {
		select {
		case <-c.hub.watched:
			poll.Reset(pollEvery)
		case <-poll.C:
			if !c.hub.anyone() {
				poll.Stop()
			} else {
				// What fails here fails at the next commit too, where it is told.
				_ = c.submit(&request{})
			}
		case <-closing:
			return
		}
	}
}

// commit makes one durable transaction of the group and answers each request.
func (c *committer) commit(group []*request) {
	writing := slices.DeleteFunc(slices.Clone(group), func(req *request) bool { return req.apply == nil })
	var contended bool
	var err error
	if len(writing) > 0 {
		contended, err = c.transact(writing)
	} else {
		err = c.noticeOthers()
	}
	for i, req := range group {
		if req.err == nil {
			req.err = err
		}
		if i > 0 {
			req.signal <- struct{}{}
		}
	}
	if contended {
		time.Sleep(yieldPause)
	}
}

func (c *committer) transact(group []*request) (contended bool, err error) {
	contended, err = c.begin()
	if err != nil {
		return contended, storeError("commit to", c.path, err)
	}
	tx := &transaction{committer: c}
	if err = tx.fill(group); err == nil && tx.changed {
		err = c.conn.exec("COMMIT")
	}
	if err != nil || !tx.changed {
		// After some failures, a full disk among them, sqlite has rolled back itself
		// and this fails; either way no transaction is left open.
		_ = c.conn.exec("ROLLBACK")
	}
	if err != nil {
		// The cache has changes in it that the file has not.
		clear(c.threads)
		return contended, storeError("commit to", c.path, err)
	}
	tx.forget()
	c.hub.wake(tx.grown)
	return contended, nil
}

// begin opens the transaction. SQLite's own way of waiting backs off too far
// under contention and stalls for seconds.
func (c *committer) begin() (contended bool, err error) {
	for start := time.Now(); ; {
		err = c.conn.exec("BEGIN IMMEDIATE")
		if err == nil {
			err = c.noticeOthers()
			if err != nil {
				_ = c.conn.exec("ROLLBACK")
			}
			return contended, err
		}
		if !isBusy(err) {
			return contended, err
		}
		if time.Since(start) > c.lockWait {
			return contended, fmt.Errorf("waited %s: %w", c.lockWait, err)
		}
		contended = true
		time.Sleep(lockRetry)
	}
}

// noticeOthers makes the cache stale and wakes who waits if another connection
// has committed since the last look.
func (c *committer) noticeOthers() error {
	version, err := c.conn.number("PRAGMA data_version")
	if err != nil {
		return err
	}
	if version != c.dataVersion {
		c.dataVersion = version
		c.generation++
		c.hub.wakeAll()
	}
	return nil
}
