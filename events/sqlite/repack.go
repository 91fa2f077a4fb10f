package sqlite

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"slices"
	"time"

	"github.com/convene-run/convene/events"
)

const (
	// repackRows and repackBytes bound one commit of [Log.repack], which appends wait for: some
	// milliseconds.
	repackRows  = 256
	repackBytes = 512 << 10
	// repackPause leaves most of the time to runs: a gigabyte takes some minutes. Where
	// packing fails, on a full disk or while another program keeps the file locked, the next
	// attempt comes after twice the pause, up to repackRetry.
	repackPause = 50 * time.Millisecond
	repackRetry = time.Minute
	// repackedBlock bounds the text of a block that is made of rows of before: of a run alone
	// all of them follow on each other.
	repackedBlock = 64 << 10
)

// oldRow is a row with one event in its wire form.
type oldRow struct {
	pos, thread int64
	at          chain
	body        []byte
}

// follows reports whether the row was written right behind another, in the same thread.
func (r *oldRow) follows(other *oldRow) bool {
	return r.thread == other.thread && r.pos == other.pos+1 && r.at.seq == other.at.seq+1
}

// repack packs the rows of before, a few at a time beside the appends of runs, until all are
// or the log is closed: whoever opens the store next goes on. Several processes may do so at
// once.
func (l *Log) repack() { untilPacked(l.closing, l.repackSome) }

// untilPacked calls some until that says that there is no more.
func untilPacked(closing <-chan struct{}, some func() (more bool, err error)) {
	for pause, more := repackPause, true; more; {
		select {
		case <-closing:
			return
		case <-time.After(pause):
		}
		var err error
		if more, err = some(); err != nil {
			pause, more = min(2*pause, repackRetry), true
		} else {
			pause = repackPause
		}
	}
}

// repackSome packs the next rows of before. Where that fails, its neighbours in the commit do
// not, and nothing has changed.
func (l *Log) repackSome() (more bool, err error) {
	err = l.submit(background, func(tx *transaction) (refusal, failure error) {
		if failure = tx.conn.exec("SAVEPOINT repacking"); failure != nil {
			return nil, failure
		}
		if more, refusal = tx.repack(); refusal != nil {
			clear(tx.parts)
			failure = tx.conn.exec("ROLLBACK TO repacking")
		}
		return refusal, errors.Join(failure, tx.conn.exec("RELEASE repacking"))
	})
	return more, err
}

// hasOldRows reports whether some rows are still to be packed.
func hasOldRows(c *conn) (bool, error) {
	n, err := c.number(`SELECT count(*) FROM repacked`)
	return n > 0, err
}

// repack packs the next rows of before.
func (tx *transaction) repack() (more bool, err error) {
	var through, until int64
	err = tx.conn.query(`SELECT through_pos, until_pos FROM repacked`, nil, func(row []driver.Value) (bool, error) {
		through, until = row[0].(int64), row[1].(int64)
		return false, nil
	})
	if err != nil || until == 0 {
		return false, err
	}
	rows, last, err := tx.oldRows(through, until)
	tx.changed = tx.changed || err == nil
	for len(rows) > 0 && err == nil {
		n := 1
		for size := len(rows[0].body); n < len(rows) && rows[n].follows(&rows[n-1]) && !begins(rows[n].body); n++ {
			if size += len(rows[n].body); size > repackedBlock {
				break
			}
		}
		err = tx.repackRows(rows[:n])
		rows = rows[n:]
	}
	if err != nil {
		return false, err
	}
	if last >= until {
		return false, tx.conn.exec(`DELETE FROM repacked`)
	}
	return true, tx.conn.exec(`UPDATE repacked SET through_pos = ?`, last)
}

// begins reports whether the event is the first of a run, which begins a block.
func begins(body []byte) bool { return events.EncodedKind(body) == events.KindWorkflowStarted }

// oldRows gives the next rows behind a position that have one event in its wire form, and the
// last position that was looked at.
func (tx *transaction) oldRows(through, until int64) (rows []oldRow, last int64, err error) {
	size, seen := 0, 0
	last = through
	err = tx.conn.query(`SELECT pos, thread_no, seq, sum, body FROM blocks WHERE pos > ? AND pos <= ? ORDER BY pos LIMIT ? + 0`,
		[]any{through, until, int64(repackRows)}, func(row []driver.Value) (bool, error) {
			r := oldRow{pos: row[0].(int64)}
			last = r.pos
			seen++
			r.thread, _ = row[1].(int64)
			seq, _ := row[2].(int64)
			sum, intact := checksum(row[3])
			r.at = chain{events.Seq(seq), sum}
			r.body, _ = row[4].([]byte)
			size += len(r.body)
			if intact && r.thread > 0 && bytes.HasPrefix(r.body, []byte{'{'}) && !bytes.Contains(r.body, []byte{'\n'}) {
				rows = append(rows, r)
			}
			return size < repackBytes, nil
		})
	if seen < repackRows && size < repackBytes {
		last = until
	}
	return rows, last, err
}

// repackRows makes one block of rows that follow on each other. Nothing is changed unless all
// are as they were appended and the block gives back their bytes.
func (tx *transaction) repackRows(rows []oldRow) error {
	first, last := &rows[0], &rows[len(rows)-1]
	before, known, err := placeBefore(tx.conn, &tailed{
		thread: first.thread, seq: int64(first.at.seq), bodies: [][]byte{first.body},
	})
	if err != nil || !known {
		return err
	}
	bodies := make([][]byte, len(rows))
	for i := range rows {
		if before = (chain{rows[i].at.seq, before.sum.Next(rows[i].body)}); before != rows[i].at {
			return nil // it is damaged, and stays as it is
		}
		bodies[i] = rows[i].body
	}
	var shared *part
	if begins(first.body) {
		if env, err := events.Decode(first.body); err == nil {
			shared = sharedPart(env.Data)
		}
	}
	b := packBlock(bodies, shared)
	if !b.givesBack(bodies) {
		return nil
	}
	if err := tx.conn.exec(`DELETE FROM blocks WHERE pos >= ? AND pos < ?`, first.pos, last.pos); err != nil {
		return err
	}
	var no any
	if b.part != nil {
		if no, err = tx.keepPart(b.part); err != nil {
			return err
		}
	}
	return tx.conn.exec(`UPDATE blocks SET body = ?, part = ? WHERE pos = ?`, b.body, no, last.pos)
}

// givesBack reports whether the block is of these events, to the byte.
func (b *block) givesBack(bodies [][]byte) bool {
	again, err := unpack(b.body, func() ([]byte, error) { return b.part.text, nil })
	return err == nil && slices.EqualFunc(again, bodies, bytes.Equal)
}
