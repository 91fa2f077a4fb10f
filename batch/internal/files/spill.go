package files

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// spill keeps lines on disk until their turn comes, however many rows end before a
// slow one. A line is found by its position.
type spill struct {
	// data holds the lines, slots for each position where its line is.
	data, slots *os.File
	end         int64
	held        int
}

// slotBytes is offset and length of a line.
const slotBytes = 16

func newSpill(dir string) (*spill, error) {
	data, err := scratch(dir)
	if err != nil {
		return nil, err
	}
	slots, err := scratch(dir)
	if err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return &spill{data: data, slots: slots}, nil
}

func (s *spill) put(position int, line []byte) error {
	var slot [slotBytes]byte
	binary.BigEndian.PutUint64(slot[:8], uint64(s.end))
	binary.BigEndian.PutUint64(slot[8:], uint64(len(line)))
	if _, err := s.data.WriteAt(line, s.end); err != nil {
		return fmt.Errorf("keep a line on disk until its turn: %w", err)
	}
	if _, err := s.slots.WriteAt(slot[:], int64(position)*slotBytes); err != nil {
		return fmt.Errorf("keep a line on disk until its turn: %w", err)
	}
	s.end += int64(len(line))
	s.held++
	return nil
}

// take gives the line of a position, nil if there is none.
func (s *spill) take(position int) ([]byte, error) {
	if s.held == 0 {
		return nil, nil
	}
	var slot [slotBytes]byte
	if _, err := s.slots.ReadAt(slot[:], int64(position)*slotBytes); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	length := binary.BigEndian.Uint64(slot[8:])
	if length == 0 {
		return nil, nil
	}
	line := make([]byte, length)
	if _, err := s.data.ReadAt(line, int64(binary.BigEndian.Uint64(slot[:8]))); err != nil {
		return nil, err
	}
	if s.held--; s.held == 0 {
		s.end = 0
		return line, errors.Join(s.data.Truncate(0), s.slots.Truncate(0))
	}
	return line, nil
}

func (s *spill) close() error {
	return errors.Join(s.data.Close(), s.slots.Close(), os.Remove(s.data.Name()), os.Remove(s.slots.Name()))
}
