package sqlite

import (
	"crypto/sha256"
	"database/sql/driver"
	"errors"
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
	// defaultLockWait is how long a commit waits for another process before it fails, or
	// pauses: no process of ours holds the file for more than a fraction of it.
	defaultLockWait = 10 * time.Second
	// yieldPause lets the other process in after a commit that had to wait for it.
	yieldPause = 500 * time.Microsecond
	// pollEvery is how often others' commits are looked for while somebody waits: a
	// viewer of another process's run sees its events that late at most.
	pollEvery = 20 * time.Millisecond
	// lingerThreads is how many threads must be held here for a leader to wait for others to
	// share its commit: each that is saved is a third of a millisecond of CPU and more, most of
	// it fsync. linger bounds the wait: nobody notices it beside a call of a model.
	lingerThreads = 8
	linger        = 2 * time.Millisecond
	// maxNoticed bounds the events of others that are looked at to learn whom to wake: where
	// there are more everybody is woken, to look.
	maxNoticed = 1000
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

	// mu guards waiting, awaited, leading and closed; idle is signalled when leading ends.
	mu      sync.Mutex
	idle    sync.Cond
	waiting []*request
	// awaited is how many requests a leader waits for, 0 where none does; full tells it.
	awaited int
	full    chan struct{}
	leading bool
	closed  bool
	// onLocked is told when commits begin to pause; nil for nobody.
	onLocked func(waited time.Duration)

	// What follows belongs to the leader.

	// paused is set while a foreign lock keeps commits waiting beyond lockWait.
	paused bool

	// threads caches the threads that this process has claimed. It holds while the
	// generation does: while no other process has committed.
	threads    map[events.ThreadKey]*threadState
	generation int64
	// parts caches the numbers of parts, as long.
	parts map[[sha256.Size]byte]int64
	// version is that of the file's pages (see [conn.version]) as of the last look, or of this
	// process's last commit.
	version uint32
	// pos is the place of the last event as of that look, or of this process's last commit.
	pos int64
}

// request is one change that waits for its commit.
type request struct {
	// apply adds the change to the transaction; nil only looks for others' commits.
	// A refusal concerns this request alone, and it has then changed nothing; a
	// failure ends the transaction.
	apply func(*transaction) (refusal, failure error)
	// patient requests wait for a foreign lock for as long as it lasts: they are part of
	// runs, which would end for a lock that another program forgot. Others fail.
	patient bool
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
	if c.awaited > 0 && len(c.waiting) >= c.awaited {
		c.awaited = 0
		c.full <- struct{}{}
	}
	lead := !c.leading
	c.leading = true
	c.mu.Unlock()
	if !lead {
		<-req.signal
		lead = req.lead
	}
	if lead {
		c.linger()
		for c.commit(c.gather()) {
			continue // it waits for a foreign lock
		}
		c.handOver()
	}
	return req.err
}

