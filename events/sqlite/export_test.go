package sqlite

import (
	"database/sql/driver"
	"fmt"
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
	_ = l.read(background, func(c *conn) error {
		return c.queryOnce("EXPLAIN QUERY PLAN "+sql, args, func(row []driver.Value) (bool, error) {
			plan += fmt.Sprintln(row[3])
			return true, nil
		})
	})
	return plan
}
