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

// follow takes the events of the next row, and gives the place of each; false if they are not
// what was appended there.
func (c *chain) follow(seq, sum driver.Value, bodies [][]byte) (places []chain, ok bool) {
	stored, ok := checksum(sum)
	if !ok || len(bodies) == 0 || seq != int64(c.seq)+int64(len(bodies)) {
		return nil, false
	}
	places = c.through(bodies)
	if last := places[len(places)-1]; last.sum == stored {
		*c = last
		return places, true
	}
	return nil, false
}

// through gives the places of events that follow.
func (c chain) through(bodies [][]byte) []chain {
	places := make([]chain, len(bodies))
	for i, body := range bodies {
		c = chain{c.seq + 1, c.sum.Next(body)}
		places[i] = c
	}
	return places
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

// readSound is readProven that gives what stands before a damaged event. The error comes once
// nothing does.
func readSound(c *conn, key events.ThreadKey, at *chain, limit int) ([]events.Encoded, error) {
	start := at.seq
	page, err := readProven(c, key, at, limit)
	var damaged *events.DamagedError
	if errors.As(err, &damaged) && damaged.Seq > start+1 {
		return readProven(c, key, at, int(damaged.Seq-start)-1)
	}
	return page, err
}

// decode is [events.Decode] for what is told of a thread as a whole: an event that this build
// cannot decode is as good as damaged.
func decode(key events.ThreadKey, e events.Encoded) (events.Envelope, error) {
	env, err := events.Decode(e.Body)
	if err != nil {
		err = &events.DamagedError{Key: key, Seq: e.Seq, Problem: err.Error()}
	}
	return env, err
}

// rowsFrom gives the rows of a thread from the last that ends at or before a place; of that
// one the body is not read. It says LIMIT ? + 0, as every query here: SQLite looks into a
// plain LIMIT ? when it plans, and so would plan again each time it is bound, which takes
// longer than to read a few events.
const rowsFrom = `SELECT seq, sum, CASE WHEN seq > ?2 THEN body END, part FROM blocks
	WHERE thread_no = ?1 AND seq >= coalesce((SELECT max(seq) FROM blocks WHERE thread_no = ?1 AND seq <= ?2), 0)
	ORDER BY seq LIMIT ?3 + 0`

// pageOf collects the events behind a place until it is full.
type pageOf struct {
	at    *chain
	limit int
	size  int
	page  []events.Encoded
}

func (p *pageOf) full() bool { return len(p.page) >= p.limit || p.size >= pageBytes }

// take adds those of some events, which are at these places, that the page is to have.
func (p *pageOf) take(places []chain, bodies [][]byte) {
	for i, place := range places {
		if place.seq <= p.at.seq || p.full() {
			continue
		}
		*p.at = place
		p.page = append(p.page, events.Encoded{Seq: place.seq, Body: bodies[i]})
		p.size += len(bodies[i])
	}
}

// readChain reads as long as all checksums match.
func readChain(c *conn, head threadHead, key events.ThreadKey, at *chain, limit int) ([]events.Encoded, error) {
	start, walk := int64(at.seq), chain{sum: events.FirstChecksum(key)}
	if start == 0 {
		*at = walk
	}
	p := &pageOf{at: at, limit: limit}
	err := c.query(rowsFrom, []any{head.no, start, int64(limit) + min(start, 1)}, func(row []driver.Value) (bool, error) {
		if seq, _ := row[0].(int64); seq <= start {
			var ok bool
			walk.seq = events.Seq(seq)
			if walk.sum, ok = checksum(row[1]); !ok {
				return false, errUnproven
			}
			return true, nil
		}
		bodies, err := c.unpack(row[2], row[3])
		if err != nil {
			return false, err
		}
		places, ok := walk.follow(row[0], row[1], bodies)
		if !ok || !head.agrees(places) {
			return false, errUnproven
		}
		p.take(places, bodies)
		return !p.full(), nil
	})
	if err == nil && !p.full() && at.seq < head.last.seq {
		err = errUnproven // the tail is missing
	}
	return p.page, err
}

// agrees reports whether the end that is noted for the thread is as it is found.
func (h *threadHead) agrees(places []chain) bool {
	for _, place := range places {
		if place.seq == h.last.seq {
			return place.sum == h.last.sum
		}
	}
	return true
}

// lastAlike is the last event of those from the first finding on, without a gap, of which the same
// is said.
func lastAlike(found []finding) events.Seq {
	last := found[0].through
	for _, f := range found[1:] {
		if !f.lost || f.seq != last+1 || f.problem != found[0].problem {
			break
		}
		last = f.through
	}
	return last
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
	through := at.seq + events.Seq(limit)
	mended := map[events.Seq]events.Checksum{}
	for i, f := range found {
		if !f.lost {
			mended[f.through] = f.sum
		} else if f.through > at.seq && f.seq <= through {
			damaged := &events.DamagedError{Key: key, Seq: max(f.seq, at.seq+1), Problem: f.problem}
			if last := lastAlike(found[i:]); last > damaged.Seq {
				damaged.Through = last
			}
			return nil, damaged
		}
	}
	head, err := findHead(c, key)
	if err != nil || head.no == 0 {
		return nil, err
	}
	walk, p := chain{sum: events.FirstChecksum(key)}, &pageOf{at: at, limit: limit}
	err = c.query(rowsFrom, []any{head.no, int64(at.seq), int64(limit) + 1}, func(row []driver.Value) (bool, error) {
		seq, _ := row[0].(int64)
		bodies, err := c.unpack(row[2], row[3])
		if err != nil {
			return false, err
		}
		walk.seq = events.Seq(seq) - events.Seq(len(bodies))
		p.take(walk.through(bodies), bodies)
		// What is behind a row is chained to what it should say, if that is known.
		sum, known := mended[events.Seq(seq)]
		if !known {
			sum, _ = checksum(row[1])
		}
		walk = chain{events.Seq(seq), sum}
		return !p.full(), nil
	})
	return p.page, err
}
