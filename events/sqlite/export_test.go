package sqlite

import (
	"fmt"
	"time"
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
	_ = l.submit(background, func(b *batch) (refusal, failure error) {
		use(b.conn)
		return nil, nil
	})
}

// SetLockWait shortens the wait for other processes.
func (l *Log) SetLockWait(d time.Duration) { l.committer.lockWait = d }
