package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/convene-run/convene/events"
)

const (
	// maxReaders bounds the reading connections: reads are short, and more would
	// only take turns on the processors.
	maxReaders = 4
	// pageEvents and pageBytes bound what one read holds in memory and how long its
	// transaction lasts, which keeps the write-ahead log from shrinking.
	pageEvents = 512
	pageBytes  = 4 << 20
)

// read lends a reading connection to use.
func (l *Log) read(ctx context.Context, use func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-l.closing:
		return events.ErrClosed
	default:
	}
	select {
	case c := <-l.readers:
		defer func() { l.readers <- c }()
		return storeError("read from", l.path, use(c))
	case <-ctx.Done():
		return ctx.Err()
	case <-l.closing:
		return events.ErrClosed
	}
}

// Read implements [events.Log].
func (l *Log) Read(ctx context.Context, key events.ThreadKey, after events.Seq, limit int) ([]events.Envelope, error) {
	encoded, err := l.ReadEncoded(ctx, key, after, limit)
	if err != nil || len(encoded) == 0 {
		return nil, err
	}
	envs := make([]events.Envelope, len(encoded))
	for i, e := range encoded {
		if envs[i], err = events.Decode(e.Body); err != nil {
			return nil, fmt.Errorf("read thread=%s: %w", key.Thread, err)
		}
	}
	return envs, nil
}

// ReadEncoded implements [events.Log]. It reads in pages.
func (l *Log) ReadEncoded(
	ctx context.Context, key events.ThreadKey, after events.Seq, limit int,
) (all []events.Encoded, err error) {
	for {
		want := pageEvents
		if limit > 0 {
			want = min(want, limit-len(all))
		}
		before := len(all)
		if all, err = l.readPage(ctx, key, after, want, all); err != nil {
			return nil, err
		}
		if len(all) == before || len(all) == limit {
			return all, nil
		}
		after = all[len(all)-1].Seq
	}
}

// readPage reads one page. It says LIMIT ? + 0, as every query here: SQLite looks into
// a plain LIMIT ? when it plans, and so would plan anew each time it is bound, which
// takes longer than to read a few events.
func (l *Log) readPage(
	ctx context.Context, key events.ThreadKey, after events.Seq, want int, page []events.Encoded,
) ([]events.Encoded, error) {
	size := 0
	err := l.read(ctx, func(c *conn) error {
		return c.query(`SELECT seq, body FROM events
			WHERE thread_no = (SELECT thread_no FROM threads WHERE tenant = ? AND thread = ?) AND seq > ?
			ORDER BY seq LIMIT ? + 0`,
			[]any{string(key.Tenant), string(key.Thread), int64(after), int64(want)},
			func(row []driver.Value) (bool, error) {
				body := row[1].([]byte)
				page = append(page, events.Encoded{Seq: events.Seq(row[0].(int64)), Body: body})
				size += len(body)
				return size < pageBytes, nil
			})
	})
	return page, err
}

// Wait implements [events.Log]. A thread that does not exist yet can be waited for.
func (l *Log) Wait(ctx context.Context, key events.ThreadKey, after events.Seq) error {
	for {
		grown, stop := l.hub.watch(key)
		last, err := l.lastSeq(ctx, key)
		if err != nil || last > after {
			stop()
			return err
		}
		err = l.await(ctx, grown)
		stop()
		if err != nil {
			return err
		}
	}
}

func (l *Log) lastSeq(ctx context.Context, key events.ThreadKey) (last events.Seq, err error) {
	err = l.read(ctx, func(c *conn) error {
		n, err := c.number(`SELECT max(seq) FROM events
			WHERE thread_no = (SELECT thread_no FROM threads WHERE tenant = ? AND thread = ?)`,
			string(key.Tenant), string(key.Thread))
		last = events.Seq(n)
		return err
	})
	return last, err
}

func (l *Log) await(ctx context.Context, grown <-chan struct{}) error {
	select {
	case <-grown:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.closing:
		return events.ErrClosed
	}
}

// Tail implements [events.Log].
func (l *Log) Tail(
	ctx context.Context, filter events.TailFilter, cursor events.Cursor,
) iter.Seq2[events.TailItem, error] {
	return func(yield func(events.TailItem, error) bool) {
		at, err := l.position(ctx, cursor)
		for err == nil {
			var more bool
			if at, more, err = l.tailPage(ctx, filter, at, yield); err == nil && !more {
				return
			}
		}
		yield(events.TailItem{}, err)
	}
}

// tailPage yields the next page and waits for growth where there is none. more is
// false when the consumer has had enough.
func (l *Log) tailPage(
	ctx context.Context, filter events.TailFilter, at int64, yield func(events.TailItem, error) bool,
) (next int64, more bool, err error) {
	grown, stop := l.hub.watch(everyThread)
	defer stop()
	page, err := l.readPositions(ctx, filter.Tenant, at)
	if err != nil {
		return at, false, err
	}
	if len(page) == 0 {
		return at, true, l.await(ctx, grown)
	}
	for _, place := range page {
		at = place.pos
		if len(filter.Kinds) > 0 && !slices.Contains(filter.Kinds, events.EncodedKind(place.body)) {
			continue
		}
		env, err := events.Decode(place.body)
		if err != nil {
			return at, false, err
		}
		if !yield(events.TailItem{Envelope: env, Cursor: events.Cursor(strconv.FormatInt(at, 10))}, nil) {
			return at, false, nil
		}
	}
	return at, true, nil
}

type position struct {
	pos  int64
	body []byte
}

func (l *Log) readPositions(ctx context.Context, tenant events.TenantID, after int64) (page []position, err error) {
	query, args := `SELECT pos, body FROM events WHERE pos > ? ORDER BY pos LIMIT ? + 0`, []any{after, int64(pageEvents)}
	if tenant != "" {
		query = `SELECT e.pos, e.body FROM events e CROSS JOIN threads t ON t.thread_no = e.thread_no
			WHERE e.pos > ? AND t.tenant = ? ORDER BY e.pos LIMIT ? + 0`
		args = []any{after, string(tenant), int64(pageEvents)}
	}
	size := 0
	err = l.read(ctx, func(c *conn) error {
		return c.query(query, args, func(row []driver.Value) (bool, error) {
			body := row[1].([]byte)
			page = append(page, position{row[0].(int64), body})
			size += len(body)
			return size < pageBytes, nil
		})
	})
	return page, err
}

// position reads a cursor. One from behind the end is of another log.
func (l *Log) position(ctx context.Context, cursor events.Cursor) (at int64, err error) {
	if cursor == "" {
		return 0, nil
	}
	at, err = strconv.ParseInt(string(cursor), 10, 64)
	if err != nil || at < 0 {
		return 0, fmt.Errorf("tail from cursor %q: %w", cursor, events.ErrCursor)
	}
	var last int64
	err = l.read(ctx, func(c *conn) (err error) {
		last, err = c.number(`SELECT max(pos) FROM events`)
		return err
	})
	if err == nil && at > last {
		err = fmt.Errorf("tail from cursor %d of %d: %w", at, last, events.ErrCursor)
	}
	return at, err
}
