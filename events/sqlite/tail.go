package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/convene-run/convene/events"
)

// maxTailed bounds the threads whose ends a tail remembers; of others it reads them.
const maxTailed = 10_000

// tail is one [Log.Tail] under way.
type tail struct {
	log    *Log
	filter events.TailFilter
	// at is the position of the event that was read last.
	at int64
	// ends are the places of threads, by their numbers, up to which events were proven.
	ends map[int64]chain
}

// position is an event with its place in the order of all.
type position struct {
	pos  int64
	body []byte
}

// tailed is a row as a tail reads it: pos, seq and sum are those of its last event.
type tailed struct {
	pos, thread int64
	seq, sum    driver.Value
	bodies      [][]byte
}

// before is the seq of the event that the row follows.
func (r *tailed) before() events.Seq {
	seq, _ := r.seq.(int64)
	return events.Seq(seq) - max(events.Seq(len(r.bodies)), 1)
}

// Tail implements [events.Log].
func (l *Log) Tail(
	ctx context.Context, filter events.TailFilter, cursor events.Cursor,
) iter.Seq2[events.TailItem, error] {
	return func(yield func(events.TailItem, error) bool) {
		t := &tail{log: l, filter: filter, ends: map[int64]chain{}}
		err := t.start(ctx, cursor)
		for err == nil {
			var more bool
			if more, err = t.page(ctx, yield); err == nil && !more {
				return
			}
		}
		yield(events.TailItem{Cursor: t.cursor()}, err)
	}
}

func (t *tail) cursor() events.Cursor { return events.Cursor(strconv.FormatInt(t.at, 10)) }

// start reads a cursor. One from behind the end is of another log.
func (t *tail) start(ctx context.Context, cursor events.Cursor) (err error) {
	if cursor == "" {
		return t.seek(ctx)
	}
	at, err := strconv.ParseInt(string(cursor), 10, 64)
	if err != nil || at < 0 {
		return fmt.Errorf("tail from cursor %q: %w", cursor, events.ErrCursor)
	}
	var last int64
	err = t.log.read(ctx, func(c *conn) (err error) {
		last, err = c.number(`SELECT max(pos) FROM blocks`)
		return err
	})
	if err == nil && at > last {
		err = fmt.Errorf("tail from cursor %d of %d: %w", at, last, events.ErrCursor)
	}
	t.at = at
	return err
}

// early is how far clocks may be apart that wrote into the log.
const early = time.Hour

// seek goes to a place before which nothing is of the time from which events are wanted: from
// the end back to a page on which all is older. Forks put the events of older threads, with
// their times, into threads of their own; such a stretch does not end the search.
func (t *tail) seek(ctx context.Context) error {
	if t.filter.From.IsZero() {
		return nil
	}
	from, last := t.filter.From.Add(-early), int64(math.MaxInt64)
	for {
		older, rows, threads := true, 0, map[int64]bool{} // without those that begin here as forks
		err := t.log.read(ctx, func(c *conn) error {
			return c.query(`SELECT pos, thread_no, body, part FROM blocks WHERE pos < ? AND thread_no > 0 ORDER BY pos DESC LIMIT ? + 0`,
				[]any{last, int64(pageEvents)}, func(row []driver.Value) (bool, error) {
					last, _ = row[0].(int64)
					thread, _ := row[1].(int64)
					threads[thread] = true
					rows++
					bodies, err := c.unpack(row[2], row[3])
					last -= max(int64(len(bodies)), 1) - 1
					for _, body := range bodies {
						if beginsFork(body) { // it comes first in its thread, and last here
							delete(threads, thread)
						}
						older = older && events.EncodedTime(body).Before(from)
					}
					return true, err
				})
		})
		if err != nil || rows == 0 || older && len(threads) > 1 {
			return err
		}
		t.at = last - 1
	}
}

// beginsFork reports whether the event is the first of a run that began as a copy.
func beginsFork(body []byte) bool {
	return events.EncodedKind(body) == events.KindWorkflowStarted && bytes.Contains(body, []byte(`"forked_from":`))
}

// page yields the next page and waits for growth where there is none. more is false
// when the consumer has had enough.
func (t *tail) page(ctx context.Context, yield func(events.TailItem, error) bool) (more bool, err error) {
	grown, stop := t.log.hub.watch(everyThread, nil)
	defer stop()
	page, readErr := t.read(ctx)
	if readErr == nil && len(page) == 0 && t.filter.Past {
		yield(events.TailItem{Cursor: t.cursor()}, nil)
		return false, nil
	}
	if readErr == nil && len(page) == 0 {
		return true, t.log.await(ctx, grown)
	}
	for _, place := range page {
		t.at = place.pos
		if place.body == nil {
			break // the damaged one, which readErr tells of
		}
		if len(t.filter.Kinds) > 0 && !slices.Contains(t.filter.Kinds, events.EncodedKind(place.body)) {
			continue
		}
		env, err := events.Decode(place.body)
		if err != nil {
			return false, err
		}
		if !yield(events.TailItem{Envelope: env, Cursor: t.cursor()}, nil) {
			return false, nil
		}
	}
	return true, readErr
}

