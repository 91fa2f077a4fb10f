package sqlite

import (
	"bytes"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"sync/atomic"

	"github.com/convene-run/convene/events"
)

// minPart is the size from which a configuration is kept once for all runs that have it: below,
// its row and the entries of its index are no gain.
const minPart = 1 << 10

// maxParts bounds the parts whose numbers a process remembers; a team is one.
const maxParts = 1000

// part is a text that many runs share.
type part struct {
	hash [sha256.Size]byte
	text []byte
}

// sharedPart gives the text of an event that other runs have as well: the configuration that
// a run began with. It is nil where there is none, or none that is worth it.
func sharedPart(event events.Event) *part {
	started, ok := event.(events.WorkflowStarted)
	if !ok || len(started.Config) < minPart {
		return nil
	}
	text := []byte(started.Config)
	if last := lastPart.Load(); last != nil && len(last.text) == len(text) && &last.text[0] == &text[0] {
		return last
	}
	p := &part{sha256.Sum256(text), text}
	lastPart.Store(p)
	return p
}

// lastPart is the part that was hashed last: runs of a team begin with the same.
var lastPart atomic.Pointer[part]

// keepPart gives the number of a part, which it adds where the store has it not. What is
// stored is compared when the process meets it first, and mended.
func (tx *transaction) keepPart(p *part) (no int64, err error) {
	if no := tx.parts[p.hash]; no > 0 {
		return no, nil
	}
	var data []byte
	err = tx.conn.query(`SELECT part_no, data FROM parts WHERE sha256 = ?`, []any{p.hash[:]}, func(row []driver.Value) (bool, error) {
		no, _ = row[0].(int64)
		data, _ = row[1].([]byte)
		return false, nil
	})
	if err != nil {
		return 0, err
	}
	stored, unpackErr := decompress(data)
	encoded := dictionary1().Encode(nil, p.text)
	switch {
	case no == 0:
		no, err = tx.conn.insert(`INSERT INTO parts (sha256, data) VALUES (?, ?)`, p.hash[:], encoded)
	case unpackErr != nil || !bytes.Equal(stored, p.text):
		err = tx.conn.exec(`UPDATE parts SET data = ? WHERE part_no = ?`, encoded, no)
	}
	if err != nil {
		return 0, err
	}
	if len(tx.parts) >= maxParts {
		clear(tx.parts)
	}
	tx.parts[p.hash] = no
	return no, nil
}

// partsOf are those that stand in blocks of a thread.
func (tx *transaction) partsOf(thread int64) ([]int64, error) {
	return tx.conn.numbers(`SELECT DISTINCT part FROM blocks WHERE thread_no = ? AND part IS NOT NULL`, thread)
}

// dropParts deletes those of the parts that no block has.
func (tx *transaction) dropParts(numbers []int64) error {
	clear(tx.parts)
	for _, no := range numbers {
		if err := tx.conn.exec(`DELETE FROM parts WHERE part_no = ?1 AND NOT EXISTS (SELECT 1 FROM blocks WHERE part = ?1)`, no); err != nil {
			return err
		}
	}
	return nil
}

// unpack gives the events of a row, none where it is damaged.
func (c *conn) unpack(body, partNo driver.Value) ([][]byte, error) {
	block, _ := body.([]byte)
	bodies, err := unpack(block, func() (text []byte, err error) {
		err = c.query(`SELECT data FROM parts WHERE part_no = ?`, []any{partNo}, func(row []driver.Value) (bool, error) {
			data, _ := row[0].([]byte)
			text, err = decompress(data)
			return false, err
		})
		return text, err
	})
	if err != nil {
		if errors.Is(err, errUnpack) || isCorrupt(err) {
			return nil, nil
		}
		return nil, err
	}
	return bodies, nil
}
