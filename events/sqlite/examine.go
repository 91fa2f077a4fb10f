package sqlite

import (
	"database/sql/driver"
	"fmt"

	"github.com/convene-run/convene/events"
)

// finding is something in a thread that is not as it was written.
type finding struct {
	// seq and through are the first and the last event concerned.
	seq, through events.Seq
	problem      string
	// lost says that the events cannot be given back. Otherwise only a checksum is
	// damaged, and the others prove the event.
	lost bool
	// sum is what a damaged checksum should be.
	sum events.Checksum
}

// What can be wrong with an event.
const (
	problemContent  = "its content does not match its checksum"
	problemMissing  = "it is missing"
	problemBehind   = "nothing proves it, since the event before it is missing"
	problemChecksum = "its checksum is damaged; its content is proven by the next one"
)

// maxUnreadable bounds the events that are tried one by one where SQLite cannot read
// some, so that a thread without end costs no time without end.
const maxUnreadable = 1000

// examination goes over a thread that has something wrong and finds out what.
type examination struct {
	key   events.ThreadKey
	head  threadHead
	found []finding
	// at is the last event gone over, known whether its checksum is.
	at    chain
	known bool
	// doubt are the first and the last event of a row that does not match its checksum, 0
	// for none: either of the two may be damaged, which the next row tells. computed is what
	// the checksum should be.
	doubt    [2]events.Seq
	computed events.Checksum
}

// examine goes over all of a thread. Call it within a transaction.
func examine(c *conn, key events.ThreadKey) ([]finding, error) {
	head, err := findHead(c, key)
	if err != nil || head.no == 0 {
		return nil, err
	}
	x := &examination{key: key, head: head, at: chain{sum: events.FirstChecksum(key)}, known: true}
	for range maxUnreadable {
		err := c.query(`SELECT seq, sum, body, part FROM blocks WHERE thread_no = ? AND seq > ? ORDER BY seq`,
			[]any{head.no, int64(x.at.seq)}, func(row []driver.Value) (bool, error) {
				seq, _ := row[0].(int64)
				bodies, err := c.unpack(row[2], row[3])
				x.take(events.Seq(seq), row[1], bodies)
				return true, err
			})
		switch {
		case err == nil:
			x.end()
			return x.found, nil
		case !isCorrupt(err):
			return nil, err
		}
		x.skip(c, fmt.Sprintf("it cannot be read: %v", err))
	}
	x.lose(x.at.seq+1, max(x.at.seq+1, head.last.seq), "it cannot be read")
	return x.found, nil
}

// take goes over the next row, of which seq is the last event. Of one that cannot be
// unpacked nothing tells where it begins: it is taken to follow on the one before.
func (x *examination) take(seq events.Seq, sum driver.Value, bodies [][]byte) {
	first, next := seq-events.Seq(len(bodies))+1, x.at.seq+1
	if len(bodies) == 0 || first < next {
		x.settle(false)
		x.lose(next, seq, problemContent)
		x.at.seq, x.known = seq, true
		x.at.sum, _ = checksum(sum)
		return
	}
	if first > next {
		x.settle(false)
		x.lose(next, first-1, problemMissing)
		x.at, x.known = chain{seq: first - 1}, false
	}
	x.prove(first, sum, bodies)
}

// prove compares a row with its checksum.
func (x *examination) prove(first events.Seq, sum driver.Value, bodies [][]byte) {
	stored, _ := checksum(sum)
	behind := func(before events.Checksum) chain {
		places := chain{first - 1, before}.through(bodies)
		return places[len(places)-1]
	}
	last := behind(x.at.sum)
	switch {
	case !x.known:
		x.lose(first, last.seq, problemBehind)
		x.known = true
	case last.sum == stored:
		x.settle(false)
	case x.doubt[0] > 0 && behind(x.computed).sum == stored:
		x.settle(true)
	default:
		x.settle(false)
		x.doubt, x.computed = [2]events.Seq{first, last.seq}, last.sum
	}
	x.at = chain{last.seq, stored}
}

// settle decides what is wrong with the row in doubt: its content, unless that is proven
// otherwise.
func (x *examination) settle(proven bool) {
	first, last := x.doubt[0], x.doubt[1]
	x.doubt = [2]events.Seq{}
	switch {
	case first == 0:
	case proven:
		x.found = append(x.found, finding{first, last, problemChecksum, false, x.computed})
	default:
		x.lose(first, last, problemContent)
	}
}

func (x *examination) lose(first, last events.Seq, problem string) {
	x.found = append(x.found, finding{seq: first, through: last, problem: problem, lost: true})
}

// skip gives up the next row, of which the last event and the checksum may still be had.
func (x *examination) skip(c *conn, problem string) {
	x.settle(false)
	at := chain{seq: x.at.seq + 1}
	x.known = false
	_ = c.query(`SELECT seq, sum FROM blocks WHERE thread_no = ? AND seq > ? ORDER BY seq LIMIT 1`, []any{x.head.no, int64(x.at.seq)},
		func(row []driver.Value) (bool, error) {
			if seq, _ := row[0].(int64); seq > int64(x.at.seq) {
				at.seq = events.Seq(seq)
				at.sum, x.known = checksum(row[1])
			}
			return false, nil
		})
	x.lose(x.at.seq+1, at.seq, problem)
	x.at = at
}

// end compares with how far the thread is known to have come.
func (x *examination) end() {
	last := x.head.last
	x.settle(x.doubt[0] > 0 && x.doubt[1] == last.seq && x.computed == last.sum)
	if x.at.seq < last.seq {
		x.lose(x.at.seq+1, last.seq, problemMissing)
	}
}
