package sqlite

import (
	"database/sql/driver"
	"errors"

	"github.com/convene-run/convene/events"
)

// chain is a place in a thread: the events behind it are checked against their checksums
// one after the other.
type chain struct {
	seq events.Seq
	sum events.Checksum
}

// follow takes the next event; false if it is not what was appended there.
func (c *chain) follow(seq, sum, body driver.Value) bool {
	stored, ok := checksum(sum)
	text, isBlob := body.([]byte)
	if !ok || !isBlob || seq != int64(c.seq)+1 || c.sum.Next(text) != stored {
		return false
	}
	c.seq, c.sum = c.seq+1, stored
	return true
}

// checksum reads a stored checksum. A flipped bit can make any value of any other.
func checksum(value driver.Value) (sum events.Checksum, ok bool) {
	stored, isBlob := value.([]byte)
	if !isBlob || len(stored) != len(sum) {
		return sum, false
	}
	return events.Checksum(stored), true
}

// threadHead is the row of a thread as far as reading needs it.
type threadHead struct {
	no int64
	// last is how far the thread had come when it was claimed or released last.
	last chain
}

// findHead gives the thread's row; its no is 0 where there is none.
func findHead(c *conn, key events.ThreadKey) (head threadHead, err error) {
	err = c.query(`SELECT thread_no, last_seq, last_sum FROM threads WHERE tenant = ? AND thread = ?`,
		[]any{string(key.Tenant), string(key.Thread)}, func(row []driver.Value) (bool, error) {
			head.no, _ = row[0].(int64)
			last, _ := row[1].(int64)
			head.last.seq = events.Seq(last)
			head.last.sum, _ = checksum(row[2])
			return false, nil
		})
	return head, err
}

// errUnproven says that a row is not what its checksum says. It does not leave the
// package: examine finds out what is wrong.
var errUnproven = errors.New("a checksum does not match")

// readProven gives the events behind a place of a thread, at most limit of them and
// [pageBytes], each proven by its checksum, and moves the place along. A place is known
// by its seq alone; 0 is the beginning. Where a checksum does not match it looks at all of
// the thread: what is right after all is given, what is not is an [*events.DamagedError].
func readProven(c *conn, key events.ThreadKey, at *chain, limit int) ([]events.Encoded, error) {
	head, err := findHead(c, key)
	if err != nil || head.no == 0 {
		return nil, err
	}
	start := at.seq
	page, err := readChain(c, head, key, at, limit)
	if errors.Is(err, errUnproven) || isCorrupt(err) {
		at.seq = start
		return readExamined(c, key, at, limit)
	}
	return page, err
}

// readChain reads as long as all checksums match. It says LIMIT ? + 0, as every query
// here: SQLite looks into a plain LIMIT ? when it plans, and so would plan again each time
// it is bound, which takes longer than to read a few events.
func readChain(c *conn, head threadHead, key events.ThreadKey, at *chain, limit int) (page []events.Encoded, err error) {
	start, size := int64(at.seq), 0
	if start == 0 {
		at.sum = events.FirstChecksum(key)
	}
	err = c.query(`SELECT seq, sum, CASE WHEN seq > ?2 THEN body END FROM facts
		WHERE thread_no = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3 + 0`,
		[]any{head.no, start, int64(limit) + min(start, 1)},
		func(row []driver.Value) (bool, error) {
			if start > 0 && row[0] == start {
				var ok bool
				at.sum, ok = checksum(row[1])
				return ok, nil
			}
			if !at.follow(row[0], row[1], row[2]) || at.seq == head.last.seq && at.sum != head.last.sum {
				return false, errUnproven
			}
			body := row[2].([]byte)
			page = append(page, events.Encoded{Seq: at.seq, Body: body})
			size += len(body)
			return size < pageBytes, nil
		})
	if err == nil && size < pageBytes && len(page) < limit && at.seq < head.last.seq {
		err = errUnproven // the tail is missing
	}
	return page, err
}

// readExamined is readProven for a thread in which something does not match.
func readExamined(c *conn, key events.ThreadKey, at *chain, limit int) (page []events.Encoded, err error) {
	if err := c.exec("SAVEPOINT examining"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.exec("RELEASE examining")) }()
	found, err := examine(c, key)
	if err != nil {
		return nil, err
	}
	size, through := 0, at.seq+events.Seq(limit)
	for _, f := range found {
		if f.lost && f.through > at.seq && f.seq <= through {
			return nil, &events.DamagedError{Key: key, Seq: max(f.seq, at.seq+1), Problem: f.problem}
		}
	}
	err = c.query(`SELECT seq, sum, body FROM facts
		WHERE thread_no = (SELECT thread_no FROM threads WHERE tenant = ? AND thread = ?) AND seq > ?
		ORDER BY seq LIMIT ? + 0`,
		[]any{string(key.Tenant), string(key.Thread), int64(at.seq), int64(limit)},
		func(row []driver.Value) (bool, error) {
			body := row[2].([]byte)
			at.seq++
			at.sum, _ = checksum(row[1])
			page = append(page, events.Encoded{Seq: at.seq, Body: body})
			size += len(body)
			return size < pageBytes, nil
		})
	return page, err
}
