package files

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Input is a file of rows. It is read more than once.
type Input struct {
	Path string
	// Name is what the user calls it.
	Name   string
	Format Format
	// spooled is set where path is a copy of standard input without a name of its own.
	spooled bool
}

// Stdio stands for standard input or output in place of a file.
const Stdio = "-"

// headBytes is how much of a file is looked at to tell what it is.
const headBytes = 4096

// OpenInput finds the file, and its format where none was given. Standard input is
// copied to dir first: it is read more than once, and perhaps resumed. stdin defaults to
// the process's own.
func OpenInput(path string, format Format, stdin io.Reader, dir string) (*Input, error) {
	in := &Input{Path: path, Name: path, Format: format}
	if path == Stdio {
		in.Name = "standard input"
		if err := in.spool(stdin, dir); err != nil {
			return nil, fmt.Errorf("copy standard input to disk: %w", err)
		}
	}
	file, err := os.Open(in.Path)
	if err != nil {
		if failed := new(fs.PathError); errors.As(err, &failed) {
			err = failed.Err // which does not name the file again
		}
		return nil, fmt.Errorf("the input %s cannot be read: %w", in.Name, err)
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("open the input: %s is a directory; give a file, or - for standard input", in.Name)
	}
	head, _ := bufio.NewReaderSize(file, headBytes).Peek(headBytes) // what there is; a failing read shows again below
	if isUTF16(head) {
		return nil, fmt.Errorf("read %s: it is UTF-16; nothing was started. Save it as UTF-8, such as with iconv -f UTF-16 -t UTF-8", in.Name)
	}
	if in.Format == "" {
		if in.Format, err = guessFormat(in.Path, head); err != nil {
			return nil, fmt.Errorf("%s: %w", in.Name, err)
		}
	}
	return in, nil
}

// spool copies standard input into the directory, where it has no name of its own until
// Keep: the batch may still be refused, and the copy of an earlier call be wanted. Where
// nothing comes that one stands.
func (in *Input) spool(from io.Reader, dir string) error {
	if from == nil {
		from = os.Stdin
	}
	file, err := scratch(dir)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, from)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	in.Path = filepath.Join(dir, inputName)
	if _, missing := os.Stat(in.Path); n == 0 && missing == nil {
		return os.Remove(file.Name())
	}
	in.Path, in.spooled = file.Name(), true
	return nil
}

// inputName is the copy of standard input in a batch's directory.
const inputName = "input"

// Keep gives a copy of standard input its name.
func (in *Input) Keep(dir string) error {
	if !in.spooled {
		return nil
	}
	name := filepath.Join(dir, inputName)
	err := os.Rename(in.Path, name)
	in.Path, in.spooled = name, false
	return err
}

// Rows yields the rows in order. A bad one comes with a [*RowError]; any other
// error is that of reading.
func (in *Input) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		err := in.records(func(_ *Record, row Row, bad error) bool { return yield(row, bad) })
		if err != nil {
			yield(Row{}, err)
		}
	}
}

// records visits the rows until the visitor says to stop.
func (in *Input) records(visit func(rec *Record, row Row, bad error) bool) error {
	file, err := os.Open(in.Path)
	if err != nil {
		return fmt.Errorf("open the input: %w", err)
	}
	defer func() { _ = file.Close() }()
	records := NewRecords(file, in.Format == FormatCSV)
	d := decoder{format: in.Format}
	if in.Format == FormatCSV {
		if err := d.readHeader(records.Next()); err != nil {
			return fmt.Errorf("read %s: %w", in.Name, err)
		}
	}
	for index := 0; ; index++ {
		rec, err := records.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if unclosed := (*unclosedError)(nil); errors.As(err, &unclosed) {
			return fmt.Errorf("read %s: %w", in.Name, err)
		}
		if err != nil {
			return fmt.Errorf("read %s, line %d: %w", in.Name, rec.Line, err)
		}
		row, err := d.decode(&rec)
		row.Index = index
		if row.Explicit = row.ID != ""; !row.Explicit {
			row.ID = contentID(&rec)
		}
		if !visit(&rec, row, err) {
			return nil
		}
	}
}

// Survey is what a first pass over the input finds.
type Survey struct {
	Rows, Bad int
	// Digest is a chain over the rows: that of the first n does not change when rows
	// are added behind.
	Digest string
	// Marked is the digest after the first mark rows, "" where there are fewer.
	Marked string
	// FirstBad says what makes the first bad row one, nil where none is bad.
	FirstBad error
	ids      *ids
}

// Survey reads the whole input once: it counts, finds equal ids and bad rows. check
// adds what else makes a row bad.
func (in *Input) Survey(dir string, mark int, check func(Row) error) (*Survey, error) {
	s := &Survey{ids: newIDs(dir)}
	var chain [sha256.Size]byte
	var failed error
	err := in.records(func(rec *Record, row Row, err error) bool {
		if s.Rows == mark {
			s.Marked = hex.EncodeToString(chain[:])
		}
		chain = sha256.Sum256(append(chain[:], rec.digest[:]...))
		s.Rows++
		if err == nil && check != nil {
			err = check(row)
		}
		if err != nil {
			if s.Bad++; s.FirstBad == nil {
				s.FirstBad = err
			}
		}
		failed = s.ids.add(row.ID, row.Explicit, row.Index)
		return failed == nil
	})
	if s.Rows == mark {
		s.Marked = hex.EncodeToString(chain[:])
	}
	s.Digest = hex.EncodeToString(chain[:])
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

// Selection takes some of the rows: the first of them, or a sample spread over all.
// The same selection of the same input always takes the same rows.
type Selection struct {
	// Limit takes the first rows alone, Sample as many spread over all, of Total; 0 takes all.
	Limit, Sample, Total int
	Seed                 string
}

// Size is how many rows it takes.
func (s Selection) Size() int {
	n := s.Total
	if s.Sample > 0 {
		n = min(n, s.Sample)
	}
	if s.Limit > 0 {
		n = min(n, s.Limit)
	}
	return n
}

// Taker reports for one row after the other whether it is taken.
func (s Selection) Taker() func() bool {
	var seed [32]byte
	copy(seed[:], s.Seed)
	random := rand.New(rand.NewChaCha8(seed))
	seen, sampled, taken := 0, 0, 0
	sample := s.Total
	if s.Sample > 0 {
		sample = min(s.Sample, s.Total)
	}
	return func() bool {
		// Knuth's algorithm S: every row with the share of the sample that is still
		// wanted among the rows still to come.
		in := random.IntN(max(s.Total-seen, 1)) < sample-sampled
		seen++
		if in {
			sampled++
		}
		if !in || taken == s.Size() {
			return false
		}
		taken++
		return true
	}
}
