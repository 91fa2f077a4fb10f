package files

import (
	"bufio"
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// sorter sorts any number of records of one size in little memory: full buffers are
// sorted and written to files, which are merged at the end.
type sorter struct {
	dir  string
	size int
	data []byte
	runs []*os.File
}

// sorterBytes is the buffer of a sorter: with it a million rows take a few dozen
// files.
const sorterBytes = 1 << 20

func newSorter(dir string, size int) *sorter { return &sorter{dir: dir, size: size} }

func (s *sorter) add(record []byte) error {
	s.data = append(s.data, record...)
	if len(s.data)+s.size <= sorterBytes {
		return nil
	}
	return s.spill()
}

func (s *sorter) spill() error {
	s.sort()
	file, err := scratch(s.dir)
	if err != nil {
		return err
	}
	s.runs = append(s.runs, file)
	_, err = file.Write(s.data)
	s.data = s.data[:0]
	return err
}

func (s *sorter) sort() {
	chunks := slices.Collect(slices.Chunk(s.data, s.size))
	slices.SortFunc(chunks, bytes.Compare)
	s.data = slices.Concat(chunks...)
}

// sorted yields the records in order. A record is valid until the next.
func (s *sorter) sorted() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s.sort()
		sources := []io.Reader{bytes.NewReader(s.data)}
		for _, file := range s.runs {
			if _, err := file.Seek(0, io.SeekStart); err != nil {
				yield(nil, err)
				return
			}
			sources = append(sources, bufio.NewReader(file))
		}
		m := &merge{}
		for _, source := range sources {
			if err := m.push(&sorted{source: source, head: make([]byte, s.size)}); err != nil {
				yield(nil, err)
				return
			}
		}
		for len(*m) > 0 {
			first := heap.Pop(m).(*sorted)
			if !yield(first.head, nil) {
				return
			}
			if err := m.push(first); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// close removes the files.
func (s *sorter) close() error {
	var errs []error
	for _, file := range s.runs {
		errs = append(errs, file.Close(), os.Remove(file.Name()))
	}
	return errors.Join(errs...)
}

// sorted is one source of a merge with its next record.
type sorted struct {
	source io.Reader
	head   []byte
}

type merge []*sorted

// push puts a source back with its next record, if it has one.
func (m *merge) push(s *sorted) error {
	switch _, err := io.ReadFull(s.source, s.head); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("merge sorted rows: %w", err)
	}
	heap.Push(m, s)
	return nil
}

func (m merge) Len() int           { return len(m) }
func (m merge) Less(i, j int) bool { return bytes.Compare(m[i].head, m[j].head) < 0 }
func (m merge) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(x any)        { *m = append(*m, x.(*sorted)) }
func (m *merge) Pop() any {
	old := *m
	last := old[len(old)-1]
	*m = old[:len(old)-1]
	return last
}