// read gives the next events, proven. Where one is damaged it is the last of the page,
// without a body, beside the error.
func (t *tail) read(ctx context.Context) (page []position, err error) {
	query, args := `SELECT pos, thread_no, seq, sum, body, part FROM blocks WHERE pos > ? AND thread_no > 0 ORDER BY pos LIMIT ? + 0`,
		[]any{t.at, int64(pageEvents)}
	if t.filter.Tenant != "" {
		query = `SELECT e.pos, e.thread_no, e.seq, e.sum, e.body, e.part FROM blocks e CROSS JOIN threads t ON t.thread_no = e.thread_no
			WHERE e.pos > ? AND t.tenant = ? ORDER BY e.pos LIMIT ? + 0`
		args = []any{t.at, string(t.filter.Tenant), int64(pageEvents)}
	}
	err = t.log.read(ctx, func(c *conn) error {
		var rows []tailed
		size := 0
		err := c.query(query, args, func(row []driver.Value) (more bool, err error) {
			r := tailed{pos: row[0].(int64), seq: row[2], sum: row[3]}
			r.thread, _ = row[1].(int64)
			r.bodies, err = c.unpack(row[4], row[5])
			rows = append(rows, r)
			for _, body := range r.bodies {
				size += len(body)
			}
			return size < pageBytes, err
		})
		if err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			if err := t.prove(c, r); err != nil {
				page = append(page, position{pos: r.pos})
				return err
			}
			for i, body := range r.bodies {
				if pos := r.pos - int64(len(r.bodies)-1-i); pos > t.at {
					page = append(page, position{pos, body})
				}
			}
		}
		return nil
	})
	return page, err
}

// prove checks a row against the one before it in its thread.
func (t *tail) prove(c *conn, r *tailed) error {
	end, known := t.ends[r.thread]
	if !known || end.seq != r.before() {
		var err error
		if end, known, err = placeBefore(c, r); err != nil {
			return err
		}
	}
	if known {
		_, known = end.follow(r.seq, r.sum, r.bodies)
	}
	if !known {
		if err := r.examine(c, &end); err != nil {
			return err
		}
	}
	if len(t.ends) >= maxTailed {
		clear(t.ends)
	}
	t.ends[r.thread] = end
	return nil
}

// examine finds out what is wrong with a row: nothing, but with a checksum, if it gives no
// error.
func (r *tailed) examine(c *conn, end *chain) error {
	key, err := threadKey(c, r.thread)
	if err != nil {
		return err
	}
	end.seq = r.before()
	proven, err := readExamined(c, key, end, max(len(r.bodies), 1))
	if err != nil {
		return err
	}
	if len(proven) == 0 || len(proven) != len(r.bodies) {
		return &events.DamagedError{Key: key, Seq: r.before() + 1, Problem: problemMissing}
	}
	return nil
}

// placeBefore is the place in the thread that the row follows.
func placeBefore(c *conn, r *tailed) (end chain, known bool, err error) {
	if end.seq = r.before(); end.seq == 0 {
		key, err := threadKey(c, r.thread)
		return chain{sum: events.FirstChecksum(key)}, true, err
	}
	known, err = readSum(c, r.thread, &end)
	return end, known, err
}

// readSum completes a place in a thread with its checksum.
func readSum(c *conn, thread int64, at *chain) (known bool, err error) {
	err = c.query(`SELECT sum FROM blocks WHERE thread_no = ? AND seq = ?`, []any{thread, int64(at.seq)},
		func(row []driver.Value) (bool, error) {
			at.sum, known = checksum(row[0])
			return false, nil
		})
	return known, err
}

// threadKey names a thread.
func threadKey(c *conn, no int64) (key events.ThreadKey, err error) {
	found := false
	err = c.query(`SELECT tenant, thread FROM threads WHERE thread_no = ?`, []any{no}, func(row []driver.Value) (bool, error) {
		tenant, _ := row[0].(string)
		thread, _ := row[1].(string)
		key, found = events.ThreadKey{Tenant: events.TenantID(tenant), Thread: events.ThreadID(thread)}, true
		return false, nil
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: there are events of a thread that has no name", ErrDamaged)
	}
	return key, err
}
