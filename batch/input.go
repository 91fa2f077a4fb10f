package batch

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// input is a file of rows. It is read more than once.
type input struct {
	path string
	// name is what the user calls it.
	name   string
	format Format
}

// openInput finds the file, and its format where none was given. Standard input is
// copied to disk first: it is read more than once, and perhaps resumed.
func openInput(files *Files, dir string) (*input, error) {
	in := &input{path: files.Input, name: files.Input, format: files.Format}
	if files.Input == stdio {
		in.name = "standard input"
		path, err := spool(files.Stdin, dir)
		if err != nil {
			return nil, fmt.Errorf("copy standard input to disk: %w", err)
		}
		in.path = path
	}
	file, err := os.Open(in.path)
	if err != nil {
		return nil, fmt.Errorf("open the input: %w", err)
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("open the input: %s is a directory; give a file, or - for standard input", in.name)
	}
	if in.format == "" {
		head, _ := bufio.NewReader(file).Peek(64) // what there is; a failing read shows again below
		in.format = guessFormat(in.path, head)
	}
	return in, nil
}

// spool copies standard input into the directory. Where nothing comes, what an
// earlier call copied stands.
func spool(from io.Reader, dir string) (path string, err error) {
	path = filepath.Join(dir, "input")
	if from == nil {
		from = os.Stdin
	}
	file, err := scratch(dir)
	if err != nil {
		return "", err
	}
	n, err := io.Copy(file, from)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	if _, missing := os.Stat(path); n == 0 && missing == nil {
		return path, os.Remove(file.Name())
	}
	return path, os.Rename(file.Name(), path)
}

// rows yields the rows in order. A bad one comes with a [*RowError]; any other
// error is that of reading.
func (in *input) rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		err := in.records(func(_ *record, row Row, bad error) bool { return yield(row, bad) })
		if err != nil {
			yield(Row{}, err)
		}
	}
}

// records visits the rows until the visitor says to stop.
func (in *input) records(visit func(rec *record, row Row, bad error) bool) error {
	file, err := os.Open(in.path)
	if err != nil {
		return fmt.Errorf("open the input: %w", err)
	}
	defer func() { _ = file.Close() }()
	records := newRecords(file, in.format == FormatCSV)
	d := decoder{format: in.format}
	if in.format == FormatCSV {
		if err := d.readHeader(records.next()); err != nil {
			return fmt.Errorf("read %s: %w", in.name, err)
		}
	}
	for index := 0; ; index++ {
		rec, err := records.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s, line %d: %w", in.name, rec.line, err)
		}
		row, err := d.decode(&rec)
		row.Index = index
		if row.explicitID = row.ID != ""; !row.explicitID {
			row.ID = contentID(&rec)
		}
		var bad *RowError
		if errors.As(err, &bad) {
			bad.ID, bad.Index, bad.Line, bad.Input = row.ID, index, rec.line, row.Input
		}
		if !visit(&rec, row, err) {
			return nil
		}
	}
}

// survey is what a first pass over the input finds.
type survey struct {
	rows, bad int
	// digest is a chain over the rows: that of the first n does not change when rows
	// are added behind.
	digest string
	// marked is the digest after the first mark rows, "" where there are fewer.
	marked   string
	firstBad *RowError
	ids      *ids
}

// look reads the whole input once: it counts, finds equal ids and bad rows. check
// adds what else makes a row bad.
func (in *input) look(dir string, mark int, check func(Row) error) (*survey, error) {
	s := &survey{ids: newIDs(dir)}
	var chain [sha256.Size]byte
	var failed error
	err := in.records(func(rec *record, row Row, err error) bool {
		if s.rows == mark {
			s.marked = hex.EncodeToString(chain[:])
		}
		chain = sha256.Sum256(append(chain[:], rec.digest[:]...))
		s.rows++
		if err == nil && check != nil {
			err = check(row)
		}
		if bad := (*RowError)(nil); errors.As(err, &bad) {
			if s.bad++; s.firstBad == nil {
				s.firstBad = bad
			}
		}
		failed = s.ids.add(row.ID, row.explicitID, row.Index)
		return failed == nil
	})
	if s.rows == mark {
		s.marked = hex.EncodeToString(chain[:])
	}
	s.digest = hex.EncodeToString(chain[:])
	if err = errors.Join(err, failed); err != nil {
		return nil, errors.Join(err, s.ids.close())
	}
	duplicates, err := s.ids.duplicates()
	if err == nil && duplicates != nil {
		if err = duplicates.explain(in); err == nil {
			err = duplicates
		}
	}
	if err == nil {
		err = s.ids.number()
	}
	if err != nil {
		return nil, errors.Join(err, s.ids.close())
	}
	return s, nil
}

// selection takes some of the rows: the first of them, or a sample spread over all.
// The same selection of the same input always takes the same rows.
type selection struct {
	limit, sample, total int
	seed                 string
}

// size is how many rows it takes.
func (s selection) size() int {
	n := s.total
	if s.sample > 0 {
		n = min(n, s.sample)
	}
	if s.limit > 0 {
		n = min(n, s.limit)
	}
	return n
}

// taker reports for one row after the other whether it is taken.
func (s selection) taker() func() bool {
	var seed [32]byte
	copy(seed[:], s.seed)
	random := rand.New(rand.NewChaCha8(seed))
	seen, sampled, taken := 0, 0, 0
	sample := s.total
	if s.sample > 0 {
		sample = min(s.sample, s.total)
	}
	return func() bool {
		// Knuth's algorithm S: every row with the share of the sample that is still
		// wanted among the rows still to come.
		in := random.IntN(max(s.total-seen, 1)) < sample-sampled
		seen++
		if in {
			sampled++
		}
		if !in || taken == s.size() {
			return false
		}
		taken++
		return true
	}
}
