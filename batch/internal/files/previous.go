package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Previous is the output that a retry set aside. Its lines are found by row: one
// after the other where they are in order, else by offset.
type Previous struct {
	file *os.File
	in   *bufio.Reader
	// head is the next line of an ordered file.
	head *Output
	line []byte
	// places is where the lines of an unordered file are: a scratch file of slots.
	places *spill
}

// OpenPrevious opens the output that m names in dir, nil where no retry is under way.
func OpenPrevious(dir string, m *Manifest) (*Previous, error) {
	if m.Previous == "" {
		return nil, nil
	}
	file, err := os.Open(filepath.Join(dir, m.Previous))
	if err != nil {
		return nil, fmt.Errorf("open the output before the retry: %w", err)
	}
	p := &Previous{file: file, in: bufio.NewReaderSize(file, 64<<10)}
	if !m.Settings.Unordered {
		return p, nil
	}
	if p.places, err = newSpill(dir); err == nil {
		_, err = eachLine(p.in, func(line []byte, _ bool) error {
			out, err := ReadOutput(line)
			if err != nil {
				return err
			}
			return p.places.put(out.Index, line)
		})
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("read the output before the retry: %w", err)
	}
	return p, nil
}

// Close may be called on nil.
func (p *Previous) Close() {
	if p == nil {
		return
	}
	_ = p.file.Close() // was only read
	if p.places != nil {
		_ = p.places.close() // a scratch file, swept by the next call at the latest
	}
}

// Find gives the line of the row of that index, nil where there is none. Indices are asked
// in rising order.
func (p *Previous) Find(index int) (line []byte, err error) {
	if p == nil {
		return nil, nil
	}
	return p.find(index)
}

func (p *Previous) find(index int) ([]byte, error) {
	if p.places != nil {
		return p.places.take(index)
	}
	if p.head == nil {
		line, err := p.in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if p.head, err = ReadOutput(line); err != nil {
			return nil, err
		}
		p.line = line
	}
	if p.head.Index != index {
		return nil, nil
	}
	p.head = nil
	return p.line, nil
}
