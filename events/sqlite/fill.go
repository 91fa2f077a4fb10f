package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/convene-run/convene/events"
)

// fillPage and fillBytes bound one transaction of [fillChecksums]: other processes wait
// for it, a few milliseconds.
const (
	fillPage  = 1000
	fillBytes = 4 << 20
)

// fillChecksums completes a store of before checksums with those of what it holds, in
// transactions of bounded size: a gigabyte takes some 15 seconds. One that is interrupted
// is continued by whoever opens the store next; nobody gets past the opening before. What
// was damaged until then is taken as it stands.
func fillChecksums(ctx context.Context, c *conn) error {
	for _, table := range filled {
		// Rows are filled in the order of their numbers, and no new one lacks a checksum: so
		// the last row tells of all.
		unfilled, err := c.number("SELECT " + table.column + " IS NULL FROM " + table.name + " ORDER BY " + table.key + " DESC LIMIT 1")
		if err != nil {
			return err
		}
		if unfilled == 0 {
			continue
		}
		first, err := c.number("SELECT min(" + table.key + ") FROM " + table.name + " WHERE " + table.column + " IS NULL")
		if err != nil {
			return err
		}
		f := &filling{ends: map[int64]chain{}, after: first - 1}
		for more := true; more; {
			if err := ctx.Err(); err != nil {
				return err
			}
			if more, err = f.transact(c, table.fill); err != nil {
				return fmt.Errorf("add checksums to %s: %w", table.name, err)
			}
		}
	}
	return nil
}

// filled are the tables with checksums, in the order in which they need each other.
var filled = []struct {
	name, key, column string
	fill              func(*filling, *conn) (more bool, err error)
}{
	{"blocks", "pos", "sum", (*filling).events},
	{"threads", "thread_no", "last_sum", (*filling).threads},
	{"runs", "run_no", "sum", (*filling).runs},
	{"batches", "thread_no", "sum", (*filling).batches},
}

// filling is one table's turn.
type filling struct {
	// after is the number of the row that was filled last.
	after int64
	// ends are the threads' ends so far.
	ends map[int64]chain
}

func (f *filling) transact(c *conn, fill func(*filling, *conn) (bool, error)) (more bool, err error) {
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return false, err
	}
	if more, err = fill(f, c); err == nil {
		err = c.exec("COMMIT")
	}
	if err != nil {
		return false, errors.Join(err, c.exec("ROLLBACK"))
	}
	return more, nil
}

func (f *filling) events(c *conn) (more bool, err error) {
	type row struct {
		pos, thread int64
		seq         events.Seq
		body        []byte
	}
	var page []row
	size := 0
	err = c.query(`SELECT pos, thread_no, seq, body FROM blocks WHERE pos > ? ORDER BY pos LIMIT ? + 0`,
		[]any{f.after, int64(fillPage)}, func(values []driver.Value) (bool, error) {
			r := row{pos: values[0].(int64)}
			r.thread, _ = values[1].(int64)
			seq, _ := values[2].(int64)
			r.seq = events.Seq(seq)
			r.body, _ = values[3].([]byte)
			page = append(page, r)
			size += len(r.body)
			return size < fillBytes, nil
		})
	for _, r := range page {
		if err != nil {
			return false, err
		}
		end, known := f.ends[r.thread]
		if !known {
			if end, err = f.endOf(c, r.thread, r.seq); err != nil {
				return false, err
			}
		}
		end = chain{r.seq, end.sum.Next(r.body)}
		f.ends[r.thread], f.after = end, r.pos
		err = c.exec(`UPDATE blocks SET sum = ? WHERE pos = ?`, end.sum[:], r.pos)
	}
	return len(page) > 0, err
}

// endOf is the event that an event of a thread follows, the first of a thread or of a
// filling that was interrupted.
func (f *filling) endOf(c *conn, thread int64, before events.Seq) (end chain, err error) {
	key, err := threadKey(c, thread)
	if err != nil && !errors.Is(err, ErrDamaged) {
		return end, err
	}
	end.sum = events.FirstChecksum(key)
	err = c.query(`SELECT seq, sum FROM blocks WHERE thread_no = ? AND seq < ? ORDER BY seq DESC LIMIT 1`,
		[]any{thread, int64(before)}, func(row []driver.Value) (bool, error) {
			end.seq = events.Seq(row[0].(int64))
			end.sum, _ = checksum(row[1])
			return false, nil
		})
	return end, err
}

func (f *filling) threads(c *conn) (more bool, err error) {
	var numbers []int64
	err = c.query(`SELECT thread_no FROM threads WHERE thread_no > ? ORDER BY thread_no LIMIT ? + 0`,
		[]any{f.after, int64(fillPage)}, func(row []driver.Value) (bool, error) {
			numbers = append(numbers, row[0].(int64))
			return true, nil
		})
	for _, thread := range numbers {
		if err != nil {
			return false, err
		}
		key, err := threadKey(c, thread)
		if err != nil {
			return false, err
		}
		end, err := f.endOf(c, thread, maxSeq)
		if err != nil {
			return false, err
		}
		name := events.FirstChecksum(key)
		err = c.exec(`UPDATE threads SET last_seq = ?, last_sum = ?, name_sum = ? WHERE thread_no = ?`,
			int64(end.seq), end.sum[:], name[:], thread)
		if err != nil {
			return false, err
		}
		f.after = thread
	}
	return len(numbers) > 0, err
}

// maxSeq is behind every event.
const maxSeq events.Seq = 1<<63 - 1

func (f *filling) runs(c *conn) (more bool, err error) {
	return f.rows(c, "runs", "run_no", runColumns)
}

func (f *filling) batches(c *conn) (more bool, err error) {
	return f.rows(c, "batches", "thread_no", batchColumns)
}

// rows fills rows of a projection, whose checksum is made of the other columns.
func (f *filling) rows(c *conn, table, key, columns string) (more bool, err error) {
	sums := map[int64][]byte{}
	last := f.after
	err = c.query("SELECT "+columns+", "+key+" FROM "+table+" WHERE "+key+" > ? ORDER BY "+key+" LIMIT ? + 0",
		[]any{f.after, int64(fillPage)}, func(row []driver.Value) (bool, error) {
			last = row[len(row)-1].(int64)
			sums[last] = rowSum(row[:len(row)-2]...)
			return true, nil
		})
	for no, sum := range sums {
		if err == nil {
			err = c.exec("UPDATE "+table+" SET sum = ? WHERE "+key+" = ?", sum, no)
		}
	}
	f.after = last
	return len(sums) > 0, err
}
