package batch

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

// done is which rows an output file has. A bit for each row is all that is kept.
type done struct {
	// lines counts them; in an ordered output they are the first of the rows.
	lines int
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

// brief is what is read of an output line again.
type brief struct {
	ID         string        `json:"id"`
	Index      *int          `json:"index"`
	Status     events.Status `json:"status"`
	Usage      events.Usage  `json:"usage"`
	CostUSD    *float64      `json:"cost_usd"`
	ModelCalls int           `json:"model_calls"`
	DurationMS int64         `json:"duration_ms"`
	RunID      events.RunID  `json:"run_id"`
	Simulated  bool          `json:"simulated"`
	Error      *OutputError  `json:"error"`
}

func (b *brief) output() Output {
	return Output{
		ID: b.ID, Index: *b.Index, Status: b.Status, Usage: b.Usage, CostUSD: b.CostUSD, ModelCalls: b.ModelCalls,
		DurationMS: b.DurationMS, RunID: b.RunID, Simulated: b.Simulated, Error: b.Error,
	}
}

// mend reads an output file, visits its lines, and cuts off a last line that was
// not written whole. Nothing is lost by that: its run is in the log.
func mend(path string, ordered bool, visit func(out *Output)) (*done, error) {
	d := &done{}
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
		out, err := readOutput(line)
		if err != nil && !whole {
			return errTorn
		}
		switch {
		case err != nil:
			return fmt.Errorf("%s, line %d is not an output of convene: %w. Mend or move the file, or start over with --fresh", path, d.lines+1, err)
		case !whole:
			return errTorn // its end is missing: written again it has one
		case ordered && out.Index <= last, !ordered && d.bits.has(out.Index):
			return fmt.Errorf("%s, line %d has row %d out of its place: the file was changed. Start over with --fresh", path, d.lines+1, out.Index)
		}
		last = out.Index
		if !ordered {
			d.bits.add(out.Index)
		}
		d.lines++
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

func readOutput(line []byte) (*Output, error) {
	var b brief
	if err := json.Unmarshal(bytes.TrimSpace(line), &b); err != nil {
		return nil, err
	}
	if b.Index == nil || *b.Index < 0 || b.ID == "" || b.Status == "" {
		return nil, errors.New("it lacks id, index or status")
	}
	out := b.output()
	return &out, nil
}
