package batch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// previous is the output that a retry set aside. Its lines are found by row: one
// after the other where they are in order, else by offset.
type previous struct {
	file *os.File
	in   *bufio.Reader
	// head is the next line of an ordered file.
	head *Output
	line []byte
	// places is where the lines of an unordered file are: a scratch file of slots.
	places *spill
}

// openPrevious gives nil where no retry is under way.
func (j *Job) openPrevious() (*previous, error) {
	if j.manifest.Previous == "" {
		return nil, nil
	}
	file, err := os.Open(filepath.Join(j.dir, j.manifest.Previous))
	if err != nil {
		return nil, fmt.Errorf("open the output before the retry: %w", err)
	}
	p := &previous{file: file, in: bufio.NewReaderSize(file, 64<<10)}
	if !j.files.Unordered {
		return p, nil
	}
	if p.places, err = newSpill(j.dir); err == nil {
		_, err = eachLine(p.in, func(line []byte, _ bool) error {
			out, err := readOutput(line)
			if err != nil {
				return err
			}
			return p.places.put(out.Index, line)
		})
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("read the output before the retry: %w", err)
	}
	return p, nil
}

func (p *previous) close() {
	if p == nil {
		return
	}
	_ = p.file.Close() // was only read
	if p.places != nil {
		_ = p.places.close() // a scratch file, swept by the next call at the latest
	}
}

// look fills in what became of the row before the retry.
func (p *previous) look(at *pending, generation int) error {
	if p == nil {
		return nil
	}
	line, err := p.find(at.row.Index)
	if err != nil || line == nil {
		return err
	}
	out, err := readOutput(line)
	if err != nil {
		return fmt.Errorf("read the output before the retry: %w", err)
	}
	if out.Failed() {
		at.row.Attempt = generation
		return nil
	}
	at.line, at.before = line, out
	return nil
}

func (p *previous) find(index int) ([]byte, error) {
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
		if p.head, err = readOutput(line); err != nil {
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
