package sqlite

import (
	"fmt"
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
	// lockWait is how long a commit waits for another process before it fails: no
	// process of ours holds the file for more than a fraction of it.
	lockWait = 10 * time.Second
	// yieldPause lets the other process in after a commit that had to wait for it.
	yieldPause = 500 * time.Microsecond
	// pollEvery is how often others' commits are looked for while somebody waits: a
	// viewer of another process's run sees its events that late at most.
	pollEvery = 20 * time.Millisecond
)

// committer is the one writer: a goroutine that commits the waiting requests of
// all runs together, since the cost of a durable commit hardly depends on its
// size.
type committer struct {
	path    string
	conn    *conn
	owners  *owners
	hub     *hub
	queue   chan *request
	closing <-chan struct{}
	stopped chan struct{}

	// threads caches the threads that this process has claimed. It holds while the
	// generation does: while no other process has committed.
	threads    map[events.ThreadKey]*threadState
	generation int64
	// dataVersion is the file's, as of the last look: it changes when others commit.
	dataVersion int64
}

// request is one change that waits for its commit.
type request struct {
	// apply adds the change to the transaction. A refusal concerns this request
	// alone, and it has then changed nothing; a failure ends the transaction.
	apply func(*batch) (refusal, failure error)
	// refusal is written by the committer before done.
	refusal error
	done    chan error
}

// run commits until the log closes, then what is still in the queue.
func (c *committer) run() {
	defer close(c.stopped)
	poll := time.NewTicker(pollEvery)
	poll.Stop()
	defer poll.Stop()
	for {
		select {
		case req := <-c.queue:
			c.commit(c.gather(req))
		case <-c.hub.watched:
			poll.Reset(pollEvery)
		case <-poll.C:
			if c.hub.anyone() {
				c.noticeOthers()
			} else {
				poll.Stop()
			}
		case <-c.closing:
			c.finish()
			return
		}
	}
}

func (c *committer) finish() {
	for {
		select {
		case req := <-c.queue:
			c.commit(c.gather(req))
		default:
			return
		}
	}
}

// gather takes what else waits.
func (c *committer) gather(first *request) []*request {
	group := []*request{first}
	for len(group) < maxGroup {
		select {
		case req := <-c.queue:
			group = append(group, req)
		default:
			return group
		}
	}
	return group
}

// commit makes one durable transaction of the group and answers each request.
func (c *committer) commit(group []*request) {
	contended, err := c.transact(group)
	for _, req := range group {
		if req.refusal != nil {
			req.done <- req.refusal
		} else {
			req.done <- err
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
	b := &batch{committer: c}
	if err = b.fill(group); err == nil && b.changed {
		err = c.conn.exec("COMMIT")
	}
	if err != nil || !b.changed {
		// After some failures, a full disk among them, sqlite has rolled back itself
		// and this fails; either way no transaction is left open.
		_ = c.conn.exec("ROLLBACK")
	}
	if err != nil {
		// The cache has changes in it that the file has not.
		clear(c.threads)
		return contended, storeError("commit to", c.path, err)
	}
	b.forget()
	c.hub.wake(b.grown)
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
		if time.Since(start) > lockWait {
			return contended, fmt.Errorf("waited %s for another process: %w", lockWait, err)
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
