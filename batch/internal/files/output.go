package files

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/convene-run/convene/events"
)

// Done is which rows an output file has. A bit for each row is all that is kept.
type Done struct {
	// Lines counts them; in an ordered output they are the first of the rows.
	Lines   int
	ordered bool
	// bits are by index, and only of an unordered output.
	bits bitmap
}

// bitmap is a set of row numbers: 125 kB for a million rows.
type bitmap []uint64

func (b *bitmap) add(i int) {
	for len(*b) <= i/64 {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b bitmap) has(i int) bool { return i/64 < len(b) && b[i/64]&(1<<(i%64)) != 0 }

// Has reports whether the output has the row of that index, which is at that position
// among the rows that the batch takes.
func (d *Done) Has(index, position int) bool {
	if d.ordered {
		return position < d.Lines
	}
	return d.bits.has(index)
}

// Output is what is read of an output line again.
type Output struct {
	ID         string        `json:"id"`
	Index      int           `json:"index"`
	Line       int           `json:"line"`
	Status     events.Status `json:"status"`
	Usage      events.Usage  `json:"usage"`
	CostUSD    *float64      `json:"cost_usd"`
	ModelCalls int           `json:"model_calls"`
	DurationMS int64         `json:"duration_ms"`
	RunID      events.RunID  `json:"run_id"`
	Simulated  bool          `json:"simulated"`
	Error      *OutputError  `json:"error"`
}

// OutputError is why a row failed, or why its answer lacks something.
type OutputError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Repair reads an output file, visits its lines, and cuts off a last line that was
// not written whole. Nothing is lost by that: its run is in the log.
func Repair(path string, ordered bool, visit func(out *Output)) (*Done, error) {
	d := &Done{ordered: ordered}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the output: %w", err)
	}
	defer func() { _ = file.Close() }()
	last := -1
	good, err := eachLine(file, func(line []byte, whole bool) error {
		out, err := ReadOutput(line)
		if err != nil && !whole {
			return errTorn
		}
		switch {
		case err != nil:
			return fmt.Errorf("%s, line %d is not an output of convene: %w. Fix or move the file, or start over with --fresh", path, d.Lines+1, err)
		case !whole:
			return errTorn // its end is missing: written again it has one
		case ordered && out.Index <= last, !ordered && d.bits.has(out.Index):
			return fmt.Errorf("%s, line %d has row %d out of order: the file was changed. Start over with --fresh", path, d.Lines+1, out.Index)
		}
		last = out.Index
		if !ordered {
			d.bits.add(out.Index)
		}
		d.Lines++
		visit(out)
		return nil
	})
	if errors.Is(err, errTorn) {
		err = file.Truncate(good)
	}
	return d, err
}

var errTorn = errors.New("the last line is torn")

// eachLine visits the lines of a file and gives the offset behind the last that was
// taken. whole is false for a last line without its end.
func eachLine(file io.Reader, visit func(line []byte, whole bool) error) (offset int64, err error) {
	in := bufio.NewReaderSize(file, 64<<10)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return offset, err
		}
		if len(line) > 0 {
			if err := visit(line, err == nil); err != nil {
				return offset, err
			}
		}
		if offset += int64(len(line)); err != nil {
			return offset, nil //nolint:nilerr // the end of the file
		}
		line = line[:0]
	}
}

// ReadOutput reads one line.
func ReadOutput(line []byte) (*Output, error) {
	out := Output{Index: -1}
	if err := json.Unmarshal(bytes.TrimSpace(line), &out); err != nil {
		return nil, err
	}
	if out.Index < 0 || out.ID == "" || out.Status == "" {
		return nil, errors.New("it lacks id, index or status")
	}
	return &out, nil
}
