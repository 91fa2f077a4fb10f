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
	pos, thread int64
	seq         events.Seq
	body        []byte
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
		last, err = c.number(`SELECT max(pos) FROM facts`)
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
			return c.query(`SELECT pos, thread_no, body FROM facts WHERE pos < ? AND thread_no > 0 ORDER BY pos DESC LIMIT ? + 0`,
				[]any{last, int64(pageEvents)}, func(row []driver.Value) (bool, error) {
					last, _ = row[0].(int64)
					thread, _ := row[1].(int64)
					body, _ := row[2].([]byte)
					threads[thread] = true
					if beginsFork(body) { // it comes first in its thread, and last here
						delete(threads, thread)
					}
					rows++
					older = older && events.EncodedTime(body).Before(from)
					return true, nil
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
	query, args := `SELECT pos, thread_no, seq, sum, body FROM facts WHERE pos > ? AND thread_no > 0 ORDER BY pos LIMIT ? + 0`,
		[]any{t.at, int64(pageEvents)}
	if t.filter.Tenant != "" {
		query = `SELECT e.pos, e.thread_no, e.seq, e.sum, e.body FROM facts e CROSS JOIN threads t ON t.thread_no = e.thread_no
			WHERE e.pos > ? AND t.tenant = ? ORDER BY e.pos LIMIT ? + 0`
		args = []any{t.at, string(t.filter.Tenant), int64(pageEvents)}
	}
	err = t.log.read(ctx, func(c *conn) error {
		var sums []driver.Value
		size := 0
		err := c.query(query, args, func(row []driver.Value) (bool, error) {
			place := position{pos: row[0].(int64)}
			place.thread, _ = row[1].(int64)
			seq, _ := row[2].(int64)
			place.seq = events.Seq(seq)
			place.body, _ = row[4].([]byte)
			page, sums = append(page, place), append(sums, row[3])
			size += len(place.body)
			return size < pageBytes, nil
		})
		if err != nil {
			return err
		}
		for i := range page {
			if err := t.prove(c, &page[i], sums[i]); err != nil {
				page[i].body = nil
				page = page[:i+1]
				return err
			}
		}
		return nil
	})
	return page, err
}

// prove checks the event at a position against the one before it in its thread.
func (t *tail) prove(c *conn, place *position, sum driver.Value) error {
	end, known := t.ends[place.thread]
	if !known || end.seq != place.seq-1 {
		var err error
		if end, known, err = placeBefore(c, place); err != nil {
			return err
		}
	}
	if !known || !end.follow(int64(place.seq), sum, place.body) {
		key, err := threadKey(c, place.thread)
		if err != nil {
			return err
		}
		end.seq = place.seq - 1
		proven, err := readExamined(c, key, &end, 1)
		if err != nil {
			return err
		}
		if len(proven) == 0 {
			return &events.DamagedError{Key: key, Seq: place.seq, Problem: problemMissing}
		}
		place.body = proven[0].Body
	}
	if len(t.ends) >= maxTailed {
		clear(t.ends)
	}
	t.ends[place.thread] = end
	return nil
}

// placeBefore is the place in the thread that the event follows.
func placeBefore(c *conn, place *position) (end chain, known bool, err error) {
	if place.seq == 1 {
		key, err := threadKey(c, place.thread)
		return chain{sum: events.FirstChecksum(key)}, true, err
	}
	end.seq = place.seq - 1
	known, err = readSum(c, place.thread, &end)
	return end, known, err
}

// readSum completes a place in a thread with its checksum.
func readSum(c *conn, thread int64, at *chain) (known bool, err error) {
	err = c.query(`SELECT sum FROM facts WHERE thread_no = ? AND seq = ?`, []any{thread, int64(at.seq)},
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