// linger lets those come who are about to append, so that fewer commits do: under load they
// are the most of what an append costs. It ends when all who hold threads here wait, or after
// [linger]. A few runs never wait.
func (c *committer) linger() {
	held := len(c.threads)
	if held < lingerThreads {
		return
	}
	c.mu.Lock()
	if c.closed || len(c.waiting) >= held {
		c.mu.Unlock()
		return
	}
	c.awaited = held
	c.mu.Unlock()
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-c.full:
		return
	case <-timer.C:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.awaited == 0 {
		<-c.full // it came at the same time
	}
	c.awaited = 0
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

// close waits for what is under way, refuses what comes, and gives the claims back that
// are still ours. claims says that it could not: they are a dead owner's then.
func (c *committer) close() (claims bool, err error) {
	c.mu.Lock()
	c.closed = true
	for c.leading {
		c.idle.Wait()
	}
	c.mu.Unlock()
	claims, err = anyClaims(c.conn, c.owners.token)
	if err == nil && claims {
		err = takeBack(c.conn, []string{c.owners.token})
		claims = err != nil
	}
	return claims || err != nil, errors.Join(ignoreBusy(err), c.conn.close())
}

// watch looks for others' commits while somebody waits, until closing.
func (c *committer) watch(closing <-chan struct{}) {
	poll := time.NewTicker(pollEvery)
	poll.Stop()
	defer poll.Stop()
	for {
		select {
		case <-c.hub.awaited:
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

// errForeignLock says that another process has kept the file locked for lockWait.
var errForeignLock = errors.New("waited for the lock")

// commit makes one durable transaction of the group and answers each request. Patient
// ones that a foreign lock keeps waiting go back to the front of the queue: again says that
// the leader's own is among them.
func (c *committer) commit(group []*request) (again bool) {
	writing := slices.DeleteFunc(slices.Clone(group), func(req *request) bool { return req.apply == nil })
	var contended bool
	var err error
	if len(writing) > 0 {
		contended, err = c.transact(writing)
	} else {
		err = c.look()
	}
	patient := c.pause(group, err)
	for i, req := range group {
		if slices.Contains(patient, req) {
			again = again || i == 0
			continue
		}
		if req.err == nil {
			req.err = err
		}
		if i > 0 {
			req.signal <- struct{}{}
		}
	}
	if contended && !c.paused {
		time.Sleep(yieldPause)
	}
	return again
}

// pause puts the patient requests of a group back that has met a foreign lock.
func (c *committer) pause(group []*request, err error) (patient []*request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !errors.Is(err, errForeignLock) || c.closed {
		c.paused = false
		return nil
	}
	for _, req := range group {
		if req.patient {
			patient = append(patient, req)
		}
	}
	c.waiting = append(slices.Clone(patient), c.waiting...)
	if len(patient) > 0 && !c.paused {
		c.paused = true
		if c.onLocked != nil {
			c.onLocked(c.lockWait)
		}
	}
	return patient
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
		clear(c.parts)
		return contended, storeError("commit to", c.path, err)
	}
	if tx.changed {
		c.version = c.conn.version()
	}
	tx.forget()
	c.pos = max(c.pos, tx.pos)
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
			return contended, fmt.Errorf("%w for %s: %w", errForeignLock, c.lockWait, err)
		}
		contended = true
		time.Sleep(lockRetry)
	}
}

// look notices what others have committed, outside of a transaction.
func (c *committer) look() error {
	// Whatever reads has SQLite look at the file.
	if _, err := c.conn.number("PRAGMA data_version"); err != nil {
		return err
	}
	return c.noticeOthers()
}

// noticeOthers makes the cache stale and wakes who waits for what another connection
// had committed when SQLite last looked at the file.
func (c *committer) noticeOthers() error {
	version := c.conn.version()
	if version == c.version {
		return nil
	}
	c.generation++
	clear(c.parts)
	if err := c.wakeForOthers(); err != nil {
		return err // looked for again
	}
	c.version = version
	return nil
}

// wakeForOthers looks once, for everybody who waits, which threads have grown.
func (c *committer) wakeForOthers() error {
	last, err := c.conn.number(`SELECT max(pos) FROM blocks`)
	if err != nil {
		return err
	}
	from := c.pos
	if last-from > maxNoticed || !c.hub.anyone() {
		c.pos = last
		c.hub.wakeAll()
		return nil
	}
	grown, removed, err := grownSince(c.conn, from)
	if err != nil {
		return err
	}
	c.pos = last
	if removed {
		c.hub.wakeAll()
		return nil
	}
	c.hub.wake(grown)
	return nil
}

// grownSince gives the threads with events behind a position. removed says that a thread
// was taken away, which leaves a row of no thread.
func grownSince(c *conn, pos int64) (grown []growth, removed bool, err error) {
	err = c.query(`SELECT DISTINCT t.tenant, t.thread FROM blocks e LEFT JOIN threads t ON t.thread_no = e.thread_no WHERE e.pos > ?`,
		[]any{pos}, func(row []driver.Value) (bool, error) {
			tenant, known := row[0].(string)
			thread, _ := row[1].(string)
			grown = append(grown, growth{key: events.ThreadKey{Tenant: events.TenantID(tenant), Thread: events.ThreadID(thread)}})
			removed = removed || !known
			return true, nil
		})
	return grown, removed, err
}
