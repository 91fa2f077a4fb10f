package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
)

// LimitPages makes the database full at that many pages, as a full disk would.
func (l *Log) LimitPages(pages int64) {
	l.onWriter(func(c *conn) { _, _ = c.number(fmt.Sprintf("PRAGMA max_page_count = %d", pages)) })
}

// WriterPragma reads a setting of the writing connection.
func (l *Log) WriterPragma(name string) (value int64) {
	l.onWriter(func(c *conn) { value, _ = c.number("PRAGMA " + name) })
	return value
}

func (l *Log) onWriter(use func(*conn)) {
	_ = l.submit(background, func(tx *transaction) (refusal, failure error) {
		use(tx.conn)
		return nil, nil
	})
}

// SetLockWait shortens the wait for other processes.
func (l *Log) SetLockWait(d time.Duration) { l.committer.lockWait = d }

// RunsPlan tells how SQLite finds the runs that are asked for.
func (l *Log) RunsPlan(query events.RunQuery) (plan string) {
	sql, args := runsQuery(query)
	return l.plan(sql, args)
}

// TotalsPlan tells how SQLite finds the runs that are summed up.
func (l *Log) TotalsPlan(query events.RunQuery) string {
	sql, args := runsListing(query).sql(sumOfRuns, "1", 1)
	return l.plan(sql, args)
}

// FindPlans tell how SQLite finds a run and a batch by the beginning of their ids.
func (l *Log) FindPlans(tenant events.TenantID, prefix string) (run, batch string) {
	sql, args := byPrefix("SELECT "+runColumns+" FROM runs", "run_id", tenant, prefix)
	run = l.plan(sql, args)
	sql, args = byPrefix("SELECT "+batchColumns+" FROM batches", "batch_id", tenant, prefix)
	return run, l.plan(sql, args)
}

func (l *Log) plan(sql string, args []any) (plan string) {
	_ = l.read(background, func(c *conn) error {
		return c.queryOnce("EXPLAIN QUERY PLAN "+sql, args, func(row []driver.Value) (bool, error) {
			plan += fmt.Sprintln(row[3])
			return true, nil
		})
	})
	return plan
}

// Behind is the end of the range of ids that begin with prefix.
func Behind(prefix string) string { return behind(prefix) }

// HasReadEnd reports whether the end of a thread was ever read. Call it while nothing reads.
func (l *Log) HasReadEnd() (has bool) {
	for range maxReaders {
		c := <-l.readers
		for query := range c.stmts {
			has = has || strings.HasPrefix(query, "SELECT max(seq)")
		}
		l.readers <- c
	}
	return has
}

// Looks counts how often others were found to have committed.
func (l *Log) Looks() (n int64) {
	l.onWriter(func(*conn) { n = l.committer.generation })
	return n
}

// IsWAL is 1 where the file has a write-ahead log.
func (l *Log) IsWAL() (is int64) {
	l.onWriter(func(c *conn) { is, _ = c.number("SELECT journal_mode = 'wal' FROM pragma_journal_mode") })
	return is
}

// Watch is what [Log.Wait] sleeps on.
func (l *Log) Watch(key events.ThreadKey) (grown <-chan struct{}, stop func()) {
	return l.hub.watch(key, nil)
}

// UnpackAll makes of every block rows of one event, as builds of before wrote them.
func UnpackAll(path string) error {
	c, err := openConn(path)
	if err != nil {
		return err
	}
	type old struct {
		pos, thread, seq int64
		sum              []byte
		bodies           [][]byte
	}
	var rows []old
	err = c.query(`SELECT pos, thread_no, seq, sum, body, part FROM blocks WHERE thread_no > 0`, nil, func(row []driver.Value) (bool, error) {
		bodies, err := c.unpack(row[4], row[5])
		rows = append(rows, old{row[0].(int64), row[1].(int64), row[2].(int64), row[3].([]byte), bodies})
		return true, err
	})
	for _, r := range rows {
		key, keyErr := threadKey(c, r.thread)
		err = errors.Join(err, keyErr)
		at := chain{sum: events.FirstChecksum(key)}
		if before := (&tailed{seq: r.seq, bodies: r.bodies}).before(); before > 0 {
			at.seq = before
			_, sumErr := readSum(c, r.thread, &at)
			err = errors.Join(err, sumErr)
		}
		for i, place := range at.through(r.bodies) {
			err = errors.Join(err, c.exec(`INSERT OR REPLACE INTO blocks (pos, thread_no, seq, sum, body) VALUES (?, ?, ?, ?, ?)`,
				r.pos-int64(len(r.bodies)-1-i), r.thread, int64(place.seq), place.sum[:], r.bodies[i]))
		}
	}
	return errors.Join(err, c.close())
}

// Pack and Unpack are the codec of blocks.
func Pack(bodies [][]byte, shared []byte) (block []byte, cut bool) {
	b := packBlock(bodies, &part{text: shared})
	return b.body, b.part != nil
}

// Unpack gives the events of a block, less shared.
func Unpack(block, shared []byte) ([][]byte, error) {
	return unpack(block, func() ([]byte, error) { return shared, nil })
}

// Dictionary1 is what blocks of the first form depend on.
func Dictionary1() []byte { return dictionaryText }

// RepackSome packs the next rows of before.
func (l *Log) RepackSome() (more bool, err error) { return l.repackSome() }

// Linger is how long a leader waits for others to share its commit, of whom one comes at each
// of the times, where that many threads are held.
func Linger(held int, arrivals ...time.Duration) time.Duration {
	c := &committer{threads: map[events.ThreadKey]*threadState{}, full: make(chan struct{}, 1), leading: true}
	for n := range held {
		c.threads[events.ThreadKey{Thread: events.ThreadID(fmt.Sprint(n))}] = nil
	}
	c.waiting = []*request{{}}
	for _, at := range arrivals {
		time.AfterFunc(at, func() { _ = c.submit(&request{}) })
	}
	start := time.Now()
	c.linger()
	waited := time.Since(start)
	time.Sleep(time.Second) // until all have come
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, req := range c.waiting[1:] {
		req.signal <- struct{}{}
	}
	return waited
}

// UntilPacked is how often that is called.
func UntilPacked(closing <-chan struct{}, some func() (more bool, err error)) {
	untilPacked(closing, some)
}

// MigrateInSteps runs the migrations that are missing one after the other, of a fresh file
// too, and reports whether there were any.
func MigrateInSteps(ctx context.Context, db *sql.DB) (missing bool, err error) {
	provider, err := newProvider(db, 1)
	if err != nil {
		return false, err
	}
	if missing, err = provider.HasPending(ctx); err == nil {
		_, err = provider.Up(ctx)
	}
	return missing, err
}
