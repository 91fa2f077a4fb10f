package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

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
func (l *Log) Read(
	ctx context.Context, key events.ThreadKey, after events.Seq, limit int, kinds ...events.Kind,
) ([]events.Envelope, error) {
	encoded, err := l.ReadEncoded(ctx, key, after, limit, kinds...)
	if err != nil || len(encoded) == 0 {
		return nil, err
	}
	var decoder events.Decoder
	envs := make([]events.Envelope, len(encoded))
	for i, e := range encoded {
		if envs[i], err = decoder.Decode(e.Body); err != nil {
			return nil, fmt.Errorf("read thread=%s: %w", key.Thread, err)
		}
	}
	return envs, nil
}

// ReadEncoded implements [events.Log]. It reads in pages, and proves each event, of
// whatever kind: an index by kind would cost every append, and nobody would notice what
// it lost.
func (l *Log) ReadEncoded(
	ctx context.Context, key events.ThreadKey, after events.Seq, limit int, kinds ...events.Kind,
) (all []events.Encoded, err error) {
	at := chain{seq: max(after, 0)}
	for {
		want := pageEvents
		if limit > 0 && len(kinds) == 0 {
			want = min(want, limit-len(all))
		}
		var page []events.Encoded
		err := l.read(ctx, func(c *conn) (err error) {
			page, err = readProven(c, key, &at, want)
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return all, nil
		}
		for _, e := range page {
			if len(kinds) > 0 && !slices.Contains(kinds, events.EncodedKind(e.Body)) {
				continue
			}
			if all = append(all, e); len(all) == limit {
				return all, nil
			}
		}
	}
}

// Last implements [events.Log]. Ids of runs sort by the clocks that made them, so which
// one started last is told by the place of its first event.
func (l *Log) Last(ctx context.Context, key events.ThreadKey) (tip events.Tip, err error) {
	err = l.projected(ctx, func(c *conn) (err error) {
		if err := c.exec("BEGIN"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.exec("ROLLBACK")) }()
		tip = events.Tip{}
		if tip.Seq, err = lastSeq(c, key); err != nil {
			return err
		}
		if tip.Run = newestRun(c, key, tip.Seq); tip.Run != "" {
			return nil
		}
		var first events.Seq
		return c.query(`SELECT `+runColumns+` FROM runs
			WHERE thread_no = (SELECT thread_no FROM threads WHERE tenant = ? AND thread = ?)`,
			[]any{string(key.Tenant), string(key.Thread)}, func(row []driver.Value) (bool, error) {
				run, err := readRun(row)
				if errors.Is(err, errProjection) && l.asItIs() {
					return true, nil
				}
				if run.FirstSeq > first {
					first, tip.Run = run.FirstSeq, run.Run
				}
				return true, err
			})
	})
	return tip, err
}

// newestRun is the run of the newest of the last few events that has one: none has an event behind
// the start of the next. It is "" where that does not tell, as behind a queue of messages.
func newestRun(c *conn, key events.ThreadKey, last events.Seq) events.RunID {
	at := chain{seq: max(0, last-lookBack)}
	page, err := readProven(c, key, &at, lookBack)
	if err != nil {
		return ""
	}
	for _, e := range slices.Backward(page) {
		if env, err := events.Decode(e.Body); err == nil && env.Run != "" {
			return env.Run
		}
	}
	return ""
}

// lookBack is how many events [newestRun] looks at: what follows the last one of a run are posts.
const lookBack = 4

// Wait implements [events.Log]. A thread that does not exist yet can be waited for.
func (l *Log) Wait(ctx context.Context, key events.ThreadKey, after events.Seq, kinds ...events.Kind) error {
	for {
		grown, stop := l.hub.watch(key, kinds)
		last, has, err := l.has(ctx, key, after, kinds)
		if err == nil && !has {
			after = max(after, last)
			err = l.await(ctx, grown)
		}
		stop()
		if err != nil || has {
			return err
		}
	}
}

// has reports whether the thread has an event above after, of those kinds if any are
// named, and the last one of whatever kind. What this process knows it does not read.
func (l *Log) has(ctx context.Context, key events.ThreadKey, after events.Seq, kinds []events.Kind) (last events.Seq, has bool, err error) {
	if last = l.hub.end(key); last > 0 && last <= after {
		return last, false, nil
	}
	err = l.read(ctx, func(c *conn) (err error) {
		last, err = lastSeq(c, key)
		return err
	})
	switch {
	case err != nil:
		return last, false, err
	case last == 0 && after > 0:
		return last, false, fmt.Errorf("wait for thread=%s: %w", key.Thread, events.ErrNotFound)
	case last <= after || len(kinds) == 0:
		return last, last > after, nil
	}
	found, err := l.ReadEncoded(ctx, key, after, 1, kinds...)
	return last, len(found) > 0, err
}

func lastSeq(c *conn, key events.ThreadKey) (events.Seq, error) {
	last, err := c.number(`SELECT max(seq) FROM blocks
		WHERE thread_no = (SELECT thread_no FROM threads WHERE tenant = ? AND thread = ?)`,
		string(key.Tenant), string(key.Thread))
	return events.Seq(last), err
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
