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
	// doubt is an event that does not match its checksum, 0 for none: either of the two
	// may be damaged, which the next event tells. computed is what it should have.
	doubt    events.Seq
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
		err := c.query(`SELECT seq, sum, body FROM facts WHERE thread_no = ? AND seq > ? ORDER BY seq`,
			[]any{head.no, int64(x.at.seq)}, func(row []driver.Value) (bool, error) {
				seq, _ := row[0].(int64)
				x.take(events.Seq(seq), row[1], row[2])
				return true, nil
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
	x.found = append(x.found, finding{x.at.seq + 1, max(x.at.seq+1, head.last.seq), "it cannot be read", true})
	return x.found, nil
}

// take goes over the next row.
func (x *examination) take(seq events.Seq, sum, body driver.Value) {
	if next := x.at.seq + 1; seq > next {
		x.settle(false)
		x.lose(next, seq-1, problemMissing)
		x.at, x.known = chain{seq: seq - 1}, false
	}
	stored, _ := checksum(sum)
	text, isBlob := body.([]byte)
	x.at.seq = seq
	switch before := x.at.sum; {
	case !isBlob:
		x.settle(false)
		x.lose(seq, seq, problemContent)
		x.known = true
	case !x.known:
		x.lose(seq, seq, problemBehind)
		x.known = true
	case before.Next(text) == stored:
		x.settle(false)
	case x.doubt > 0 && x.computed.Next(text) == stored:
		x.settle(true)
	default:
		x.settle(false)
		x.doubt, x.computed = seq, before.Next(text)
	}
	x.at.sum = stored
}

// settle decides what is wrong with the event in doubt: its content, unless that is
// proven otherwise.
func (x *examination) settle(proven bool) {
	seq := x.doubt
	x.doubt = 0
	switch {
	case seq == 0:
	case proven:
		x.found = append(x.found, finding{seq, seq, problemChecksum, false})
	default:
		x.lose(seq, seq, problemContent)
	}
}

func (x *examination) lose(first, last events.Seq, problem string) {
	x.found = append(x.found, finding{first, last, problem, true})
}

// skip gives up the next event, of which the checksum may still be had.
func (x *examination) skip(c *conn, problem string) {
	x.settle(false)
	x.at.seq++
	x.known = false
	x.lose(x.at.seq, x.at.seq, problem)
	_ = c.query(`SELECT sum FROM facts WHERE thread_no = ? AND seq = ?`, []any{x.head.no, int64(x.at.seq)},
		func(row []driver.Value) (bool, error) {
			x.at.sum, x.known = checksum(row[0])
			return false, nil
		})
}

// end compares with how far the thread is known to have come.
func (x *examination) end() {
	last := x.head.last
	x.settle(x.doubt > 0 && x.doubt == last.seq && x.computed == last.sum)
	if x.at.seq < last.seq {
		x.lose(x.at.seq+1, last.seq, problemMissing)
	}
}
