package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// contentID is the id of a row that has none: equal rows have equal ones, which are
// then numbered.
func contentID(rec *Record) string { return hex.EncodeToString(rec.digest[:8]) }

// idRecord is a digest of the id and the row's index: sorted, equal ids are
// neighbours.
const (
	digestBytes = 16
	indexBytes  = 8
	idRecord    = digestBytes + indexBytes
)

// ids finds equal ids on disk, so that the number of rows does not matter.
type ids struct {
	explicit, made *sorter
	// repeats are the rows whose made id was there before: index and number, by index.
	repeats *sorter
}

func newIDs(dir string) *ids {
	return &ids{explicit: newSorter(dir, idRecord), made: newSorter(dir, idRecord), repeats: newSorter(dir, 2*indexBytes)}
}

func (s *ids) add(id string, explicit bool, index int) error {
	sum := sha256.Sum256([]byte(id))
	record := binary.BigEndian.AppendUint64(sum[:digestBytes:digestBytes], uint64(index))
	if explicit {
		return s.explicit.add(record)
	}
	return s.made.add(record)
}

func (s *ids) close() error {
	return errors.Join(s.explicit.close(), s.made.close(), s.repeats.close())
}

// Close removes what the survey keeps on disk.
func (s *Survey) Close() error { return s.ids.close() }

// DuplicateError says that rows have the same id. Nothing was started.
type DuplicateError struct {
	// Pairs are the indices of the first such rows, at most ten pairs; Count is how
	// many rows have an id that an earlier row has.
	Pairs [][2]int
	Count int

	text string
}

func (e *DuplicateError) Error() string { return e.text }

// maxPairs is how many duplicates an error shows.
const maxPairs = 10

// duplicates gives the explicit ids that are there twice, nil if none is.
func (s *ids) duplicates() (*DuplicateError, error) {
	found := &DuplicateError{}
	err := repeats(s.explicit, func(first, index, _ int) error {
		if found.Count++; len(found.Pairs) < maxPairs {
			found.Pairs = append(found.Pairs, [2]int{first, index})
		}
		return nil
	})
	if err != nil || found.Count == 0 {
		return nil, err
	}
	return found, nil
}

// number prepares [Survey.Numbers].
func (s *ids) number() error {
	return repeats(s.made, func(_, index, n int) error {
		record := binary.BigEndian.AppendUint64(nil, uint64(index))
		return s.repeats.add(binary.BigEndian.AppendUint64(record, uint64(n)))
	})
}

// repeats visits every row whose id an earlier row has: that row's index, its own,
// and that it is the nth.
func repeats(s *sorter, visit func(first, index, n int) error) error {
	var last [digestBytes]byte
	first, n := 0, 0
	for record, err := range s.sorted() {
		if err != nil {
			return err
		}
		index := int(binary.BigEndian.Uint64(record[digestBytes:]))
		if n > 0 && bytes.Equal(last[:], record[:digestBytes]) {
			n++
			if err := visit(first, index, n); err != nil {
				return err
			}
			continue
		}
		first, n = index, 1
		copy(last[:], record)
	}
	return nil
}

// Numbers gives, for indices asked in rising order, the number of the row among
// those with the same made id; 0 where it is the first.
func (s *Survey) Numbers() (of func(index int) (int, error), stop func()) {
	next, stop := iter.Pull2(s.ids.repeats.sorted())
	at, n, more := -1, 0, true
	return func(index int) (int, error) {
		for more && at < index {
			record, err, ok := next()
			if err != nil {
				return 0, err
			}
			if more = ok; ok {
				at = int(binary.BigEndian.Uint64(record))
				n = int(binary.BigEndian.Uint64(record[indexBytes:]))
			}
		}
		if at == index {
			return n, nil
		}
		return 0, nil
	}, stop
}

// explain puts the duplicates into words, with the lines and ids of the rows.
func (e *DuplicateError) explain(in *Input) error {
	places := map[int]string{}
	names := map[int]string{}
	for _, pair := range e.Pairs {
		places[pair[0]], places[pair[1]] = "", ""
	}
	left := len(places)
	for row, err := range in.Rows() {
		var bad *RowError
		if err != nil && !errors.As(err, &bad) {
			return err
		}
		if _, wanted := places[row.Index]; wanted {
			places[row.Index], names[row.Index] = fmt.Sprintf("line %d", row.Line), row.ID
			if left--; left == 0 {
				break
			}
		}
	}
	var text strings.Builder
	rows := "1 row repeats"
	if e.Count > 1 {
		rows = fmt.Sprintf("%d rows repeat", e.Count)
	}
	fmt.Fprintf(&text, "%s the id of an earlier row; nothing was started. Give every row a unique id, or none:", rows)
	for _, pair := range e.Pairs {
		fmt.Fprintf(&text, "\n  %q: %s and %s", names[pair[0]], places[pair[0]], places[pair[1]])
	}
	e.text = text.String()
	return nil
}
